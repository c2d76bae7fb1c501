/**
 * The files of content that is being received. They are always on a local disk, each under a name that we chose.
 * One receiver a name at a time: the caller sees to that.
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { openFile, unlinkIfPresent, type OpenFile } from './file.js'
import { BLOCK_BYTES, contentHasher, type ContentHasher } from './hashing.js'
import { receiveInto, spareBuffers, type Receiver, type ReceiverParts } from './receiver.js'
import { errorCode, makeDirectory, syncDirectory } from './sync.js'
import { youngCollector } from './young-garbage.js'

export type { Receiver } from './receiver.js'

export interface Staging {
  /**
   * Starts a file anew, or continues it after `from`: cuts it to that length and reads no more of it than the
   * partial block at the end. Throws StagedFileMissing when the file has fewer bytes than that.
   */
  receive(name: string, from?: StagedPrefix): Promise<Receiver>
  path(name: string): string
  /** Hands over the bytes of a file in order. */
  read(name: string, sink: (chunk: Buffer) => Promise<void> | undefined): Promise<void>
  /** Removing a file that is not there is fine. */
  remove(name: string): Promise<void>
  list(): Promise<StagedFile[]>
}

/** What is known of the start of a staged file. Blocks that end beyond the length are not looked at. */
export interface StagedPrefix {
  readonly length: number
  readonly blocks: readonly Buffer[]
}

export interface StagedFile {
  readonly name: string
  readonly size: number
  readonly modifiedMs: number
}

export class StagedFileMissing extends Error {
  constructor(readonly stagedName: string) {
    super(`The staged file ${stagedName} is missing or too short`)
    this.name = 'StagedFileMissing'
  }
}

const NAME = /^[0-9a-f]{32,128}$/
const READ_BYTES = 1024 * 1024

export async function openStaging(directory: string): Promise<Staging> {
  await makeDirectory(directory)
  const parts: ReceiverParts = { buffers: spareBuffers(), collect: youngCollector() }

  function path(name: string): string {
    if (!NAME.test(name)) throw new Error('Not the name of a staged file')
    return join(directory, name)
  }

  return {
    path,

    async receive(name, from) {
      if (from !== undefined && from.length > 0) return continueFile(path(name), name, from, parts)
      const file = await openFile(path(name), 'w')
      return receiveInto(
        file,
        contentHasher(),
        once(() => syncDirectory(directory)),
        parts,
      )
    },

    async read(name, sink) {
      const file = await openExisting(path(name), name)
      try {
        for (let position = 0; ;) {
          const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
          const count = await file.read(buffer, position, READ_BYTES)
          if (count === 0) return
          await sink(buffer.subarray(0, count))
          position += count
        }
      } finally {
        await file.close()
      }
    },

    async remove(name) {
      await unlinkIfPresent(path(name))
    },

    async list() {
      const files: StagedFile[] = []
      for (const name of await readdir(directory)) {
        if (!NAME.test(name)) continue
        const file = await statIfPresent(path(name))
        if (file !== undefined) files.push({ name, size: file.size, modifiedMs: file.mtimeMs })
      }
      return files
    },
  }
}

async function continueFile(
  path: string,
  name: string,
  from: StagedPrefix,
  parts: ReceiverParts,
): Promise<Receiver> {
  const fullBlocks = Math.floor(from.length / BLOCK_BYTES)
  if (!Number.isSafeInteger(from.length) || from.blocks.length < fullBlocks) {
    throw new Error('The hashes of the blocks do not cover the length')
  }
  const hasher = contentHasher({ blocks: from.blocks.slice(0, fullBlocks) })
  const file = await openExisting(path, name)
  try {
    const size = await file.size()
    if (size < from.length) throw new StagedFileMissing(name)
    if (size > from.length) await file.truncate(from.length)
    await readInto(hasher, file, name, from.length)
  } catch (error) {
    await file.close()
    throw error
  }
  // The name was made durable before any row could record a length above zero.
  return receiveInto(file, hasher, () => Promise.resolve(), parts)
}

async function openExisting(path: string, name: string): Promise<OpenFile> {
  try {
    return await openFile(path, 'r+')
  } catch (error) {
    throw errorCode(error) === 'ENOENT' ? new StagedFileMissing(name) : error
  }
}

/** Feeds the hasher from where it stands up to `length`. */
async function readInto(hasher: ContentHasher, file: OpenFile, name: string, length: number): Promise<void> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, length - hasher.length))
  while (hasher.length < length) {
    const wanted = Math.min(buffer.length, length - hasher.length)
    const count = await file.read(buffer, hasher.length, wanted)
    if (count < wanted) throw new StagedFileMissing(name)
    hasher.update(buffer.subarray(0, count))
  }
}

function once(body: () => Promise<void>): () => Promise<void> {
  let isDone = false
  return async () => {
    if (isDone) return
    await body()
    isDone = true
  }
}

async function statIfPresent(path: string): Promise<{ size: number; mtimeMs: number } | undefined> {
  try {
    return await stat(path)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
