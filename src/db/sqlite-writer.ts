/**
 * All writes of this process to SQLite, committed in groups.
 *
 * Waiting writes are taken up together: one BEGIN IMMEDIATE, one body after the other, one COMMIT. A body that fails
 * leaves the others alone. Nearly all of those that fail have changed nothing by then. If one has, everything is rolled
 * back, and the bodies run again, each in a savepoint of its own.
 *
 * Durability is that of `synchronous=FULL`, reached in another way. FULL makes COMMIT itself wait for the disk, which
 * would hold the write lock of all processes and block the event loop meanwhile. The connection runs with
 * `synchronous=NORMAL` instead, where COMMIT hands its frames to the operating system in order, and the writer then
 * calls fdatasync on its own descriptor of the log file, outside the lock and off the event loop. Nothing is
 * acknowledged before a sync that began after its COMMIT has succeeded. Recovery reads the log up to the first frame
 * that is missing, and such a sync covers every earlier frame of every process, so what was acknowledged is found
 * again. A checkpoint under NORMAL syncs the log before it copies and the database before the log may be overwritten.
 * The difference to FULL is that a reader may see a commit some moments before it is durable; a write that saw it
 * waits for a sync of its own, even if it changed nothing. While a sync is under way further groups commit, and
 * share the next one.
 *
 * After a failed sync the operating system may have dropped the data and calls the next sync a success. Everything
 * unacknowledged is therefore rejected, and no write is accepted until a checkpoint has moved the log's content into
 * the database file and synced that.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Failure } from '../model/failures.js'
import { admission } from './admission.js'
import { oneWithinTime, runBody, runEffects, WRITE_BODY_MAX_MS, type Outcome } from './body.js'
import { OutcomeUnknown, type Tx } from './db.js'
import { retryWhileBusy, translated, type Connection } from './sqlite-connection.js'

/** So many writes share a transaction at most, which bounds how long the lock is held. */
const GROUP_MAX = 64
const WRITES_WAITING_MAX = 10_000
const RECOVERY_WAIT_MAX_MS = 2_000
const RECOVERY_RETRY_MS = 1_000

