/**
 * Notices a PostgreSQL that has fallen silent. A cut cable and a machine that is gone end no connection: without this
 * every request would wait for ever. A statement may take its time, so whoever waits long asks the server over another
 * connection: connections that it does not work for are ended, and while it does not answer at all nobody waits long.
 */
import type { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import pg from 'pg'

/** A statement without an answer for this long makes us ask. */
const SILENCE_MAX_MS = 3_000
/** And this is how long the answer to that may take. */
const PROBE_MAX_MS = 3_000
const LOOK_EVERY_MS = 500
/** While statements are merely slow. */
const PROBE_EVERY_MS = 3_000
/** Idle for the server in two looks: its answer is not on the way but lost. */
const IDLE_LOOKS_MAX = 2

export const SERVER_AWAY = 'Connection terminated: the server does not answer'

/** The use of a connection for one transaction. */
export interface Turn {
  asked(): void
  answered(): void
  end(): void
}

export interface ServerWatch {
  begin(client: pg.ClientBase): Turn
  /** Rejected when the server is silent and was so for this long, or will be so for this long since the given time. */
  untilThere(sinceMs: number, timeMaxMs: number): Promise<void>
  /** The same work, but rejected as soon as the server is known to be silent; what then comes too late is disposed of. */
  unlessAway<T>(work: Promise<T>, dispose: (late: T) => void): Promise<T>
  /** A connection could not be made within its time. */
  suspect(): void
  stop(): void
}

interface Waiting {
  readonly client: pg.ClientBase
  unanswered: number
  movedMs: number
  idleLooks: number
}

export function watchServer(url: string, log: (message: string) => void): ServerWatch {
  const turns = new Set<Waiting>()
  const waiters = new Set<{ there: () => void; away: () => void }>()
  let awaySinceMs: number | undefined
  let isProbing = false
  let probedMs = -Infinity

  function settle(isThere: boolean): void {
    if (isThere === (awaySinceMs === undefined)) return
    awaySinceMs = isThere ? undefined : performance.now()
    log(isThere ? 'PostgreSQL answers again' : 'PostgreSQL does not answer')
    for (const { there, away } of [...waiters]) (isThere ? there : away)()
  }

  function silentTurns(): Waiting[] {
    const beforeMs = performance.now() - SILENCE_MAX_MS
    return [...turns].filter(({ unanswered, movedMs }) => unanswered > 0 && movedMs < beforeMs)
  }

  async function probe(): Promise<void> {
    const silent = silentTurns().map((turn) => ({ turn, movedMs: turn.movedMs }))
    const isStill = ({ turn, movedMs }: (typeof silent)[number]): boolean => turn.movedMs === movedMs
    const active = await activeBackends(
      url,
      silent.map(({ turn }) => processIdOf(turn.client)),
    )
    settle(active !== 'silent')
    if (active === 'unknown') return
    for (const { turn } of silent.filter(isStill)) {
      const isWorking = active !== 'silent' && active.has(processIdOf(turn.client))
      turn.idleLooks = isWorking ? 0 : turn.idleLooks + 1
      if (active === 'silent' || turn.idleLooks >= IDLE_LOOKS_MAX) socketOf(turn.client).destroy()
    }
  }

  function look(): void {
    const everyMs = awaySinceMs === undefined ? PROBE_EVERY_MS : LOOK_EVERY_MS
    const isDue = performance.now() - probedMs >= everyMs
    if (isProbing || !isDue || (awaySinceMs === undefined && silentTurns().length === 0)) return
    isProbing = true
    probe()
      .catch((error: unknown) => log(`PostgreSQL could not be asked: ${String(error)}`))
      .finally(() => {
        isProbing = false
        probedMs = performance.now()
      })
  }

  const timer = setInterval(look, LOOK_EVERY_MS)
  timer.unref()

  return {
    begin(client) {
      const turn: Waiting = { client, unanswered: 0, movedMs: performance.now(), idleLooks: 0 }
      turns.add(turn)
      const move = (by: number): void => {
        turn.unanswered += by
        turn.movedMs = performance.now()
        turn.idleLooks = 0
      }
      return { asked: () => move(1), answered: () => move(-1), end: () => turns.delete(turn) }
    },

    untilThere(sinceMs, timeMaxMs) {
      if (awaySinceMs === undefined) return Promise.resolve()
      const leftMs = Math.min(awaySinceMs, sinceMs) + timeMaxMs - performance.now()
      if (leftMs <= 0) return Promise.reject(new Error(SERVER_AWAY))
      return new Promise((resolve, reject) => {
        const finish = (action: () => void) => () => {
          clearTimeout(late)
          waiters.delete(waiter)
          action()
        }
        const fail = finish(() => reject(new Error(SERVER_AWAY)))
        const waiter = { there: finish(resolve), away: fail }
        const late = setTimeout(fail, leftMs)
        waiters.add(waiter)
      })
    },

    unlessAway(work, dispose) {
      return new Promise((resolve, reject) => {
        let isAbandoned = false
        const away = (): void => {
          isAbandoned = true
          waiters.delete(waiter)
          reject(new Error(SERVER_AWAY))
        }
        const waiter = { there: () => undefined, away }
        waiters.add(waiter)
        work.then(
          (value) => {
            waiters.delete(waiter)
            if (isAbandoned) dispose(value)
            else resolve(value)
          },
          (error: unknown) => {
            waiters.delete(waiter)
            reject(error instanceof Error ? error : new Error(String(error)))
          },
        )
      })
    },

    suspect: () => settle(false),

    stop() {
      clearInterval(timer)
      for (const { away } of [...waiters]) away()
    },
  }
}

/** Which of the server's processes are at work; `unknown`: it answers, but not that. */
async function activeBackends(
  url: string,
  processIds: readonly number[],
): Promise<ReadonlySet<number> | 'silent' | 'unknown'> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'starling watch',
    connectionTimeoutMillis: PROBE_MAX_MS,
    query_timeout: PROBE_MAX_MS,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE pid = ANY ($1) AND state = 'active'`,
      [processIds],
    )
    return new Set(rows.map(({ pid }) => pid))
  } catch (error) {
    return error instanceof pg.DatabaseError ? 'unknown' : 'silent'
  } finally {
    void endWithin(client, PROBE_MAX_MS)
  }
}

/** Says goodbye, and goes without an answer if there is none. */
export async function endWithin(client: pg.Client, timeMaxMs: number): Promise<void> {
  const timer = setTimeout(() => socketOf(client).destroy(), timeMaxMs)
  await client.end().catch(() => undefined)
  clearTimeout(timer)
}

/** What the types of the package leave out. */
interface Inside {
  readonly processID: number | null
  readonly connection: { readonly stream: Socket }
}

export function socketOf(client: pg.ClientBase): Socket {
  return (client as unknown as Inside).connection.stream
}

function processIdOf(client: pg.ClientBase): number {
  return (client as unknown as Inside).processID ?? 0
}
