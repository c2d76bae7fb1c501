import { Failure } from '../model/failures.js'

/** Raw segments of a path; one trailing slash is tolerated, `//` inside is an empty segment. */
export function splitPath(path: string): string[] {
  const start = path.startsWith('/') ? 1 : 0
  const end = path.length > start && path.endsWith('/') ? path.length - 1 : path.length
  return start >= end ? [] : path.slice(start, end).split('/')
}

/** Decodes one segment once; `%2F` becomes a slash inside the segment and does not split it. */
export function decodeSegment(raw: string): string {
  if (!raw.includes('%')) {
    if (raw.includes('\0')) throw notDecodable()
    return raw
  }
  let text: string
  try {
    text = decodeURIComponent(raw)
  } catch {
    throw notDecodable()
  }
  if (text.includes('\0')) throw notDecodable()
  return text
}

function notDecodable(): Failure {
  return new Failure('badArgs', 'a segment of the path is not valid percent-encoded UTF-8 text')
}
