import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Variant } from './disk.js'
import { lossesAt, record, type Recording } from './powerloss.js'
import { seededRandom } from './random.js'
import { hasStrace } from './strace.js'
import { endServers, points, removeFolders, SEED, WHOLE } from './support.js'
import type { Sizes } from './workload.js'

const isMissing = !hasStrace()
const OPERATIONS = WHOLE ? 90 : 60

/** Enough small content for the log to reach the size at which it is moved, and time for that to happen. */
const LOG_OPERATIONS = 800
const LOG_SIZES: Sizes = { smallMax: 64 * 1024, largeMax: 70_000, chunkMax: 40_000 }
const LOG_PAUSE_MS = 4_000

const LOSES_ALL: Variant = { data: 'lost', names: 'lost' }
const VARIANTS: readonly Variant[] = [
  LOSES_ALL,
  { data: 'pages', names: 'some' },
  { data: 'lost', names: 'kept' },
  { data: 'kept', names: 'lost' },
]

afterAll(removeFolders)

describe.skipIf(isMissing)('a node that loses power', () => {
  let recording: Recording

  beforeAll(async () => {
    recording = await record(SEED + 10, { operations: OPERATIONS })
  })
  afterEach(endServers)

  test('keeps every write it acknowledged before the cut [UP-57] [UP-58]', async () => {
    const places = recording.acknowledged.flat().sort((one, other) => one - other)
    expect(places.length).toBeGreaterThanOrEqual(OPERATIONS)
    for (const [index, cut] of sampleOf(places, points(places.length, 6)).entries()) {
      const variants = WHOLE ? VARIANTS.slice(0, 3) : VARIANTS.slice(index % 2, (index % 2) + 1)
      for (const variant of variants) {
        expect(
          await lossesAt(recording, cut, variant, SEED + index),
          `${JSON.stringify(variant)} at ${cut}`,
        ).toEqual([])
      }
    }
  })

  test('is sound after a cut at any moment [UP-57] [UP-58]', async () => {
    const random = seededRandom(SEED + 11)
    for (let point = 0; point < points(120, 4); point += 1) {
      const cut = random.between(0, recording.end)
      const variant = VARIANTS[(point + 1) % VARIANTS.length] ?? LOSES_ALL
      expect(
        await lossesAt(recording, cut, variant, SEED + point),
        `${JSON.stringify(variant)} at ${cut}`,
      ).toEqual([])
    }
  })
})

// Part of the whole sweep alone: it takes minutes.
if (WHOLE) {
  describe.skipIf(isMissing)('a node that loses power while it moves its log into the database', () => {
    afterEach(endServers)

    test('keeps every write it acknowledged before the cut [UP-57] [UP-58]', async () => {
      const recording = await record(SEED + 13, {
        operations: LOG_OPERATIONS,
        sizes: LOG_SIZES,
        pauseMs: LOG_PAUSE_MS,
      })
      expect(recording.checkpoints.length, 'writes to the database file').toBeGreaterThan(0)
      const first = recording.checkpoints[0] ?? 0
      const later = recording.acknowledged.flat().filter((place) => place > first)
      const cuts = [
        ...sampleOf(recording.checkpoints, 40),
        ...sampleOf(
          later.sort((one, other) => one - other),
          40,
        ),
      ]
      for (const [index, cut] of cuts.entries()) {
        const variant = VARIANTS[index % VARIANTS.length] ?? LOSES_ALL
        expect(
          await lossesAt(recording, cut, variant, SEED + index),
          `${JSON.stringify(variant)} at ${cut}`,
        ).toEqual([])
      }
    })
  })
}

describe.skipIf(isMissing)('the power-loss test itself', () => {
  afterEach(endServers)

  test('finds the losses of a server that syncs nothing', async () => {
    const unsynced = await record(SEED + 12, { operations: 30, env: { STARLING_TEST_NO_SYNC: '1' } })
    const places = unsynced.acknowledged.flat().sort((one, other) => one - other)
    const losses: string[] = []
    for (const cut of sampleOf(places, 2)) losses.push(...(await lossesAt(unsynced, cut, LOSES_ALL, SEED)))
    expect(losses.filter((line) => /: missing (file|folder)|acknowledged content/.test(line))).not.toEqual([])
  })
})

/** That many elements, evenly spread, the last one always among them. */
function sampleOf(places: readonly number[], count: number): number[] {
  return places.filter(
    (_, index) =>
      Math.floor(((index + 1) * count) / places.length) > Math.floor((index * count) / places.length),
  )
}
