import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { fillFrame } from './content-frame.js'
import { cutPieces } from './content-pieces.js'
import type { ByteRange, PieceCutter } from './content-pieces.js'
import { DownloadFrames } from './download-frames.js'
import { drainUnreadBody } from './drain.js'
import type { Exchange } from './exchange.js'
import type { FrameLoan } from './frame-pool.js'
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
 * Streams content with two frames at a time: the next read runs while the socket takes the one before. Resolves when
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

async function stream(exchange: Exchange, reply: ContentReply, boundary: string): Promise<'sent' | 'stale'> {
  const { res } = exchange
  const { socket } = exchange.req
  let isStale = false
  // Before the head another answer can be given; once the end is on its way the connection is the next request's.
  reply.onAbort?.(() => {
    if (!res.headersSent) isStale = true
    else if (!res.writableEnded) socket.destroy()
  })
  const ranges = reply.ranges ?? (reply.size === 0 ? [] : [{ start: 0, end: reply.size - 1 }])
  const multipart =
    ranges.length > 1 ? { boundary, contentType: reply.contentType, size: reply.size } : undefined
  const longest = ranges.reduce((bytes, range) => Math.max(bytes, range.end - range.start + 1), 0)
  const frames = new DownloadFrames(exchange.largeFrames, exchange.limits.slowPieceMs, longest)
  const fill = filler(reply.source, cutPieces(ranges, multipart), frames)
  try {
    // The first bytes are read before the head goes out, so that a source that fails at once gets a status.
    const first = await fill()
    if (isStale) return 'stale'
    if (res.destroyed) return 'sent'
    const write = startWriting(exchange, reply, boundary, frames)
    return await sendPieces(exchange, reply, first, fill, write)
  } finally {
    frames.close()
  }
}

/** An encoded chunk and the frame that it lies in. */
interface Filled {
  readonly bytes: Buffer
  readonly loan: FrameLoan
  readonly isLast: boolean
}

/** Reads one piece after another; not to be called behind the last. */
function filler(source: ByteSource, pieces: PieceCutter, frames: DownloadFrames): () => Promise<Filled> {
  return async () => {
    const loan = frames.take(pieces.rangeRest)
    const piece = pieces.next(loan.chunkBytes)
    if (piece === undefined) throw new Error('there is nothing behind the last piece')
    const bytes = await fillFrame(loan.frame, piece, (buffer, position, length) =>
      source.read(buffer, position, length),
    )
    return { bytes, loan, isLast: piece.isLast }
  }
}

async function sendPieces(
  { res, req: { socket } }: Exchange,
  reply: ContentReply,
  first: Filled,
  fill: () => Promise<Filled>,
  write: (filled: Filled) => Promise<boolean>,
): Promise<'sent'> {
  try {
    let isTaken = Promise.resolve(true)
    for (let filled = first; ; filled = await fill()) {
      if (filled.isLast && !(await reply.isCurrent())) return cut(socket)
      if (res.destroyed) return 'sent'
      const before = isTaken
      isTaken = write(filled)
      if (!(await before)) return cut(socket)
      if (filled.isLast) break
    }
    if (!(await isTaken)) return cut(socket)
    socket.setTimeout(0)
    res.end()
    return 'sent'
  } catch (error) {
    socket.destroy()
    throw error
  }
}

function cut(socket: Socket): 'sent' {
  socket.destroy()
  return 'sent'
}

/**
 * Sends the head and returns the function that writes encoded chunks. Its promise tells whether the socket has taken
 * the bytes or is gone. Only what it has taken gives its frame to others: of a connection that broke nobody says
 * whether something still reads from it.
 */
function startWriting(
  exchange: Exchange,
  reply: ContentReply,
  boundary: string,
  frames: DownloadFrames,
): (filled: Filled) => Promise<boolean> {
  const { res, req, limits } = exchange
  const waiting = new Set<(isTaken: boolean) => void>()
  res.once('close', () => waiting.forEach((resolve) => resolve(false)))
  res.on('error', () => req.socket.destroy())
  writeHead(exchange, reply, boundary)
  // The bytes are encoded chunks already; node must not wrap them again.
  res.chunkedEncoding = false
  // Node's timer knows whether the socket took a part of a pending write, and destroys one that took nothing.
  req.socket.setTimeout(limits.drainIdleMs)
  return ({ bytes, loan }) =>
    new Promise((resolve) => {
      const startedMs = performance.now()
      waiting.add(resolve)
      res.write(bytes, (error) => {
        waiting.delete(resolve)
        // Node reports no error for a write that was under way when its socket was destroyed.
        const isTaken = (error === null || error === undefined) && !req.socket.destroyed
        if (isTaken) frames.taken(loan, performance.now() - startedMs)
        resolve(isTaken)
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
