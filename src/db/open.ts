import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../model/failures.js'
import type { Catalog } from './catalog.js'
import type { Db } from './db.js'
import { migrate } from './migrate.js'
import { openSqlite, SQLITE_DIALECT } from './sqlite.js'
import { SQLITE_CATALOG } from './sqlite-catalog.js'

export interface DatabaseOptions {
  /** A postgres:// address; without one the database is a SQLite file in the data folder. */
  url: string | undefined
  dataDir: string
  log?: (message: string) => void
}

export const SQLITE_FILE_NAME = 'starling.db'

/** A database as it is found, with what is needed to read its books and to make its tables. */
export interface BareDatabase {
  readonly db: Db
  readonly catalog: Catalog
  /** Brings the tables to the newest version. */
  makeTables(): Promise<void>
}

/** Opens the database and brings its tables to the newest version. */
export async function openDatabase(options: DatabaseOptions): Promise<Db> {
  const { db, makeTables } = await openBare(options)
  try {
    await makeTables()
    return db
  } catch (error) {
    await db.close()
    throw error
  }
}

/** Opens the database and changes nothing in it; a SQLite file that is missing is made. */
export async function openBare({
  url,
  dataDir,
  log = () => undefined,
}: DatabaseOptions): Promise<BareDatabase> {
  if (url !== undefined) return openPostgresAt(postgresUrl(url), log)
  const db = await openSqliteIn(dataDir, log)
  return { db, catalog: SQLITE_CATALOG, makeTables: () => migrate(db, SQLITE_DIALECT) }
}

/** Loaded when it is asked for: most installations never are. */
async function openPostgresAt(url: string, log: (message: string) => void): Promise<BareDatabase> {
  const { openPostgres, POSTGRES_DIALECT } = await import('./postgres.js')
  const { POSTGRES_CATALOG } = await import('./postgres-catalog.js')
  const db = openPostgres({ url, log })
  return { db, catalog: POSTGRES_CATALOG, makeTables: () => migrate(db, POSTGRES_DIALECT) }
}

async function openSqliteIn(dataDir: string, log: (message: string) => void): Promise<Db> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const file = join(dataDir, SQLITE_FILE_NAME)
  await makePrivate(file)
  // The tests of durability prove with this switch that they notice a missing sync.
  const sync = process.env['STARLING_TEST_NO_SYNC'] === '1' ? { sync: () => Promise.resolve() } : {}
  try {
    return await openSqlite({ file, log, ...sync })
  } catch (error) {
    if (!(error instanceof Error) || error instanceof Failure) throw error
    throw new Error(`the database ${file} cannot be used: ${error.message}`, { cause: error })
  }
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
