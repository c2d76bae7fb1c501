import { join } from 'node:path'
import Database from 'better-sqlite3'

/**
 * Holds a data folder for one server. The lock is the operating system's on a small SQLite file: it ends with the
 * process, however that ends, and never has to be cleared by hand.
 */
export function lockDataFolder(dataDir: string): { release(): void } {
  const file = new Database(join(dataDir, 'server.lock'), { timeout: 0 })
  try {
    file.pragma('journal_mode = DELETE')
    file.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    file.close()
    if (error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY') {
      throw new Error(`the data folder ${dataDir} is in use by another server`, { cause: error })
    }
    throw error
  }
  return { release: () => file.close() }
}
