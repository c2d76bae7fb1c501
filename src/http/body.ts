import type { IncomingMessage } from 'node:http'
import { isUtf8 } from 'node:buffer'
import { Failure } from '../model/failures.js'
import { watchBody } from './body-watch.js'
import type { Exchange } from './exchange.js'

/** The client went away before its body was complete; there is nobody left to answer. */
export class ConnectionLost extends Error {
  constructor() {
    super('the connection was lost while the body was received')
    this.name = 'ConnectionLost'
  }
}

/** Takes a chunk; a returned promise holds the sender back until it is fulfilled. */
export type BodySink = (chunk: Buffer) => Promise<void> | undefined

/**
 * The declared length of the body: 0 without Content-Length and Transfer-Encoding, undefined when it is
 * chunked. The parser has refused anything but digits and a request that has both headers.
 */
export function bodyLength(exchange: Exchange): number | undefined {
  const { headers } = exchange.req
  if (headers['transfer-encoding'] !== undefined) return undefined
  const declared = headers['content-length']
  return declared === undefined ? 0 : Number(declared)
}

/** Tells a client that waits for it to send its body; call it after every check that needs no body. */
export function startBody(exchange: Exchange): void {
  if (!exchange.expectsContinue || exchange.continued || exchange.res.headersSent) return
  exchange.continued = true
  exchange.res.writeContinue()
}

/**
 * Reads a whole body into memory. Throws bodyTooLarge as soon as the limit is known to be exceeded,
 * requestTimeout when the body stalls, and ConnectionLost when the client goes away.
 */
export async function readBody(
  exchange: Exchange,
  limitBytes: number,
  onProgress: (receivedBytes: number) => void = () => undefined,
): Promise<Buffer> {
  const declared = bodyLength(exchange)
  if (declared === 0) return NOTHING
  if (declared !== undefined && declared > limitBytes) throw tooLarge(limitBytes)
  const chunks: Buffer[] = []
  let receivedBytes = 0
  const outcome = await receive(exchange, (chunk) => {
    receivedBytes += chunk.length
    if (receivedBytes > limitBytes) throw tooLarge(limitBytes)
    onProgress(receivedBytes)
    chunks.push(chunk)
    return undefined
  })
  if (outcome === 'lost') throw new ConnectionLost()
  if (outcome === 'stalled') {
    throw new Failure('requestTimeout', 'the request body came too slowly', CLOSE)
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, receivedBytes)
}

/**
 * The body, if it came together with the head and is not longer than the limit; it is read then. Undefined: it is still
 * to be read.
 */
export async function bodyAtHand(exchange: Exchange, limitBytes: number): Promise<Buffer | undefined> {
  const { req } = exchange
  if (exchange.expectsContinue) return undefined
  if (bodyLength(exchange) === 0) return NOTHING
  // What came in one piece with the head has been taken apart by then.
  if (!req.complete) await new Promise(setImmediate)
  if (!req.complete || req.destroyed || req.readableLength > limitBytes) return undefined
  return (req.read() as Buffer | null) ?? NOTHING
}

/** More than any form of ours takes. */
const SMALL_FORM_BYTES = 65_536

/**
 * Reads a form, which anybody may send who has no token yet. What is beyond a small one counts until it is answered, and
 * all of that together is bounded; small forms are never refused for the large ones of others.
 */
export async function readFormBody(exchange: Exchange): Promise<Buffer> {
  const { limits, largeForms, res } = exchange
  let heldBytes = 0
  const release = (): void => {
    largeForms.bytes -= heldBytes
    heldBytes = 0
  }
  res.once('close', release)
  const hold = (receivedBytes: number): void => {
    const moreBytes = Math.max(0, receivedBytes - SMALL_FORM_BYTES) - heldBytes
    if (moreBytes <= 0) return
    if (largeForms.bytes + moreBytes > limits.largeFormsBytes) {
      throw new Failure('unavailable', 'too many large forms are being sent', {
        ...CLOSE,
        'Retry-After': '5',
      })
    }
    largeForms.bytes += moreBytes
    heldBytes += moreBytes
  }
  try {
    return await readBody(exchange, limits.jsonBytes, hold)
  } finally {
    // The connection may have gone before anybody listened.
    if (res.closed) release()
  }
}

/**
 * Hands a body of any size to the sink, chunk by chunk, and resolves with 'complete' at its end. A lost
 * connection is 'lost', and so is one that stalls, which is cut. When the sink throws or rejects, reading
 * stops and its error is thrown; the rest of the body is left to the reply.
 */
