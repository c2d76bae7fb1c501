import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { listTables } from '../../src/db/catalog.js'
import { appendChange } from '../../src/db/changes.js'
import type { Db } from '../../src/db/db.js'
import { ensureNode, registerMember } from '../../src/db/nodes.js'
import { openBare, type BareDatabase } from '../../src/db/open.js'
import { markUnfinished } from '../../src/db/relocation.js'
import { readFacts, relocate, type Relocated } from '../../src/service/relocation.js'
import { dropDatabase, emptyDatabaseUrl, ENGINES, type Engine } from '../support/engines.js'
import { fillTables, readForms } from './relocation-rows.js'

const INSTALLATION = 'ab'.repeat(16)
const NODE = 'cd'.repeat(16)
const MINUTES = 60_000
vi.setConfig({ testTimeout: 10 * MINUTES, hookTimeout: 10 * MINUTES })

async function bare(engine: Engine): Promise<BareDatabase> {
  const dataDir = await mkdtemp(join(tmpdir(), 'starling-relocation-'))
  const url = await emptyDatabaseUrl(engine)
  const database = await openBare({ url, dataDir })
  onTestFinished(async () => {
    await database.db.close()
    await dropDatabase(url)
    await rm(dataDir, { recursive: true, force: true })
  })
  return database
}

/** All tables, and the facts that every installation settles when it is first opened. */
async function installation(engine: Engine, content = 'disk'): Promise<BareDatabase> {
  const database = await bare(engine)
  await database.makeTables()
  await database.db.write(async (tx) => {
    for (const [key, value] of [
      ['installation', INSTALLATION],
      ['content', content],
      ['epoch', 'ef'.repeat(16)],
    ] as const) {
      await tx.run('INSERT INTO meta (key, value) VALUES ($1, $2)', key, value)
    }
    await ensureNode(tx, NODE, 1)
  })
  return database
}

async function move(source: BareDatabase, target: BareDatabase, now = Date.now): Promise<Relocated> {
  return relocate({
    source,
    target,
    facts: await readFacts(source),
    content: undefined,
    ownNodeId: NODE,
    now,
    report: { step: () => undefined, progress: () => undefined },
  })
}

const LISTED: Readonly<Record<Engine, string>> = {
  sqlite: `SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_sequence'`,
  postgres: `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`,
}

/** Every row of every table that the engine knows of, as texts in an order of our own. */
async function dump(db: Db): Promise<Record<string, string[]>> {
  return db.read(async (tx) => {
    const tables = await tx.all<{ name: string }>(LISTED[db.engine])
    const all: Record<string, string[]> = {}
    for (const { name } of tables) {
      const rows = await tx.all(`SELECT * FROM "${name}"`)
      all[name] = rows
        .map((row) =>
          JSON.stringify(
            Object.entries(row)
              .sort(([one], [other]) => (one < other ? -1 : 1))
              .map(([column, value]) => [
                column,
                Buffer.isBuffer(value) ? `bytes ${value.toString('hex')}` : value,
              ]),
          ),
        )
        .sort()
    }
    return all
  })
}

/** The next number that the change log gives out. */
async function nextChange(db: Db): Promise<number> {
  return db.write(async (tx) => {
    const change = {
      atMs: 1,
      actor: '',
      device: '',
      origin: '',
      action: 'x',
      subject: 'newest',
      before: {},
      after: {},
    }
    await appendChange(tx, change)
    const row = await tx.get<{ seq: number }>(`SELECT seq FROM changes WHERE subject = 'newest'`)
    return row?.seq ?? 0
  })
}

describe('the rows of an installation', () => {
  it('of every table there is are the same after a move to PostgreSQL and back, whatever their values', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 2 ** 31 }), async (seed) => {
        const first = await installation('sqlite')
        const forms = await readForms(first.db)
        await fillTables(first.db, forms, seed, (table) => (table === 'objects' ? 1100 : 25))
        const before = await dump(first.db)
        for (const { name } of forms) expect(before[name]?.length, name).toBeGreaterThan(0)

        const second = await bare('postgres')
        // No node among these rows is alive by then.
        const late = (): number => Number.MAX_SAFE_INTEGER
        const there = await move(first, second, late)
        expect(await dump(second.db)).toEqual(before)
        const third = await bare('sqlite')
        const back = await move(second, third, late)
        expect(await dump(third.db)).toEqual(before)
        expect(await dump(first.db)).toEqual(before)

        const counts = Object.fromEntries(Object.entries(before).map(([name, rows]) => [name, rows.length]))
        expect(there.tables).toEqual({ ...counts, meta: (counts['meta'] ?? 0) - 1 })
        expect(back).toEqual(there)
      }),
      { numRuns: 3 },
    )
  })

  it.each([
    ['sqlite', 'postgres'],
    ['postgres', 'sqlite'],
    ['postgres', 'postgres'],
    ['sqlite', 'sqlite'],
  ] as const)(
    'go from %s to %s, and the change log counts on after what it gave out last',
    async (from, to) => {
      const source = await installation(from)
      const target = await bare(to)
      await nextChange(source.db)
      await source.db.write((tx) => tx.run(`UPDATE changes SET subject = 'first'`))
      const last = await nextChange(source.db)
      await source.db.write((tx) => tx.run('DELETE FROM changes WHERE seq = $1', last))
      await move(source, target)
      expect(await nextChange(target.db)).toBe(last + 1)
    },
  )

  it.each([
    ['sqlite', 'postgres'],
    ['postgres', 'sqlite'],
  ] as const)('go from %s to %s while there are no changes yet', async (from, to) => {
    const [source, target] = [await installation(from), await bare(to)]
    await move(source, target)
    expect(await nextChange(target.db)).toBe(1)
  })

  it('are listed alike by both engines', async () => {
    const [one, other] = await Promise.all(
      ENGINES.map(async (engine) => {
        const { db, catalog } = await installation(engine)
        return db.read((tx) => listTables(tx, catalog))
      }),
    )
    const sorted = (tables: typeof one = []): unknown =>
      tables.map((table) => ({ ...table, columns: [...table.columns].sort() }))
    expect(sorted(one)).toEqual(sorted(other))
    expect(one?.find(({ name }) => name === 'objects')).toMatchObject({
      key: ['sid', 'oid'],
      inward: ['parent'],
    })
    expect(one?.find(({ name }) => name === 'changes')).toMatchObject({ counted: 'seq' })
  })

  it('that hold what the other engine cannot are refused with the name of their table', async () => {
    const source = await installation('sqlite')
    await source.db.write((tx) =>
      tx.run(`INSERT INTO org_groups (id, name, created_ms) VALUES ('1', 'a' || char(0), 1)`),
    )
    const target = await bare('postgres')
    await expect(move(source, target)).rejects.toThrow(/^the table org_groups could not be copied: /)
    await source.db.write((tx) => tx.run(`UPDATE org_groups SET name = 'a', created_ms = 1.5`))
    await expect(move(source, target)).rejects.toThrow(/column created_ms of the table org_groups/)
    await source.db.write((tx) => tx.run('UPDATE org_groups SET created_ms = 1'))
    expect((await move(source, target)).tables).toMatchObject({ org_groups: 1 })
  })
})

