import type { Duplex } from 'node:stream'
import type { FailureKind } from '../model/failures.js'
import type { Exchange } from './exchange.js'
import type { HttpLimits } from './limits.js'
import { rawFailure } from './raw-reply.js'

/** What node's parser gives to 'clientError'. */
export interface ParserError extends Error {
  readonly code?: string
  readonly rawPacket?: Buffer
  readonly bytesParsed?: number
}

/**
 * Answers bytes that are no request and closes the connection: nothing after them is read as a request.
 * An answer that is still owed to an earlier request goes first; one that has begun for this one is cut.
 */
export function refuseBrokenRequest(
  error: ParserError,
  socket: Duplex,
  newest: Exchange | undefined,
  limits: HttpLimits,
): void {
  // The parser reports every further packet of a refused connection again; those are being drained.
  if (socket.writableEnded && error.code?.startsWith('HPE_')) return
  if (!socket.writable || error.code === 'ECONNRESET' || error.code === 'EPIPE') return void socket.destroy()
  const [kind, message] = verdict(error)
  const refuse = (): void => {
    if (!socket.writable) return void socket.destroy()
    refuseConnection(socket, rawFailure(kind, message, isHead(error)), limits)
    // The peer has ended its side, so nothing can arrive that would turn this close into a reset.
    if (error.code === 'HPE_INVALID_EOF_STATE') socket.once('finish', () => socket.destroy())
  }
  if (newest === undefined || newest.res.writableFinished) return refuse()
  if (newest.req.complete) return void newest.res.once('finish', refuse)
  if (newest.res.headersSent) return void socket.destroy()
  refuse()
}

/** Ends our side with the answer and lets the peer read it before the rest of the connection goes. */
export function refuseConnection(socket: Duplex, answer: string, limits: HttpLimits): void {
  const timer = setTimeout(() => socket.destroy(), limits.refusedDrainMs)
  socket.once('close', () => clearTimeout(timer))
  socket.on('error', () => socket.destroy())
  socket.end(answer)
  socket.resume()
}

function verdict(error: ParserError): [FailureKind, string] {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return ['headersTooLarge', 'the request line and headers are too large']
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return ['bodyTooLarge', 'the chunk extensions of the body are too large']
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return ['requestTimeout', 'the request head did not arrive in time']
    case 'HPE_INVALID_VERSION':
      return ['httpVersion', 'only HTTP/1.1 is served']
    case 'HPE_INVALID_METHOD':
      if (METHOD_AND_TARGET.test(error.rawPacket?.toString('latin1', 0, METHOD_BYTES_MAX) ?? '')) {
        return ['notImplemented', 'the request method is unknown']
      }
      return ['badArgs', 'the request line is malformed']
    default:
      return ['badArgs', 'the request is not well-formed HTTP/1.1']
  }
}

/**
 * An answer to HEAD has no body, whatever was wrong with the rest of the request. The packet may begin with earlier
 * requests; the broken one begins behind the last head that is complete.
 */
function isHead(error: ParserError): boolean {
  const { rawPacket, bytesParsed } = error
  if (rawPacket === undefined) return false
  const before = rawPacket.subarray(0, bytesParsed ?? rawPacket.length)
  const lastEnd = before.lastIndexOf('\r\n\r\n')
  const start = lastEnd < 0 ? 0 : lastEnd + 4
  return rawPacket.toString('latin1', start, start + 5) === 'HEAD '
}

const METHOD_AND_TARGET = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32} [/*h]/
const METHOD_BYTES_MAX = 40
