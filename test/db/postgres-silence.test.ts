import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Db, Tx } from '../../src/db/db.js'
import { openDatabase } from '../../src/db/open.js'
import { openTestDb, type TestDb } from '../support/engines.js'
import { startMiddleman, type Middleman } from '../support/middleman.js'

describe('the PostgreSQL driver behind a network that falls silent', () => {
  let test: TestDb
  let db: Db
  let middleman: Middleman
  let far: Db

  beforeEach(async () => {
    test = await openTestDb('postgres')
    db = test.db
    await db.write(async (tx) => {
      await tx.run('CREATE TABLE things (id TEXT PRIMARY KEY, value BIGINT NOT NULL DEFAULT 0)')
      await tx.run(`INSERT INTO things VALUES ('a', 0), ('b', 0)`)
    })
    const address = new URL(test.url ?? '')
    middleman = await startMiddleman({ host: '127.0.0.1', port: Number(address.port) })
    address.port = String(middleman.port)
    far = await openDatabase({ url: address.href, dataDir: test.dataDir })
  })
  afterEach(async () => {
    await far.close()
    await middleman.stop()
    await test.close()
  })

  const increment = (tx: Tx, id: string): Promise<number> =>
    tx.run('UPDATE things SET value = value + 1 WHERE id = $1', id)
  const values = (): Promise<number[]> =>
    db.read(async (tx) =>
      (await tx.all<{ value: number }>('SELECT value FROM things ORDER BY id')).map((row) => row.value),
    )
  const processId = async (tx: Tx): Promise<number> =>
    (await tx.get<{ id: number }>('SELECT pg_backend_pid() AS id'))?.id ?? 0
  const one = (tx: Tx): Promise<unknown> => tx.get('SELECT 1 AS one')

  it('answers everybody who asks, and works again afterwards', async () => {
    await far.read(one)
    middleman.hush()
    const asked = Array.from({ length: 30 }, (_, index) =>
      index % 2 === 0 ? far.read(one) : far.write((tx) => increment(tx, 'a')),
    )
    for (const outcome of await Promise.allSettled(asked)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { kind: 'unavailable' } })
    }
    await expect(far.read(one)).rejects.toMatchObject({ kind: 'unavailable' })
    expect(await values()).toEqual([0, 0])
    middleman.heal()
    await expect.poll(() => far.write((tx) => increment(tx, 'b')).catch(() => 0), { timeout: 30_000 }).toBe(1)
    expect(await values()).toEqual([0, 1])
  })

  it('gives up a transaction in the middle, and the server gives its locks to others', async () => {
    let runs = 0
    const stuck = far.write(async (tx) => {
      runs += 1
      await increment(tx, 'a')
      middleman.hush()
      await increment(tx, 'b')
    })
    await expect(stuck).rejects.toMatchObject({ kind: 'unavailable' })
    expect(runs).toBe(1)
    await db.write((tx) => increment(tx, 'a'))
    expect(await values()).toEqual([1, 0])
  })

  it('does not take a slow statement for silence', async () => {
    await expect(far.read((tx) => tx.get('SELECT 1 AS one FROM pg_sleep(8)'))).resolves.toEqual({ one: 1 })
  })

  it('notices one connection that is dead among others that live', async () => {
    let id = 0
    const stuck = far.read(async (tx) => {
      id = await processId(tx)
      middleman.hush()
      const answer = one(tx)
      // Whoever connects from now on is heard; this connection stays mute.
      middleman.forget()
      return answer
    })
    await expect(stuck).rejects.toMatchObject({ kind: 'unavailable' })
    expect(await far.read(processId)).not.toBe(id)
  })

  it('closes without an answer', async () => {
    await far.read(one)
    middleman.hush()
    await far.close()
  })
})
