import { openSync } from 'node:fs'
import { readdir, readFile, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openFile, OpenFile } from '../../src/blob/file.js'
import { contentHasher, hashOf } from '../../src/blob/hashing.js'
import { GATHER_BYTES, receiveInto, type Receiver } from '../../src/blob/receiver.js'
import { temporaryDirectories } from './temporary.js'

const directory = temporaryDirectories()
const CHUNK_BYTES = 64 * 1024

/** A file on a disk that takes its time: every write waits until it is let go. */
class SlowFile extends OpenFile {
  readonly sizes: number[] = []
  inFlight = 0
  inFlightMax = 0
  #waiting: (() => void)[] = []

  override async write(chunks: readonly Buffer[], position: number): Promise<void> {
    this.sizes.push(chunks.reduce((sum, chunk) => sum + chunk.length, 0))
    this.inFlight += 1
    this.inFlightMax = Math.max(this.inFlightMax, this.inFlight)
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
    await super.write(chunks, position)
    this.inFlight -= 1
  }

  override truncate(length: number): Promise<void> {
    expect(this.inFlight).toBe(0)
    return super.truncate(length)
  }

  letGo(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

function receiving(file: OpenFile): Receiver {
  return receiveInto(file, contentHasher(), () => Promise.resolve())
}

/** Writes until the receiver asks to wait, and gives the bytes it took and the promise. */
function writeUntilFull(receiver: Receiver, chunk: Buffer): { taken: number; wait: Promise<void> } {
  for (let taken = chunk.length; taken <= 100 * GATHER_BYTES; taken += chunk.length) {
    const wait = receiver.write(chunk)
    if (wait !== undefined) return { taken, wait }
  }
  throw new Error('The receiver took everything')
}

describe('back-pressure', () => {
  it.each([100, 1500, 16 * 1024, CHUNK_BYTES])(
    'asks to wait with two pieces held, one of them in flight, for chunks of %i bytes',
    async (chunkBytes) => {
      const file = new SlowFile(openSync(join(await directory(), 'file'), 'w'))
      const receiver = receiving(file)
      const chunk = Buffer.alloc(chunkBytes, 'x')
      let total = 0
      for (let round = 0; round < 3; round += 1) {
        const { taken, wait } = writeUntilFull(receiver, chunk)
        total += taken
        const held = total - file.sizes.slice(0, -1).reduce((sum, size) => sum + size, 0)
        expect(held).toBeGreaterThanOrEqual(2 * GATHER_BYTES)
        expect(held).toBeLessThan(2 * GATHER_BYTES + 3 * CHUNK_BYTES)
        let isOver = false
        const waiting = wait.then(() => {
          isOver = true
        })
        await new Promise((resolve) => setTimeout(resolve, 5))
        expect(isOver).toBe(false)
        file.letGo()
        await waiting
      }
      const syncing = receiver.sync()
      const timer = setInterval(() => {
        file.letGo()
      }, 1)
      await syncing
      clearInterval(timer)
      expect(receiver.length).toBe(total)
      expect(receiver.digest()).toBe(hashOf(Buffer.alloc(total, 'x')))
      expect(file.inFlightMax).toBe(1)
      for (const size of file.sizes.slice(0, -1)) expect(size).toBeGreaterThanOrEqual(GATHER_BYTES)
      await receiver.close()
    },
  )

  it('keeps small and large chunks in order', async () => {
    const path = join(await directory(), 'file')
    const receiver = receiving(await openFile(path, 'w'))
    const chunks = Array.from({ length: 400 }, (_, index) =>
      Buffer.alloc(index % 3 === 0 ? 20_000 : index * 11, String.fromCharCode(97 + (index % 26))),
    )
    for (const chunk of chunks) await receiver.write(chunk)
    await receiver.sync()
    expect((await readFile(path)).equals(Buffer.concat(chunks))).toBe(true)
    expect(receiver.digest()).toBe(hashOf(Buffer.concat(chunks)))
    await receiver.close()
  })
})

describe('a full disk', () => {
  it('is a failure that the caller is told of, by the write that waits and by the sync', async () => {
    const receiver = receiving(await openFile('/dev/full', 'r+'))
    const { wait } = writeUntilFull(receiver, Buffer.alloc(CHUNK_BYTES))
    await expect(wait).rejects.toMatchObject({ kind: 'insufficientStorage' })
    await expect(receiver.write(Buffer.alloc(1))).rejects.toMatchObject({ kind: 'insufficientStorage' })
    await expect(receiver.sync()).rejects.toMatchObject({ kind: 'insufficientStorage' })
    await receiver.close()
  })

  it('is told by the sync alone when little was written', async () => {
    const receiver = receiving(await openFile('/dev/full', 'r+'))
    expect(receiver.write(Buffer.alloc(10))).toBeUndefined()
    await expect(receiver.sync()).rejects.toMatchObject({ kind: 'insufficientStorage' })
    await receiver.close()
  })

  it('is not what other errors are taken for', async () => {
    const path = join(await directory(), 'file')
    await (await openFile(path, 'w')).close()
    const receiver = receiving(await openFile(path, 'r'))
    expect(receiver.write(Buffer.alloc(10))).toBeUndefined()
    await expect(receiver.sync()).rejects.toMatchObject({ code: 'EBADF' })
    await receiver.close()
  })
})

describe('closing', () => {
  it('lets the calls under way end first, so that none can meet another file by the same descriptor', async () => {
    const path = join(await directory(), 'file')
    await (await openFile(path, 'w')).close()
    const length = 64 * 1024 * 1024
    await truncate(path, length)
    const file = await openFile(path, 'r')
    const ended: string[] = []
    await Promise.all([
      file.read(Buffer.alloc(length), 0, length).then(() => ended.push('read')),
      file.close().then(() => ended.push('close')),
    ])
    expect(ended).toEqual(['read', 'close'])
  })

  it('waits for the piece in flight, may be repeated, and gives the descriptor back', async () => {
    const path = join(await directory(), 'file')
    const before = (await readdir('/proc/self/fd')).length
    const receiver = receiving(await openFile(path, 'w'))
    writeUntilFull(receiver, Buffer.alloc(CHUNK_BYTES)).wait.catch(() => undefined)
    await Promise.all([receiver.close(), receiver.close()])
    await receiver.close()
    expect((await readdir('/proc/self/fd')).length).toBe(before)
    expect((await stat(path)).size).toBe(GATHER_BYTES)
    await expect(receiver.write(Buffer.alloc(1))).rejects.toThrow('closed')
    await expect(receiver.sync()).rejects.toThrow('closed')
    await receiver.abandon(0)
    expect((await stat(path)).size).toBe(GATHER_BYTES)
  })

  it('after an abandoned request leaves the length there was, also with a piece in flight', async () => {
    const path = join(await directory(), 'file')
    const file = new SlowFile(openSync(path, 'w'))
    const receiver = receiving(file)
    writeUntilFull(receiver, Buffer.alloc(CHUNK_BYTES)).wait.catch(() => undefined)
    const abandoning = receiver.abandon(0)
    file.letGo()
    await abandoning
    expect((await stat(path)).size).toBe(0)
    await receiver.close()
  })

  it('refuses to make a file longer by abandoning, and closes it all the same', async () => {
    const before = (await readdir('/proc/self/fd')).length
    const receiver = receiving(await openFile(join(await directory(), 'file'), 'w'))
    await expect(receiver.abandon(10)).rejects.toThrow('more than it had')
    expect((await readdir('/proc/self/fd')).length).toBe(before)
  })
})
