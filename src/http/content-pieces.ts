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
}

/**
 * Cuts the ranges into pieces of at most chunkBytes, in order; at least one piece comes, if only an empty
 * one. With a boundary each range becomes a part of multipart/byteranges.
 */
export function* contentPieces(
  ranges: readonly ByteRange[],
  chunkBytes: number,
  multipart: { boundary: string; contentType: string; size: number } | undefined,
): Generator<Piece, undefined> {
  if (ranges.length === 0) yield { before: '', position: 0, length: 0, after: '' }
  for (const [index, { start, end }] of ranges.entries()) {
    for (let position = start; position <= end; position += chunkBytes) {
      const length = Math.min(chunkBytes, end + 1 - position)
      const isFirst = position === start
      const isLast = index === ranges.length - 1 && position + length > end
      yield {
        before: multipart !== undefined && isFirst ? partHead(multipart, index, start, end) : '',
        position,
        length,
        after: multipart !== undefined && isLast ? `\r\n--${multipart.boundary}--\r\n` : '',
      }
    }
  }
  return undefined
}

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