export interface Writer {
  write<T>(body: (tx: Tx) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface WriterOptions {
  connection: Connection
  /** Makes everything that was committed before the call durable. */
  sync: () => Promise<void>
  log: (message: string) => void
}

interface Job {
  body: (tx: Tx) => Promise<unknown>
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
  /** Runs in a savepoint of its own. */
  isApart?: boolean
}

interface Finished {
  job: Job
  outcome: Outcome<unknown>
}

export function groupCommitWriter({ connection, sync, log }: WriterOptions): Writer {
  const admitted = admission(WRITES_WAITING_MAX)
  const queue: Job[] = []
  let unsynced: Finished[] = []
  let isRunning = false
  let isSyncing = false
  let needsRecovery = false
  let recoveryTimer: NodeJS.Timeout | undefined
  const statements = { ...bindStatements(connection), lock: () => undefined }
  const within = oneWithinTime(WRITE_BODY_MAX_MS)

  /** Started when there is work and not yet running; it never rejects. */
  async function run(): Promise<void> {
    isRunning = true
    while (queue.length > 0 || needsRecovery) {
      await gather()
      try {
        rollBack()
        if (needsRecovery) await recover()
        await retryWhileBusy(() => connection.run('BEGIN IMMEDIATE', []))
      } catch (error) {
        for (const job of queue.splice(0)) job.reject(translated(error))
        break
      }
      await runGroup()
    }
    isRunning = false
  }

  /** Requests that arrive together get the chance to queue up for the same group, as long as each turn brings more. */
  async function gather(): Promise<void> {
    let before: number
    do {
      before = queue.length
      await nextTurn()
    } while (queue.length > before && queue.length < GROUP_MAX)
  }

  async function runGroup(): Promise<void> {
    const group: Finished[] = []
    while (group.length < GROUP_MAX) {
      const job = queue.shift()
      if (job === undefined) break
      const changeCount = connection.changeCount
      const finished = { job, outcome: await runJob(job) }
      const isToUndo = !finished.outcome.ok && !job.isApart && connection.changeCount !== changeCount
      if (isToUndo && connection.inTransaction) return runApart([...group, finished])
      if (!connection.inTransaction) {
        // SQLite gave up the whole transaction: the others have to run again without the one that caused it.
        queue.unshift(...group.map((earlier) => earlier.job))
        settle(finished)
        return
      }
      group.push(finished)
    }
    if (needsRecovery) {
      rollBack()
      queue.unshift(...group.map(({ job }) => job))
      return
    }
    try {
      connection.run('COMMIT', [])
    } catch (error) {
      rollBack()
      for (const finished of group) settle(finished, error)
      return
    }
    unsynced.push(...group)
    if (!isSyncing) void syncCommitted()
  }

  /** The last of them failed and has left something behind. */
  function runApart(group: readonly Finished[]): void {
    rollBack()
    for (const { job } of group) job.isApart = true
    queue.unshift(...group.map(({ job }) => job))
  }

  async function runJob(job: Job): Promise<Outcome<unknown>> {
    if (!job.isApart) return runBody(statements, job.body, within)
    let outcome: Outcome<unknown> | undefined
    try {
      connection.run('SAVEPOINT body', [])
      outcome = await runBody(statements, job.body, within)
      if (!outcome.ok && connection.inTransaction) connection.run('ROLLBACK TO body', [])
      if (connection.inTransaction) connection.run('RELEASE body', [])
      return outcome
    } catch (error) {
      rollBack()
      return outcome?.ok === false ? outcome : { ok: false, error, statementError: error }
    }
  }

  function rollBack(): void {
    if (!connection.inTransaction) return
    try {
      connection.run('ROLLBACK', [])
    } catch (error) {
      log(`a transaction could not be rolled back: ${String(error)}`)
    }
  }

  async function syncCommitted(): Promise<void> {
    isSyncing = true
    while (unsynced.length > 0) {
      const covered = unsynced
      unsynced = []
      try {
        await sync()
        for (const finished of covered) settle(finished)
      } catch (error) {
        log(`the database log could not be synced: ${String(error)}`)
        needsRecovery = true
        for (const finished of [...covered, ...unsynced]) settle(finished, new OutcomeUnknown(error))
        unsynced = []
        if (!isRunning) void run()
      }
    }
    isSyncing = false
  }

  /** Failures wait for the sync too: they may have been caused by a change of the same group. */
  function settle({ job, outcome }: Finished, groupError?: unknown): void {
    if (!outcome.ok) return job.reject(translated(outcome.error))
    if (groupError !== undefined) return job.reject(translated(groupError))
    runEffects(outcome.effects, log)
    job.resolve(outcome.value)
  }

  async function recover(): Promise<void> {
    clearTimeout(recoveryTimer)
    try {
      await retryWhileBusy(() => checkpointAll(connection), RECOVERY_WAIT_MAX_MS)
      needsRecovery = false
      log('the database log is in order again')
    } catch (error) {
      log(`the database cannot take changes: ${String(error)}`)
      recoveryTimer = setTimeout(() => !isRunning && void run(), RECOVERY_RETRY_MS).unref()
      const isFull = translated(error) !== error
      throw isFull ? error : new Failure('unavailable', 'The database cannot store changes at the moment')
    }
  }

  return {
    write<T>(body: (tx: Tx) => Promise<T>): Promise<T> {
      return admitted.admit(
        () =>
          new Promise<T>((resolve, reject) => {
            queue.push({ body, resolve: (value) => resolve(value as T), reject })
            if (!isRunning) void run()
          }),
      )
    },
    async close() {
      await admitted.close()
      clearTimeout(recoveryTimer)
      while (isRunning || isSyncing) await nextTurn()
      clearTimeout(recoveryTimer)
      connection.close()
    },
  }
}

/** Moves the whole log into the database file, syncs it and empties the log. */
function checkpointAll(connection: Connection): void {
  const row = connection.get('PRAGMA wal_checkpoint(TRUNCATE)', []) as { busy: number }
  if (row.busy !== 0) throw Object.assign(new Error('the log is in use'), { code: 'SQLITE_BUSY' })
}

function bindStatements(connection: Connection): Pick<Connection, 'get' | 'all' | 'lists' | 'run'> {
  const { get, all, lists, run } = connection
  return { get, all, lists, run }
}
