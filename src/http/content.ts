import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { contentFrame, fillFrame } from './content-frame.js'
import { contentPieces } from './content-pieces.js'
import type { ByteRange, Piece } from './content-pieces.js'
import { drainUnreadBody } from './drain.js'
import type { Exchange } from './exchange.js'
import { commonLines } from './reply.js'

/** Bytes of content that never change, by position. */
export interface ByteSource {
  /** Puts 1 to length bytes from this position at the start of the buffer; 0 means that there are no more. */
  read(buffer: Buffer, position: number, length: number): Promise<number>
  close(): Promise<void>
}

export interface ContentReply {
  /** Closed by sendContent in every case. */
  readonly source: ByteSource
  readonly size: number
  /** Satisfiable, disjoint and ascending; undefined sends everything with 200. */
  readonly ranges: readonly ByteRange[] | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly contentType: string
  /** Separates the parts of several ranges; by default it is random. */
  readonly boundary?: string
  /** Asked once before the last bytes go out; false cuts the connection, so that the client sees a failure. */
  readonly isCurrent: () => Promise<boolean>
  /** Gives the caller a function that cuts this download from outside. */
  readonly onAbort?: (abort: () => void) => void
}

/**
 * Streams content with two buffers: the next read runs while the socket takes the one before. Resolves when
 * the socket has taken the last byte or is gone. Whatever fails after the head cuts the connection and is
 * thrown for the log alone; error text never gets into content. `stale`: it was cut from outside before its
 * head, and nothing was sent.
 */
export async function sendContent(exchange: Exchange, reply: ContentReply): Promise<'sent' | 'stale'> {
  try {
    if (exchange.res.destroyed) return 'sent'
    if (exchange.method === 'HEAD') writeHead(exchange, reply, reply.boundary ?? randomBoundary()).end()
    else return await stream(exchange, reply, reply.boundary ?? randomBoundary())
    return 'sent'
  } finally {
    await reply.source.close()
  }
}

/** Content bytes of one chunk; measured to cost the least for a long download over TLS. */
const CHUNK_BYTES = 262_144

async function stream(exchange: Exchange, reply: ContentReply, boundary: string): Promise<'sent' | 'stale'> {
  const { res } = exchange
  const { socket } = exchange.req
  const { source } = reply
  let isStale = false
  // Before the head another answer can be given; once the end is on its way the connection is the next request's.
  reply.onAbort?.(() => {
    if (!res.headersSent) isStale = true
    else if (!res.writableEnded) socket.destroy()
  })
  const ranges = reply.ranges ?? (reply.size === 0 ? [] : [{ start: 0, end: reply.size - 1 }])
  const multipart =
    ranges.length > 1 ? { boundary, contentType: reply.contentType, size: reply.size } : undefined
  const pieces = contentPieces(ranges, CHUNK_BYTES, multipart)
  const longest = ranges.reduce((bytes, range) => Math.max(bytes, range.end - range.start + 1), 0)
  const frameBytes = Math.min(longest, CHUNK_BYTES)
  const frames: Buffer[] = []
  const fill = (index: number, piece: Piece, isLast: boolean): Promise<Buffer> => {
    const frame = (frames[index % 2] ??= contentFrame(frameBytes))
    return fillFrame(frame, piece, isLast, (buffer, position, length) =>
      source.read(buffer, position, length),
    )
  }

  let piece = pieces.next().value
  let following = pieces.next().value
  // The first bytes are read before the head goes out, so that a source that fails at once gets a status.
  let bytes = piece === undefined ? NOTHING : await fill(0, piece, following === undefined)
  if (isStale) return 'stale'
  if (res.destroyed) return 'sent'
  const write = startWriting(exchange, reply, boundary)
  try {
    let written: Promise<void> = Promise.resolve()
    for (let index = 1; piece !== undefined; index++) {
      if (following === undefined && !(await reply.isCurrent())) return cut(socket)
      if (res.destroyed) return 'sent'
      const before = written
      written = write(bytes)
      piece = following
      if (piece === undefined) break
      following = pieces.next().value
      await before
      bytes = await fill(index, piece, following === undefined)
    }
    await written
    if (res.destroyed) return 'sent'
    socket.setTimeout(0)
    res.end()
    return 'sent'
  } catch (error) {
    socket.destroy()
    throw error
  }
}

const NOTHING = Buffer.alloc(0)

function cut(socket: Socket): 'sent' {
  socket.destroy()
  return 'sent'
}

/**
 * Sends the head and returns the function that writes encoded chunks. Its promise is fulfilled when the
 * socket has taken the bytes or is gone; only then may the buffer be used again.
 */
function startWriting(
  exchange: Exchange,
  reply: ContentReply,
  boundary: string,
): (bytes: Buffer) => Promise<void> {
  const { res, req, limits } = exchange
  const waiting = new Set<() => void>()
  res.once('close', () => waiting.forEach((resolve) => resolve()))
  res.on('error', () => req.socket.destroy())
  writeHead(exchange, reply, boundary)
  // The bytes are encoded chunks already; node must not wrap them again.
  res.chunkedEncoding = false
  // Node's timer knows whether the socket took a part of a pending write, and destroys one that took nothing.
  req.socket.setTimeout(limits.drainIdleMs)
  return (bytes) =>
    new Promise((resolve) => {
      waiting.add(resolve)
      res.write(bytes, () => {
        waiting.delete(resolve)
        resolve()
      })
    })
}

function writeHead(exchange: Exchange, reply: ContentReply, boundary: string): ServerResponse {
  const { ranges, size, contentType } = reply
  const lines = commonLines(exchange, reply.headers)
  const single = ranges?.length === 1 ? ranges[0] : undefined
  if (single !== undefined) lines.push('Content-Range', `bytes ${single.start}-${single.end}/${size}`)
  const isMultipart = ranges !== undefined && ranges.length > 1
  lines.push('Content-Type', isMultipart ? `multipart/byteranges; boundary=${boundary}` : contentType)
  lines.push('Transfer-Encoding', 'chunked')
  drainUnreadBody(exchange)
  return exchange.res.writeHead(ranges === undefined ? 200 : 206, lines)
}

function randomBoundary(): string {
  return randomBytes(16).toString('hex')
}
