/** One request to an S3 store and its answer. Bodies stream in both directions; nothing is tried twice here. */
import * as http from 'node:http'
import * as https from 'node:https'
import type { OpenFile } from './file.js'
import type { S3Address } from './s3-address.js'
import type { CredentialsSource } from './s3-credentials.js'
import { S3Refusal, S3Unreachable } from './s3-failures.js'
import { canonicalQuery, sha256, signedHeaders } from './s3-signature.js'
import { valueOf } from './s3-xml.js'

/** A part of a file, sent as it is read. The hash is the SHA-256 in hex. */
export interface FileSlice {
  readonly file: OpenFile
  readonly position: number
  readonly length: number
  readonly hash: string
}

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** Behind the prefix of the store; absent: the bucket itself. */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | FileSlice
  /** Silence after which the answer is given up. */
  readonly silenceMaxMs?: number
}

export interface S3Wire {
  /** The answer with its body unread. Rejected with S3Refusal for a status that is no success. */
  send(request: S3Request): Promise<http.IncomingMessage>
  /** The answer and its body as text. */
  ask(request: S3Request): Promise<{ headers: http.IncomingHttpHeaders; text: string }>
}

export interface WireLimits {
  readonly connectMaxMs: number
  readonly silenceMaxMs: number
}

export const WIRE_LIMITS: WireLimits = { connectMaxMs: 5_000, silenceMaxMs: 30_000 }

const CONNECTIONS_MAX = 1_024
const IDLE_CONNECTIONS_MAX = 64
/** A list of a thousand keys is a tenth of this. */
const TEXT_BYTES_MAX = 8 * 1024 * 1024
const SEND_BYTES = 256 * 1024

export function s3Wire(
  address: S3Address,
  credentials: CredentialsSource,
  limits: WireLimits = WIRE_LIMITS,
): S3Wire {
  const origin = new URL(address.origin)
  const host = address.isPathStyle ? origin.host : `${address.bucket}.${origin.host}`
  const base = address.isPathStyle ? `/${address.bucket}` : ''
  const door = origin.protocol === 'https:' ? https : http
  const agent = new door.Agent({
    keepAlive: true,
    maxSockets: CONNECTIONS_MAX,
    maxFreeSockets: IDLE_CONNECTIONS_MAX,
  })

  async function start(request: S3Request): Promise<http.ClientRequest> {
    const { method, key, query = {}, body = '' } = request
    const path = key === undefined ? `${base}/` : `${base}/${address.prefix}${key}`
    const bodyHash = typeof body === 'string' ? sha256(body) : body.hash
    const signable = { method, host, path, query, headers: request.headers ?? {}, bodyHash }
    const headers = signedHeaders(signable, await credentials(), address.region, new Date())
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length
    if (method === 'PUT' || method === 'POST') headers['content-length'] = String(length)
    const search = canonicalQuery(query)
    return door.request({
      agent,
      method,
      host: new URL(`${origin.protocol}//${host}`).hostname.replace(/^\[|\]$/g, ''),
      port: origin.port,
      path: search === '' ? path : `${path}?${search}`,
      headers,
    })
  }

  async function send(request: S3Request): Promise<http.IncomingMessage> {
    const outgoing = await start(request)
    const stopWatching = watch(outgoing, {
      ...limits,
      silenceMaxMs: request.silenceMaxMs ?? limits.silenceMaxMs,
    })
    try {
      const response = await exchange(outgoing, request.body)
      // A body that nobody is reading may fail, and that must not end the process.
      response.on('error', () => undefined)
      if (isSuccess(response.statusCode)) return response
      throw await refusal(response)
    } catch (error) {
      outgoing.destroy()
      if (error instanceof S3Refusal || error instanceof S3Unreachable) throw error
      throw new S3Unreachable('the content store could not be asked', error)
    } finally {
      stopWatching()
    }
  }

  return {
    send,
    async ask(request) {
      const response = await send(request)
      return { headers: response.headers, text: await readText(response) }
    },
  }
}

/** Ends a request that finds no connection in time, or on which nothing moves any more. */
function watch(outgoing: http.ClientRequest, limits: WireLimits): () => void {
  const unconnected = setTimeout(
    () => outgoing.destroy(new S3Unreachable('no connection to the content store could be made')),
    limits.connectMaxMs,
  )
  const stop = (): void => clearTimeout(unconnected)
  outgoing.once('socket', (socket) => {
    if (!socket.connecting) stop()
    else socket.once('connect', stop)
  })
  outgoing.setTimeout(limits.silenceMaxMs, () =>
    outgoing.destroy(new S3Unreachable('the content store fell silent')),
  )
  outgoing.once('close', stop)
  return stop
}

/** Sends the body and waits for the head of the answer, which may come before all of the body is gone. */
async function exchange(
  outgoing: http.ClientRequest,
  body: string | FileSlice | undefined,
): Promise<http.IncomingMessage> {
  let isAnswered = false
  const answered = new Promise<http.IncomingMessage>((resolve, reject) => {
    outgoing.once('response', (response) => {
      isAnswered = true
      resolve(response)
    })
    outgoing.on('error', reject)
    outgoing.once('close', () => reject(new S3Unreachable('the content store closed the connection')))
  })
  if (body === undefined || typeof body === 'string') {
    outgoing.end(body)
    return answered
  }
  const sent = sendSlice(outgoing, body, answered, () => isAnswered)
  // Reading the file may fail, which the answer would never tell; an answer may come while bytes still wait.
  await Promise.race([sent, answered])
  return answered
}

async function sendSlice(
  outgoing: http.ClientRequest,
  { file, position, length }: FileSlice,
  answered: Promise<unknown>,
  isAnswered: () => boolean,
): Promise<void> {
  const buffer = Buffer.allocUnsafeSlow(Math.max(1, Math.min(SEND_BYTES, length)))
  for (let at = 0; at < length && !isAnswered();) {
    const count = await file.read(buffer, position + at, Math.min(buffer.length, length - at))
    if (count === 0) throw new Error('A staged file ended before its size')
    const taken = new Promise<void>((resolve) => outgoing.write(buffer.subarray(0, count), () => resolve()))
    await Promise.race([taken, answered])
    at += count
  }
  if (!isAnswered()) outgoing.end()
}

function isSuccess(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status < 300
}

async function refusal(response: http.IncomingMessage): Promise<S3Refusal> {
  const status = response.statusCode ?? 0
  const text = await readText(response).catch(() => '')
  return new S3Refusal(status, valueOf(text, 'Code') ?? String(status), valueOf(text, 'Message') ?? '')
}

async function readText(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > TEXT_BYTES_MAX) throw new Error('the answer is too long')
    }
  } catch (error) {
    throw new S3Unreachable('the answer of the content store did not come whole', error)
  }
  return Buffer.concat(chunks).toString()
}
