/** Reproducible randomness: the same seed gives the same run. */
import { createCipheriv, createHash } from 'node:crypto'

export interface Random {
  /** A number of [0, 1). */
  next(): number
  /** An integer of [low, high], both included. */
  between(low: number, high: number): number
  pick<T>(list: readonly T[]): T
  chance(probability: number): boolean
}

export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick: <T>(list: readonly T[]): T => {
      const picked = list[between(0, list.length - 1)]
      if (picked === undefined) throw new Error('nothing to pick from')
      return picked
    },
  }
}

/** The bytes that a seed stands for. They do not compress and differ in every block. */
export function seededBytes(seed: number, size: number): Buffer {
  const key = createHash('sha256').update(`bytes ${seed}`).digest()
  return createCipheriv('aes-128-ctr', key.subarray(0, 16), key.subarray(16)).update(Buffer.alloc(size))
}

export function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
