import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hashOf } from '../../src/blob/hashing.js'
import { openReplica, type Replica } from '../../src/blob/replica.js'
import { BlobMissing, newPlace, type BlobReader, type BlobStore } from '../../src/blob/store.js'
import { deselect, setCapacity } from '../../src/db/nodes.js'
import { sumReplica } from '../../src/db/replicas.js'
import { Failure } from '../../src/model/failures.js'
import { bringing, type Bringing } from '../../src/service/bringing.js'
import { BRINGING_LIMITS } from '../../src/service/bringing-limits.js'
import { until } from '../api/content/replica-support.js'
import { bytesOf } from '../api/content/support.js'
import { ENGINES } from '../support/engines.js'
import { NODE, openWorld, type World } from './check-world.js'

/** A store in memory that can be told to answer late, not at all, or wrongly. */
interface FakeStore extends BlobStore {
  readonly opened: string[]
  /** Most readers that were open at a time. */
  mostOpen: number
  isAway: boolean
  /** Readers wait until this resolves. */
  gate: Promise<void>
  spoil(hash: string, bytes: Buffer | undefined): void
}

function fakeStore(contents: Map<string, Buffer>): FakeStore {
  const spoiled = new Map<string, Buffer>()
  let open = 0
  const store: FakeStore = {
    opened: [],
    mostOpen: 0,
    isAway: false,
    gate: Promise.resolve(),
    spoil(hash, bytes) {
      if (bytes === undefined) spoiled.delete(hash)
      else spoiled.set(hash, bytes)
    },
    put: (_, hash) => Promise.resolve(newPlace(hash, randomBytes(8).toString('hex'))),
    async open(place) {
      const hash = place.slice(0, 64)
      if (store.isAway) throw new Failure('unavailable', 'the store is away')
      store.opened.push(hash)
      const content = spoiled.get(hash) ?? contents.get(hash)
      if (content === undefined) throw new BlobMissing(place)
      open += 1
      store.mostOpen = Math.max(store.mostOpen, open)
      await store.gate
      return readerOf(content, () => (open -= 1))
    },
    remove: () => Promise.resolve(),
    async *list() {},
    endUnfinished: () => Promise.resolve(0),
    probe: () => Promise.resolve(),
  }
  return store
}

function readerOf(content: Buffer, closed: () => void): BlobReader {
  return {
    size: content.length,
    read: (buffer, position, length) => Promise.resolve(content.copy(buffer, 0, position, position + length)),
    close() {
      closed()
      return Promise.resolve()
    },
  }
}

