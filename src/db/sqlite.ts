import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Db } from './db.js'
import type { Dialect } from './migrate.js'
import { openConnection } from './sqlite-connection.js'
import { readerPool } from './sqlite-readers.js'
import { groupCommitWriter } from './sqlite-writer.js'

export interface SqliteOptions {
  file: string
  log: (message: string) => void
  /** Takes the place of fdatasync in tests of what happens without it. */
  sync?: () => Promise<void>
}

export const SQLITE_DIALECT: Dialect = {
  words: { text: 'TEXT', blob: 'BLOB', serial: 'INTEGER PRIMARY KEY AUTOINCREMENT', strict: '' },
  // A write transaction has the database to itself.
  lockSchema: [],
}

export async function openSqlite(options: SqliteOptions): Promise<Db> {
  const connection = await openConnection(options.file, 'write')
  // The open connection keeps the log file in place, so this descriptor stays that of the log for good. The database
  // file and its index must never be opened here: closing a second descriptor would drop SQLite's locks on them.
  const logFile = await open(`${options.file}-wal`, 'r+').catch((error: unknown) => {
    connection.close()
    throw error
  })
  await syncFolder(dirname(options.file))

  const writer = groupCommitWriter({
    connection,
    sync: options.sync ?? (() => logFile.datasync()),
    log: options.log,
  })
  const readers = readerPool(options.file)

  let closing: Promise<void> | undefined

  async function close(): Promise<void> {
    await Promise.all([readers.close(), writer.close()])
    await logFile.close()
  }

  return {
    engine: 'sqlite',
    read: readers.read,
    recall: readers.recall,
    write: writer.write,
    close: () => (closing ??= close()),
  }
}

/** The entries of the files themselves have to survive a loss of power too. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
