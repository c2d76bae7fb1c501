/**
 * Moves the SQLite log into the database file from a thread of its own, since a checkpoint waits for the disk and
 * would block the event loop. One process of a node runs it; writers never checkpoint by themselves. A process that
 * opens the database without it, such as a command line, is fine: the last connection to close checkpoints.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { SQLITE_FILE_NAME } from './open.js'
import { sqliteLibrary } from './sqlite-library.js'

const CHECK_INTERVAL_MS = 1_000
/** From this size on the log is copied as far as it goes without disturbing anyone. */
const PASSIVE_LOG_BYTES = 4 * 1024 * 1024
/** From this amount of live log on, writers wait for a moment so that the log can start over. */
const RESTART_LOG_BYTES = 64 * 1024 * 1024
/** How long a restart waits, in its own thread, for readers of older states to finish. */
const RESTART_WAIT_MAX_MS = 1_000

export interface Checkpointer {
  stop(): Promise<void>
}

export interface CheckpointerOptions {
  intervalMs?: number
  passiveBytes?: number
  restartBytes?: number
  log?: (message: string) => void
}

/**
 * The database must have been opened, and thereby created, before. The log of a node that is little used stays small
 * for long, so the thread is made when there is something for it to do.
 */
export function startCheckpointer(dataDir: string, options: CheckpointerOptions = {}): Checkpointer {
  const file = join(dataDir, SQLITE_FILE_NAME)
  const { intervalMs = CHECK_INTERVAL_MS, passiveBytes = PASSIVE_LOG_BYTES } = options
  let thread: Checkpointer | undefined
  let isStopped = false

  function look({ size }: { size: number }): void {
    if (isStopped || thread !== undefined || size < passiveBytes) return
    clearInterval(timer)
    thread = startThread(file, { ...options, intervalMs, passiveBytes })
  }

  const timer = setInterval(() => void stat(`${file}-wal`).then(look, () => undefined), intervalMs).unref()
  return {
    async stop() {
      isStopped = true
      clearInterval(timer)
      await thread?.stop()
    },
  }
}

function startThread(file: string, options: CheckpointerOptions): Checkpointer {
  const log = options.log ?? (() => undefined)
  const worker = new Worker(PROGRAM, {
    eval: true,
    execArgv: [],
    workerData: {
      library: sqliteLibrary(),
      file,
      intervalMs: options.intervalMs,
      passiveBytes: options.passiveBytes,
      restartBytes: options.restartBytes ?? RESTART_LOG_BYTES,
      waitMaxMs: RESTART_WAIT_MAX_MS,
    },
  })
  worker.on('message', (message) => log(String(message)))
  worker.on('error', (error) => log(`the checkpointer stopped: ${String(error)}`))
  worker.unref()
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  return {
    async stop() {
      worker.ref()
      worker.postMessage('stop')
      await ended
    },
  }
}

/**
 * The program of the thread, as text so that it needs no file of its own beside the compiled ones. The size of the
 * log file only ever grows until it starts over, so its live part is taken from the answer of the checkpoint. Copying
 * passively first leaves little to do while writers have to wait.
 */
const PROGRAM = `
const { statSync } = require('node:fs')
const { parentPort, workerData } = require('node:worker_threads')
const Database = require(workerData.library)
const database = new Database(workerData.file, { timeout: workerData.waitMaxMs })
database.pragma('synchronous = NORMAL')
database.pragma('wal_autocheckpoint = 0')
const frameBytes = database.pragma('page_size', { simple: true }) + 24
let seenMs = 0

function check() {
  const log = statSync(workerData.file + '-wal', { throwIfNoEntry: false })
  if (log === undefined || log.size < workerData.passiveBytes || log.mtimeMs === seenMs) return
  seenMs = log.mtimeMs
  const [passive] = database.pragma('wal_checkpoint(PASSIVE)')
  if (passive.log * frameBytes >= workerData.restartBytes) database.pragma('wal_checkpoint(RESTART)')
}

const timer = setInterval(() => {
  try {
    check()
  } catch (error) {
    seenMs = 0
    parentPort.postMessage('a checkpoint failed: ' + error.message)
  }
}, workerData.intervalMs)

parentPort.on('message', () => {
  clearInterval(timer)
  database.close()
  parentPort.close()
})
`
