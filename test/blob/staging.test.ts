import fc from 'fast-check'
import { randomBytes } from 'node:crypto'
import { open, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BLOCK_BYTES, hashOf } from '../../src/blob/hashing.js'
import { openStaging, StagedFileMissing, type Receiver, type StagedPrefix } from '../../src/blob/staging.js'
import { temporaryDirectories } from './temporary.js'

const directory = temporaryDirectories()
const NAME = 'ab'.repeat(16)
const NOTHING: StagedPrefix = { length: 0, blocks: [] }

async function writeAll(receiver: Receiver, chunks: readonly Buffer[]): Promise<void> {
  for (const chunk of chunks) await receiver.write(chunk)
}

async function syncAndClose(receiver: Receiver): Promise<StagedPrefix> {
  await receiver.sync()
  const prefix = { length: receiver.length, blocks: [...receiver.blocks] }
  await receiver.close()
  return prefix
}

async function openDescriptors(): Promise<number> {
  return (await readdir('/proc/self/fd')).length
}

describe('a request as a property', () => {
  const pool = randomBytes(6 * 1024 * 1024)
  const chunkBytes = fc.oneof(
    fc.integer({ min: 0, max: 300 }),
    fc.integer({ min: 8_000, max: 8_400 }),
    fc.integer({ min: 16_000, max: 70_000 }),
    fc.integer({ min: 500_000, max: 2_500_000 }),
    fc.constantFrom(BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1),
  )
  const chunk = fc
    .record({ offset: fc.integer({ min: 0, max: 1_000_000 }), length: chunkBytes })
    .map(({ offset, length }) => pool.subarray(offset, offset + length))
  const request = fc.record({
    startAt: fc.oneof(
      fc.constant(Infinity),
      fc.constantFrom(0, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 2 * BLOCK_BYTES),
      fc.integer({ min: 0, max: 3 * BLOCK_BYTES }),
    ),
    chunks: fc.array(chunk, { maxLength: 8 }),
    end: fc.constantFrom('kept', 'kept', 'kept', 'refused', 'lost'),
  })

  it('gives the same bytes and name as one whole upload, however they are split, resumed and rewound [UP-48]', async () => {
    const staging = await openStaging(await directory())
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 6 }), async (requests) => {
        await staging.remove(NAME)
        await (await staging.receive(NAME)).close()
        let kept = NOTHING
        let content = Buffer.alloc(0)
        for (const { startAt, chunks, end } of requests) {
          const start = Math.min(startAt, kept.length)
          const receiver = await staging.receive(NAME, { length: start, blocks: kept.blocks })
          content = content.subarray(0, start)
          kept = { length: start, blocks: [...receiver.blocks] }
          await writeAll(receiver, chunks)
          if (end === 'kept') {
            kept = await syncAndClose(receiver)
            content = Buffer.concat([content, ...chunks])
          } else if (end === 'refused') {
            await receiver.abandon(start)
            expect((await stat(staging.path(NAME))).size).toBe(start)
          } else {
            await receiver.close()
          }
          expect(kept.length).toBe(content.length)
          expect(kept.blocks).toHaveLength(Math.floor(content.length / BLOCK_BYTES))
        }
        const last = await staging.receive(NAME, kept)
        expect(last.digest()).toBe(hashOf(content))
        await last.close()
        expect((await readFile(staging.path(NAME))).equals(content)).toBe(true)
      }),
      { numRuns: 40 },
    )
  }, 60_000)
})

