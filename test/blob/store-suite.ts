import { randomBytes } from 'node:crypto'
import { stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BLOCK_BYTES, hashOf } from '../../src/blob/hashing.js'
import {
  BlobMissing,
  type BlobReader,
  type BlobStore,
  type BlobTarget,
  type StoredBlob,
} from '../../src/blob/store.js'
import { verifyBlob } from '../../src/blob/verify.js'

const NO_PLACES = [
  '',
  '../../../etc/passwd',
  'a'.repeat(64),
  `${'a'.repeat(64)}.${'b'.repeat(15)}`,
  `${'A'.repeat(64)}.${'b'.repeat(16)}`,
  `${'a'.repeat(64)}.${'b'.repeat(16)}\n`,
  `../${'a'.repeat(61)}.${'b'.repeat(16)}`,
]

/** What every store of blobs must do. `open` gives an empty store, `directory` a folder for staged files. */
export function describeBlobStore(
  kind: string,
  open: () => Promise<BlobStore>,
  directory: () => Promise<string>,
): void {
  async function stage(content: Buffer): Promise<string> {
    const path = join(await directory(), 'staged')
    await writeFile(path, content)
    return path
  }

  async function put(store: BlobStore, content: Buffer): Promise<string> {
    return store.put(await stage(content), hashOf(content), content.length)
  }

  describe(`the ${kind} store`, () => {
    it('gives back what was put, and leaves the staged file until a row names the blob', async () => {
      const store = await open()
      const content = randomBytes(100_000)
      const staged = await stage(content)
      const place = await store.put(staged, hashOf(content), content.length)
      expect(place).toMatch(new RegExp(`^${hashOf(content)}\\.[0-9a-f]{16}$`))
      expect(await readAll(await store.open(place))).toEqual(content)
      expect((await stat(staged)).size).toBe(content.length)
    })

    it('keeps empty content', async () => {
      const store = await open()
      const reader = await store.open(await put(store, Buffer.alloc(0)))
      expect(reader.size).toBe(0)
      expect(await reader.read(Buffer.alloc(10), 0, 10)).toBe(0)
      await reader.close()
    })

    it('reads any range, and stops at the end', async () => {
      const store = await open()
      const content = randomBytes(3000)
      const reader = await store.open(await put(store, content))
      const buffer = Buffer.alloc(4096)
      expect(await reader.read(buffer, 1000, 500)).toBe(500)
      expect(buffer.subarray(0, 500)).toEqual(content.subarray(1000, 1500))
      expect(buffer.subarray(500).every((byte) => byte === 0)).toBe(true)
      expect(await reader.read(buffer, 2900, 4096)).toBe(100)
      expect(buffer.subarray(0, 100)).toEqual(content.subarray(2900))
      expect(await reader.read(buffer, 3000, 1)).toBe(0)
      await reader.close()
    })

    it('gives the same content a new place each time, so that removing one keeps the other', async () => {
      const store = await open()
      const content = randomBytes(1000)
      const places = await Promise.all([put(store, content), put(store, content), put(store, content)])
      expect(new Set(places).size).toBe(3)
      await store.remove(places[0])
      await expect(store.open(places[0])).rejects.toThrow(BlobMissing)
      expect(await readAll(await store.open(places[1]))).toEqual(content)
      expect(await readAll(await store.open(places[2]))).toEqual(content)
    })

    it('says that a blob is missing [DOWN-10]', async () => {
      const store = await open()
      await expect(store.open(`${'a'.repeat(64)}.${'b'.repeat(16)}`)).rejects.toThrow(BlobMissing)
      const place = await put(store, Buffer.from('x'))
      await store.remove(place)
      await expect(store.open(place)).rejects.toThrow(BlobMissing)
    })

    it('removes what is not there without complaint', async () => {
      const store = await open()
      const place = await put(store, Buffer.from('x'))
      await store.remove(place)
      await store.remove(place)
    })

    it('lists places, sizes and the time of the put, however old the bytes are', async () => {
      const store = await open()
      expect(await listAll(store)).toEqual([])
      const staged = await stage(Buffer.from('12345'))
      await utimes(staged, 1000, 1000)
      const before = Date.now()
      const first = await store.put(staged, hashOf(Buffer.from('12345')), 5)
      const second = await put(store, randomBytes(70_000))
      const listed = await listAll(store)
      expect(new Map(listed.map(({ place, size }) => [place, size]))).toEqual(
        new Map([
          [first, 5],
          [second, 70_000],
        ]),
      )
      // Object stores keep whole seconds.
      for (const { modifiedMs } of listed) expect(Math.abs(modifiedMs - before)).toBeLessThan(10_000)
      await store.remove(first)
      expect((await listAll(store)).map(({ place }) => place)).toEqual([second])
    })

    it('takes nothing but a place for a place', async () => {
      const store = await open()
      for (const text of NO_PLACES) {
        await expect(store.open(text)).rejects.toThrow('Not the place of a blob')
        await expect(store.remove(text)).rejects.toThrow('Not the place of a blob')
      }
      const staged = await stage(Buffer.from('x'))
      await expect(store.put(staged, '../../x', 1)).rejects.toThrow('Not the hash of content')
      expect((await stat(staged)).size).toBe(1)
    })

    it('refuses a staged file of another size than was said, and leaves it', async () => {
      const store = await open()
      const content = Buffer.from('four')
      const staged = await stage(content)
      await expect(store.put(staged, hashOf(content), 5)).rejects.toThrow('4 bytes where 5')
      expect((await stat(staged)).size).toBe(4)
      expect(await listAll(store)).toEqual([])
    })

    it('serves many readers of one blob at once, each at its own pace', async () => {
      const store = await open()
      const content = randomBytes(600_000)
      const place = await put(store, content)
      const readers = await Promise.all(Array.from({ length: 8 }, () => store.open(place)))
      const pieces = Array.from({ length: 6 }, (_, index) => index * 100_000)
      for (const position of pieces) {
        await Promise.all(
          readers.map(async (reader) => {
            const buffer = Buffer.alloc(100_000)
            expect(await reader.read(buffer, position, 100_000)).toBe(100_000)
            expect(buffer.equals(content.subarray(position, position + 100_000))).toBe(true)
          }),
        )
      }
      await Promise.all(readers.map((reader) => reader.close()))
    })

    it('reads backwards and across, as several ranges ask for', async () => {
      const store = await open()
      const content = randomBytes(300_000)
      const reader = await store.open(await put(store, content))
      const buffer = Buffer.alloc(1000)
      for (const position of [299_000, 0, 1000, 2000, 150_000, 151_000, 5, 298_999]) {
        expect(await reader.read(buffer, position, 1000)).toBe(1000)
        expect(buffer.equals(content.subarray(position, position + 1000))).toBe(true)
      }
      await reader.close()
    })

    it('is told at the start of a server, and has nothing unfinished when all went well', async () => {
      const store = await open()
      await store.probe()
      const place = await put(store, randomBytes(1000))
      expect(await store.endUnfinished(Date.now() + 1000 * 24 * 60 * 60 * 1000)).toBe(0)
      expect((await listAll(store)).map((blob) => blob.place)).toEqual([place])
    })

    it('lets a reader be closed twice, and refuses to read afterwards', async () => {
      const store = await open()
      const reader = await store.open(await put(store, randomBytes(1000)))
      const reading = reader.read(Buffer.alloc(1000), 0, 1000)
      await Promise.all([reader.close(), reader.close()])
      expect(await reading).toBe(1000)
      await expect(reader.read(Buffer.alloc(1), 0, 1)).rejects.toThrow('closed')
    })

    it('verifies content against its length and hash', async () => {
      const store = await open()
      const content = randomBytes(BLOCK_BYTES + 12_345)
      const reader = await store.open(await put(store, content))
      expect(await verifyBlob(reader, hashOf(content), content.length)).toBe('ok')
      expect(await verifyBlob(reader, hashOf(content), content.length - 1)).toBe('wrong length')
      expect(await verifyBlob(reader, hashOf(Buffer.from('y')), content.length)).toBe('wrong hash')
      await reader.close()
    })
  })
}

