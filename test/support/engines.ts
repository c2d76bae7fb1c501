/** Fresh databases of both engines. Tests loop over ENGINES and treat all of them alike. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { inject } from 'vitest'
import type { Db } from '../../src/db/db.js'
import { openDatabase } from '../../src/db/open.js'

export const ENGINES = ['sqlite', 'postgres'] as const
export type Engine = (typeof ENGINES)[number]

export interface TestDb {
  db: Db
  url: string | undefined
  dataDir: string
  close(): Promise<void>
}

/** A new database with all tables and nothing in them. */
export async function openTestDb(engine: Engine): Promise<TestDb> {
  const dataDir = await mkdtemp(join(tmpdir(), 'starling-test-'))
  const url = await freshDatabaseUrl(engine)
  const db = await openDatabase({ url, dataDir })
  return {
    db,
    url,
    dataDir,
    async close() {
      await db.close()
      await rm(dataDir, { recursive: true, force: true })
      await dropDatabase(url)
    },
  }
}

/** For tests that start whole processes: undefined for SQLite, whose database lies in the data folder. */
export async function freshDatabaseUrl(engine: Engine): Promise<string | undefined> {
  if (engine === 'sqlite') return undefined
  await createTemplate()
  return createDatabase(TEMPLATE)
}

/** A database without any table. */
export async function emptyDatabaseUrl(engine: Engine): Promise<string | undefined> {
  return engine === 'sqlite' ? undefined : createDatabase('template1')
}

/** Does nothing without an address. What is left over goes away with the cluster. */
export async function dropDatabase(url: string | undefined): Promise<void> {
  if (url === undefined) return
  await administer((client) =>
    client.query(`DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`),
  )
}

const TEMPLATE = 'starling_template'
const TEMPLATE_LOCK = 4711

async function createDatabase(template: string): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`
  await administer((client) => client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`))
  return databaseUrl(name)
}

/** The migrations run once a test run; every other database is a copy. The first process to come makes it. */
async function createTemplate(): Promise<void> {
  await administer(async (client) => {
    await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK])
    const existing = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [TEMPLATE])
    if (existing.rows.length > 0) return
    const building = await createDatabase('template1')
    const db = await openDatabase({ url: building, dataDir: tmpdir() })
    await db.close()
    await client.query(`ALTER DATABASE ${new URL(building).pathname.slice(1)} RENAME TO ${TEMPLATE}`)
  })
}

function databaseUrl(name: string): string {
  const url = new URL(inject('postgresUrl'))
  url.pathname = `/${name}`
  return url.href
}

async function administer(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
