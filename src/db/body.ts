/** Runs the body of a transaction; the rules that both engines share are kept here. */
import type { Tx, Value } from './db.js'

/** A write that has not settled by then is stuck and would hold up every other one. */
export const WRITE_BODY_MAX_MS = 60_000

/** What an engine has to offer for the length of one transaction. */
export interface Statements {
  get(sql: string, values: readonly Value[]): unknown
  /** Absent: every row is read. */
  recall?(sql: string, values: readonly string[]): unknown
  all(sql: string, values: readonly Value[]): unknown[] | Promise<unknown[]>
  lists(sql: string, values: readonly Value[]): unknown[] | Promise<unknown[]>
  run(sql: string, values: readonly Value[]): number | Promise<number>
  lock(table: string, keys: readonly string[]): void | Promise<void>
}

export type Effect = () => void

export type Outcome<T> =
  | { ok: true; value: T; effects: Effect[] }
  /** `statementError` is the first error of the engine itself, whatever the body made of it. */
  | { ok: false; error: unknown; statementError: unknown }

/** Never rejects. A body that swallowed the error of a statement has failed all the same. */
export async function runBody<T>(
  statements: Statements,
  body: (tx: Tx) => Promise<T>,
  within: Within = asItIs,
): Promise<Outcome<T>> {
  const effects: Effect[] = []
  let isOver = false
  let failed: { error: unknown } | undefined

  function guarded<R>(statement: () => R | Promise<R>): Promise<R> {
    if (isOver) return Promise.reject(new Error('a transaction was used after its end'))
    if (failed !== undefined) {
      const cause = failed.error
      return Promise.reject(new Error('a statement of this transaction has failed', { cause }))
    }
    try {
      const result = statement()
      return result instanceof Promise ? result.catch(fail) : Promise.resolve(result)
    } catch (error) {
      return new Promise(() => fail(error))
    }
  }

  function fail(error: unknown): never {
    failed ??= { error }
    throw error
  }

  const tx: Tx = {
    get: <R>(sql: string, ...values: Value[]) => guarded(() => statements.get(sql, values) as R | undefined),
    recall: <R>(sql: string, ...values: string[]) =>
      guarded(() => (statements.recall ?? statements.get)(sql, values) as R | undefined),
    all: <R>(sql: string, ...values: Value[]) => guarded(() => statements.all(sql, values) as R[]),
    lists: <R>(sql: string, ...values: Value[]) => guarded(() => statements.lists(sql, values) as R[]),
    run: (sql, ...values) => guarded(() => statements.run(sql, values)),
    lock: (table, ...keys) => guarded(() => statements.lock(table, keys)),
    afterCommit: (effect) => {
      effects.push(effect)
    },
  }

  try {
    const value = await within(body(tx))
    if (failed !== undefined) return { ok: false, error: failed.error, statementError: failed.error }
    return { ok: true, value, effects }
  } catch (error) {
    return { ok: false, error, statementError: failed?.error }
  } finally {
    isOver = true
  }
}

/** The commit has happened, so an effect that throws is logged and changes nothing else. */
export function runEffects(effects: readonly Effect[], log: (message: string) => void): void {
  for (const effect of effects) {
    try {
      effect()
    } catch (error) {
      log(`an effect after a commit failed: ${String(error)}`)
    }
  }
}

/** Lets work take no more than its time. */
export type Within = <T>(work: Promise<T>) => Promise<T>

const asItIs: Within = (work) => work

/** For any number of bodies at once. */
export function eachWithinTime(timeMaxMs: number): Within {
  return async (work) => {
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(tooLong(timeMaxMs)), timeMaxMs)
    })
    try {
      return await Promise.race([work, timeout])
    } finally {
      clearTimeout(timer)
    }
  }
}

/** For bodies of which only one runs at a time: they share one timer, which is set anew for each of them. */
export function oneWithinTime(timeMaxMs: number): Within {
  let giveUp: (error: Error) => void = () => undefined
  let timer: NodeJS.Timeout | undefined
  return (work) =>
    new Promise((resolve, reject) => {
      giveUp = reject
      timer = timer?.refresh() ?? setTimeout(() => giveUp(tooLong(timeMaxMs)), timeMaxMs).unref()
      work.then(resolve, reject)
    })
}

function tooLong(timeMaxMs: number): Error {
  return new Error(`a transaction was still running after ${timeMaxMs} ms`)
}