export async function readAll(reader: BlobReader): Promise<Buffer> {
  const buffer = Buffer.alloc(reader.size)
  expect(await reader.read(buffer, 0, reader.size)).toBe(reader.size)
  await reader.close()
  return buffer
}

export async function listAll(store: BlobStore): Promise<StoredBlob[]> {
  const blobs: StoredBlob[] = []
  for await (const blob of store.list()) blobs.push(blob)
  return blobs
}

/** What a store must do besides that takes blobs over from another one. */
export function describeBlobTarget(
  kind: string,
  open: () => Promise<BlobTarget>,
  directory: () => Promise<string>,
): void {
  describe(`the ${kind} store as a target`, () => {
    const content = randomBytes(100_000)
    const place = `${hashOf(content)}.${'b'.repeat(16)}`

    async function stage(bytes: Buffer): Promise<string> {
      const path = join(await directory(), 'staged')
      await writeFile(path, bytes)
      return path
    }

    it('takes a blob at the place that it has elsewhere', async () => {
      const store = await open()
      await store.putAt(place, await stage(content), content.length)
      expect(await readAll(await store.open(place))).toEqual(content)
      expect((await listAll(store)).map((blob) => blob.place)).toEqual([place])
    })

    it('refuses another length, and what is not a place', async () => {
      const store = await open()
      const staged = await stage(content)
      await expect(store.putAt(place, staged, content.length + 1)).rejects.toThrow('bytes')
      for (const wrong of NO_PLACES)
        await expect(store.putAt(wrong, staged, content.length)).rejects.toThrow('Not the place of a blob')
      expect(await listAll(store)).toEqual([])
    })
  })
}
