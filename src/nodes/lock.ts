import { join } from 'node:path'
import { Sqlite } from '../db/sqlite-library.js'

/** Holds a data folder for one server. */
export function lockDataFolder(dataDir: string): { release(): void } {
  return lockFile(join(dataDir, 'server.lock'), `the data folder ${dataDir} is in use by another server`)
}

/**
 * The lock is the operating system's on a small SQLite file: it ends with the process, however that ends, and never has
 * to be cleared by hand.
 */
export function lockFile(path: string, refusal: string): { release(): void } {
  const file = new Sqlite(path, { timeout: 0 })
  try {
    file.pragma('journal_mode = DELETE')
    file.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    file.close()
    if (error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY') {
      throw new Error(refusal, { cause: error })
    }
    throw error
  }
  return { release: () => file.close() }
}
