/** One SQLite connection: how it is set up, how it runs a statement, and how it waits for a lock without blocking. */
import { setTimeout as delay } from 'node:timers/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Failure } from '../model/failures.js'
import { errorCode, type Value } from './db.js'
import { Sqlite, type Database, type Statement } from './sqlite-library.js'
import { toPositional, type PositionalSql } from './sql-text.js'

/** How long a transaction waits for other processes before it gives up. */
export const LOCK_WAIT_MAX_MS = 30_000
/** So many tries follow one another at once, because most locks are held for less than a millisecond. */
const EAGER_TRIES_MAX = 3
/** So many more follow after the shortest delay there is; whoever still waits then is one of many. */
const SOON_TRIES_MAX = 8
const RETRY_DELAY_MAX_MS = 3
/** Statements whose text varies, such as lists of ids, must not pile up. */
const STATEMENTS_MAX = 500
/** The log file is cut back to this size when it starts over; below it, overwriting is cheaper than growing again. */
const LOG_KEPT_BYTES = 64 * 1024 * 1024

interface Prepared {
  /** Gives its rows as lists; to build the objects here costs less than to have them built across the language border. */
  statement: Statement<unknown[]>
  sql: PositionalSql
  /** The names of the columns; undefined for a statement that gives no rows. */
  columns: string[] | undefined
  isReadonly: boolean
}

export interface Connection {
  get(sql: string, values: readonly Value[]): unknown
  all(sql: string, values: readonly Value[]): unknown[]
  lists(sql: string, values: readonly Value[]): unknown[]
  run(sql: string, values: readonly Value[]): number
  /** Whether a transaction is open; SQLite ends one by itself after some errors of the disk. */
  readonly inTransaction: boolean
  /** Grows with each statement that may change something, whether or not it did. */
  readonly changeCount: number
  close(): void
}

/**
 * `busy_timeout` is 0 because SQLite would otherwise sleep on the event loop's thread. `synchronous=NORMAL` and the
 * missing automatic checkpoint are explained in sqlite-writer.ts.
 */
export function openConnection(file: string, access: 'read' | 'write'): Promise<Connection> {
  return retryWhileBusy(() => {
    const database = new Sqlite(file, { timeout: 0 })
    try {
      database.pragma('journal_mode = WAL')
      database.pragma('synchronous = NORMAL')
      database.pragma('wal_autocheckpoint = 0')
      database.pragma(`journal_size_limit = ${LOG_KEPT_BYTES}`)
      database.pragma('foreign_keys = ON')
      // The first look at the schema opens the log file and takes the lock that keeps the file from being deleted.
      database.prepare('SELECT COUNT(*) FROM sqlite_schema').get()
      if (access === 'read') database.pragma('query_only = ON')
      return connection(database)
    } catch (error) {
      database.close()
      throw error
    }
  })
}

function connection(database: Database): Connection {
  const prepared = new Map<string, Prepared>()
  let changeCount = 0

  /** The statement is about to be run. */
  function prepare(text: string): Prepared {
    const found = prepared.get(text) ?? prepareFresh(text)
    if (!found.isReadonly) changeCount += 1
    return found
  }

  function prepareFresh(text: string): Prepared {
    const sql = toPositional(text)
    const statement = database.prepare<unknown[]>(sql.text)
    const columns = statement.reader
      ? statement
          .raw()
          .columns()
          .map(({ name }) => name)
      : undefined
    const fresh = { statement, sql, columns, isReadonly: statement.readonly }
    const oldest = prepared.size >= STATEMENTS_MAX ? prepared.keys().next() : undefined
    if (oldest?.value !== undefined) prepared.delete(oldest.value)
    prepared.set(text, fresh)
    return fresh
  }

  return {
    get(text, values) {
      const { statement, sql, columns } = prepare(text)
      const bound = bind(sql, values)
      if (columns === undefined) return void statement.run(...bound)
      const list = statement.get(...bound) as unknown[] | undefined
      return list === undefined ? undefined : rowOf(columns, list)
    },
    all(text, values) {
      const { statement, sql, columns } = prepare(text)
      const bound = bind(sql, values)
      if (columns !== undefined)
        return statement.all(...bound).map((list) => rowOf(columns, list as unknown[]))
      statement.run(...bound)
      return []
    },
    lists(text, values) {
      const { statement, sql } = prepare(text)
      return statement.all(...bind(sql, values))
    },
    run(text, values) {
      const { statement, sql, columns } = prepare(text)
      const bound = bind(sql, values)
      return columns === undefined ? statement.run(...bound).changes : statement.all(...bound).length
    },
    get inTransaction() {
      return database.inTransaction
    },
    get changeCount() {
      return changeCount
    },
    close() {
      prepared.clear()
      database.close()
    },
  }
}

function rowOf(columns: readonly string[], list: readonly unknown[]): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (let index = 0; index < columns.length; index++) row[columns[index] ?? ''] = list[index]
  return row
}

/** Whole numbers are bound as integers; the library alone would bind every number as a floating-point value. */
function bind(sql: PositionalSql, values: readonly Value[]): unknown[] {
  if (values.length !== sql.valueCount) {
    throw new RangeError(`the statement takes ${sql.valueCount} values and got ${values.length}: ${sql.text}`)
  }
  if (sql.isInOrder && !values.some(isNumber)) return values as unknown[]
  const bound: unknown[] = []
  for (const index of sql.order) {
    const value = values[index]
    bound.push(typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value)
  }
  return bound
}

function isNumber(value: Value): boolean {
  return typeof value === 'number'
}

/** Tries until it works or the time is up, and lets the event loop turn in between. */
export async function retryWhileBusy<T>(
  attempt: () => T | Promise<T>,
  waitMaxMs: number = LOCK_WAIT_MAX_MS,
): Promise<T> {
  const deadline = performance.now() + waitMaxMs
  for (let tries = 1; ; tries++) {
    try {
      return await attempt()
    } catch (error) {
      if (!isBusy(error)) throw error
      if (performance.now() >= deadline)
        throw new Failure('unavailable', 'The database is busy; try again later')
    }
    if (tries <= EAGER_TRIES_MAX) await nextTurn()
    else if (tries <= SOON_TRIES_MAX) await delay(1)
    else await delay(1 + Math.random() * (RETRY_DELAY_MAX_MS - 1))
  }
}

export function isBusy(error: unknown): boolean {
  const code = errorCode(error)
  return code === 'SQLITE_LOCKED' || code === 'SQLITE_BUSY' || code.startsWith('SQLITE_BUSY_')
}

/** Turns a full disk into the refusal that callers understand; every other error stays what it is. */
export function translated(error: unknown): unknown {
  const code = errorCode(error)
  const isFull = code === 'SQLITE_FULL' || code === 'ENOSPC' || code === 'EDQUOT'
  return isFull ? new Failure('insufficientStorage', 'The storage of the server is full') : error
}
