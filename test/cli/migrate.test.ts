import { existsSync } from 'node:fs'
import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { migrateSettings } from '../../src/cli/migrate-settings.js'
import { commonSettings, gatherValues } from '../../src/cli/settings.js'
import type { Tx } from '../../src/db/db.js'
import { ensureNode, registerMember } from '../../src/db/nodes.js'
import { openBare } from '../../src/db/open.js'
import { dropDatabase, freshDatabaseUrl } from '../support/engines.js'
import { startMiddleman } from '../support/middleman.js'
import { runCommand, startServer, type CommandResult, type TestServer } from '../support/server.js'
import { emptyTarget, filesIn, migrateKilled, populate, summaryOf, type Populated } from './migrate-world.js'
import { expectRefusal, newConfig, newFolder } from './support.js'

const MINUTES = 60_000
vi.setConfig({ testTimeout: 10 * MINUTES, hookTimeout: 10 * MINUTES })

/** Pieces that reach the target before the first kill; each further one comes later by this factor. */
const FIRST_KILL = 4
const LATER = 1.6

describe('a populated node', () => {
  let all: Populated
  let server: TestServer
  let target: string
  let before: Record<string, string>
  let blobs: Record<string, string>

  beforeAll(async () => {
    all = await populate()
    server = all.world.server
    target = await emptyTarget()
    before = await all.read()
    blobs = await filesIn(join(server.dataDir, 'blobs'))
  })
  afterAll(async () => {
    await all.world.stop()
    await dropDatabase(target)
  })

  const args = (): string[] => ['--data', server.dataDir, '--to-database', target]
  const inTarget = async <T>(body: (tx: Tx) => Promise<T>): Promise<T> => {
    const { db } = await openBare({ url: target, dataDir: server.dataDir })
    try {
      return await db.read(body)
    } finally {
      await db.close()
    }
  }
  /** A target that was left by a kill is as good as empty, or marked and refused. */
  const expectUnusable = async (command: readonly string[]): Promise<void> => {
    const isMarked = await inTarget(async (tx) => {
      const known = await tx.get<{ name: string | null }>(`SELECT to_regclass('meta')::text AS name`)
      if (known?.name === null) return false
      const facts = await tx.all<{ key: string }>('SELECT key FROM meta')
      if (facts.length > 0) expect(facts.map(({ key }) => key)).toContain('migration')
      return facts.length > 0
    })
    if (!isMarked) return
    const folder = await newFolder()
    const refused = await runCommand([...command, '--data', folder, '--database', target])
    expectRefusal(refused, 1, /unfinished migration: run starling migrate again/)
  }

  test('is not moved while it serves', async () => {
    expectRefusal(await runCommand(['migrate', ...args()]), 1, /is in use by another server/)
  })

  test('moves to PostgreSQL however often it is killed on the way, and nobody serves the target before the end', async () => {
    expect(await server.terminate()).toBe(0)
    const source = await tablesOf(server)
    const { hostname, port } = new URL(target)
    const relay = await startMiddleman({ host: hostname, port: Number(port) })
    onTestFinished(() => relay.stop())
    const relayed = new URL(target)
    relayed.port = String(relay.port)
    let done: CommandResult | undefined
    let kills = 0
    for (let pieces = FIRST_KILL; done === undefined; pieces = Math.ceil(pieces * LATER)) {
      let passed = 0
      done = await migrateKilled(
        relay,
        ['--data', server.dataDir, '--to-database', relayed.href, '--json'],
        () => (passed += 1) > pieces,
      )
      if (done !== undefined) break
      kills += 1
      await expectUnusable(kills % 2 === 0 ? ['serve', '--port', '0'] : ['user', 'list'])
      expect(await tablesOf(server)).toEqual(source)
    }
    expect(kills).toBeGreaterThan(5)
    const { tables, rows, content, settings } = summaryOf(done)
    expect(tables).toMatchObject({ users: 11, apps: 2, uploads: 1, upload_blocks: 1, deselections: 1 })
    expect(rows).toBe(Object.values(tables ?? {}).reduce((sum, count) => sum + count, 0))
    expect(content).toBeUndefined()
    expect(settings).toEqual({ data: server.dataDir, database: relayed.href })
    expect(done.stderr).toMatch(/^users: 11 rows$/m)
    expect(await tablesOf(server)).toEqual(source)
    expect(await filesIn(join(server.dataDir, 'blobs'))).toEqual(blobs)
  })

  test('reads the same afterwards, and is in order', async () => {
    await server.restart(['--legacy-versions', '--database', target])
    expect(await all.read()).toEqual(before)
    const check = await runCommand(['check', '--data', server.dataDir, '--database', target])
    expect(check.stdout).toBe('no broken invariant\n')
  })

  test('is not moved onto itself or again', async () => {
    expect(await server.terminate()).toBe(0)
    expectRefusal(await runCommand(['migrate', ...args()]), 1, /holds this installation already/)
    const there = ['--data', server.dataDir, '--database', target]
    expectRefusal(await runCommand(['migrate', ...there, '--to-database', target]), 2, /that is in use/)
    expectRefusal(await runCommand(['migrate', ...there, '--to-database', 'sqlite']), 1, /already/)
  })

  test('moves back into a file of the data folder and reads the same', async () => {
    for (const name of (await readdir(server.dataDir)).filter((one) => one.startsWith('starling.db'))) {
      await rename(join(server.dataDir, name), join(server.dataDir, `old-${name}`))
    }
    const back = await runCommand(['migrate', '--data', server.dataDir, '--to-database', 'sqlite'], {
      env: { STARLING_DATABASE: target },
    })
    expect(back.status, back.stderr).toBe(0)
    expect(back.stdout).toContain(`now run  starling serve --data ${server.dataDir}\n`)
    await server.restart(['--legacy-versions'])
    expect(await all.read()).toEqual(before)
    expect((await server.command('check')).stdout).toBe('no broken invariant\n')
  })
})

