import { createHash } from 'node:crypto'
import type { OpenFile } from './file.js'
import { contentHasher, type ContentHasher } from './hashing.js'
import { isMissing, retried, S3Refusal, S3Unreachable, type RetryLimits } from './s3-failures.js'
import type { FileSlice, S3Wire } from './s3-wire.js'
import { escaped, valueOf } from './s3-xml.js'

/** Larger content goes in parts of this size: what has to be sent again after a failure is one of them. */
export const PART_BYTES = 32 * 1024 * 1024
const PARTS_MAX = 10_000
const PARTS_AT_ONCE = 4
/** The store may think for long about a whole made of thousands of parts; most send blanks meanwhile. */
const COMPLETE_SILENCE_MAX_MS = 5 * 60 * 1000
const READ_BYTES = 256 * 1024

/**
 * A put in parts takes no longer than this, or it fails: the store may date the object from the beginning of the put,
 * and nobody may take for a leftover what is still on its way to its row.
 */
export const PUT_MAX_MS = 12 * 60 * 60 * 1000

export interface Putting {
  readonly wire: S3Wire
  readonly limits: RetryLimits
  readonly partBytes: number
  /** Something failed that nobody waits for. */
  readonly complain: (message: string, error: unknown) => void
}

/**
 * Sends a file. Each piece is read twice: once for its hash, by which the store refuses what was altered on the way,
 * and once to be sent. All that was hashed must be the content that is to be put, so the chain has no gap.
 */
export async function putFile(
  putting: Putting,
  key: string,
  content: { file: OpenFile; size: number; hash: string },
): Promise<void> {
  const whole = contentHasher()
  const checkWhole = (): void => {
    if (whole.digest() !== content.hash) throw new Error('A staged file is not the content that it should be')
  }
  if (content.size <= putting.partBytes) {
    const slice = await sliceOf(content.file, 0, content.size, whole)
    checkWhole()
    await retried(putting.limits, () => putting.wire.ask({ method: 'PUT', key, body: slice }))
  } else await putInParts(putting, key, content, whole, checkWhole)
}

async function putInParts(
  putting: Putting,
  key: string,
  content: { file: OpenFile; size: number },
  whole: ContentHasher,
  checkWhole: () => void,
): Promise<void> {
  const { wire, limits } = putting
  const startedMs = Date.now()
  const begun = await retried(limits, () => wire.ask({ method: 'POST', key, query: { uploads: '' } }))
  const uploadId = valueOf(begun.text, 'UploadId')
  if (uploadId === undefined) throw new S3Unreachable('the content store gave no name to an upload in parts')
  try {
    const tags = await sendParts(putting, key, uploadId, content, whole)
    checkWhole()
    if (Date.now() - startedMs > PUT_MAX_MS) throw new S3Unreachable('sending the content took too long')
    await complete(putting, key, uploadId, tags, content.size)
  } catch (error) {
    await abortUpload(wire, key, uploadId).catch((cause: unknown) =>
      putting.complain('an upload in parts could not be aborted', cause),
    )
    throw error
  }
}

/** Hashes the parts in order and sends a few of them at once. Resolves to their tags. */
async function sendParts(
  { wire, limits, partBytes }: Putting,
  key: string,
  uploadId: string,
  { file, size }: { file: OpenFile; size: number },
  whole: ContentHasher,
): Promise<string[]> {
  const length = Math.max(partBytes, Math.ceil(size / PARTS_MAX))
  const tags: string[] = []
  const underWay = new Set<Promise<void>>()
  let failed: { error: unknown } | undefined
  for (let position = 0; position < size && failed === undefined; position += length) {
    const index = tags.push('') - 1
    const slice = await sliceOf(file, position, Math.min(length, size - position), whole)
    const query = { partNumber: String(index + 1), uploadId }
    const sending = retried(limits, () => wire.ask({ method: 'PUT', key, query, body: slice })).then(
      ({ headers }) => void (tags[index] = headers.etag ?? ''),
      (error: unknown) => void (failed ??= { error }),
    )
    const sent = sending.finally(() => underWay.delete(sent))
    underWay.add(sent)
    if (underWay.size >= PARTS_AT_ONCE) await Promise.race(underWay)
  }
  await Promise.all(underWay)
  if (failed !== undefined) throw failed.error
  return tags
}

/** A completion whose answer was lost has happened all the same; then the whole object is there. */
async function complete(
  { wire, limits }: Putting,
  key: string,
  uploadId: string,
  tags: readonly string[],
  size: number,
): Promise<void> {
  const parts = tags.map(
    (tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`,
  )
  const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
  let refused: Error | undefined
  try {
    await retried(limits, async () => {
      const silenceMaxMs = COMPLETE_SILENCE_MAX_MS
      const { text } = await wire.ask({ method: 'POST', key, query: { uploadId }, body, silenceMaxMs })
      // The head of the answer may have been sent before the store knew that it would fail.
      const code = valueOf(text, 'Code')
      if (code !== undefined) throw new S3Refusal(500, code, valueOf(text, 'Message') ?? '')
    })
  } catch (error) {
    refused = error instanceof Error ? error : new Error(String(error))
  }
  const found = await sizeOf(wire, limits, key)
  if (found === size) return
  throw refused ?? new S3Unreachable(`the content store made ${String(found)} bytes of ${size}`)
}

/** Undefined when there is no such object. */
export async function sizeOf(wire: S3Wire, limits: RetryLimits, key: string): Promise<number | undefined> {
  try {
    const { headers } = await retried(limits, () => wire.ask({ method: 'HEAD', key }))
    const size = Number(headers['content-length'])
    if (!Number.isSafeInteger(size)) throw new S3Unreachable('the content store told no length')
    return size
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

export async function abortUpload(wire: S3Wire, key: string, uploadId: string): Promise<void> {
  try {
    await wire.ask({ method: 'DELETE', key, query: { uploadId } })
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

async function sliceOf(
  file: OpenFile,
  position: number,
  length: number,
  whole: ContentHasher,
): Promise<FileSlice> {
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafeSlow(Math.max(1, Math.min(READ_BYTES, length)))
  for (let at = 0; at < length;) {
    const count = await file.read(buffer, position + at, Math.min(buffer.length, length - at))
    if (count === 0) throw new Error('A staged file ended before its size')
    const piece = buffer.subarray(0, count)
    hash.update(piece)
    whole.update(piece)
    at += count
  }
  return { file, position, length, hash: hash.digest('hex') }
}
