/** The connections for reading: as many as there are reads under way at once, up to a limit; the rest take turns. */
import { admission } from './admission.js'
import { runBody } from './body.js'
import type { Tx } from './db.js'
import { isBusy, openConnection, retryWhileBusy, translated } from './sqlite-connection.js'
import { looksThrough, Outdated, type Looks } from './sqlite-look.js'

const CONNECTIONS_MAX = 8
const READS_WAITING_MAX = 10_000

interface Reader {
  readonly looks: Looks
  close(): void
}

interface Look<T> {
  readonly body: (tx: Tx) => Promise<T>
  readonly keptAs: string | undefined
}

export interface Readers {
  read<T>(body: (tx: Tx) => Promise<T>, keptAs?: string): Promise<T>
  recall(name: string): unknown
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
      const connection = await openConnection(file, 'read')
      return { looks: looksThrough(connection), close: connection.close }
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

  function release(reader: Reader): void {
    try {
      reader.looks.end()
    } catch {
      reader.close()
      return discarded()
    }
    const next = waiting.shift()
    if (next === undefined) idle.push(reader)
    else next(reader)
  }

  async function lookOnce<T>({ looks }: Reader, { body, keptAs }: Look<T>, atOnce: boolean): Promise<T> {
    looks.begin(atOnce)
    const outcome = await runBody(looks, body)
    if (outcome.ok && keptAs !== undefined) looks.keepOutcome(keptAs, outcome.value)
    looks.end()
    if (outcome.ok) return outcome.value
    throw outcome.statementError instanceof Outdated ? outcome.statementError : translated(outcome.error)
  }

  async function look<T>(reader: Reader, wanted: Look<T>): Promise<T> {
    try {
      return await lookOnce(reader, wanted, false)
    } catch (error) {
      if (error instanceof Outdated) return lookOnce(reader, wanted, true)
      throw error
    }
  }

  return {
    async read(body, keptAs) {
      const wanted = { body, keptAs }
      admitted.enter()
      try {
        const reader = idle.pop() ?? (await acquire())
        try {
          return await look(reader, wanted)
        } catch (error) {
          if (!isBusy(error)) throw error
          return await retryWhileBusy(() => look(reader, wanted))
        } finally {
          release(reader)
        }
      } finally {
        admitted.leave()
      }
    },
    recall(name) {
      try {
        return idle.at(-1)?.looks.recallOutcome(name)
      } catch {
        // Whatever is wrong, the read that follows meets it too, and knows what to do.
        return undefined
      }
    },
    async close() {
      await admitted.close()
      for (const reader of idle.splice(0)) reader.close()
    },
  }
}
