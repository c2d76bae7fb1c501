/**
 * Statements about many rows at once. A statement of every length would push others out of the prepared ones, so lists
 * are cut into pieces of a few lengths.
 */
const LENGTHS = [100, 10, 1] as const

export function* pieces<T>(items: readonly T[]): Generator<readonly T[]> {
  let at = 0
  for (const length of LENGTHS) {
    for (; items.length - at >= length; at += length) yield items.slice(at, at + length)
  }
}

/** Such as `($2, $3), ($4, $5)` for two rows of two values that begin with the second. */
export function rowMarks(rows: number, width: number, first = 1): string {
  return Array.from({ length: rows }, (_, row) => `(${marks(width, first + row * width)})`).join(', ')
}

/** Such as `$2, $3`. */
export function marks(count: number, first = 1): string {
  return Array.from({ length: count }, (_, index) => `$${first + index}`).join(', ')
}
