/**
 * The PostgreSQL driver. Reads are REPEATABLE READ snapshots. Writes are READ COMMITTED and take row locks where
 * they need them; a write that lost a race or its connection runs again, unless its COMMIT was already on the way:
 * then nobody knows whether it counts, and running it again could apply it twice.
 */
import pg from 'pg'
import { setTimeout as delay } from 'node:timers/promises'
import { admission } from './admission.js'
import { runBody, runEffects, WRITE_BODY_MAX_MS, type Outcome, type Statements } from './body.js'
import { OutcomeUnknown, type Db, type Tx } from './db.js'
import type { Dialect } from './migrate.js'
import { failureOf, isConnectionLost, isRace, lockStatements, TYPES } from './postgres-protocol.js'

const CONNECTIONS_MAX = 10
const WORK_WAITING_MAX = 10_000
const CONNECT_WAIT_MAX_MS = 30_000
const LOCK_WAIT_MAX_MS = 30_000
/** The server frees the locks of a process that vanished without a word. */
const IDLE_IN_TRANSACTION_MAX_MS = 2 * WRITE_BODY_MAX_MS
const TRIES_MAX = 20
const RETRY_TIME_MAX_MS = 30_000
const RACE_DELAY_MAX_MS = 50
const RECONNECT_DELAY_MAX_MS = 1_000

export interface PostgresOptions {
  url: string
  log: (message: string) => void
}

export const POSTGRES_DIALECT: Dialect = {
  words: {
    text: 'TEXT COLLATE "C"',
    blob: 'BYTEA',
    serial: 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
    strict: '',
  },
  // The number is arbitrary and the same in every process. A long migration elsewhere may be waited for.
  lockSchema: ['SET LOCAL lock_timeout = 0', 'SELECT pg_advisory_xact_lock(7382946150)'],
}

export function openPostgres({ url, log }: PostgresOptions): Db {
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_WAIT_MAX_MS,
    // An answer from a machine that is gone would otherwise be waited for without end.
    keepAlive: true,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MAX_MS,
    lock_timeout: LOCK_WAIT_MAX_MS,
    application_name: 'starling',
    types: TYPES,
  })
  const admitted = admission(WORK_WAITING_MAX)
  const lockTexts = lockStatements()
  const report = (error: Error): void => log(`a connection to PostgreSQL failed: ${error.message}`)
  pool.on('error', report)
  // An error between two statements would otherwise have no listener and end the process.
  pool.on('connect', (client) => client.on('error', () => undefined))

  function statementsOf(client: pg.PoolClient): Statements {
    return {
      get: async (sql, values) => (await client.query<pg.QueryResultRow>(sql, [...values])).rows[0],
      all: async (sql, values) => (await client.query<pg.QueryResultRow>(sql, [...values])).rows,
      lists: async (sql, values) =>
        (await client.query<unknown[]>({ text: sql, values: [...values], rowMode: 'array' })).rows,
      run: async (sql, values) => (await client.query(sql, [...values])).rowCount ?? 0,
      lock: async (table, keys) => {
        await client.query(await lockTexts.textFor(client, table), [keys])
      },
    }
  }

  /** A connection that is not known to be clean is closed and not used again. */
  async function withClient<T>(
    begin: string,
    work: (client: pg.PoolClient) => Promise<[T, boolean]>,
  ): Promise<T> {
    const client = await pool.connect()
    let isClean = false
    try {
      await client.query(begin)
      const [result, clean] = await work(client)
      isClean = clean
      return result
    } finally {
      client.release(!isClean)
    }
  }

  function tryWrite<T>(body: (tx: Tx) => Promise<T>): Promise<Outcome<T>> {
    return withClient<Outcome<T>>('BEGIN', async (client) => {
      const outcome = await runBody(statementsOf(client), body, WRITE_BODY_MAX_MS)
      if (!outcome.ok) return [outcome, await rolledBack(client)]
      try {
        const { command } = await client.query('COMMIT')
        if (command === 'COMMIT') return [outcome, true]
        // The server answers so when a statement failed that the body never waited for.
        const error = new Error('the transaction was rolled back because a statement failed')
        return [{ ok: false, error, statementError: error }, false]
      } catch (error) {
        // Only the server's own word says that nothing was committed; no error of the connection does.
        const isRefused = error instanceof pg.DatabaseError && !isConnectionLost(error)
        if (isRefused) return [{ ok: false, error, statementError: error }, false]
        report(error instanceof Error ? error : new Error(String(error)))
        return [{ ok: false, error: new OutcomeUnknown(error), statementError: undefined }, false]
      }
    })
  }

  async function write<T>(body: (tx: Tx) => Promise<T>): Promise<T> {
    const deadline = performance.now() + RETRY_TIME_MAX_MS
    for (let tries = 1; ; tries++) {
      // Connecting and BEGIN can fail too, and nothing has happened by then.
      const outcome = await tryWrite(body).catch((error: unknown) => ({
        ok: false as const,
        error,
        statementError: error,
      }))
      if (outcome.ok) {
        runEffects(outcome.effects, log)
        return outcome.value
      }
      const cause = outcome.statementError
      const isLost = isConnectionLost(cause)
      const mayRetry = (isLost || isRace(cause)) && tries < TRIES_MAX && performance.now() < deadline
      if (!mayRetry) throw failureOf(outcome.error)
      await delay(Math.random() * Math.min(2 ** tries, isLost ? RECONNECT_DELAY_MAX_MS : RACE_DELAY_MAX_MS))
    }
  }

  async function read<T>(body: (tx: Tx) => Promise<T>): Promise<T> {
    const deadline = performance.now() + RETRY_TIME_MAX_MS
    for (let tries = 1; ; tries++) {
      let hasBegun = false
      try {
        const outcome = await withClient(
          'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
          async (client) => {
            hasBegun = true
            const result = await runBody(statementsOf(client), body)
            return [result, await rolledBack(client)]
          },
        )
        if (outcome.ok) return outcome.value
        throw outcome.error
      } catch (error) {
        const mayRetry =
          !hasBegun && isConnectionLost(error) && tries < TRIES_MAX && performance.now() < deadline
        if (!mayRetry) throw failureOf(error)
      }
      await delay(Math.random() * Math.min(2 ** tries, RECONNECT_DELAY_MAX_MS))
    }
  }

  let closing: Promise<void> | undefined
  return {
    engine: 'postgres',
    read: (body) => admitted.admit(() => read(body)),
    write: (body) => admitted.admit(() => write(body)),
    close: () => (closing ??= admitted.close().then(() => pool.end())),
  }
}

/** Resolves to whether the connection can be used again. */
async function rolledBack(client: pg.PoolClient): Promise<boolean> {
  try {
    await client.query('ROLLBACK')
    return true
  } catch {
    return false
  }
}
