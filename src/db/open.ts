import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Db } from './db.js'
import { migrate } from './migrate.js'
import { openPostgres, POSTGRES_DIALECT } from './postgres.js'
import { openSqlite, SQLITE_DIALECT } from './sqlite.js'

export interface DatabaseOptions {
  /** A postgres:// address; without one the database is a SQLite file in the data folder. */
  url: string | undefined
  dataDir: string
  log?: (message: string) => void
}

export const SQLITE_FILE_NAME = 'starling.db'

/** Opens the database and brings its tables to the newest version. */
export async function openDatabase({ url, dataDir, log = () => undefined }: DatabaseOptions): Promise<Db> {
  const isPostgres = url !== undefined
  const db = isPostgres ? openPostgres({ url: postgresUrl(url), log }) : await openSqliteIn(dataDir, log)
  try {
    await migrate(db, isPostgres ? POSTGRES_DIALECT : SQLITE_DIALECT)
    return db
  } catch (error) {
    await db.close()
    throw error
  }
}

async function openSqliteIn(dataDir: string, log: (message: string) => void): Promise<Db> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const file = join(dataDir, SQLITE_FILE_NAME)
  // The tests of durability prove with this switch that they notice a missing sync.
  if (process.env['STARLING_TEST_NO_SYNC'] === '1')
    return openSqlite({ file, log, sync: () => Promise.resolve() })
  return openSqlite({ file, log })
}

/** The address may hold a password, so it is never repeated in the message. */
function postgresUrl(url: string): string {
  if (/^postgres(ql)?:\/\//.test(url)) return url
  throw new Error('the address of the database must begin with postgres://')
}