/** All rows of the source, read beside everything else. */
function tablesOf(server: TestServer): Promise<unknown> {
  return server.installation.db.read(async (tx) => {
    const tables = await tx.all<{ name: string }>(`SELECT name FROM sqlite_schema WHERE type = 'table'`)
    const all: Record<string, unknown> = {}
    for (const { name } of tables) all[name] = await tx.lists(`SELECT * FROM "${name}"`)
    return all
  })
}

describe('what starling migrate is told', () => {
  test.each([
    ['postgres://ada:s3cret@db.test/files', 'postgres://ada:…@db.test/files'],
    ['postgres://ada:a@b:c@db.test/files', 'postgres://ada:…@db.test/files'],
    [
      'postgresql://db.test/files?user=ada&password=s3cret&x=1',
      'postgresql://db.test/files?user=ada&password=…&x=1',
    ],
    ['postgres://ada@db.test:5433/files', 'postgres://ada@db.test:5433/files'],
  ])('%s is repeated as %s, without its password', (address, repeated) => {
    const values = gatherValues({ data: '/data', toDatabase: address }, {}, undefined)
    const { next, toDatabase } = migrateSettings(values, commonSettings(values))
    expect(toDatabase).toEqual({ url: address })
    expect(next).toEqual({ data: '/data', database: repeated })
  })

  test('about the content names the settings of the node by then', () => {
    const content = 's3://bucket?endpoint=http://127.0.0.1:1'
    const next = (flags: Record<string, string>): unknown => {
      const values = gatherValues({ data: '/data', ...flags }, {}, undefined)
      return migrateSettings(values, commonSettings(values)).next
    }
    const data = '/data'
    expect(next({ toContent: content })).toEqual({ data, content })
    expect(next({ toContent: content, toContentCredentials: 'keys' })).toEqual({
      data,
      content,
      'content-credentials': 'keys',
    })
    expect(next({ content, contentCredentials: 'keys', toContent: 'disk' })).toEqual({ data })
    expect(next({ content, contentCredentials: 'keys', toDatabase: 'postgres://x/y' })).toEqual({
      data,
      database: 'postgres://x/y',
      content,
      'content-credentials': 'keys',
    })
  })

  test.each([
    [[], /--to-database or --to-content/],
    [['--to-database', 'sqlite'], /--to-database names the database that is in use/],
    [['--to-database', 'mysql://x'], /--to-database must be/],
    [['--to-database', ''], /--to-database must be a text/],
    [['--to-content', 'disk'], /--to-content names the content store that is in use/],
    [['--to-content', 's3://?'], /--to-content: it must look like/],
    [['--to-content', 's3://bucket', '--content', 's3://bucket'], /--to-content names the content store/],
    [['--to-database', 'postgres://x', 'extra'], /too many arguments/],
    [['--to-nowhere'], /unknown option/],
  ])('%j is wrong usage', async (args, message) => {
    const folder = await newFolder()
    expectRefusal(await runCommand(['migrate', '--data', folder, ...args]), 2, message)
    expect(await readdir(folder)).toEqual([])
  })

  test('may stand in the environment and in the config file', async () => {
    const folder = await newFolder()
    const env = { STARLING_TO_DATABASE: 'nonsense' }
    expectRefusal(await runCommand(['migrate', '--data', folder], { env }), 2, /--to-database must be/)
    const config = await newConfig('to-content = "nonsense"\n')
    expectRefusal(
      await runCommand(['migrate', '--data', folder, '--config', config]),
      2,
      /--to-content: it must look like/,
    )
  })

  test('about a folder that is no node is refused, and nothing is made there', async () => {
    const folder = await newFolder()
    const target = ['--to-database', 'postgres://127.0.0.1:1/none']
    expectRefusal(
      await runCommand(['migrate', '--data', folder, ...target]),
      1,
      /not the data folder of a node/,
    )
    const missing = join(folder, 'missing')
    expectRefusal(await runCommand(['migrate', '--data', missing, ...target]), 1, /not the data folder/)
    expect(existsSync(missing)).toBe(false)
    expect(await readdir(folder)).toEqual([])
  })
})

