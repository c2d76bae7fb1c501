import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { BLOCK_BYTES, contentHasher, hashOf } from '../../src/blob/hashing.js'
import { BroughtToAnEnd, openReplica } from '../../src/blob/replica.js'
import { BlobCorrupt, BlobMissing, type BlobReader } from '../../src/blob/store.js'
import { verifiedReader } from '../../src/blob/verified-reader.js'
import { bytesOf } from '../api/content/support.js'
import { temporaryDirectories } from './temporary.js'

const directory = temporaryDirectories()

const never = (): boolean => false

function readerOf(content: Buffer): BlobReader & { closed: number; reads: number } {
  return {
    size: content.length,
    closed: 0,
    reads: 0,
    read(buffer, position, length) {
      this.reads += 1
      return Promise.resolve(content.copy(buffer, 0, position, position + length))
    },
    close() {
      this.closed += 1
      return Promise.resolve()
    },
  }
}

function blocksOf(content: Buffer): Buffer {
  const hasher = contentHasher()
  hasher.update(content)
  return Buffer.concat(hasher.blocks)
}

async function readAll(reader: BlobReader, from = 0, step = 100_000): Promise<Buffer> {
  const pieces: Buffer[] = []
  for (let at = from; at < reader.size;) {
    const buffer = Buffer.alloc(step)
    const count = await reader.read(buffer, at, step)
    if (count === 0) break
    pieces.push(buffer.subarray(0, count))
    at += count
  }
  return Buffer.concat(pieces)
}

describe('a local copy', () => {
  it('is brought, verified and found again', async () => {
    const folder = await directory()
    const replica = await openReplica(folder)
    for (const size of [1, 100_000, BLOCK_BYTES, 2 * BLOCK_BYTES + 5]) {
      const content = bytesOf(size, size)
      const hash = hashOf(content)
      const copy = await replica.bring(readerOf(content), { hash, size }, never)
      expect(copy.blocks.equals(blocksOf(content))).toBe(true)
      const reader = await (await openReplica(folder)).open(copy.place)
      expect((await readAll(reader)).equals(content)).toBe(true)
      await reader.close()
      await replica.remove(copy.place)
      await expect(replica.open(copy.place)).rejects.toThrow(BlobMissing)
    }
    expect(await readdir(join(folder, 'incoming'))).toEqual([])
  })

  it('is not made of other bytes, of too few, or of a transfer that was ended', async () => {
    const folder = await directory()
    const replica = await openReplica(folder)
    const content = bytesOf(300_000, 1)
    const hash = hashOf(content)
    const size = content.length
    const other = readerOf(bytesOf(size, 2))
    await expect(replica.bring(other, { hash, size }, never)).rejects.toThrow(BlobCorrupt)
    const short = readerOf(content.subarray(1))
    await expect(replica.bring(short, { hash, size }, never)).rejects.toThrow(BlobCorrupt)
    await expect(replica.bring(readerOf(content), { hash, size }, () => true)).rejects.toThrow(BroughtToAnEnd)
    for await (const { place } of replica.list()) expect.unreachable(place)
    expect(await readdir(join(folder, 'incoming'))).toEqual([])
  })

  it('of what was staged is kept on the same disk and on another', async () => {
    const elsewhere = await mkdtemp('/dev/shm/starling-staged-')
    onTestFinished(() => rm(elsewhere, { recursive: true, force: true }))
    const folder = await directory()
    const replica = await openReplica(folder)
    const content = bytesOf(100_000, 3)
    for (const from of [await directory(), elsewhere]) {
      const staged = join(from, 'staged')
      await writeFile(staged, content)
      const place = await replica.keep(staged, hashOf(content), content.length)
      const reader = await replica.open(place)
      expect((await readAll(reader)).equals(content)).toBe(true)
      await reader.close()
      expect((await readFile(staged)).equals(content)).toBe(true)
    }
    expect(await readdir(join(folder, 'incoming'))).toEqual([])
  })

  it('belongs to one node, and what was on its way when the node died is removed', async () => {
    const folder = join(await directory(), 'new')
    await mkdir(folder)
    const replica = await openReplica(folder)
    expect(await replica.claim('one')).toBe('new')
    await writeFile(join(folder, 'incoming', 'ab'.repeat(16)), 'half')
    expect(await replica.claim('one')).toBe('known')
    expect(await readdir(join(folder, 'incoming'))).toEqual([])
    await expect(replica.claim('another')).rejects.toThrow(/another node/)
  })
})

describe('a reader that verifies', () => {
  const content = bytesOf(2 * BLOCK_BYTES + 1000, 4)
  const facts = { hash: hashOf(content), size: content.length, blocks: blocksOf(content) }
  const noFallBack = (): Promise<BlobReader> => Promise.reject(new Error('nothing was wrong'))

  it('hands out what is right, in any order', async () => {
    const reader = verifiedReader(readerOf(content), facts, noFallBack)
    expect((await readAll(reader, 2 * BLOCK_BYTES - 7)).equals(content.subarray(2 * BLOCK_BYTES - 7))).toBe(
      true,
    )
    expect((await readAll(reader)).equals(content)).toBe(true)
    expect(await reader.read(Buffer.alloc(10), content.length, 10)).toBe(0)
    await reader.close()
    const even = content.subarray(0, 2 * BLOCK_BYTES)
    const full = { hash: hashOf(even), size: even.length, blocks: blocksOf(even) }
    expect((await readAll(verifiedReader(readerOf(even), full, noFallBack))).equals(even)).toBe(true)
  })

  it.each([0, BLOCK_BYTES - 1, BLOCK_BYTES, 2 * BLOCK_BYTES, content.length - 1])(
    'goes on with another copy from the block on in which byte %i is wrong',
    async (at) => {
      const wrong = Buffer.from(content)
      wrong[at] = (wrong[at] ?? 0) ^ 1
      const local = readerOf(wrong)
      const other = readerOf(content)
      const reasons: unknown[] = []
      const reader = verifiedReader(local, facts, (reason) => {
        reasons.push(reason)
        return Promise.resolve(other)
      })
      expect((await readAll(reader)).equals(content)).toBe(true)
      expect(reasons).toHaveLength(1)
      await reader.close()
      expect([local.closed, other.closed]).toEqual([1, 1])
    },
  )

  it('does not trust hashes that do not make the name', async () => {
    const wrong = bytesOf(content.length, 5)
    let fallBacks = 0
    const reader = verifiedReader(readerOf(wrong), { ...facts, blocks: blocksOf(wrong) }, () => {
      fallBacks += 1
      return Promise.resolve(readerOf(content))
    })
    const buffer = Buffer.alloc(100)
    await reader.read(buffer, content.length - 100, 100)
    expect(buffer.equals(content.subarray(-100))).toBe(true)
    expect(fallBacks).toBe(1)
  })

  it('fails when there is no other copy', async () => {
    const reader = verifiedReader(readerOf(content.subarray(1)), facts, () =>
      Promise.reject(new Error('the store is away')),
    )
    await expect(reader.read(Buffer.alloc(10), content.length - 10, 10)).rejects.toThrow('the store is away')
    await reader.close()
  })
})
