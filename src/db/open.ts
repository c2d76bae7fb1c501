import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Db } from './db.js'
import { migrate, type Dialect } from './migrate.js'
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
  const [db, dialect] =
    url === undefined
      ? [await openSqliteIn(dataDir, log), SQLITE_DIALECT]
      : await openPostgresAt(postgresUrl(url), log)
  try {
    await migrate(db, dialect)
    return db
  } catch (error) {
    await db.close()
    throw error
  }
}

/** Loaded when it is asked for: most installations never are. */
async function openPostgresAt(url: string, log: (message: string) => void): Promise<[Db, Dialect]> {
  const { openPostgres, POSTGRES_DIALECT } = await import('./postgres.js')
  return [openPostgres({ url, log }), POSTGRES_DIALECT]
}

async function openSqliteIn(dataDir: string, log: (message: string) => void): Promise<Db> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const file = join(dataDir, SQLITE_FILE_NAME)
  await makePrivate(file)
  // The tests of durability prove with this switch that they notice a missing sync.
  if (process.env['STARLING_TEST_NO_SYNC'] === '1')
    return openSqlite({ file, log, sync: () => Promise.resolve() })
  return openSqlite({ file, log })
}

/**
 * SQLite would make a file that everybody may read, and gives its log the same mode. A file that is there stays as it is;
 * one that cannot be made is SQLite's to complain about.
 */
async function makePrivate(file: string): Promise<void> {
  const made = await open(file, 'wx', 0o600).catch(() => undefined)
  await made?.close()
}

/** The address may hold a password, so it is never repeated in the message. */
function postgresUrl(url: string): string {
  if (/^postgres(ql)?:\/\//.test(url)) return url
  throw new Error('the address of the database must begin with postgres://')
}
