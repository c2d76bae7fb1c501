import type { Piece } from './content-pieces.js'

/**
 * A buffer for one whole chunk of the transfer coding, from its size line to its line end, so that a chunk
 * goes to the socket in one write without being copied together.
 */
export function contentFrame(chunkBytes: number): Buffer {
  return Buffer.allocUnsafeSlow(SIZE_LINE_BYTES + chunkBytes + TEXT_BYTES)
}

/**
 * Reads the bytes of a piece into the frame and returns the encoded chunk, with the end of the whole body
 * behind the last one. Throws when the source has fewer bytes than it promised.
 */
export async function fillFrame(
  frame: Buffer,
  piece: Piece,
  read: (buffer: Buffer, position: number, length: number) => Promise<number>,
): Promise<Buffer> {
  let at = SIZE_LINE_BYTES + frame.write(piece.before, SIZE_LINE_BYTES, 'latin1')
  const end = at + piece.length
  for (let position = piece.position; at < end;) {
    const bytes = await read(frame.subarray(at, end), position, end - at)
    if (bytes <= 0) throw new Error('the content ended before its size')
    at += bytes
    position += bytes
  }
  at += frame.write(piece.after, at, 'latin1')
  const bodyBytes = at - SIZE_LINE_BYTES
  const sizeLine = bodyBytes === 0 ? '' : `${bodyBytes.toString(16)}\r\n`
  const start = SIZE_LINE_BYTES - sizeLine.length
  frame.write(sizeLine, start, 'latin1')
  if (bodyBytes > 0) at += frame.write('\r\n', at, 'latin1')
  if (piece.isLast) at += frame.write('0\r\n\r\n', at, 'latin1')
  return frame.subarray(start, at)
}

/** Room in front of the data for eight hexadecimal digits and a line end. */
const SIZE_LINE_BYTES = 10
/** Room behind and before the data for the heads of parts and the end of the body. */
const TEXT_BYTES = 1_024
