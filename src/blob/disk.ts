/** Blobs as files of a local disk: `ab/cd/<place>`, the two folders being the first digits of the hash. */
import { link, opendir, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { endStaleHold, setAside } from './held.js'
import { randomHex } from '../model/secrets.js'
import { openFile, unlinkIfPresent, withoutRoom, type OpenFile } from './file.js'
import {
  assertPlace,
  BlobMissing,
  isPlace,
  newPlace,
  PLACE_RANDOM_BYTES,
  type BlobReader,
  type LocalBlobs,
  type StoredBlob,
} from './store.js'
import { errorCode, makeDirectory, syncDirectory } from './sync.js'

export async function openDiskStore(directory: string): Promise<LocalBlobs> {
  await makeDirectory(directory)
  const folders = durableFolders()

  async function putAt(place: string, stagedPath: string, size: number): Promise<void> {
    assertPlace(place)
    const folder = folderOf(directory, place)
    const staged = await stat(stagedPath)
    if (staged.size !== size) {
      throw new Error(`A staged file has ${String(staged.size)} bytes where ${String(size)} were expected`)
    }
    try {
      await folders.make(folder)
      // The last byte may have been received long ago. The grace time of the sweep must count from now.
      const now = new Date()
      await utimes(stagedPath, now, now)
      await link(stagedPath, join(folder, place))
      await syncDirectory(folder)
    } catch (error) {
      throw withoutRoom(error)
    }
  }

  return {
    async put(stagedPath, hash, size) {
      const place = newPlace(hash, randomHex(PLACE_RANDOM_BYTES))
      await putAt(place, stagedPath, size)
      return place
    },

    putAt,

    pathOf(place) {
      assertPlace(place)
      return join(folderOf(directory, place), place)
    },

    async open(place) {
      return openReader(fileOf(directory, place), place)
    },

    async remove(place) {
      const path = fileOf(directory, place)
      if (await setAside(directory, path, place)) return
      // No sync: a removed blob that a power loss brings back is named by no row and is swept again.
      await unlinkIfPresent(path)
    },

    list: () => listBlobs(directory),

    // A blob gets its name by one step, before which nothing of it is here; but a backup may have died.
    endUnfinished: (beforeMs) => endStaleHold(directory, beforeMs),

    // The folder was made when the store was opened.
    probe: () => Promise.resolve(),
  }
}

/** The file of a blob in the folder of a store. */
export function fileOf(directory: string, place: string): string {
  assertPlace(place)
  return join(folderOf(directory, place), place)
}

function folderOf(directory: string, place: string): string {
  return join(directory, place.slice(0, 2), place.slice(2, 4))
}

/**
 * Remembers which folders are durably in their parents, so that each is synced once a process. A put that finds a
 * folder another put is just making waits for that one's sync; without it the second blob could vanish with the
 * folder. There are at most 65,536 of them.
 */
function durableFolders(): { make(folder: string): Promise<void> } {
  const made = new Map<string, Promise<void>>()

  async function makeWithParent(folder: string): Promise<void> {
    await make(join(folder, '..'), makeDirectory)
    await makeDirectory(folder)
  }

  async function make(folder: string, how: (folder: string) => Promise<void>): Promise<void> {
    let making = made.get(folder)
    if (making === undefined) {
      making = how(folder)
      made.set(folder, making)
    }
    try {
      await making
    } catch (error) {
      if (made.get(folder) === making) made.delete(folder)
      throw error
    }
  }

  return { make: (folder) => make(folder, makeWithParent) }
}

async function openReader(path: string, place: string): Promise<BlobReader> {
  let file: OpenFile
  try {
    file = await openFile(path, 'r')
  } catch (error) {
    throw errorCode(error) === 'ENOENT' ? new BlobMissing(place) : error
  }
  try {
    const size = await file.size()
    return {
      size,
      read: (buffer, position, length) => file.read(buffer, position, length),
      close: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

export async function* listBlobs(directory: string): AsyncGenerator<StoredBlob> {
  for await (const first of await opendir(directory)) {
    if (!isFolderName(first.name)) continue
    for await (const second of await opendir(join(directory, first.name))) {
      if (!isFolderName(second.name)) continue
      yield* listFolder(join(directory, first.name, second.name))
    }
  }
}

async function* listFolder(folder: string): AsyncGenerator<StoredBlob> {
  for await (const entry of await opendir(folder)) {
    if (!isPlace(entry.name)) continue
    try {
      const { size, mtimeMs } = await stat(join(folder, entry.name))
      yield { place: entry.name, size, modifiedMs: mtimeMs }
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error
    }
  }
}

function isFolderName(name: string): boolean {
  return /^[0-9a-f]{2}$/.test(name)
}
