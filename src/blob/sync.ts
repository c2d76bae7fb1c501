/** Everything here that makes the disk keep a promise. One switch for tests turns all of it off. */
import { close, fdatasync, fsync, open } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'

const openDescriptor = promisify(open)
const closeDescriptor = promisify(close)
const fsyncDescriptor = promisify(fsync)
const fdatasyncDescriptor = promisify(fdatasync)

/** Makes the bytes and the length of an open file durable. */
export async function syncFile(descriptor: number): Promise<void> {
  if (isSyncOff()) return
  await fdatasyncDescriptor(descriptor)
}

/** Makes the names in a directory durable. */
export async function syncDirectory(path: string): Promise<void> {
  if (isSyncOff()) return
  const descriptor = await openDescriptor(path, 'r')
  try {
    await fsyncDescriptor(descriptor)
  } finally {
    await closeDescriptor(descriptor)
  }
}

/**
 * Makes a directory, and those above it where they are missing, for our eyes only. The parent is synced even when
 * the directory is already there: whoever made it may have died before the sync.
 */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdirIfMissing(path)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    await makeDirectory(dirname(path))
    await mkdirIfMissing(path)
  }
  await syncDirectory(dirname(path))
}

async function mkdirIfMissing(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  }
}

export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

function isSyncOff(): boolean {
  return process.env['STARLING_TEST_NO_SYNC'] === '1'
}
