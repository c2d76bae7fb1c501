/** Counts failures so that guessing is slow: for what is guessed at, and for the address the guesses come from. */
import { countFailure, findFailures, uncountFailure, type FailureCount } from '../db/failures.js'
import type { Db, Tx } from '../db/db.js'
import { Failure } from '../model/failures.js'
import { hashSecret } from '../model/secrets.js'

export interface GuessLimits {
  readonly failuresMax: number
  readonly windowMs: number
}

/** What a failure is counted for; `windowFactor` makes the wait longer than usual. */
export interface GuessKey {
  readonly purpose: string
  readonly subject: string
  readonly windowFactor?: number
}

export interface Guesses {
  /** Throws 429 while one of the counts is full. */
  check(...keys: readonly GuessKey[]): Promise<void>
  count(tx: Tx, ...keys: readonly GuessKey[]): Promise<void>
  /**
   * Counts what is tried before it is judged and throws 429 when that is too much: those who try many at once get no
   * more than those who try one by one.
   */
  claim(tx: Tx, ...keys: readonly GuessKey[]): Promise<void>
  /** It was no failure. */
  giveBack(tx: Tx, ...keys: readonly GuessKey[]): Promise<void>
}

export function guesses(db: Db, now: () => number, limits: GuessLimits): Guesses {
  function hold(untilMs: number): void {
    const waitMs = untilMs - now()
    if (waitMs <= 0) return
    throw new Failure('tooManyRequests', 'too many failed attempts; wait a little and try again', {
      'Retry-After': String(Math.ceil(waitMs / 1000)),
    })
  }

  async function count(tx: Tx, keys: readonly GuessKey[]): Promise<FailureCount[]> {
    const counted: FailureCount[] = []
    for (const { name, windowMs } of inOrder(keys, limits)) {
      counted.push(await countFailure(tx, name, now(), now() + windowMs))
    }
    return counted
  }

  return {
    async check(...keys) {
      const untilMs = await db.read(async (tx) => {
        const ends: number[] = []
        for (const key of keys) {
          const found = await findFailures(tx, stored(key))
          if (found !== undefined && found.failures >= limits.failuresMax) ends.push(found.expires_ms)
        }
        return Math.max(0, ...ends)
      })
      hold(untilMs)
    },

    async count(tx, ...keys) {
      await count(tx, keys)
    },

    async claim(tx, ...keys) {
      const full = (await count(tx, keys)).filter(({ failures }) => failures > limits.failuresMax)
      hold(Math.max(0, ...full.map((one) => one.expires_ms)))
    },

    async giveBack(tx, ...keys) {
      for (const { name } of inOrder(keys, limits)) await uncountFailure(tx, name)
    },
  }
}

/** One order for everybody, or two transactions could wait for each other. */
function inOrder(keys: readonly GuessKey[], limits: GuessLimits): { name: string; windowMs: number }[] {
  return keys
    .map((key) => ({ name: stored(key), windowMs: limits.windowMs * (key.windowFactor ?? 1) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** People type passwords into the wrong field: what is counted is kept as a hash. */
function stored(key: GuessKey): string {
  return hashSecret(`${key.purpose}\n${key.subject}`)
}

/** The network of a peer: one subscriber has one IPv4 address, and a whole /64 of IPv6. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  if (!plain.includes(':')) return plain
  const [head = '', tail = ''] = plain.split('%')[0]?.split('::') ?? []
  const front = head === '' ? [] : head.split(':')
  const back = tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => '0')
  const groups = plain.includes('::') ? [...front, ...zeros, ...back] : front
  return groups
    .slice(0, 4)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':')
}
