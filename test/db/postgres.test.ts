import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Db, Tx } from '../../src/db/db.js'
import { openDatabase } from '../../src/db/open.js'
import { openTestDb, type TestDb } from '../support/engines.js'

describe('the PostgreSQL driver', () => {
  let test: TestDb
  let db: Db

  beforeEach(async () => {
    test = await openTestDb('postgres')
    db = test.db
    await db.write(async (tx) => {
      await tx.run('CREATE TABLE things (id TEXT PRIMARY KEY, value BIGINT NOT NULL DEFAULT 0)')
      await tx.run('CREATE TABLE parts (id TEXT PRIMARY KEY, thing TEXT NOT NULL REFERENCES things (id))')
      await tx.run('CREATE TABLE pairs (a TEXT, b TEXT, PRIMARY KEY (a, b))')
      await tx.run(`INSERT INTO things VALUES ('a', 0), ('b', 0)`)
    })
  })

  afterEach(() => test.close())

  const increment = (tx: Tx, id: string): Promise<number> =>
    tx.run('UPDATE things SET value = value + 1 WHERE id = $1', id)
  const values = (): Promise<unknown> =>
    db.read(async (tx) =>
      (await tx.all<{ value: number }>('SELECT value FROM things ORDER BY id')).map((row) => row.value),
    )
  const processId = async (tx: Tx): Promise<number> =>
    (await tx.get<{ id: number }>('SELECT pg_backend_pid() AS id'))?.id ?? 0

  /** Ends the server's side of a connection as a restart would. */
  async function terminate(id: number): Promise<void> {
    const client = new pg.Client({ connectionString: test.url })
    await client.connect()
    await client.query('SELECT pg_terminate_backend($1, 5000)', [id])
    await client.end()
  }

  it('runs a write again that a deadlock ended, without the effects of the failed try', async () => {
    let effects = 0
    let runs = 0
    let holding = 0
    let everybodyHolds: () => void = () => undefined
    const held = new Promise<void>((resolve) => (everybodyHolds = resolve))
    const both = (first: string, second: string): Promise<void> =>
      db.write(async (tx) => {
        runs += 1
        tx.afterCommit(() => (effects += 1))
        await increment(tx, first)
        holding += 1
        if (holding === 2) everybodyHolds()
        await held
        await increment(tx, second)
      })
    await Promise.all([both('a', 'b'), both('b', 'a')])
    expect(await values()).toEqual([2, 2])
    expect(runs).toBeGreaterThan(2)
    expect(effects).toBe(2)
  })

  it('runs a write again that lost its connection before COMMIT', async () => {
    let runs = 0
    await db.write(async (tx) => {
      runs += 1
      await increment(tx, 'a')
      if (runs === 1) await terminate(await processId(tx))
      await increment(tx, 'b')
    })
    expect(runs).toBe(2)
    expect(await values()).toEqual([1, 1])
  })

  it('never runs a write again when its connection was lost at COMMIT', async () => {
    let runs = 0
    const write = db.write(async (tx) => {
      runs += 1
      await increment(tx, 'a')
      await terminate(await processId(tx))
    })
    await expect(write).rejects.toMatchObject({ kind: 'unavailable' })
    expect(runs).toBe(1)
    expect(await values()).toEqual([0, 0])
  })

  it('survives the loss of its idle connections', async () => {
    const id = await db.read(processId)
    await terminate(id)
    expect(await values()).toEqual([0, 0])
    await db.write((tx) => increment(tx, 'a'))
    expect(await values()).toEqual([1, 0])
  })

  it('runs a write again whose row was deleted under it, so that it can see that and refuse', async () => {
    let runs = 0
    const write = db.write(async (tx) => {
      runs += 1
      const thing = await tx.get('SELECT id FROM things WHERE id = $1', 'a')
      if (thing === undefined) throw new Error('gone')
      if (runs === 1) await db.write((other) => other.run('DELETE FROM things WHERE id = $1', 'a'))
      await tx.run('INSERT INTO parts VALUES ($1, $2)', 'p', 'a')
    })
    await expect(write).rejects.toThrow('gone')
    expect(runs).toBe(2)
  })

  it('rejects a write with a failed statement that the body did not wait for', async () => {
    const write = db.write(async (tx) => {
      await increment(tx, 'a')
      tx.run('INSERT INTO nowhere VALUES (1)').catch(() => undefined)
    })
    await expect(write).rejects.toThrow('rolled back')
    expect(await values()).toEqual([0, 0])
  })

  it('locks rows by a primary key of one column and refuses other tables', async () => {
    await db.write((tx) => tx.lock('things', 'absent'))
    await expect(db.write((tx) => tx.lock('pairs', 'a'))).rejects.toThrow('no primary key of one column')
    await expect(db.write((tx) => tx.lock('things; --', 'a'))).rejects.toThrow('not the name of a table')
  })

  it('answers a server that cannot be reached with a failure, not with its address', async () => {
    const address = new URL(test.url ?? '')
    address.port = '1'
    const opening = openDatabase({ url: address.href, dataDir: test.dataDir })
    await expect(opening).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.not.stringContaining('127.0.0.1') as string,
    })
  })
})
