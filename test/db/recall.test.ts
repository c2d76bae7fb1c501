import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Db, Tx } from '../../src/db/db.js'
import { openDatabase } from '../../src/db/open.js'
import { ENGINES, openTestDb, type Engine, type TestDb } from '../support/engines.js'

const FIND = 'SELECT key, value FROM meta WHERE key = $1'
const KEYS = ['one', 'two', 'three']

interface Entry {
  key: string
  value: string
}

/** More than is kept; an engine that keeps nothing need not be asked as often. */
function manyOf(engine: Engine, count: number): number {
  return engine === 'sqlite' ? count : count / 15
}

/** A database, and the same one as another process has it, new for each test. */
function useTwo(engine: Engine, begin: (two: { db: Db; other: Db }) => void | Promise<void>): void {
  let test: TestDb
  let other: Db

  beforeEach(async () => {
    test = await openTestDb(engine)
    other = await openDatabase({ url: test.url, dataDir: test.dataDir })
    await begin({ db: test.db, other })
  })

  afterEach(async () => {
    await other.close()
    await test.close()
  })
}

async function set(by: Db, key: string, value: string | undefined): Promise<void> {
  await by.write(async (tx) => {
    await tx.run('DELETE FROM meta WHERE key = $1', key)
    if (value !== undefined) await tx.run('INSERT INTO meta (key, value) VALUES ($1, $2)', key, value)
  })
}

describe.each(ENGINES)('rows that are asked for again and again on %s', (engine) => {
  let db: Db
  let other: Db
  useTwo(engine, async (two) => {
    ;({ db, other } = two)
    for (const key of KEYS) await set(db, key, 'first')
  })

  const recall = (tx: Tx, key: string): Promise<Entry | undefined> => tx.recall<Entry>(FIND, key)

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
    const many = Array.from({ length: manyOf(engine, 6_000) }, (_, index) => `many ${index}`)
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

describe.each(ENGINES)('what a whole read gave on %s', (engine) => {
  let db: Db
  let other: Db
  useTwo(engine, (two) => void ({ db, other } = two))

  const ANY = 'SELECT COUNT(*) AS count FROM meta'
  const name = (key: string): string => `the value of ${key}`

  /** The value in a wrapping of its own, so that what is absent can be told from what is not kept. */
  function look(key: string, by: 'recall' | 'get' = 'recall'): Promise<{ value: string | undefined }> {
    return db.read(async (tx) => ({ value: (await tx[by]<Entry>(FIND, key))?.value }), name(key))
  }

  it('is recalled where the engine keeps it, and nothing else is', async () => {
    await set(db, 'one', 'first')
    expect(db.recall(name('one'))).toBeUndefined()
    const given = await look('one')
    for (let round = 0; round < 3; round++) {
      if (engine === 'sqlite') expect(db.recall(name('one'))).toBe(given)
      else expect(db.recall(name('one'))).toBeUndefined()
      expect(db.recall(name('two'))).toBeUndefined()
      expect(db.recall('')).toBeUndefined()
      await db.read((tx) => tx.get(ANY))
    }
  })

  it('is never recalled once anything was committed, whoever did it and in whatever order', async () => {
    const step = fc.record({
      act: fc.constantFrom(
        'look',
        'look at the row itself',
        'recall',
        'change',
        'change by another',
        'remove',
        'fail',
      ),
      key: fc.constantFrom(...KEYS),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
        for (const key of KEYS) await set(other, key, 'first')
        const truth = new Map<string, string | undefined>(KEYS.map((key) => [key, 'first']))
        for (const [index, { act, key }] of steps.entries()) {
          if (act === 'look') expect(await look(key)).toEqual({ value: truth.get(key) })
          else if (act === 'look at the row itself') {
            expect(await look(key, 'get')).toEqual({ value: truth.get(key) })
          } else if (act === 'change' || act === 'change by another') {
            await set(act === 'change' ? db : other, key, `${index}`)
            truth.set(key, `${index}`)
          } else if (act === 'remove') {
            await set(other, key, undefined)
            truth.set(key, undefined)
          } else if (act === 'fail') {
            const failing = db.write(async (tx) => {
              await tx.run(`UPDATE meta SET value = 'never' WHERE key = $1`, key)
              throw new Error('no')
            })
            await expect(failing).rejects.toThrow('no')
          }
          for (const asked of KEYS) {
            const known = db.recall(name(asked)) as { value: string | undefined } | undefined
            if (known !== undefined) expect(known).toEqual({ value: truth.get(asked) })
          }
        }
      }),
      { numRuns: 40 },
    )
  })

  it('is of the state that was read, also when something is committed before the read is over', async () => {
    await set(db, 'one', 'first')
    for (const by of ['recall', 'get'] as const) {
      await set(other, 'one', 'first')
      await look('one')
      let isFirst = true
      const seen = await db.read(async (tx) => {
        const { value } = (await tx[by]<Entry>(FIND, 'one')) ?? {}
        if (isFirst) {
          isFirst = false
          await set(other, 'one', 'second')
        }
        return { value }
      }, name('one'))
      expect(['first', 'second']).toContain(seen.value)
      const known = db.recall(name('one')) as { value: string | undefined } | undefined
      if (known !== undefined) expect(known.value).toBe('second')
      expect(await look('one')).toEqual({ value: 'second' })
    }
  })

  it('is not kept when the read failed, or read nothing', async () => {
    await set(db, 'one', 'first')
    const failing = db.read(async (tx) => {
      await tx.recall<Entry>(FIND, 'one')
      throw new Error('no')
    }, name('one'))
    await expect(failing).rejects.toThrow('no')
    expect(db.recall(name('one'))).toBeUndefined()
    await db.read(() => Promise.resolve({ value: 'anything' }), name('two'))
    expect(db.recall(name('two'))).toBeUndefined()
  })

  it('is true when there is more of it than is kept', async () => {
    const many = Array.from({ length: manyOf(engine, 4_500) }, (_, index) => `many ${index}`)
    let known = 0
    for (const key of many) await db.read(async (tx) => ({ key, count: await tx.get(ANY) }), name(key))
    for (const key of many) {
      const kept = db.recall(name(key)) as { key: string } | undefined
      if (kept !== undefined) expect(kept.key).toBe(key)
      if (kept !== undefined) known += 1
    }
    expect(known).toBeLessThanOrEqual(4_000)
    expect(known > 0).toBe(engine === 'sqlite')
  })

  it('is gone with the database', async () => {
    await set(db, 'one', 'first')
    await look('one')
    await db.close()
    expect(db.recall(name('one'))).toBeUndefined()
  })
})
