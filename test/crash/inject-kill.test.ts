import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { hasStrace, injecting } from './strace.js'
import { endServers, newFolder, points, removeFolders, SEED, startServer } from './support.js'
import { newWorld } from './world.js'

const isMissing = !hasStrace()

/** The steps of a durable write; the process dies on entering the n-th of one of them, before it takes effect. */
const STEPS: readonly (readonly string[])[] = [
  ['fdatasync'],
  ['rename', 'renameat', 'renameat2', 'link', 'linkat'],
  ['pwrite64'],
  ['fsync'],
  ['pwritev'],
  ['unlink', 'unlinkat'],
  ['writev'],
  ['ftruncate'],
  ['mkdir', 'mkdirat'],
  ['write'],
]
const TIMES = [3, 1, 9, 2, 5, 14, 25, 40, 60, 90]
const OPERATIONS = 60

/** A worker that dies at every start never listens; that counts as a death at start. */
const START_LIMIT_MS = 8_000

afterEach(endServers)
afterAll(removeFolders)

describe.skipIf(isMissing)('a node that dies in the middle of a call', () => {
  test('keeps all it acknowledged, at start and at work [UP-57] [UP-58]', async () => {
    const world = await newWorld(SEED + 20, 4, undefined, { workers: 1 })
    const all = TIMES.flatMap((time) => STEPS.map((calls) => ({ calls, time })))
    let atStart = 0
    let atWork = 0
    for (const { calls, time } of all.slice(0, points(all.length, 5))) {
      const title = `${calls[0]} number ${time}`
      const under = injecting(calls, `signal=KILL:when=${time}`, join(newFolder(), 'trace'))
      const server = await startServer({ data: world.data, under, startLimitMs: START_LIMIT_MS }).catch(
        () => undefined,
      )
      if (server === undefined) atStart += 1
      else {
        const before = world.acknowledged()
        await world.run(server, OPERATIONS)
        if (world.acknowledged() - before < OPERATIONS) atWork += 1
        server.kill()
        await server.gone()
      }
      const again = await world.start()
      expect(await world.faults(again), `killed at ${title}`).toEqual([])
      again.kill()
      await again.gone()
    }
    expect(atWork, `${atStart} deaths at start`).toBeGreaterThan(0)
    const last = await world.start()
    expect(await world.finish(last)).toEqual([])
    expect(await last.stop()).toBe(0)
  })
})