describe('continuing a staged file', () => {
  it('reads no block but the partial last one', async () => {
    const staging = await openStaging(await directory())
    const content = randomBytes(2 * BLOCK_BYTES + 5000)
    const first = await staging.receive(NAME)
    await writeAll(first, [content.subarray(0, 2 * BLOCK_BYTES + 1000)])
    const kept = await syncAndClose(first)

    const file = await open(staging.path(NAME), 'r+')
    await file.write(Buffer.alloc(2 * BLOCK_BYTES), 0, 2 * BLOCK_BYTES, 0)
    await file.close()

    const second = await staging.receive(NAME, kept)
    await writeAll(second, [content.subarray(2 * BLOCK_BYTES + 1000)])
    expect(second.digest()).toBe(hashOf(content))
    await second.close()
  })

  it('works for a new process that finds what was synced before it [UP-57]', async () => {
    const root = await directory()
    const killed = await (await openStaging(root)).receive(NAME)
    await writeAll(killed, [Buffer.from('acknowledged')])
    await killed.sync()
    const kept = { length: killed.length, blocks: [...killed.blocks] }
    await writeAll(killed, [Buffer.alloc(3_000_000)])

    const receiver = await (await openStaging(root)).receive(NAME, kept)
    await writeAll(receiver, [Buffer.from(' and finished')])
    await receiver.sync()
    expect(receiver.digest()).toBe(hashOf(Buffer.from('acknowledged and finished')))
    await receiver.close()
    await killed.close()
  })

  it('goes on after a sync', async () => {
    const staging = await openStaging(await directory())
    const receiver = await staging.receive(NAME)
    await writeAll(receiver, [Buffer.from('a'), Buffer.from('b')])
    await receiver.sync()
    expect(await readFile(staging.path(NAME), 'utf8')).toBe('ab')
    await writeAll(receiver, [Buffer.from('c'), Buffer.alloc(10_000, 'd'), Buffer.from('e')])
    await receiver.sync()
    expect(receiver.length).toBe(10_004)
    expect(await readFile(staging.path(NAME), 'utf8')).toBe(`abc${'d'.repeat(10_000)}e`)
    await receiver.close()
  })

  it('says so when the file is missing or too short, and loses no descriptor', async () => {
    const staging = await openStaging(await directory())
    const before = await openDescriptors()
    await expect(staging.receive(NAME, { length: 5, blocks: [] })).rejects.toThrow(StagedFileMissing)
    await writeFile(staging.path(NAME), 'abc')
    await expect(staging.receive(NAME, { length: 5, blocks: [] })).rejects.toThrow(StagedFileMissing)
    expect(await readFile(staging.path(NAME), 'utf8')).toBe('abc')
    await truncate(staging.path(NAME), BLOCK_BYTES + 1)
    await expect(staging.receive(NAME, { length: BLOCK_BYTES, blocks: [] })).rejects.toThrow('do not cover')
    expect(await openDescriptors()).toBe(before)
  })

  it('starts anew without a prefix, whatever was there', async () => {
    const staging = await openStaging(await directory())
    await writeFile(staging.path(NAME), 'old bytes')
    const receiver = await staging.receive(NAME, NOTHING)
    await receiver.sync()
    expect((await stat(staging.path(NAME))).size).toBe(0)
    expect(receiver.digest()).toBe(hashOf(Buffer.alloc(0)))
    await receiver.close()
  })
})

describe('the staging folder', () => {
  it('and its files are for our eyes only', async () => {
    const root = join(await directory(), 'staging')
    const staging = await openStaging(root)
    await (await staging.receive(NAME)).close()
    expect((await stat(root)).mode & 0o777).toBe(0o700)
    expect((await stat(staging.path(NAME))).mode & 0o777).toBe(0o600)
  })

  it.each(['', '..', '../x', 'a'.repeat(31), 'A'.repeat(32), 'a'.repeat(129), `${NAME}/x`, `${NAME}\n`])(
    'takes no name but one of ours: %j',
    async (name) => {
      const staging = await openStaging(await directory())
      expect(() => staging.path(name)).toThrow('Not the name')
      await expect(staging.receive(name)).rejects.toThrow('Not the name')
      await expect(staging.receive(name, { length: 1, blocks: [] })).rejects.toThrow('Not the name')
      await expect(staging.remove(name)).rejects.toThrow('Not the name')
    },
  )

  it('lists its files and removes them, missing ones too', async () => {
    const root = await directory()
    const staging = await openStaging(root)
    await writeFile(join(root, 'note.txt'), 'not ours')
    const receiver = await staging.receive(NAME)
    await writeAll(receiver, [Buffer.from('12345')])
    await syncAndClose(receiver)
    const [file, ...others] = await staging.list()
    expect(others).toEqual([])
    expect(file).toMatchObject({ name: NAME, size: 5 })
    expect(Math.abs((file?.modifiedMs ?? 0) - Date.now())).toBeLessThan(10_000)
    await staging.remove(NAME)
    await staging.remove(NAME)
    expect(await staging.list()).toEqual([])
  })
})
