/** The connections for reading: as many as there are reads under way at once, up to a limit; the rest take turns. */
import { admission } from './admission.js'
import { runBody, type Statements } from './body.js'
import type { Tx } from './db.js'
import { isBusy, openConnection, retryWhileBusy, translated, type Connection } from './sqlite-connection.js'

const CONNECTIONS_MAX = 8
const READS_WAITING_MAX = 10_000

/** A connection with all that the body of a transaction may ask of it. */
type Reader = Connection & Statements

export interface Readers {
  read<T>(body: (tx: Tx) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export function readerPool(file: string): Readers {
  const admitted = admission(READS_WAITING_MAX)
  const idle: Reader[] = []
  const waiting: ((connection: Reader | undefined) => void)[] = []
  let openCount = 0

  async function acquire(): Promise<Reader> {
    if (openCount >= CONNECTIONS_MAX) {
      const handedOver = await new Promise<Reader | undefined>((resolve) => waiting.push(resolve))
      return handedOver ?? idle.pop() ?? acquire()
    }
    openCount += 1
    try {
      return Object.assign(await openConnection(file, 'read'), { lock: refuseLock })
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

  function release(connection: Reader): void {
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

  async function readOn<T>(connection: Reader, body: (tx: Tx) => Promise<T>): Promise<T> {
    connection.run('BEGIN', [])
    const outcome = await runBody(connection, body)
    if (connection.inTransaction) connection.run('ROLLBACK', [])
    if (!outcome.ok) throw translated(outcome.error)
    return outcome.value
  }

  return {
    async read(body) {
      admitted.enter()
      try {
        const connection = idle.pop() ?? (await acquire())
        try {
          return await readOn(connection, body)
        } catch (error) {
          if (!isBusy(error)) throw error
          return await retryWhileBusy(() => readOn(connection, body))
        } finally {
          release(connection)
        }
      } finally {
        admitted.leave()
      }
    },
    async close() {
      await admitted.close()
      for (const connection of idle.splice(0)) connection.close()
    },
  }
}

function refuseLock(): never {
  throw new Error('a read transaction cannot hold rows')
}