describe.each(ENGINES)('a target on %s', (engine) => {
  const opposite = engine === 'sqlite' ? 'postgres' : 'sqlite'

  it('that was broken off is begun again with the rows as they are by then', async () => {
    const [source, target] = [await installation(opposite), await bare(engine)]
    await target.makeTables()
    await target.db.write(async (tx) => {
      await markUnfinished(tx, INSTALLATION)
      await ensureNode(tx, 'gone', 1)
    })
    await move(source, target)
    expect(await dump(target.db)).toEqual(await dump(source.db))
  })

  it('whose tables were made in part is taken', async () => {
    const [source, target] = [await installation(opposite), await bare(engine)]
    await target.db.write((tx) => tx.run('CREATE TABLE schema_version (version BIGINT PRIMARY KEY)'))
    await move(source, target)
    expect(await dump(target.db)).toEqual(await dump(source.db))
  })

  it.each([
    ['holds another installation', 'the target database is not empty', `UPDATE meta SET value = 'x'`],
    ['holds this installation', 'the target database holds this installation already', ''],
    ['is in use without facts', 'the target database is not empty', 'DELETE FROM meta'],
    [
      'is the unfinished one of another installation',
      'of an unfinished migration of another installation',
      `INSERT INTO meta (key, value) VALUES ('migration', 'x')`,
    ],
  ])('that %s is refused and left alone', async (_, message, change) => {
    const [source, target] = [await installation(opposite), await installation(engine)]
    if (change !== '') await target.db.write((tx) => tx.run(change))
    const before = await dump(target.db)
    await expect(move(source, target)).rejects.toThrow(message)
    expect(await dump(target.db)).toEqual(before)
  })

  it('of another program is refused and left alone', async () => {
    const [source, target] = [await installation(opposite), await bare(engine)]
    await target.db.write((tx) => tx.run('CREATE TABLE users (id BIGINT PRIMARY KEY)'))
    await expect(move(source, target)).rejects.toThrow('tables of another program')
    expect(Object.keys(await dump(target.db))).toEqual(['users'])
  })
})

describe.each(ENGINES)('a source on %s', (engine) => {
  it.each([
    [
      'another schema',
      /another version of Starling \(schema \d+, this one knows \d+\)/,
      'DELETE FROM schema_version WHERE version > 1',
    ],
    ['a newer schema', /another version of Starling/, 'INSERT INTO schema_version (version) VALUES (9999)'],
    ['no facts', 'the database holds no installation', 'DELETE FROM meta'],
    [
      'a migration into it unfinished',
      'unfinished migration',
      `INSERT INTO meta (key, value) VALUES ('migration', 'x')`,
    ],
  ])('with %s is refused', async (_, message, change) => {
    const source = await installation(engine)
    await source.db.write((tx) => tx.run(change))
    await expect(readFacts(source)).rejects.toThrow(message)
  })

  it('without tables is refused', async () => {
    await expect(readFacts(await bare(engine))).rejects.toThrow('the database holds no installation')
  })

  it('is refused while another node is alive, whatever the own one last said', async () => {
    const [source, target] = [await installation(engine), await bare(engine)]
    const facts = { name: 'far', address: '', startedMs: 1, aliveUntilMs: Date.now() + 10 * MINUTES }
    await source.db.write(async (tx) => {
      await registerMember(tx, NODE, facts)
      await ensureNode(tx, 'other', 1)
      await registerMember(tx, 'other', facts)
    })
    await expect(move(source, target)).rejects.toThrow('the node other (far) is alive')
    await source.db.write((tx) => registerMember(tx, 'other', { ...facts, aliveUntilMs: 0 }))
    await move(source, target)
  })

  it('that is changed during the move is noticed', async () => {
    const [source, target] = [await installation(engine), await bare(engine)]
    const meddling: Db = {
      ...target.db,
      // Comparing is what reads from the target last, after the copy and before the end.
      async read(body) {
        await source.db.write((tx) => tx.run(`UPDATE meta SET value = value || 'x' WHERE key = 'epoch'`))
        return target.db.read(body)
      },
    }
    await expect(move(source, { ...target, db: meddling })).rejects.toThrow('changed during the migration')
    await move(source, target)
  })
})
