import { Failure } from './failures.js'

export const PAGE_LENGTH = 20

/** What a request wants of a list: 0 elements means all of them; cursors are exclusive. */
export interface PageWish {
  readonly limit: number
  readonly after: string | undefined
  readonly before: string | undefined
}

export interface Page<T> {
  readonly hasMore: boolean
  readonly data: readonly T[]
}

/** Each parameter at most once. A cursor need not exist: it is compared and nothing else. */
export function parsePageWish(values: {
  limit: readonly string[]
  after: readonly string[]
  before: readonly string[]
}): PageWish {
  return {
    limit: limitOf(values.limit),
    after: cursorOf('after', values.after),
    before: cursorOf('before', values.before),
  }
}

function limitOf(values: readonly string[]): number {
  const [text = String(PAGE_LENGTH)] = values
  const limit = Number(text)
  if (values.length > 1 || !/^\d+$/.test(text) || !Number.isSafeInteger(limit)) {
    throw new Failure('badArgs', 'limit must be a whole number of at least 0, and be there once')
  }
  return Math.min(limit, LIMIT_MAX)
}

/** One more than this is still a number that both engines know. */
const LIMIT_MAX = Number.MAX_SAFE_INTEGER - 1

function cursorOf(name: 'after' | 'before', values: readonly string[]): string | undefined {
  if (values.length === 0) return undefined
  const cursor = values[0]?.trim().toLowerCase() ?? ''
  if (values.length > 1 || cursor === '' || cursor.includes('\0')) {
    throw new Failure('badArgs', `${name} must be an e-mail address, and be there once`)
  }
  return cursor
}
