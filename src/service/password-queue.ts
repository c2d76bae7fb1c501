/**
 * Slow work on passwords, a little at a time: hashing runs on threads that downloads need too, and takes a core each.
 * What does not fit into the queue is refused at once.
 */
import { Failure } from '../model/failures.js'
import { randomHex } from '../model/secrets.js'

/** Hashes that one process works on at once. */
export const HASHES_AT_ONCE = 1
/** Sign-ins that wait for their turn in one process. */
export const HASHES_WAITING_MAX = 1_000

const DECOY_BYTES = 16

export interface PasswordQueue {
  /** Runs the work when its turn has come; only work that hashes belongs here. */
  run<T>(work: () => Promise<T>): Promise<T>
  /** For `run`: whether the password is the one of this hash. Without a hash it takes as long and is false. */
  verify(passwordHash: string | null, password: string): Promise<boolean>
  hash(password: string, lengthMin: number): Promise<string>
}

export function passwordQueue(
  atOnce: number = HASHES_AT_ONCE,
  waitingMax: number = HASHES_WAITING_MAX,
): PasswordQueue {
  const waiting: (() => void)[] = []
  let running = 0
  let decoy: Promise<string> | undefined

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

    async verify(passwordHash, password) {
      const argon2 = await import('@node-rs/argon2')
      const isThere = passwordHash !== null
      const compared = passwordHash ?? (await (decoy ??= argon2.hash(randomHex(DECOY_BYTES))))
      // A stored text that is no hash is nobody's password.
      const isRight = await argon2.verify(compared, password).catch(() => false)
      return isRight && isThere
    },

    async hash(password, lengthMin) {
      if (password.length < lengthMin) {
        throw new Failure('badArgs', `the password must have at least ${lengthMin} characters`)
      }
      const argon2 = await import('@node-rs/argon2')
      return run(() => argon2.hash(password))
    },
  }
}
