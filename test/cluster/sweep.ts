import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { newPlace, PLACE_RANDOM_BYTES } from '../../src/blob/store.js'
import { commandDeps } from '../../src/cli/installation.js'
import { sweep, SWEEP_GRACE_MS, type Sweep } from '../../src/service/sweep.js'
import type { Trio } from '../support/trio.js'
import { startWriters } from './writers.js'

/** A store tells the time of an object in whole seconds, or nearly. */
const SECOND_MS = 1_000
const LEFTOVERS = 12

/** Proves on running nodes that what they share is swept with care. */
export function sweepTests(trioOf: () => Trio): void {
  /** What nobody names, as a crash leaves it. */
  async function leaveBehind(): Promise<string[]> {
    const keys = Array.from({ length: LEFTOVERS }, () => {
      const place = newPlace(randomBytes(32).toString('hex'), randomBytes(PLACE_RANDOM_BYTES).toString('hex'))
      return `blobs/${place}`
    })
    for (const key of keys) await trioOf().onlooker.put(trioOf().bucket, key, Buffer.from('left'))
    return keys
  }

  async function stillThere(keys: readonly string[]): Promise<number> {
    const present = new Set(await trioOf().onlooker.keys(trioOf().bucket))
    return keys.filter((key) => present.has(key)).length
  }

  /** The sweep of a node as it will be when the time of grace of all that is older than this is over. */
  function broom(index: number, beforeMs: number, leaseMs?: number): Sweep {
    const { installation } = trioOf().node(index)
    const deps = {
      ...commandDeps(installation, (_message, error) => {
        throw error
      }),
      now: () => beforeMs + SWEEP_GRACE_MS,
    }
    return sweep(deps, installation.db, leaseMs)
  }

  it('sweep their store, two at once, without the loss of what a third is just storing', async () => {
    const keys = await leaveBehind()
    await delay(2 * SECOND_MS)
    const beforeMs = Date.now() - SECOND_MS
    const writers = await startWriters('while it is swept', [trioOf().at(2)])
    let isOver = false
    const sweeping = [0, 1].map(async (index) => {
      const { removeLeftovers } = broom(index, beforeMs, 0)
      let removed = 0
      while (!isOver) removed += await removeLeftovers()
      return removed
    })
    await writers.stored(6)
    isOver = true
    const removed = await Promise.all(sweeping)
    expect(removed.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(LEFTOVERS)
    expect(await stillThere(keys)).toBe(0)
    await writers.stopAndVerify(trioOf().everywhere())
    expect([...writers.answers.keys()]).toEqual(['204'])
  })

  it('sweep their store one at a time, and another one does it when that one is silent for long', async () => {
    const hourMs = 60 * 60 * 1000
    // Longer from now than the nodes themselves have taken it for.
    const soonMs = Date.now() + 2 * hourMs
    // What was replaced a moment ago may still be on its way out.
    await expect.poll(() => broom(0, soonMs).removeLeftovers(), { timeout: 60_000 }).toBe(0)
    const keys = await leaveBehind()
    expect(await broom(1, soonMs).removeLeftovers()).toBe(0)
    expect(await stillThere(keys)).toBe(LEFTOVERS)
    expect(await broom(0, soonMs).removeLeftovers()).toBe(LEFTOVERS)
    const more = await leaveBehind()
    expect(await broom(1, soonMs + hourMs).removeLeftovers()).toBe(LEFTOVERS)
    expect(await stillThere(more)).toBe(0)
    expect(await broom(0, soonMs + hourMs).removeLeftovers()).toBe(0)
  })
}
