import { afterEach, describe, expect, it, vi } from 'vitest'
import { failureOf, retried, RETRY_LIMITS, S3Refusal, S3Unreachable } from '../../src/blob/s3-failures.js'

const QUICK = { ...RETRY_LIMITS, delayMs: 0 }

/** How often something is tried that always fails so. */
async function triesOf(error: Error, limits = QUICK): Promise<number> {
  let tries = 0
  const failing = retried(limits, () => {
    tries += 1
    return Promise.reject(error)
  })
  await expect(failing).rejects.toBe(error)
  return tries
}

describe('a request to an S3 store', () => {
  afterEach(() => vi.restoreAllMocks())

  it.each([
    new S3Unreachable('nobody there'),
    new S3Refusal(500, 'InternalError', ''),
    new S3Refusal(503, 'SlowDown', ''),
    new S3Refusal(429, '429', ''),
    new S3Refusal(400, 'RequestTimeout', ''),
    new S3Refusal(400, 'BadDigest', ''),
  ])('that fails in passing is tried again, so many times and no more: $message', async (error) => {
    expect(await triesOf(error)).toBe(RETRY_LIMITS.triesMax)
    expect(failureOf(error)).toMatchObject({ kind: 'unavailable' })
  })

  it.each([
    [new S3Refusal(403, 'AccessDenied', ''), 'unavailable'],
    [new S3Refusal(404, 'NoSuchKey', ''), 'unavailable'],
    [new S3Refusal(507, '507', ''), 'insufficientStorage'],
    [new S3Refusal(413, 'EntityTooLarge', ''), 'insufficientStorage'],
    [new S3Refusal(403, 'QuotaExceeded', ''), 'insufficientStorage'],
    [new S3Refusal(507, 'XMinioStorageFull', ''), 'insufficientStorage'],
  ])('that is refused for good is tried once: %s', async (error, kind) => {
    expect(await triesOf(error)).toBe(1)
    expect(failureOf(error)).toMatchObject({ kind })
  })

  it('is not tried again after its time', async () => {
    expect(await triesOf(new S3Unreachable('late'), { ...QUICK, timeMaxMs: -1 })).toBe(1)
  })

  it('waits by chance before each further try', async () => {
    const chance = vi.spyOn(Math, 'random').mockReturnValue(0)
    expect(await triesOf(new S3Unreachable('nobody there'), RETRY_LIMITS)).toBe(RETRY_LIMITS.triesMax)
    expect(chance).toHaveBeenCalledTimes(RETRY_LIMITS.triesMax - 1)
  })

  it('that succeeds at last has succeeded', async () => {
    let tries = 0
    const answer = await retried(QUICK, () => {
      tries += 1
      return tries < 3 ? Promise.reject(new S3Unreachable('not yet')) : Promise.resolve('done')
    })
    expect([answer, tries]).toEqual(['done', 3])
  })

  it('that fails for a reason of our own is a bug and is told as one', async () => {
    const bug = new Error('a bug')
    expect(await triesOf(bug)).toBe(1)
    expect(failureOf(bug)).toBe(bug)
  })
})
