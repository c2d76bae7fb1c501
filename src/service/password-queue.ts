/**
 * Slow work on passwords, one at a time: those who wait cost nothing but their place. What does not fit into the queue
 * is refused at once.
 */
import { Failure } from '../model/failures.js'
import { checkPassword } from '../model/people.js'
import { pooledHasher, type Hasher } from './hasher.js'

/** Hashes that one process works on at once. */
export const HASHES_AT_ONCE = 1
/** Sign-ins that wait for their turn in one process. */
export const HASHES_WAITING_MAX = 1_000

export interface PasswordQueue {
  /** Runs the work when its turn has come; only work that hashes belongs here. */
  run<T>(work: () => Promise<T>): Promise<T>
  /** A new hash, in its turn. */
  hash(password: string, lengthMin: number): Promise<string>
  /** Whether the password fits the hash, at once: for work whose turn it is. */
  verify(hash: string, password: string): Promise<boolean>
}

export function passwordQueue(
  hasher: Hasher = pooledHasher(),
  { atOnce = HASHES_AT_ONCE, waitingMax = HASHES_WAITING_MAX } = {},
): PasswordQueue {
  const waiting: (() => void)[] = []
  let running = 0

  async function run<T>(work: () => Promise<T>): Promise<T> {
    if (running < atOnce) running += 1
    else {
      if (waiting.length >= waitingMax) {
        throw new Failure('unavailable', 'too many people sign in at this moment', { 'Retry-After': '5' })
      }
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }

  return {
    run,

    async hash(password, lengthMin) {
      checkPassword(password, lengthMin)
      return run(() => hasher.hash(password))
    },

    verify: (hash, password) => hasher.verify(hash, password),
  }
}
