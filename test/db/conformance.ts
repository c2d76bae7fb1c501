/** What every engine must do, as one suite that each of them runs. */
import { beforeEach, afterEach, describe, expect, it } from 'vitest'
import { isUniqueViolation, type Db, type Tx } from '../../src/db/db.js'
import { openDatabase } from '../../src/db/open.js'
import { openTestDb, type Engine, type TestDb } from '../support/engines.js'

export function dbConformance(engine: Engine): void {
  describe(`the database on ${engine}`, () => {
    let test: TestDb
    let db: Db

    beforeEach(async () => {
      test = await openTestDb(engine)
      db = test.db
      const text = engine === 'sqlite' ? 'TEXT' : 'TEXT COLLATE "C"'
      const blob = engine === 'sqlite' ? 'BLOB' : 'BYTEA'
      await db.write(async (tx) => {
        await tx.run(`CREATE TABLE counters (name ${text} PRIMARY KEY, value BIGINT NOT NULL)`)
        await tx.run(`CREATE TABLE things (id ${text} PRIMARY KEY, bytes ${blob}, number BIGINT)`)
        await tx.run(
          `CREATE TABLE parts (id ${text} PRIMARY KEY, thing ${text} NOT NULL REFERENCES things (id))`,
        )
        await tx.run('INSERT INTO counters VALUES ($1, $2)', 'main', 0)
      })
    })

    afterEach(() => test.close())

    it('gives rows as objects and as lists with the same values', async () => {
      const bytes = Buffer.from([0, 1, 255])
      await db.write((tx) => tx.run('INSERT INTO things VALUES ($1, $2, $3)', 'a', bytes, 2 ** 53 - 1))
      const sql = 'SELECT id, bytes, number FROM things WHERE id = $1'
      const objects = await db.read((tx) => tx.all<Record<string, unknown>>(sql, 'a'))
      const lists = await db.read((tx) => tx.lists(sql, 'a'))
      expect(lists).toEqual([['a', bytes, 2 ** 53 - 1]])
      expect(objects.map((row) => Object.values(row))).toEqual(lists)
    })

    const increment = async (tx: Tx): Promise<number | undefined> => {
      await tx.lock('counters', 'main')
      await tx.run('UPDATE counters SET value = value + 1 WHERE name = $1', 'main')
      return (await tx.get<{ value: number }>('SELECT value FROM counters WHERE name = $1', 'main'))?.value
    }
    const counter = (): Promise<number | undefined> =>
      db.read(async (tx) => (await tx.get<{ value: number }>('SELECT value FROM counters'))?.value)
    const insert = (tx: Tx, id: string): Promise<number> => tx.run('INSERT INTO things (id) VALUES ($1)', id)
    const ids = (): Promise<string[]> =>
      db.read(async (tx) =>
        (await tx.all<{ id: string }>('SELECT id FROM things ORDER BY id')).map((row) => row.id),
      )

    it('rolls back what a body did before it threw, and rejects with what it threw', async () => {
      const error = new Error('changed my mind')
      const write = db.write(async (tx) => {
        await insert(tx, 'a')
        throw error
      })
      await expect(write).rejects.toBe(error)
      expect(await ids()).toEqual([])
    })

    it('applies every one of many concurrent writes and loses none', async () => {
      const results = await Promise.all(Array.from({ length: 300 }, () => db.write(increment)))
      expect(new Set(results).size).toBe(300)
      expect(await counter()).toBe(300)
    })

    it('lets the others of a group through when one body fails', async () => {
      const writes = Array.from({ length: 30 }, (_, index) =>
        db.write(async (tx) => {
          await insert(tx, `id${index}`)
          if (index % 3 === 0) throw new Error('no')
          if (index % 3 === 1) await insert(tx, `id${index}-more`)
        }),
      )
      const settled = await Promise.allSettled(writes)
      expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(10)
      expect(await ids()).toHaveLength(30)
    })

    it('rolls back a write that swallowed the error of a statement', async () => {
      const write = db.write(async (tx) => {
        await insert(tx, 'a')
        await insert(tx, 'a').catch(() => undefined)
      })
      await expect(write).rejects.toSatisfy(isUniqueViolation)
      expect(await ids()).toEqual([])
    })

    it('tells a unique violation from other errors', async () => {
      await db.write((tx) => insert(tx, 'a'))
      await expect(db.write((tx) => insert(tx, 'a'))).rejects.toSatisfy(isUniqueViolation)
      await expect(db.write((tx) => tx.run('INSERT INTO nowhere VALUES (1)'))).rejects.not.toSatisfy(
        isUniqueViolation,
      )
      expect(isUniqueViolation(new Error('UNIQUE'))).toBe(false)
    })

    it('refuses a reference to a row that does not exist', async () => {
      await expect(
        db.write((tx) => tx.run('INSERT INTO parts VALUES ($1, $2)', 'p', 'absent')),
      ).rejects.toThrow()
    })

    it('runs effects once, after the commit and before the write resolves', async () => {
      const events: string[] = []
      let seen: Promise<string[]> | undefined
      await db.write(async (tx) => {
        tx.afterCommit(() => {
          events.push('effect')
          seen = ids()
        })
        await insert(tx, 'a')
        events.push('body')
      })
      events.push('resolved')
      expect(events).toEqual(['body', 'effect', 'resolved'])
      expect(await seen).toEqual(['a'])
    })

    it('drops the effects of a write that failed', async () => {
      let effects = 0
      const write = db.write(async (tx) => {
        tx.afterCommit(() => (effects += 1))
        await insert(tx, 'a')
        throw new Error('no')
      })
      await expect(write).rejects.toThrow('no')
      expect(effects).toBe(0)
    })

    it('resolves a write whose effect throws, because its changes are stored', async () => {
      await db.write(async (tx) => {
        tx.afterCommit(() => {
          throw new Error('broken effect')
        })
        await insert(tx, 'a')
      })
      expect(await ids()).toEqual(['a'])
    })

    it('shows a read one snapshot from its first statement to its last, whatever is written meanwhile', async () => {
      await db.read(async (tx) => {
        const before = await tx.get('SELECT value FROM counters')
        await db.write(increment)
        expect(await tx.get('SELECT value FROM counters')).toEqual(before)
      })
      expect(await counter()).toBe(1)
    })

    it('keeps reads that interleave apart, more of them than there are connections', async () => {
      let release: () => void = () => undefined
      const gate = new Promise<void>((resolve) => (release = resolve))
      const reads: Promise<[unknown, unknown]>[] = []
      for (let index = 0; index < 5; index++) {
        let started: () => void = () => undefined
        const hasStarted = new Promise<void>((resolve) => (started = resolve))
        reads.push(
          db.read(async (tx) => {
            const first = await tx.get<{ value: number }>('SELECT value FROM counters')
            started()
            await gate
            const second = await tx.get<{ value: number }>('SELECT value FROM counters')
            return [first?.value, second?.value]
          }),
        )
        await hasStarted
        await db.write(increment)
      }
      const later = Array.from({ length: 20 }, () => counter())
      release()
      expect(await Promise.all(reads)).toEqual([0, 1, 2, 3, 4].map((value) => [value, value]))
      expect(new Set(await Promise.all(later))).toEqual(new Set([5]))
    })

    it('refuses changes in a read', async () => {
      await expect(db.read((tx) => insert(tx, 'a'))).rejects.toThrow()
      await expect(db.read((tx) => tx.lock('counters', 'main'))).rejects.toThrow()
      expect(await ids()).toEqual([])
    })

    it('does not show uncommitted changes to a read', async () => {
      await db.write(async (tx) => {
        await insert(tx, 'a')
        expect(await ids()).toEqual([])
      })
      expect(await ids()).toEqual(['a'])
    })

    it('makes two writers of one row take turns', async () => {
      const order: string[] = []
      const writer = (name: string) =>
        db.write(async (tx) => {
          await tx.lock('counters', 'main')
          order.push(name)
          await new Promise((resolve) => setTimeout(resolve, 20))
          order.push(name)
        })
      await Promise.all([writer('a'), writer('b'), writer('c')])
      expect(order.filter((name, index) => index % 2 === 0 && order[index + 1] !== name)).toEqual([])
    })

    it('refuses the use of a transaction after its end', async () => {
      let kept: Tx | undefined
      await db.write(async (tx) => {
        kept = tx
      })
      await expect(kept?.get('SELECT 1 AS one')).rejects.toThrow('after its end')
    })

    it('keeps bytes as they are, also none of them and null', async () => {
      const everyByte = Buffer.from(Array.from({ length: 256 }, (_, index) => index))
      const rows: [string, Buffer | null][] = [
        ['all', everyByte],
        ['empty', Buffer.alloc(0)],
        ['none', null],
      ]
      await db.write(async (tx) => {
        for (const [id, bytes] of rows)
          await tx.run('INSERT INTO things (id, bytes) VALUES ($1, $2)', id, bytes)
      })
      const stored = await db.read((tx) =>
        tx.all<{ id: string; bytes: Buffer | null }>('SELECT id, bytes FROM things ORDER BY id'),
      )
      expect(stored).toEqual(rows.map(([id, bytes]) => ({ id, bytes })))
      expect(Buffer.isBuffer(stored[0]?.bytes) && Buffer.isBuffer(stored[1]?.bytes)).toBe(true)
    })

    it('keeps whole numbers up to 2^53 - 1 exactly, and counts and sums come back as numbers', async () => {
      const numbers = [
        0,
        -1,
        2 ** 31,
        2 ** 32 + 1,
        Number.MAX_SAFE_INTEGER - 1,
        Number.MAX_SAFE_INTEGER,
        Number.MIN_SAFE_INTEGER,
      ]
      await db.write(async (tx) => {
        for (const number of numbers)
          await tx.run('INSERT INTO things (id, number) VALUES ($1, $2)', `${number}`, number)
      })
      const rows = await db.read((tx) =>
        tx.all<{ id: string; number: number }>('SELECT id, number FROM things'),
      )
      expect(rows.map((row) => row.number).sort()).toEqual([...numbers].sort())
      for (const row of rows) expect(String(row.number)).toBe(row.id)
      const sums = await db.read((tx) =>
        tx.get(
          'SELECT COUNT(*) AS total, SUM(number) AS sum, COUNT(*) > 1 AS many FROM things WHERE number IN ($1, $2)',
          2 ** 31,
          -1,
        ),
      )
      expect(sums).toEqual({ total: 2, sum: 2 ** 31 - 1, many: 1 })
    })

    it('orders text by its bytes', async () => {
      const names = ['a', 'B', 'ä', 'Z', 'z', '_', '10', '9', 'aa', '\u{1F600}', '\uFFFD', 'é', 'e\u0301']
      await db.write(async (tx) => {
        for (const name of names) await insert(tx, name)
      })
      expect(await ids()).toEqual([...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
    })

    it('takes placeholders in any order and more than once, and leaves quoted text alone', async () => {
      await db.write((tx) => insert(tx, 'a'))
      const row = await db.read((tx) =>
        tx.get(
          `SELECT id, '$1; -- it''s' AS quoted FROM things WHERE number IS NULL AND id <> $2 AND (id = $1 OR id = $1) -- $9`,
          'a',
          'b',
        ),
      )
      expect(row).toEqual({ id: 'a', quoted: "$1; -- it's" })
      await expect(db.read((tx) => tx.get('SELECT id FROM things WHERE id = $1'))).rejects.toThrow()
    })

    it('tells how many rows a statement changed, with or without returned rows', async () => {
      const counts = await db.write(async (tx) => [
        await tx.run('INSERT INTO things (id) VALUES ($1), ($2)', 'a', 'b'),
        await tx.run('UPDATE things SET number = 1'),
        await tx.run('DELETE FROM things WHERE id = $1 RETURNING id', 'a'),
        await tx.run('DELETE FROM things WHERE id = $1', 'absent'),
      ])
      expect(counts).toEqual([2, 2, 1, 0])
      expect(await db.write((tx) => tx.get('UPDATE things SET number = 2 RETURNING number'))).toEqual({
        number: 2,
      })
    })

    it('finishes what was accepted before it closes, and takes nothing after', async () => {
      const writes = Array.from({ length: 50 }, () => db.write(increment))
      const reads = Array.from({ length: 20 }, () => counter())
      const closing = db.close()
      await expect(db.write(increment)).rejects.toThrow('closed')
      await expect(counter()).rejects.toThrow('closed')
      await Promise.all([...writes, ...reads, closing])
      expect(new Set(await Promise.all(writes)).size).toBe(50)
      await db.close()
      db = await openDatabase({ url: test.url, dataDir: test.dataDir })
      expect(await counter()).toBe(50)
      await db.close()
    })
  })
}