describe('a target or source that will not do', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer('postgres')
    await server.addUser()
  })
  afterAll(() => server.stop())

  test('is a database of another installation', async () => {
    const folder = await newNode()
    const taken = ['--to-database', server.databaseUrl ?? '']
    expectRefusal(
      await runCommand(['migrate', '--data', folder, ...taken]),
      1,
      /^starling: the target database is not empty$/m,
    )
    expect((await server.command('check')).stdout).toBe('no broken invariant\n')
  })

  test('is a database that does not exist', async () => {
    const url = new URL(server.databaseUrl ?? '')
    url.pathname = '/nowhere'
    expectRefusal(
      await runCommand(['migrate', '--data', await newNode(), '--to-database', url.href]),
      1,
      /"nowhere" does not exist/,
    )
  })

  test('is a data folder whose metadata is elsewhere', async () => {
    const folder = await newNode()
    await rename(join(folder, 'starling.db'), join(folder, 'elsewhere.db'))
    expectRefusal(
      await runCommand(['migrate', '--data', folder, '--to-database', 'postgres://x']),
      1,
      /there is no database .*starling\.db; --database names one elsewhere/,
    )
    expect(existsSync(join(folder, 'starling.db'))).toBe(false)
  })

  test('is an installation of which a node is alive', async () => {
    const { db } = server.installation
    const other = 'ab'.repeat(16)
    const target = (await freshDatabaseUrl('postgres')) ?? ''
    expect(await server.terminate()).toBe(0)
    const move = (): Promise<CommandResult> => server.command('migrate', '--to-database', target)
    const facts = { name: 'far', address: '', startedMs: 1, aliveUntilMs: Date.now() + 10 * MINUTES }
    await db.write(async (tx) => {
      await ensureNode(tx, other, 1)
      await registerMember(tx, other, facts)
    })
    expectRefusal(await move(), 1, new RegExp(`the node ${other} \\(far\\) is alive: stop all nodes first`))
    await db.write((tx) => registerMember(tx, other, { ...facts, aliveUntilMs: 0 }))
    expect((await move()).status).toBe(0)
    await dropDatabase(target)
  })
})

/** The data folder of a node that has been used by the command line alone. */
async function newNode(): Promise<string> {
  const folder = await newFolder()
  const made = await runCommand([
    'user',
    'add',
    'a@x.test',
    '--first-name',
    'A',
    '--last-name',
    'B',
    '--data',
    folder,
  ])
  expect(made.status, made.stderr).toBe(0)
  return folder
}
