/** A folder of blobs as a copy of another one: it has at least what it was told to keep, whole and durable. */
import { constants } from 'node:fs'
import { copyFile, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileOf, listBlobs } from './disk.js'
import { openFile, unlinkIfPresent } from './file.js'
import type { Hold } from './held.js'
import { errorCode, makeDirectory, syncDirectory } from './sync.js'

export type Copied = 'copied' | 'there already' | 'missing'

/** Copies one blob, from where it is or where it was set aside. A file with the name of a place is always whole. */
export async function copyBlob(source: string, hold: Hold, target: string, place: string): Promise<Copied> {
  const file = fileOf(target, place)
  if (await exists(file)) return 'there already'
  const draft = `${file}.draft`
  await makeDirectory(dirname(file))
  // In this order: a blob moves from the first to the second, and never back.
  for (const path of [fileOf(source, place), hold.fileOf(place)]) {
    if (!(await copyIfPresent(path, draft))) continue
    await syncPath(draft)
    await rename(draft, file)
    await syncDirectory(dirname(file))
    return 'copied'
  }
  return 'missing'
}

/** Removes the blobs that are not to be kept; resolves to their number. */
export async function removeOthers(target: string, isKept: (place: string) => boolean): Promise<number> {
  let removed = 0
  for await (const { place } of listBlobs(target)) {
    if (isKept(place)) continue
    await unlinkIfPresent(fileOf(target, place))
    removed += 1
  }
  return removed
}

/** Makes the bytes of a file durable that somebody else wrote. */
export async function syncPath(path: string): Promise<void> {
  const file = await openFile(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

async function copyIfPresent(from: string, to: string): Promise<boolean> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE)
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}
