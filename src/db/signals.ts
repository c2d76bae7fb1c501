/**
 * Short messages between the nodes that share a PostgreSQL. They are a courtesy: one that is lost, as while the
 * connection is down, must be made up for by a look at the tables.
 */
import pg from 'pg'
import { endWithin } from './postgres-watch.js'

const CHANNEL = 'starling'
const RECONNECT_DELAY_MS = 500
const RECONNECT_DELAY_MAX_MS = 10_000
/** A connection that only listens would not notice that nobody is there any more. */
const PROBE_EVERY_MS = 5_000
const ANSWER_MAX_MS = 5_000
const CLOSE_WAIT_MAX_MS = 1_000
/** Beyond this many different ones that wait to be sent, further ones are dropped. */
const WAITING_MAX = 1_000

export interface Signals {
  send(message: string): void
  /** Whether messages come and go at this moment. */
  readonly isConnected: boolean
  close(): Promise<void>
}

export interface SignalsOptions {
  readonly url: string
  /** Tells our own messages from those of others. */
  readonly sender: string
  readonly onMessage: (message: string) => void
  readonly log: (message: string) => void
}

export function openSignals({ url, sender, onMessage, log }: SignalsOptions): Signals {
  let client: pg.Client | undefined
  let isClosed = false
  const waiting = new Set<string>()
  let isSending = false
  let delayMs = RECONNECT_DELAY_MS
  let timer: NodeJS.Timeout | undefined
  const prober = setInterval(() => {
    const asked = client
    asked?.query('SELECT 1').catch(() => giveUp(asked))
  }, PROBE_EVERY_MS)
  prober.unref()

  function hear(payload: string | undefined): void {
    const [, from, message] = /^([0-9a-f]+) (.*)$/s.exec(payload ?? '') ?? []
    if (from !== undefined && from !== sender && message !== undefined) onMessage(message)
  }

  async function connect(): Promise<void> {
    const fresh = new pg.Client({
      connectionString: url,
      keepAlive: true,
      application_name: 'starling signals',
      connectionTimeoutMillis: ANSWER_MAX_MS,
      query_timeout: ANSWER_MAX_MS,
    })
    fresh.on('error', () => undefined)
    fresh.once('end', () => lost(fresh))
    fresh.on('notification', ({ payload }) => hear(payload))
    try {
      await fresh.connect()
      await fresh.query(`LISTEN ${CHANNEL}`)
    } catch (error) {
      await endWithin(fresh, CLOSE_WAIT_MAX_MS)
      throw error
    }
    if (isClosed) return endWithin(fresh, CLOSE_WAIT_MAX_MS)
    client = fresh
    delayMs = RECONNECT_DELAY_MS
  }

  /** One after another; the same message twice is said once. */
  async function sendWaiting(): Promise<void> {
    for (const message of waiting) {
      waiting.delete(message)
      const asked = client
      await asked
        ?.query('SELECT pg_notify($1, $2)', [CHANNEL, `${sender} ${message}`])
        .catch((error: unknown) => {
          giveUp(asked)
          throw error
        })
    }
  }

  function giveUp(which: pg.Client): void {
    void endWithin(which, CLOSE_WAIT_MAX_MS)
    lost(which)
  }

  function lost(which: pg.Client): void {
    if (client !== which) return
    client = undefined
    if (isClosed) return
    log('the connection for signals between nodes was lost')
    tryLater()
  }

  function tryLater(): void {
    timer = setTimeout(start, Math.random() * delayMs)
    timer.unref()
    delayMs = Math.min(delayMs * 2, RECONNECT_DELAY_MAX_MS)
  }

  function start(): void {
    if (isClosed) return
    connect().catch((error: unknown) => {
      log(
        `no connection for signals between nodes: ${error instanceof Error ? error.message : String(error)}`,
      )
      if (!isClosed) tryLater()
    })
  }

  start()
  return {
    send(message) {
      if (client === undefined || waiting.size >= WAITING_MAX) return
      waiting.add(message)
      if (isSending) return
      isSending = true
      sendWaiting()
        .catch((error: unknown) => log(`a signal could not be sent: ${String(error)}`))
        .finally(() => {
          isSending = false
        })
    },
    get isConnected() {
      return client !== undefined
    },
    async close() {
      isClosed = true
      clearTimeout(timer)
      clearInterval(prober)
      if (client !== undefined) await endWithin(client, CLOSE_WAIT_MAX_MS)
    },
  }
}
