import type { IncomingMessage } from 'node:http'
import { bodyLength } from './body.js'
import type { Exchange } from './exchange.js'

/**
 * Reads the rest of a body that nobody wants, within limits. A server that closes while its client still
 * sends makes the client's system throw the answer away with a reset; so the sender may finish first, and
 * the next request on the connection parses. Must be called before the reply is ended.
 */
export function drainUnreadBody(exchange: Exchange): void {
  const { req, limits } = exchange
  if (req.complete && req.readableEnded) return
  if (bodyLength(exchange) === 0) return
  const { socket } = req
  let leftBytes = limits.refusedDrainBytes
  const timer = setTimeout(() => socket.destroy(), limits.refusedDrainMs)
  const stop = (): void => clearTimeout(timer)
  req.on('data', (chunk: Buffer) => {
    leftBytes -= chunk.length
    if (leftBytes < 0) socket.destroy()
  })
  req.once('end', stop)
  req.once('close', stop)
  req.on('error', () => undefined)
  lingerOnClose(req)
  req.resume()
}

/**
 * Makes the close that follows a `Connection: close` answer end our side only, as long as the body is not
 * complete. The other side goes with the end of the body, with the peer, or at a limit of the drain.
 */
function lingerOnClose(req: IncomingMessage): void {
  const { socket } = req
  const close = socket.destroySoon
  req.once('end', () => {
    socket.destroySoon = close
    if (socket.writableEnded) socket.destroySoon()
  })
  socket.destroySoon = () => void socket.end()
}
