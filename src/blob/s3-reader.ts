import type { IncomingMessage } from 'node:http'
import { contentHasher, type ContentHasher } from './hashing.js'
import { isMissing, retried, S3Unreachable, type RetryLimits } from './s3-failures.js'
import type { S3Wire } from './s3-wire.js'
import { BlobCorrupt, BlobMissing, hashOfPlace, type BlobReader } from './store.js'

/** The first read asks for what it needs and no more; who goes on reading gets streams that grow up to this. */
const WINDOW_BYTES_MIN = 8 * 1024 * 1024
const WINDOW_BYTES_MAX = 256 * 1024 * 1024

/**
 * Reads an object by ranges. While reads follow one another they share a stream, which the store sends no faster than
 * it is read. Who reads from the first byte to the last gets the last ones only if the whole is what its name says.
 */
export function s3Reader(
  wire: S3Wire,
  object: { place: string; key: string; size: number },
  limits: RetryLimits,
  failureOf: (error: unknown) => unknown,
): BlobReader {
  const { place, key, size } = object
  let stream: RangeStream | undefined
  let expected = 0
  let windowBytes = 0
  let whole: ContentHasher | undefined = contentHasher()
  let underWay: Promise<unknown> = Promise.resolve()
  let isClosed = false

  async function open(position: number, length: number): Promise<RangeStream> {
    const isContinued = position === expected && position > 0
    windowBytes = isContinued ? Math.min(Math.max(WINDOW_BYTES_MIN, windowBytes * 2), WINDOW_BYTES_MAX) : 0
    const end = Math.min(size, position + Math.max(length, windowBytes))
    const headers = { Range: `bytes=${position}-${end - 1}` }
    const response = await wire.send({ method: 'GET', key, headers })
    if (response.headers['content-range'] !== `bytes ${position}-${end - 1}/${size}`) {
      response.destroy()
      throw new S3Unreachable('the content store sent another range than it was asked for')
    }
    return rangeStream(response, position, end)
  }

  /** One try: at least one byte, or the error that came instead. */
  async function readSome(buffer: Buffer, position: number, length: number): Promise<number> {
    try {
      if (stream === undefined || stream.position !== position) {
        stream?.destroy()
        stream = undefined
        stream = await open(position, length)
      }
      const count = await stream.read(buffer, length)
      expected = position + count
      if (stream.position === stream.end) stream = undefined
      return count
    } catch (error) {
      stream?.destroy()
      stream = undefined
      throw error
    }
  }

  async function readFully(buffer: Buffer, position: number, length: number): Promise<number> {
    const wanted = Math.max(0, Math.min(length, size - position))
    for (let total = 0; total < wanted;) {
      const rest = buffer.subarray(total, wanted)
      total += await retried(limits, () => readSome(rest, position + total, rest.length))
    }
    verify(buffer.subarray(0, wanted), position)
    return wanted
  }

  function verify(bytes: Buffer, position: number): void {
    if (whole === undefined || bytes.length === 0) return
    if (position !== whole.length) return void (whole = undefined)
    whole.update(bytes)
    if (whole.length < size) return
    const isRight = whole.digest() === hashOfPlace(place)
    whole = undefined
    if (!isRight) throw new BlobCorrupt(place)
  }

  return {
    size,
    read(buffer, position, length) {
      if (isClosed) return Promise.reject(new Error('The reader is closed'))
      const reading = underWay.then(() => readFully(buffer, position, length))
      underWay = reading.catch(() => undefined)
      return reading.catch((error: unknown) => {
        throw isMissing(error) ? new BlobMissing(place) : failureOf(error)
      })
    },
    async close() {
      isClosed = true
      await underWay
      stream?.destroy()
      stream = undefined
    },
  }
}

interface RangeStream {
  readonly position: number
  readonly end: number
  /** Resolves to at least one byte. */
  read(buffer: Buffer, length: number): Promise<number>
  destroy(): void
}

function rangeStream(response: IncomingMessage, start: number, end: number): RangeStream {
  const chunks = (response as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  let position = start

  async function next(): Promise<Buffer> {
    try {
      const step = (await chunks.next()) as IteratorResult<Buffer, undefined>
      if (step.done !== true && position + step.value.length <= end) return step.value
    } catch (error) {
      throw new S3Unreachable('the content store broke off', error)
    }
    throw new S3Unreachable('the content store sent another length than it promised')
  }

  return {
    get position() {
      return position
    },
    end,
    async read(buffer, length) {
      while (rest.length === 0) rest = await next()
      const count = rest.copy(buffer, 0, 0, Math.min(length, rest.length))
      rest = rest.subarray(count)
      position += count
      // Only an answer read to its end gives its connection to the next request.
      if (position === end) await chunks.next().catch(() => undefined)
      return count
    },
    destroy: () => void response.destroy(),
  }
}