describe.each(ENGINES)('what fills a local copy on %s', { timeout: 120_000 }, (engine) => {
  let world: World
  let store: FakeStore
  let replica: Replica
  let work: Bringing | undefined
  const told: string[] = []
  const contents = new Map<string, Buffer>()

  beforeEach(async () => {
    world = await openWorld(engine)
    contents.clear()
    told.length = 0
    store = fakeStore(contents)
    replica = await openReplica(join(world.dataDir, 'replica'))
  })
  afterEach(async () => {
    await work?.stop()
    work = undefined
    await world.close()
  })

  async function addContent(size: number, parent?: string): Promise<{ oid: string; hash: string }> {
    const content = bytesOf(size, size)
    contents.set(hashOf(content), content)
    return world.file(`${size}.bin`, content, parent)
  }

  async function addContents(...sizes: number[]): Promise<string[]> {
    const hashes: string[] = []
    for (const size of sizes) hashes.push((await addContent(size)).hash)
    return hashes
  }

  function start(limits: Partial<typeof BRINGING_LIMITS> = {}): Bringing {
    const deps = {
      ...world.deps,
      blobs: store,
      replica,
      complain: (message: string) => void told.push(message),
    }
    work = bringing(deps, world.db, replica, (message) => void told.push(message), {
      ...BRINGING_LIMITS,
      lookEveryMs: 50,
      scanGapMs: 20,
      retryMs: 20,
      stallMs: 20,
      stallMaxMs: 100,
      ...limits,
    })
    return work
  }

  const sums = (): ReturnType<typeof sumReplica> => world.db.read((tx) => sumReplica(tx, NODE))
  const untilHeld = (count: number): Promise<void> =>
    until(async () => expect(await sums()).toMatchObject({ held_count: count, missing_count: 0 }))

  it('takes the smallest first, a few at a time, and what is asked for before all', async () => {
    const sizes = [400_000, 100_000, 300_000, 200_000, 500_000, 600_000, 700_000, 800_000]
    const hashes = await addContents(...sizes)
    let openGate: () => void = () => undefined
    store.gate = new Promise((resolve) => (openGate = resolve))
    const started = start({ atOnce: 2 })
    await until(() => Promise.resolve(expect(store.opened).toHaveLength(2)))
    const last = hashes[7] ?? ''
    started.want(last)
    openGate()
    await untilHeld(8)
    const bySize = [...sizes].sort((a, b) => a - b).map((size) => hashes[sizes.indexOf(size)] ?? '')
    const [first = '', second = '', ...others] = bySize.filter((hash) => hash !== last)
    expect(new Set(store.opened.slice(0, 2))).toEqual(new Set([first, second]))
    expect(store.opened[2]).toBe(last)
    expect([...store.opened.slice(3)].sort()).toEqual([...others].sort())
    expect(store.mostOpen).toBe(2)
    // What is in the books is counted a moment later.
    await until(() =>
      Promise.resolve(expect(started.counts).toMatchObject({ brought: 8, failures: 0, isStalled: false })),
    )
  })

  it('learns from the change log what is new', async () => {
    start({ scanEveryMs: 1_000_000 })
    await addContents(100_000)
    await untilHeld(1)
    await addContents(200_000, 300_000)
    await untilHeld(3)
  })

  it('tries again what failed, and counts it until it is right', async () => {
    const [wrong = '', right = ''] = await addContents(100_000, 200_000)
    store.spoil(wrong, bytesOf(100_000, 1))
    const started = start({ scanEveryMs: 100 })
    await until(async () =>
      expect(await sums()).toMatchObject({ held_count: 1, missing_count: 1, failed_count: 1 }),
    )
    expect(store.opened).toContain(right)
    await until(() => Promise.resolve(expect(started.counts.failures).toBeGreaterThan(1)))
    store.spoil(wrong, undefined)
    await untilHeld(2)
    expect(await sums()).toMatchObject({ failed_count: 0 })
  })

  it('waits for a store that is away, says so once, and goes on', async () => {
    store.isAway = true
    await addContents(100_000, 200_000, 300_000)
    const started = start()
    await until(() => Promise.resolve(expect(started.counts.isStalled).toBe(true)))
    expect(await sums()).toMatchObject({ held_count: 0, missing_count: 3, failed_count: 0 })
    store.isAway = false
    await untilHeld(3)
    await until(() => Promise.resolve(expect(started.counts.isStalled).toBe(false)))
    expect(told.filter((text) => text.includes('waits for the content store'))).toHaveLength(1)
    expect(told.filter((text) => text.includes('is back'))).toHaveLength(1)
  })

  it('brings no more than fits', async () => {
    await addContents(100_000, 200_000, 400_000)
    await world.db.write((tx) => setCapacity(tx, NODE, 350_000))
    start({ scanEveryMs: 100 })
    await until(async () =>
      expect(await sums()).toMatchObject({ held_bytes: 300_000, missing_bytes: 400_000 }),
    )
    await world.db.write((tx) => setCapacity(tx, NODE, 700_000))
    await untilHeld(3)
  })

  it('lets go of what nobody names, and keeps what the store does not have', async () => {
    const folder = await world.folder('off')
    const gone = await addContent(100_000)
    const { hash: kept } = await addContent(200_000, folder.oid)
    start({ scanEveryMs: 100 })
    await untilHeld(2)
    contents.delete(kept)
    await world.db.write((tx) => deselect(tx, NODE, folder.sid, folder.oid))
    await world.remove(gone.oid)
    await until(async () => expect(await sums()).toMatchObject({ held_count: 1, held_bytes: 200_000 }))
    await until(() =>
      Promise.resolve(
        expect(told).toContain('a local copy stays: the content store does not have its content'),
      ),
    )
    contents.set(kept, bytesOf(200_000, 200_000))
    await until(async () => expect(await sums()).toMatchObject({ held_count: 0, missing_count: 0 }))
  })
})
