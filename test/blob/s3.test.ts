import { randomBytes } from 'node:crypto'
import { open as openPath, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { contentHasher, hashOf } from '../../src/blob/hashing.js'
import { parseS3Address } from '../../src/blob/s3-address.js'
import { RETRY_LIMITS } from '../../src/blob/s3-failures.js'
import { PUT_MAX_MS } from '../../src/blob/s3-put.js'
import { openS3Store, type S3Options } from '../../src/blob/s3.js'
import { BlobCorrupt, BlobMissing, type BlobStore, type BlobTarget } from '../../src/blob/store.js'
import { verifyBlob } from '../../src/blob/verify.js'
import { startMiddleman, type Middleman } from '../support/middleman.js'
import { onlooker, type Onlooker } from '../support/s3-client.js'
import { startSwift, type Swift } from '../support/swift.js'
import { describeBlobStore, describeBlobTarget, listAll, readAll } from './store-suite.js'
import { temporaryDirectories } from './temporary.js'

const MIB = 1024 * 1024
const PART_BYTES = 5 * MIB
const OWNER = 'a'.repeat(32)
const UNREACHED = { kind: 'unavailable', headers: { 'Retry-After': '5' } }

let swift: Swift
let eyes: Onlooker
beforeAll(async () => {
  swift = await startSwift()
  eyes = onlooker(swift)
})
afterAll(() => swift.stop())

const directory = temporaryDirectories()

async function newBucket(): Promise<string> {
  const bucket = swift.bucketName()
  await eyes.createBucket(bucket)
  return bucket
}

function storeIn(
  bucket: string,
  more: Partial<S3Options> & { port?: number; prefix?: string } = {},
): BlobTarget {
  const { port, prefix = '', ...options } = more
  const endpoint = port === undefined ? swift.endpoint : `http://127.0.0.1:${port}`
  return openS3Store({
    address: parseS3Address(`s3://${bucket}/${prefix}?endpoint=${endpoint}&region=${swift.region}`),
    credentials: () =>
      Promise.resolve({ accessKey: swift.accessKey, secretKey: swift.secretKey, sessionToken: undefined }),
    owner: OWNER,
    complain: () => undefined,
    partBytes: PART_BYTES,
    ...options,
  })
}

async function stage(content: Buffer): Promise<string> {
  const path = join(await directory(), 'staged')
  await writeFile(path, content)
  return path
}

async function put(store: BlobStore, content: Buffer): Promise<string> {
  return store.put(await stage(content), hashOf(content), content.length)
}

async function middleman(): Promise<Middleman> {
  const made = await startMiddleman({ host: '127.0.0.1', port: Number(new URL(swift.endpoint).port) })
  onTestFinished(() => made.stop())
  return made
}

describeBlobStore('S3', async () => storeIn(await newBucket()), directory)
describeBlobTarget('S3', async () => storeIn(await newBucket()), directory)

describe('content in an S3 store', () => {
  it('goes in parts when it is large, and is whole and alone afterwards', async () => {
    const bucket = await newBucket()
    const store = storeIn(bucket)
    const content = randomBytes(3 * PART_BYTES + 12_345)
    const place = await put(store, content)
    expect((await readAll(await store.open(place))).equals(content)).toBe(true)
    const reader = await store.open(place)
    expect(await verifyBlob(reader, hashOf(content), content.length)).toBe('ok')
    await reader.close()
    expect(await eyes.keys(bucket)).toEqual([`blobs/${place}`, 'owner'])
    expect(await eyes.uploads(bucket)).toEqual([])
    const [listed] = await listAll(store)
    expect(listed).toMatchObject({ place, size: content.length })
    await store.remove(place)
    expect(await eyes.keys(bucket)).toEqual(['owner'])
  })

  it('lies under the prefix of its setting', async () => {
    const bucket = await newBucket()
    const first = storeIn(bucket, { prefix: 'one/two' })
    const second = storeIn(bucket, { prefix: 'three', owner: 'b'.repeat(32) })
    const place = await put(first, Buffer.from('x'))
    await put(second, Buffer.from('y'))
    expect((await listAll(first)).map((blob) => blob.place)).toEqual([place])
    expect(await eyes.keys(bucket)).toContain(`one/two/blobs/${place}`)
  })

  it('is listed page by page to the end', async () => {
    const bucket = await newBucket()
    const store = storeIn(bucket, { listKeysMax: 2 })
    const places = await Promise.all(Array.from({ length: 7 }, () => put(store, randomBytes(100))))
    expect((await listAll(store)).map((blob) => blob.place).sort()).toEqual(places.sort())
  })

  it('is refused when the staged file is not what it should be', async () => {
    const bucket = await newBucket()
    const store = storeIn(bucket)
    for (const size of [1000, 2 * PART_BYTES]) {
      const staged = await stage(randomBytes(size))
      await expect(store.put(staged, hashOf(Buffer.from('other')), size)).rejects.toThrow('not the content')
    }
    expect(await listAll(store)).toEqual([])
    expect(await eyes.uploads(bucket)).toEqual([])
  })

  it('that was changed in the store is noticed before its last bytes are out', async () => {
    const bucket = await newBucket()
    const store = storeIn(bucket)
    const content = randomBytes(300_000)
    const place = await put(store, content)
    const changed = Buffer.from(content)
    changed.writeUInt8(changed.readUInt8(150_000) ^ 1, 150_000)
    await eyes.put(bucket, `blobs/${place}`, changed)
    const reader = await store.open(place)
    const buffer = Buffer.alloc(100_000)
    expect(await reader.read(buffer, 0, 100_000)).toBe(100_000)
    expect(await reader.read(buffer, 100_000, 100_000)).toBe(100_000)
    await expect(reader.read(buffer, 200_000, 100_000)).rejects.toThrow(BlobCorrupt)
    const again = await store.open(place)
    expect(await verifyBlob(again, hashOf(content), content.length)).toBe('wrong hash')
  })

  it('that is removed while it is read is missing from then on, or read to its end', async () => {
    const bucket = await newBucket()
    const store = storeIn(bucket)
    const content = randomBytes(20 * MIB)
    const place = await put(store, content)
    const reader = await store.open(place)
    const buffer = Buffer.alloc(MIB)
    await reader.read(buffer, 0, MIB)
    await store.remove(place)
    await expect(reader.read(buffer, 10 * MIB, MIB)).rejects.toThrow(BlobMissing)
    await reader.close()
  })
})

describe('an S3 store in trouble', () => {
  it('that is away is told so, and goes on where it was when it is back', { timeout: 120_000 }, async () => {
    const bucket = await newBucket()
    const store = storeIn(bucket)
    const content = randomBytes(20 * MIB)
    const place = await put(store, content)
    const reader = await store.open(place)
    const read = Buffer.alloc(content.length)
    await reader.read(read, 0, MIB)
    await reader.read(read.subarray(MIB), MIB, MIB)
    await swift.shut()
    const staged = await stage(content)
    await expect(store.put(staged, hashOf(content), content.length)).rejects.toMatchObject(UNREACHED)
    await expect(store.open(place)).rejects.toMatchObject(UNREACHED)
    await expect(store.remove(place)).rejects.toMatchObject(UNREACHED)
    await expect(listAll(store)).rejects.toMatchObject(UNREACHED)
    await expect(storeIn(bucket).probe()).rejects.toMatchObject(UNREACHED)
    expect((await stat(staged)).size).toBe(content.length)
    await swift.reopen()
    for (let at = 2 * MIB; at < content.length; at += MIB) await reader.read(read.subarray(at), at, MIB)
    expect(read.equals(content)).toBe(true)
    await reader.close()
    const again = await store.put(staged, hashOf(content), content.length)
    expect((await readAll(await store.open(again))).equals(content)).toBe(true)
  })

  it('that falls silent is given up in time', async () => {
    const limits = { connectMaxMs: 500, silenceMaxMs: 500 }
    const store = storeIn(await newBucket(), {
      wireLimits: limits,
      retryLimits: { ...RETRY_LIMITS, triesMax: 2 },
    })
    const content = randomBytes(70_000)
    const place = await put(store, content)
    await swift.freeze()
    try {
      await expect(put(store, content)).rejects.toMatchObject(UNREACHED)
      await expect(store.open(place)).rejects.toMatchObject(UNREACHED)
    } finally {
      await swift.thaw()
    }
    expect((await readAll(await store.open(place))).equals(content)).toBe(true)
  })

  it('that is full says so with nothing left behind', async () => {
    const bucket = await newBucket()
    const store = storeIn(bucket)
    const small = await put(store, randomBytes(1000))
    await swift.setQuota(bucket, 100_000)
    await expect(put(store, randomBytes(200_000))).rejects.toMatchObject({ kind: 'insufficientStorage' })
    await put(store, randomBytes(2 * PART_BYTES)).catch(() => undefined)
    await swift.setQuota(`${bucket}+segments`, 2 * PART_BYTES)
    await expect(put(store, randomBytes(3 * PART_BYTES))).rejects.toMatchObject({
      kind: 'insufficientStorage',
    })
    expect(await eyes.uploads(bucket)).toEqual([])
    expect((await readAll(await store.open(small))).length).toBe(1000)
  })

  it('whose connections break is asked again, and readers go on at the same byte', async () => {
    const between = await middleman()
    const store = storeIn(await newBucket(), { port: between.port })
    const content = randomBytes(24 * MIB)
    const putting = put(store, content)
    const cutting = setInterval(() => between.cut(), 150)
    await delay(600)
    clearInterval(cutting)
    const place = await putting
    const reader = await store.open(place)
    const read = Buffer.alloc(content.length)
    for (let at = 0; at < content.length; at += MIB) {
      if (at % (6 * MIB) === 0) between.cut()
      expect(await reader.read(read.subarray(at), at, MIB)).toBe(MIB)
    }
    await reader.close()
    expect(read.equals(content)).toBe(true)
  })

  it('refuses bytes that were altered on the way; they are sent again', async () => {
    const between = await middleman()
    const bucket = await newBucket()
    const store = storeIn(bucket, { port: between.port })
    await store.probe()
    const mark = Buffer.from('mark'.repeat(20))
    const content = Buffer.concat([randomBytes(50_000), mark, randomBytes(50_000)])
    let altered = 0
    const alter = (times: number) => (chunk: Buffer) => {
      const at = chunk.indexOf(mark)
      if (at === -1 || altered >= times) return chunk
      altered += 1
      const changed = Buffer.from(chunk)
      changed.writeUInt8(0, at)
      return changed
    }
    between.alter(alter(1))
    const place = await put(store, content)
    expect(altered).toBe(1)
    expect((await readAll(await store.open(place))).equals(content)).toBe(true)
    await store.remove(place)
    between.alter(alter(1000))
    await expect(put(store, content)).rejects.toMatchObject({ kind: 'unavailable' })
    expect(altered).toBe(1 + RETRY_LIMITS.triesMax)
    expect(await listAll(store)).toEqual([])
  })
})

describe('an S3 store of somebody else', () => {
  it('is neither written nor swept', async () => {
    const bucket = await newBucket()
    const ours = storeIn(bucket)
    const place = await put(ours, Buffer.from('ours'))
    const theirs = storeIn(bucket, { owner: 'b'.repeat(32) })
    await expect(theirs.probe()).rejects.toThrow('belongs to another installation')
    await expect(put(theirs, Buffer.from('x'))).rejects.toThrow('belongs to another installation')
    await expect(listAll(theirs)).rejects.toThrow('belongs to another installation')
    await expect(theirs.endUnfinished(Date.now())).rejects.toThrow('belongs to another installation')
    expect((await listAll(ours)).map((blob) => blob.place)).toEqual([place])
  })

  it('that is not there, or does not know our keys, is told at the start', async () => {
    await expect(storeIn('nobody-made-this').probe()).rejects.toThrow('there is no bucket nobody-made-this')
    const stranger = { accessKey: swift.accessKey, secretKey: 'wrong', sessionToken: undefined }
    const refused = storeIn(await newBucket(), { credentials: () => Promise.resolve(stranger) })
    await expect(refused.probe()).rejects.toThrow(/refuses access .* SignatureDoesNotMatch/)
  })
})

describe('what a crash leaves in an S3 store', () => {
  it('is an upload in parts, which ends when it cannot be under way any more', async () => {
    const bucket = await newBucket()
    const store = storeIn(bucket, { listKeysMax: 2 })
    const place = `${'a'.repeat(64)}.${'b'.repeat(16)}`
    await eyes.beginUpload(bucket, `blobs/${place}`)
    await eyes.beginUpload(bucket, `blobs/${'c'.repeat(64)}.${'d'.repeat(16)}`)
    await eyes.beginUpload(bucket, `blobs/${'e'.repeat(64)}.${'f'.repeat(16)}`)
    await eyes.beginUpload(bucket, 'blobs/of-somebody-else')
    expect(await store.endUnfinished(Date.now() + 60_000)).toBe(0)
    expect(await store.endUnfinished(Date.now() + PUT_MAX_MS - 60_000)).toBe(0)
    expect(await eyes.uploads(bucket)).toHaveLength(4)
    expect(await store.endUnfinished(Date.now() + PUT_MAX_MS + 60_000)).toBe(3)
    expect(await eyes.uploads(bucket)).toEqual(['blobs/of-somebody-else'])
  })
})

describe('the memory that an S3 store takes', () => {
  const SIZE = 256 * MIB

  async function stageLarge(): Promise<{ path: string; hash: string }> {
    const path = join(await directory(), 'staged')
    const hasher = contentHasher()
    const file = await openPath(path, 'w')
    const chunk = randomBytes(MIB)
    for (let at = 0; at < SIZE; at += MIB) {
      chunk.writeUInt32BE(at, 0)
      hasher.update(chunk)
      await file.write(chunk)
    }
    await file.close()
    return { path, hash: hasher.digest() }
  }

  it(
    'does not grow with the size, and the store sends no more than is read',
    { timeout: 300_000 },
    async () => {
      const between = await middleman()
      const store = storeIn(await newBucket(), { port: between.port, partBytes: 32 * MIB })
      const { path, hash } = await stageLarge()
      // What is held counts; when garbage is taken away is the affair of each version of Node.
      setFlagsFromString('--expose-gc')
      const collectGarbage = runInNewContext('gc') as () => void
      const held = (): number => {
        collectGarbage()
        return process.memoryUsage().arrayBuffers
      }
      const before = held()
      let most = 0
      const sampling = setInterval(() => (most = Math.max(most, held() - before)), 200)
      onTestFinished(() => clearInterval(sampling))
      const place = await store.put(path, hash, SIZE)
      expect(most).toBeLessThan(64 * MIB)

      const reader = await store.open(place)
      const passed = between.passedBytes
      const buffer = Buffer.alloc(256 * 1024)
      for (let at = 0; at < 40; at += 1) await reader.read(buffer, at * buffer.length, buffer.length)
      await delay(1000)
      expect(between.passedBytes - passed).toBeLessThan(40 * buffer.length + 32 * MIB)
      for (let at = 40; at * buffer.length < SIZE; at += 1) {
        expect(await reader.read(buffer, at * buffer.length, buffer.length)).toBe(buffer.length)
      }
      await reader.close()
      expect(most).toBeLessThan(64 * MIB)
    },
  )
})
