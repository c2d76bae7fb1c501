/** Both ends are included and lie within the content. */
export type ByteRange = { start: number; end: number }

/** With `none` everything is sent, as if no range had been asked for. */
export type RangeRequest =
  { kind: 'none' } | { kind: 'unsatisfiable' } | { kind: 'ranges'; ranges: ByteRange[] }

/** More parts than this cost the server more than the whole content does. */
export const RANGES_MAX = 64

const UNIT = /^bytes=/i
const SPAN = /^(\d+)-(\d*)$/
const SUFFIX = /^-(\d+)$/

/** Reads a Range header for content of a size. The ranges come merged and ascending. */
export function parseRange(header: string | undefined, size: number): RangeRequest {
  if (header === undefined || !UNIT.test(header)) return { kind: 'none' }
  const elements = header
    .slice('bytes='.length)
    .split(',')
    .map((element) => element.trim())
    .filter((element) => element !== '')
  if (elements.length === 0) return { kind: 'none' }
  const found: ByteRange[] = []
  for (const element of elements) {
    const range = parseElement(element, size)
    if (range === undefined) return { kind: 'none' }
    // A valid range that touches no byte of the content does not count.
    if (range.start <= range.end) found.push(range)
  }
  if (found.length === 0) return { kind: 'unsatisfiable' }
  const ranges = merge(found)
  return ranges.length > RANGES_MAX ? { kind: 'none' } : { kind: 'ranges', ranges }
}

/** Undefined when invalid; a start after the end when no byte of the content is meant. */
function parseElement(element: string, size: number): ByteRange | undefined {
  const suffix = SUFFIX.exec(element)?.[1]
  if (suffix !== undefined) return { start: size - Math.min(Number(suffix), size), end: size - 1 }
  const span = SPAN.exec(element)
  const first = span?.[1]
  const last = span?.[2]
  if (first === undefined || last === undefined) return undefined
  if (last === '') return { start: Number(first), end: size - 1 }
  if (isGreater(first, last)) return undefined
  return { start: Number(first), end: Math.min(Number(last), size - 1) }
}

/** Compares decimal digits of any length, where numbers would lose the last of them. */
function isGreater(a: string, b: string): boolean {
  const left = a.replace(/^0+/, '')
  const right = b.replace(/^0+/, '')
  return left.length === right.length ? left > right : left.length > right.length
}

/** Overlapping and adjacent ranges become one. */
function merge(ranges: ByteRange[]): ByteRange[] {
  const merged: ByteRange[] = []
  for (const range of ranges.toSorted((a, b) => a.start - b.start)) {
    const previous = merged.at(-1)
    if (previous !== undefined && range.start <= previous.end + 1) {
      previous.end = Math.max(previous.end, range.end)
    } else {
      merged.push({ ...range })
    }
  }
  return merged
}
