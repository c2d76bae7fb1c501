/** The connections for reading: as many as there are reads under way at once, up to a limit; the rest take turns. */
import { admission } from './admission.js'
import { runBody } from './body.js'
import type { Tx } from './db.js'
import { openConnection, retryWhileBusy, translated, type Connection } from './sqlite-connection.js'

const CONNECTIONS_MAX = 8
const READS_WAITING_MAX = 10_000

export interface Readers {
  read<T>(body: (tx: Tx) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export function readerPool(file: string): Readers {
  const admitted = admission(READS_WAITING_MAX)
  const idle: Connection[] = []
  const waiting: ((connection: Connection | undefined) => void)[] = []
  let openCount = 0

  async function acquire(): Promise<Connection> {
    const ready = idle.pop()
    if (ready !== undefined) return ready
    if (openCount >= CONNECTIONS_MAX) {
      const handedOver = await new Promise<Connection | undefined>((resolve) => waiting.push(resolve))
      return handedOver ?? acquire()
    }
    openCount += 1
    try {
      return await openConnection(file, 'read')
    } catch (error) {
      discarded()
      throw error
    }
  }

  /** One connection fewer: whoever waits next may open another. */
  function discarded(): void {
    openCount -= 1
    waiting.shift()?.(undefined)
  }

  function release(connection: Connection): void {
    try {
      if (connection.inTransaction) connection.run('ROLLBACK', [])
    } catch {
      connection.close()
      return discarded()
    }
    const next = waiting.shift()
    if (next === undefined) idle.push(connection)
    else next(connection)
  }

  async function readOn<T>(connection: Connection, body: (tx: Tx) => Promise<T>): Promise<T> {
    connection.run('BEGIN', [])
    const { get, all, lists, run } = connection
    const statements = { get, all, lists, run, lock: refuseLock }
    const outcome = await runBody(statements, body)
    if (connection.inTransaction) connection.run('ROLLBACK', [])
    if (!outcome.ok) throw translated(outcome.error)
    return outcome.value
  }

  return {
    read: (body) =>
      admitted.admit(async () => {
        const connection = await acquire()
        try {
          return await retryWhileBusy(() => readOn(connection, body))
        } finally {
          release(connection)
        }
      }),
    async close() {
      await admitted.close()
      for (const connection of idle.splice(0)) connection.close()
    },
  }
}

function refuseLock(): never {
  throw new Error('a read transaction cannot hold rows')
}
