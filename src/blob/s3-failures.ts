import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '../model/failures.js'

/** The store answered, and said no. */
export class S3Refusal extends Error {
  constructor(
    readonly status: number,
    /** The store's own word; the status where it sent none. */
    readonly code: string,
    message: string,
  ) {
    super(`the content store answered ${status} ${code}: ${message}`)
    this.name = 'S3Refusal'
  }
}

/** The store could not be reached, fell silent, or said something that makes no sense. */
export class S3Unreachable extends Error {
  constructor(message: string, cause?: unknown) {
    super(cause instanceof Error ? `${message}: ${cause.message}` : message, { cause })
    this.name = 'S3Unreachable'
  }
}

/** Words of different stores for: there is no more room for you. */
const FULL_CODES = new Set([
  'QuotaExceeded',
  'EntityTooLarge',
  'InsufficientStorage',
  'XMinioStorageFull',
  'XMinioAdminBucketQuotaExceeded',
])
const PASSING_CODES = new Set([
  'SlowDown',
  'RequestTimeout',
  'Throttling',
  'TooManyRequests',
  // The bytes were altered on the way.
  'BadDigest',
  'XAmzContentSHA256Mismatch',
])
const PASSING_STATUSES = new Set([408, 429])
const RETRY_AFTER_SECONDS = '5'

export function isMissing(error: unknown): boolean {
  return error instanceof S3Refusal && error.status === 404 && error.code !== 'NoSuchBucket'
}

export function isFull(error: unknown): boolean {
  return error instanceof S3Refusal && (error.status === 507 || FULL_CODES.has(error.code))
}

/** Whether the same request may well succeed in a moment. */
function isPassing(error: unknown): boolean {
  if (error instanceof S3Unreachable) return true
  if (!(error instanceof S3Refusal) || isFull(error)) return false
  return error.status >= 500 || PASSING_STATUSES.has(error.status) || PASSING_CODES.has(error.code)
}

/**
 * What a client of ours hears of it. A store that refuses our keys or has lost our bucket is as good as away: whoever
 * runs the node must see to it, and the cause is in the log.
 */
export function failureOf(error: unknown): unknown {
  if (isFull(error)) {
    return withCause(
      new Failure('insufficientStorage', 'there is not enough room to store the content'),
      error,
    )
  }
  if (!(error instanceof S3Refusal) && !(error instanceof S3Unreachable)) return error
  const headers = { 'Retry-After': RETRY_AFTER_SECONDS }
  return withCause(
    new Failure('unavailable', 'the content store cannot be reached at the moment', headers),
    error,
  )
}

function withCause(failure: Failure, cause: unknown): Failure {
  failure.cause = cause
  return failure
}

export interface RetryLimits {
  readonly triesMax: number
  /** No try begins after this time. */
  readonly timeMaxMs: number
  readonly delayMs: number
  readonly delayMaxMs: number
}

export const RETRY_LIMITS: RetryLimits = { triesMax: 5, timeMaxMs: 20_000, delayMs: 100, delayMaxMs: 2_000 }

/** Tries again what failed in passing. Waits are random up to a bound that doubles, so that nodes do not come in step. */
export async function retried<T>(limits: RetryLimits, attempt: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + limits.timeMaxMs
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (!isPassing(error) || tries >= limits.triesMax || performance.now() > deadline) throw error
    }
    await delay(Math.random() * Math.min(limits.delayMs * 2 ** tries, limits.delayMaxMs))
  }
}