export async function receiveBody(exchange: Exchange, sink: BodySink): Promise<'complete' | 'lost'> {
  if (bodyLength(exchange) === 0) return 'complete'
  const outcome = await receive(exchange, sink)
  if (outcome === 'stalled') exchange.req.destroy()
  return outcome === 'complete' ? 'complete' : 'lost'
}

/** The connection broke before anybody read: what had arrived by then belongs to the body all the same. */
async function receiveRest(req: IncomingMessage, sink: BodySink): Promise<'lost'> {
  for (let chunk = req.read() as Buffer | null; chunk !== null; chunk = req.read() as Buffer | null) {
    await sink(chunk)
  }
  return 'lost'
}

function receive(exchange: Exchange, sink: BodySink): Promise<'complete' | 'lost' | 'stalled'> {
  const { req, limits } = exchange
  if (req.readableEnded) return Promise.resolve('complete')
  if (req.destroyed) return receiveRest(req, sink)
  startBody(exchange)
  return new Promise((resolve, reject) => {
    let sinkBusy = false
    let ended = false
    const settle = (action: () => void): void => {
      watch.stop()
      req.off('data', onData)
      req.off('end', onEnd)
      req.off('close', onClose)
      req.pause()
      action()
    }
    const watch = watchBody(limits, () => settle(() => resolve('stalled')))
    const onData = (chunk: Buffer): void => {
      watch.progress(chunk.length)
      let taken: Promise<void> | undefined
      try {
        taken = sink(chunk)
      } catch (error) {
        const thrown = error as Error
        return settle(() => reject(thrown))
      }
      if (taken === undefined) {
        if (req.destroyed && !req.readableEnded) settle(() => resolve('lost'))
        return
      }
      sinkBusy = true
      req.pause()
      watch.hold()
      taken.then(onTaken, (error: Error) => settle(() => reject(error)))
    }
    const onTaken = (): void => {
      sinkBusy = false
      watch.release()
      if (ended) return settle(() => resolve('complete'))
      if (!req.destroyed || req.readableEnded) return void req.resume()
      // What arrived before the connection broke is still in the stream's buffer and belongs to the body.
      req.off('data', onData)
      const rest = req.read() as Buffer | null
      if (rest === null) settle(() => resolve('lost'))
      else onData(rest)
    }
    const onEnd = (): void => {
      ended = true
      if (!sinkBusy) settle(() => resolve('complete'))
    }
    const onClose = (): void => {
      if (!sinkBusy && !ended) settle(() => resolve('lost'))
    }
    req.on('error', () => undefined)
    req.on('end', onEnd)
    req.on('close', onClose)
    req.on('data', onData)
    req.resume()
  })
}

/** Throws unsupportedMediaType unless the body is declared as JSON, as plain bytes, or not at all. */
export function jsonContentType(exchange: Exchange): void {
  const declared = exchange.req.headers['content-type']
  if (declared === undefined) return
  const semicolon = declared.indexOf(';')
  const type = (semicolon < 0 ? declared : declared.slice(0, semicolon)).trim().toLowerCase()
  if (type === 'application/json' || type === 'application/octet-stream' || type === '') return
  throw new Failure('unsupportedMediaType', 'the Content-Type must be application/json')
}

/**
 * Parses JSON text that must be valid UTF-8 without a byte-order mark. Depth and number of keys are counted
 * before anything is built, so that hostile text costs one pass over its bytes.
 */
export function parseJson(bytes: Buffer, depthMax: number, keysMax = Infinity): unknown {
  if (bytes.length === 0) throw new Failure('badArgs', 'the body is empty; JSON is expected')
  if (!isUtf8(bytes)) throw new Failure('badArgs', 'the body is not valid UTF-8')
  checkShape(bytes, depthMax, keysMax)
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown
  } catch {
    throw new Failure('badArgs', 'the body is not valid JSON')
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a

function checkShape(bytes: Buffer, depthMax: number, keysMax: number): void {
  let depth = 0
  let keys = 0
  let inString = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (inString) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) inString = true
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > depthMax)
        throw new Failure('badArgs', `the body is nested deeper than ${depthMax} levels`)
    } else if (byte === 0x7d || byte === 0x5d) depth--
    else if (byte === COLON && ++keys > keysMax) {
      throw new Failure('badArgs', `the body has more than ${keysMax} keys`)
    }
  }
}

const NOTHING = Buffer.alloc(0)

/** After these failures bytes of the body may still be on their way, so the connection is not kept. */
const CLOSE = { Connection: 'close' }

function tooLarge(limitBytes: number): Failure {
  return new Failure('bodyTooLarge', `the request body is larger than ${limitBytes} bytes`, CLOSE)
}
