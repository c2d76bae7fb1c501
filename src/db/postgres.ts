/**
 * The PostgreSQL driver. Reads are REPEATABLE READ snapshots. Writes are READ COMMITTED and take row locks where
 * they need them; a write that lost a race or its connection runs again, unless its COMMIT was already on the way:
 * then nobody knows whether it counts, and running it again could apply it twice.
 */
import pg from 'pg'
import { setTimeout as delay } from 'node:timers/promises'
import { admission } from './admission.js'
import {
  eachWithinTime,
  runBody,
  runEffects,
  WRITE_BODY_MAX_MS,
  type Outcome,
  type Statements,
} from './body.js'
import { OutcomeUnknown, type Db, type Tx } from './db.js'
import type { Dialect } from './migrate.js'
import { failureOf, isConnectionLost, isRace, lockStatements, TYPES } from './postgres-protocol.js'
import { socketOf, watchServer, type Turn } from './postgres-watch.js'

const CONNECTIONS_MAX = 10
const WORK_WAITING_MAX = 10_000
/** For one of the connections to be free. */
const TURN_WAIT_MAX_MS = 30_000
const CONNECT_MAX_MS = 5_000
const KEEP_ALIVE_DELAY_MS = 10_000
const LOCK_WAIT_MAX_MS = 30_000
/**
 * The server frees the locks of a process that vanished without a word. A body waits for nothing but the server, so no
 * transaction idles for longer than its process is held up.
 */
const IDLE_IN_TRANSACTION_MAX_MS = 15_000
const TRIES_MAX = 20
const RACE_TIME_MAX_MS = 30_000
/** A server that is started again is waited for this long, and whoever asks one that is away gets an answer by then. */
const AWAY_TIME_MAX_MS = 10_000
const CLOSE_WAIT_MAX_MS = 2_000
const RACE_DELAY_MAX_MS = 50
const RECONNECT_DELAY_MAX_MS = 1_000

