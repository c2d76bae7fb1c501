/** First and last byte, both inclusive. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** What one chunk of a download carries: bytes of the content, and the text of part boundaries around them. */
export interface Piece {
  readonly before: string
  readonly position: number
  readonly length: number
  readonly after: string
  /** Nothing of the body comes behind it. */
  readonly isLast: boolean
}

/** Cuts the ranges of a download into pieces, in order, of whatever size each of them is asked for. */
export interface PieceCutter {
  /** Bytes of content up to the end of the range that is being cut. */
  readonly rangeRest: number
  /** A piece of at most chunkBytes; undefined behind the last. At least one comes, if only an empty one. */
  next(chunkBytes: number): Piece | undefined
}

/** With a boundary each range becomes a part of multipart/byteranges. */
export function cutPieces(
  ranges: readonly ByteRange[],
  multipart: { boundary: string; contentType: string; size: number } | undefined,
): PieceCutter {
  let index = 0
  let range = ranges[0] ?? NO_BYTES
  let position = range.start
  let isOver = false
  return {
    get rangeRest() {
      return isOver ? 0 : range.end + 1 - position
    },
    next(chunkBytes) {
      if (isOver) return undefined
      const { start, end } = range
      const length = Math.min(chunkBytes, end + 1 - position)
      const following = position + length > end ? ranges[index + 1] : range
      const piece = {
        before: multipart !== undefined && position === start ? partHead(multipart, index, start, end) : '',
        position,
        length,
        after: multipart !== undefined && following === undefined ? `\r\n--${multipart.boundary}--\r\n` : '',
        isLast: following === undefined,
      }
      if (following === undefined) isOver = true
      else if (following === range) position += length
      else {
        index += 1
        range = following
        position = range.start
      }
      return piece
    },
  }
}

const NO_BYTES: ByteRange = { start: 0, end: -1 }

function partHead(
  multipart: { boundary: string; contentType: string; size: number },
  index: number,
  start: number,
  end: number,
): string {
  const delimiter = `${index === 0 ? '' : '\r\n'}--${multipart.boundary}\r\n`
  const type = `Content-Type: ${multipart.contentType}\r\n`
  return `${delimiter}${type}Content-Range: bytes ${start}-${end}/${multipart.size}\r\n\r\n`
}
