/**
 * A node's own copy of content, in front of a content store that many nodes share. `files` are copies that are whole,
 * `incoming` are those on their way, which count for nothing until they are verified and durable.
 */
import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { randomHex } from '../model/secrets.js'
import { openDiskStore } from './disk.js'
import { openFile, unlinkIfPresent } from './file.js'
import { openStaging } from './staging.js'
import { BlobCorrupt, type BlobReader, type StoredBlob } from './store.js'
import { errorCode, makeDirectory, syncDirectory } from './sync.js'

export interface Copy {
  /** The file of the copy. */
  readonly place: string
  /** The hashes of the full blocks, one behind the other. */
  readonly blocks: Buffer
}

export interface Replica {
  readonly directory: string
  /**
   * Makes the folder this node's. Resolves to whether it was new, and is rejected when it is another's. Whatever was on
   * its way is removed, so nothing of this node may be under way.
   */
  claim(owner: string): Promise<'new' | 'known'>
  /** Keeps content that has just been staged and stored. The staged file stays; the copy is durable. */
  keep(stagedPath: string, hash: string, size: number): Promise<string>
  /** Copies content from the store and verifies it. Throws BlobCorrupt when it is not what its name says. */
  bring(source: BlobReader, content: { hash: string; size: number }, isOver: () => boolean): Promise<Copy>
  /** Throws BlobMissing when there is no such file. */
  open(place: string): Promise<BlobReader>
  /** Removing a copy that is not there is fine. */
  remove(place: string): Promise<void>
  list(): AsyncIterable<StoredBlob>
  /** Removes what is left of copies that never came to their end. */
  removeUnfinished(beforeMs: number): Promise<void>
}

/** The node was told to stop while content was on its way. */
export class BroughtToAnEnd extends Error {}

const OWNER_FILE = 'node'
const READ_BYTES = 1024 * 1024
const NAME_BYTES = 16
/** What a file system answers that cannot give a file a second name there. */
const NO_LINK_CODES = new Set(['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP'])

export async function openReplica(directory: string): Promise<Replica> {
  const files = await openDiskStore(join(directory, 'files'))
  const incoming = await openStaging(join(directory, 'incoming'))

  async function putCopy(stagedPath: string, hash: string, size: number): Promise<string> {
    const name = randomHex(NAME_BYTES)
    try {
      await copyDurably(stagedPath, incoming.path(name))
      return await files.put(incoming.path(name), hash, size)
    } finally {
      await incoming.remove(name)
    }
  }

  async function removeUnfinished(beforeMs: number): Promise<void> {
    for (const { name, modifiedMs } of await incoming.list()) {
      if (modifiedMs <= beforeMs) await incoming.remove(name)
    }
  }

  return {
    directory,
    removeUnfinished,
    open: (place) => files.open(place),
    remove: (place) => files.remove(place),
    list: () => files.list(),

    async claim(owner) {
      await removeUnfinished(Infinity)
      const path = join(directory, OWNER_FILE)
      const found = await readIfPresent(path)
      if (found === undefined) {
        await writeDurably(path, `${owner}\n`)
        await syncDirectory(directory)
        return 'new'
      }
      if (found.trim() !== owner) {
        throw new Error(`the folder ${directory} holds the local copy of another node`)
      }
      return 'known'
    },

    async keep(stagedPath, hash, size) {
      try {
        return await files.put(stagedPath, hash, size)
      } catch (error) {
        if (!NO_LINK_CODES.has(errorCode(error) ?? '')) throw error
      }
      return putCopy(stagedPath, hash, size)
    },

    async bring(source, { hash, size }, isOver) {
      const name = randomHex(NAME_BYTES)
      const receiver = await incoming.receive(name)
      try {
        const buffer = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, Math.max(size, 1)))
        while (receiver.length < size) {
          if (isOver()) throw new BroughtToAnEnd()
          const count = await source.read(
            buffer,
            receiver.length,
            Math.min(buffer.length, size - receiver.length),
          )
          if (count === 0) break
          await receiver.write(buffer.subarray(0, count))
        }
        await receiver.sync()
        if (receiver.length !== size || receiver.digest() !== hash) throw new BlobCorrupt(hash)
        const blocks = Buffer.concat(receiver.blocks)
        return { place: await files.put(incoming.path(name), hash, size), blocks }
      } finally {
        await receiver.close()
        await incoming.remove(name)
      }
    },
  }
}

/** The folder is made before anything else, so that one that cannot be used is told by its name. */
export async function prepareReplica(directory: string): Promise<void> {
  try {
    await makeDirectory(directory)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`the folder ${directory} cannot hold a local copy: ${reason}`, { cause: error })
  }
}

async function copyDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to)
  const file = await openFile(to, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  await unlinkIfPresent(path)
  const file = await openFile(path, 'w')
  try {
    await file.write([Buffer.from(text)], 0)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
