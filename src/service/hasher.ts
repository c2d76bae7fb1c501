/** Argon2id as the library has it by default, where the caller's thread is not held up by it. */
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'

export interface Hasher {
  hash(password: string): Promise<string>
  /** A stored text that is no hash is nobody's password. */
  verify(hash: string, password: string): Promise<boolean>
}

/** On the threads of the process that also read files and names; for programs that hash now and then. */
export function pooledHasher(): Hasher {
  return {
    async hash(password) {
      const argon2 = await import('@node-rs/argon2')
      return argon2.hash(password)
    },

    async verify(hash, password) {
      const argon2 = await import('@node-rs/argon2')
      return argon2.verify(hash, password).catch(() => false)
    },
  }
}

/** Behind whatever else wants the core, and still a quarter of it when another wants all. */
const THREAD_NICENESS = 5

interface Reply {
  readonly id: number
  readonly result?: string | boolean
  readonly failure?: string
}

interface Waiting {
  readonly resolve: (result: string | boolean) => void
  readonly reject: (error: Error) => void
}

/**
 * On one thread of its own with a low priority, made when it is first needed: whatever number of people signs in, the
 * process goes on answering others. A thread that broke down fails its work, and the next work gets a new one.
 */
export function threadHasher(): Hasher {
  const waiting = new Map<number, Waiting>()
  let worker: Worker | undefined
  let count = 0

  function end(dead: Worker, error: Error): void {
    if (worker !== dead) return
    worker = undefined
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }

  function start(): Worker {
    const started = new Worker(PROGRAM, {
      eval: true,
      execArgv: [],
      workerData: {
        library: createRequire(import.meta.url).resolve('@node-rs/argon2'),
        niceness: process.platform === 'linux' ? THREAD_NICENESS : undefined,
      },
    })
    started.on('message', ({ id, result, failure }: Reply) => {
      const one = waiting.get(id)
      waiting.delete(id)
      if (result === undefined) one?.reject(new Error(`hashing failed: ${failure ?? 'without a reason'}`))
      else one?.resolve(result)
    })
    started.on('error', (error) => end(started, error))
    started.on('exit', () => end(started, new Error('the thread that hashes has ended')))
    started.unref()
    return started
  }

  function ask(password: string, hash: string | undefined): Promise<string | boolean> {
    worker ??= start()
    const target = worker
    const id = (count += 1)
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject })
      target.postMessage({ id, password, hash })
    })
  }

  return {
    hash: async (password) => String(await ask(password, undefined)),
    verify: async (hash, password) => (await ask(password, hash)) === true,
  }
}

/**
 * The program of the thread, as text so that it needs no file of its own beside the compiled ones. On Linux a priority
 * belongs to a thread; elsewhere it would slow the whole process down.
 */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads')
if (workerData.niceness !== undefined) {
  try {
    require('node:os').setPriority(workerData.niceness)
  } catch {}
}
const argon2 = require(workerData.library)

function verify(hash, password) {
  try {
    return argon2.verifySync(hash, password)
  } catch {
    return false
  }
}

parentPort.on('message', ({ id, password, hash }) => {
  try {
    const result = hash === undefined ? argon2.hashSync(password) : verify(hash, password)
    parentPort.postMessage({ id, result })
  } catch (error) {
    parentPort.postMessage({ id, failure: error.message })
  }
})
`