const within = eachWithinTime(WRITE_BODY_MAX_MS)

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
    Client: PromptClient,
    connectionTimeoutMillis: TURN_WAIT_MAX_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MAX_MS,
    lock_timeout: LOCK_WAIT_MAX_MS,
    application_name: 'starling',
    types: TYPES,
  })
  const admitted = admission(WORK_WAITING_MAX)
  const lockTexts = lockStatements()
  const report = (error: Error): void => log(`a connection to PostgreSQL failed: ${error.message}`)
  pool.on('error', report)
  const watch = watchServer(url, log)
  const clients = new Set<pg.PoolClient>()
  pool.on('connect', (client) => {
    clients.add(client)
    client.once('end', () => clients.delete(client))
    // An error between two statements would otherwise have no listener and end the process.
    client.on('error', () => undefined)
  })

  function statementsOf({ client, ask }: Session): Statements {
    return {
      get: async (sql, values) =>
        (await ask(() => client.query<pg.QueryResultRow>(sql, [...values]))).rows[0],
      all: async (sql, values) => (await ask(() => client.query<pg.QueryResultRow>(sql, [...values]))).rows,
      lists: async (sql, values) =>
        (await ask(() => client.query<unknown[]>({ text: sql, values: [...values], rowMode: 'array' }))).rows,
      run: async (sql, values) => (await ask(() => client.query(sql, [...values]))).rowCount ?? 0,
      lock: async (table, keys) => {
        await ask(async () => client.query(await lockTexts.textFor(client, table), [keys]))
      },
    }
  }

  async function connect(startedMs: number): Promise<pg.PoolClient> {
    await watch.untilThere(startedMs, AWAY_TIME_MAX_MS)
    const connecting = pool.connect().catch((error: unknown) => {
      if (error instanceof Error && error.message === CONNECT_TOO_LONG) watch.suspect()
      throw error
    })
    return watch.unlessAway(connecting, (late) => late.release())
  }

  /** A connection that is not known to be clean is closed and not used again. */
  async function withClient<T>(
    startedMs: number,
    begin: string,
    work: (session: Session) => Promise<[T, boolean]>,
  ): Promise<T> {
    const client = await connect(startedMs)
    const turn = watch.begin(client)
    const session = { client, ask: watched(turn) }
    let isClean = false
    try {
      await session.ask(() => client.query(begin))
      const [result, clean] = await work(session)
      isClean = clean
      return result
    } finally {
      turn.end()
      client.release(!isClean)
    }
  }

  function tryWrite<T>(startedMs: number, body: (tx: Tx) => Promise<T>): Promise<Outcome<T>> {
    return withClient<Outcome<T>>(startedMs, 'BEGIN', async (session) => {
      const { client, ask } = session
      const outcome = await runBody(statementsOf(session), body, within)
      if (!outcome.ok) return [outcome, await rolledBack(session)]
      try {
        const { command } = await ask(() => client.query('COMMIT'))
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
    const startedMs = performance.now()
    for (let tries = 1; ; tries++) {
      // Connecting and BEGIN can fail too, and nothing has happened by then.
      const outcome = await tryWrite(startedMs, body).catch((error: unknown) => ({
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
      const isInTime = performance.now() - startedMs < (isLost ? AWAY_TIME_MAX_MS : RACE_TIME_MAX_MS)
      const mayRetry = (isLost || (isRace(cause) && tries < TRIES_MAX)) && isInTime
      if (!mayRetry) throw failureOf(outcome.error)
      await delay(Math.random() * Math.min(2 ** tries, isLost ? RECONNECT_DELAY_MAX_MS : RACE_DELAY_MAX_MS))
    }
  }

  async function read<T>(body: (tx: Tx) => Promise<T>): Promise<T> {
    const startedMs = performance.now()
    for (let tries = 1; ; tries++) {
      let hasBegun = false
      try {
        const outcome = await withClient(
          startedMs,
          'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
          async (session) => {
            hasBegun = true
            const result = await runBody(statementsOf(session), body)
            return [result, await rolledBack(session)]
          },
        )
        if (outcome.ok) return outcome.value
        throw outcome.error
      } catch (error) {
        const isInTime = performance.now() - startedMs < AWAY_TIME_MAX_MS
        const mayRetry = !hasBegun && isConnectionLost(error) && isInTime
        if (!mayRetry) throw failureOf(error)
      }
      await delay(Math.random() * Math.min(2 ** tries, RECONNECT_DELAY_MAX_MS))
    }
  }

  let closing: Promise<void> | undefined
  return {
    engine: 'postgres',
    read: (body) => admitted.admit(() => read(body)),
    // To know that nothing was committed would take as long as to look.
    recall: () => undefined,
    write: (body) => admitted.admit(() => write(body)),
    close: () => (closing ??= close()),
  }

  async function close(): Promise<void> {
    await admitted.close()
    watch.stop()
    const ended = [...clients].map((client) => new Promise<void>((resolve) => client.once('end', resolve)))
    // A server that is silent does not answer a goodbye.
    const timer = setTimeout(() => clients.forEach((client) => socketOf(client).destroy()), CLOSE_WAIT_MAX_MS)
    await pool.end()
    await Promise.all(ended)
    clearTimeout(timer)
  }
}

const CONNECT_TOO_LONG = 'timeout expired'

/** A free connection may be waited for, one that does not come about is given up sooner. */
class PromptClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super({ ...config, connectionTimeoutMillis: CONNECT_MAX_MS })
  }
}

interface Session {
  readonly client: pg.PoolClient
  /** Says around a statement that its answer is waited for. */
  readonly ask: <T>(statement: () => Promise<T>) => Promise<T>
}

function watched(turn: Turn): Session['ask'] {
  return async (statement) => {
    turn.asked()
    try {
      return await statement()
    } finally {
      turn.answered()
    }
  }
}

/** Resolves to whether the connection can be used again. */
async function rolledBack({ client, ask }: Session): Promise<boolean> {
  try {
    await ask(() => client.query('ROLLBACK'))
    return true
  } catch {
    return false
  }
}
