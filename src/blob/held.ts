/**
 * Removed blobs, set aside while a backup is made. Content goes the moment its last name goes, but the copy of the
 * database that a backup began with still names it. So a backup makes this folder first, and as long as it is there a
 * removed blob moves into it instead of going. What was removed before the folder was there had lost its row before,
 * and the copy, which is taken later, does not name it.
 */
import { rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode, makeDirectory } from './sync.js'

const FOLDER = 'held'
/** Its age tells whether the backup still lives. */
const PULSE = 'pulse'
const PULSE_EVERY_MS = 10_000

export interface Hold {
  /** Where a blob lies that was removed since. */
  fileOf(place: string): string
  /** Lets go of everything that was set aside. */
  release(): Promise<void>
}

/** Whoever calls this has made sure that there is no other one. */
export async function holdRemoved(directory: string): Promise<Hold> {
  const folder = join(directory, FOLDER)
  const pulse = join(folder, PULSE)
  await makeDirectory(folder)
  await writeFile(pulse, '', { mode: 0o600 })
  const timer = setInterval(() => {
    const now = new Date()
    utimes(pulse, now, now).catch(() => undefined)
  }, PULSE_EVERY_MS)
  timer.unref()
  return {
    fileOf: (place) => join(folder, place),
    async release() {
      clearInterval(timer)
      await removeFolder(folder)
    },
  }
}

/** Whether the blob was set aside; otherwise nothing happened to it. */
export async function setAside(directory: string, path: string, place: string): Promise<boolean> {
  try {
    await rename(path, join(directory, FOLDER, place))
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}

/** Removes what a backup left that has not stirred since; resolves to the number of holds that were ended. */
export async function endStaleHold(directory: string, beforeMs: number): Promise<number> {
  const folder = join(directory, FOLDER)
  try {
    if ((await stat(join(folder, PULSE))).mtimeMs > beforeMs) return 0
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    if (!(await isStale(folder, beforeMs))) return 0
  }
  await removeFolder(folder)
  return 1
}

/** A folder without a pulse has only just been made, unless it is old. */
async function isStale(folder: string, beforeMs: number): Promise<boolean> {
  try {
    return (await stat(folder)).mtimeMs <= beforeMs
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}

/** It takes another name first: what is removed from then on goes for good, and nothing is added while this clears it. */
async function removeFolder(folder: string): Promise<void> {
  const released = `${folder}.released`
  await rm(released, { recursive: true, force: true })
  try {
    await rename(folder, released)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return
    throw error
  }
  await rm(released, { recursive: true, force: true })
}
