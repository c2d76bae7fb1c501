import { Failure } from './failures.js'

/**
 * Which bytes of an upload a body holds. First and last are undefined for `*`, the total where it is
 * not known yet. A first that is one past the last means an empty body at that place.
 */
export type ContentRange = {
  first: number | undefined
  last: number | undefined
  total: number | undefined
}

const FORM = /^bytes[ \t]+(?:(\d+)-(\d+)|\*)\/(?:(\d+)|\*)$/i

/** Undefined when the header is absent. Whether the range fits the upload is for others to say. */
export function parseContentRange(values: string | string[] | undefined): ContentRange | undefined {
  if (values === undefined) return undefined
  const lines = Array.isArray(values) ? values : [values]
  const line = lines[0]
  if (line === undefined) return undefined
  if (lines.length > 1) throw new Failure('badArgs', 'Content-Range must be sent once')
  const match = FORM.exec(line.trim())
  if (match === null) {
    throw new Failure('badArgs', 'Content-Range must have the form "bytes <first>-<last>/<total>"')
  }
  const first = parseNumber(match[1])
  const last = parseNumber(match[2])
  const total = parseNumber(match[3])
  if (first !== undefined && last !== undefined && first > last + 1) {
    throw new Failure('badArgs', 'Content-Range begins after its end')
  }
  if (last !== undefined && total !== undefined && last + 1 > total) {
    throw new Failure('badArgs', 'Content-Range ends after its total')
  }
  return { first, last, total }
}

/** No content comes near the largest number that is exact here, so a larger one is a mistake. */
function parseNumber(digits: string | undefined): number | undefined {
  if (digits === undefined) return undefined
  const value = Number(digits)
  if (value > Number.MAX_SAFE_INTEGER) throw new Failure('badArgs', 'Content-Range holds a number too large')
  return value
}
