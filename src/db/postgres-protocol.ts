/** What PostgreSQL's types, error codes and row locks mean in the terms of the `Db` interface. */
import pg from 'pg'
import { Failure } from '../model/failures.js'
import { errorCode } from './db.js'

const OID_BOOLEAN = 16
const OID_INT8 = 20
const OID_NUMERIC = 1700

/** Sums are numeric and counts are int8 here; SQLite knows neither truth values nor numbers as text. */
const PARSERS = new Map<number, (text: string) => unknown>([
  [OID_BOOLEAN, (text) => (text === 't' ? 1 : 0)],
  [OID_INT8, Number],
  [OID_NUMERIC, Number],
])

export const TYPES: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    PARSERS.get(oid) ?? (pg.types.getTypeParser(oid, format) as unknown)) as typeof pg.types.getTypeParser,
}

/** Serialization failure, deadlock, and a row that was deleted while another one began to point to it. */
const RACES = new Set(['40001', '40P01', '23503'])
const LOST = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'EAI_AGAIN',
  'ENOENT',
  '57P01',
  '57P02',
  '57P03',
  '53300',
])
const LOST_MESSAGES =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|timeout expired)/

export function isRace(error: unknown): boolean {
  return RACES.has(errorCode(error))
}

export function isConnectionLost(error: unknown): boolean {
  const code = errorCode(error)
  if (LOST.has(code) || code.startsWith('08')) return true
  return code === '' && error instanceof Error && LOST_MESSAGES.test(error.message)
}

/** Turns the troubles of the world into refusals that callers understand; every other error stays what it is. */
export function failureOf(error: unknown): unknown {
  const code = errorCode(error)
  if (code === '53100') return new Failure('insufficientStorage', 'The storage of the server is full')
  if (code === '55P03') return new Failure('unavailable', 'The database is busy; try again later')
  if (isConnectionLost(error))
    return new Failure('unavailable', 'The database cannot be reached; try again later')
  return error
}

const PRIMARY_KEY = `SELECT attribute.attname AS name
  FROM pg_index JOIN pg_attribute AS attribute
    ON attribute.attrelid = pg_index.indrelid AND attribute.attnum = ANY (pg_index.indkey)
  WHERE pg_index.indisprimary AND pg_index.indrelid = to_regclass($1)`

export interface LockStatements {
  textFor(client: pg.ClientBase, table: string): Promise<string>
}

/** The statement that locks rows of a table, put together once a table from the name of its primary key. */
export function lockStatements(): LockStatements {
  const known = new Map<string, string>()
  return {
    async textFor(client, table) {
      const ready = known.get(table)
      if (ready !== undefined) return ready
      if (!/^[a-z_]+$/.test(table)) throw new Error(`not the name of a table: ${table}`)
      const { rows } = await client.query<{ name: string }>(PRIMARY_KEY, [table])
      const column = rows.length === 1 ? rows[0]?.name : undefined
      if (column === undefined) throw new Error(`the table ${table} has no primary key of one column`)
      const text = `SELECT 1 FROM ${table} WHERE ${column} = ANY ($1) ORDER BY ${column} FOR NO KEY UPDATE`
      known.set(table, text)
      return text
    },
  }
}
