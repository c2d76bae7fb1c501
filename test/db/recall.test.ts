import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Db, Tx } from '../../src/db/db.js'
import { openDatabase } from '../../src/db/open.js'
import { ENGINES, openTestDb, type TestDb } from '../support/engines.js'

const FIND = 'SELECT key, value FROM meta WHERE key = $1'
const KEYS = ['one', 'two', 'three']

interface Entry {
  key: string
  value: string
}

describe.each(ENGINES)('rows that are asked for again and again on %s', (engine) => {
  let test: TestDb
  let db: Db
  /** As another process has it. */
  let other: Db

  beforeEach(async () => {
    test = await openTestDb(engine)
    db = test.db
    other = await openDatabase({ url: test.url, dataDir: test.dataDir })
    for (const key of KEYS) await set(db, key, 'first')
  })

  afterEach(async () => {
    await other.close()
    await test.close()
  })

  const recall = (tx: Tx, key: string): Promise<Entry | undefined> => tx.recall<Entry>(FIND, key)

  async function set(by: Db, key: string, value: string): Promise<void> {
    await by.write(async (tx) => {
      await tx.run('DELETE FROM meta WHERE key = $1', key)
      await tx.run('INSERT INTO meta (key, value) VALUES ($1, $2)', key, value)
    })
  }

  it('are those of the moment, whoever changes them and in whatever order', async () => {
    const step = fc.record({
      act: fc.constantFrom('look', 'look twice', 'change', 'change by another', 'remove by another'),
      key: fc.constantFrom(...KEYS),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        for (const key of KEYS) await set(other, key, 'first')
        const truth = new Map(KEYS.map((key) => [key, 'first']))
        for (const [index, { act, key }] of steps.entries()) {
          if (act === 'look') {
            expect((await db.read((tx) => recall(tx, key)))?.value).toBe(truth.get(key))
          } else if (act === 'look twice') {
            const seen = await db.read(async (tx) => [
              (await recall(tx, key))?.value,
              (await tx.get<Entry>(FIND, key))?.value,
              (await recall(tx, key))?.value,
            ])
            expect(seen).toEqual(Array(3).fill(truth.get(key)))
          } else if (act === 'remove by another') {
            await other.write((tx) => tx.run('DELETE FROM meta WHERE key = $1', key))
            truth.delete(key)
          } else {
            await set(act === 'change' ? db : other, key, `${index}`)
            truth.set(key, `${index}`)
          }
        }
      }),
      { numRuns: 30 },
    )
  })

  it('are of the same state as everything else in a transaction', async () => {
    await db.read((tx) => recall(tx, 'one'))
    let isFirst = true
    const seen = await db.read(async (tx) => {
      const one = await recall(tx, 'one')
      if (isFirst) {
        isFirst = false
        await other.write((write) =>
          write.run(`UPDATE meta SET value = 'second' WHERE key IN ('one', 'two')`),
        )
      }
      const two = await tx.get<Entry>(FIND, 'two')
      const oneAgain = await recall(tx, 'one')
      return [one?.value, two?.value, oneAgain?.value]
    })
    expect(new Set(seen).size).toBe(1)
    expect((await db.read((tx) => recall(tx, 'one')))?.value).toBe('second')
  })

  it('stay what they are when somebody tries to change them in memory', async () => {
    const row = await db.read((tx) => recall(tx, 'one'))
    try {
      if (row !== undefined) row.value = 'spoilt'
    } catch {
      // An engine that keeps rows refuses it.
    }
    expect((await db.read((tx) => recall(tx, 'one')))?.value).toBe('first')
  })

  it('are true when there are more of them than are kept', async () => {
    const many = Array.from({ length: 6_000 }, (_, index) => `many ${index}`)
    await other.write(async (tx) => {
      for (const key of many) await tx.run('INSERT INTO meta (key, value) VALUES ($1, $1)', key)
    })
    for (let round = 0; round < 2; round++) {
      for (let from = 0; from < many.length; from += 100) {
        const asked = many.slice(from, from + 100)
        const seen = await db.read(async (tx) => {
          const rows: (Entry | undefined)[] = []
          for (const key of asked) rows.push(await recall(tx, key))
          return rows
        })
        expect(seen.map((row) => row?.value)).toEqual(asked)
      }
    }
  })

  it('are seen by a write as its own changes left them', async () => {
    const seen = await db.write(async (tx) => {
      const before = await recall(tx, 'one')
      await tx.run(`UPDATE meta SET value = 'second' WHERE key = 'one'`)
      return [before?.value, (await recall(tx, 'one'))?.value]
    })
    expect(seen).toEqual(['first', 'second'])
    await expect(
      db.write(async (tx) => {
        await tx.run(`UPDATE meta SET value = 'third' WHERE key = 'one'`)
        throw new Error('no')
      }),
    ).rejects.toThrow('no')
    expect((await db.read((tx) => recall(tx, 'one')))?.value).toBe('second')
  })
})
