import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Db } from '../../src/db/db.js'
import { migrate } from '../../src/db/migrate.js'
import { openDatabase } from '../../src/db/open.js'
import { openPostgres, POSTGRES_DIALECT } from '../../src/db/postgres.js'
import { openSqlite, SQLITE_DIALECT } from '../../src/db/sqlite.js'
import { dropDatabase, emptyDatabaseUrl, ENGINES } from '../support/engines.js'

const log = (): undefined => undefined

describe.each(ENGINES)('migrations on %s', (engine) => {
  const dialect = engine === 'sqlite' ? SQLITE_DIALECT : POSTGRES_DIALECT
  let dataDir: string
  let scripts: string
  let url: string | undefined
  const opened: Db[] = []

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'starling-test-'))
    scripts = await mkdtemp(join(tmpdir(), 'starling-test-'))
    url = await emptyDatabaseUrl(engine)
  })

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((db) => db.close()))
    await dropDatabase(url)
    for (const folder of [dataDir, scripts]) await rm(folder, { recursive: true, force: true })
  })

  async function openBare(): Promise<Db> {
    const file = join(dataDir, 'starling.db')
    const db = url === undefined ? await openSqlite({ file, log }) : openPostgres({ url, log })
    opened.push(db)
    return db
  }
  const script = (name: string, text: string): Promise<void> => writeFile(join(scripts, name), text)
  const versions = (db: Db) => db.read((tx) => tx.all('SELECT version FROM schema_version ORDER BY version'))

  it('run once each when several processes of a node start at the same time', async () => {
    await script('001-first.sql', `CREATE TABLE first (id {serial}, name {text}, bytes {blob}){strict};`)
    await script(
      '002-second.sql',
      `-- Not twice;\nINSERT INTO first (name) VALUES ('a;b');\nCREATE INDEX by_name ON first (name);`,
    )
    const dbs = await Promise.all(Array.from({ length: 6 }, openBare))
    await Promise.all(dbs.map((db) => migrate(db, dialect, scripts)))
    for (const db of dbs) {
      expect(await versions(db)).toEqual([{ version: 1 }, { version: 2 }])
      expect(await db.read((tx) => tx.all('SELECT id, name FROM first'))).toEqual([{ id: 1, name: 'a;b' }])
    }
  })

  it('of a failed script leave nothing behind, and the next start goes on from there', async () => {
    await script('001-first.sql', 'CREATE TABLE first (id {serial});')
    await script('002-second.sql', 'CREATE TABLE second (id {serial}); CREATE TABLE first (id {serial});')
    const db = await openBare()
    await expect(migrate(db, dialect, scripts)).rejects.toThrow('already exists')
    expect(await versions(db)).toEqual([{ version: 1 }])
    await script('002-second.sql', 'CREATE TABLE second (id {serial});')
    await migrate(db, dialect, scripts)
    expect(await versions(db)).toEqual([{ version: 1 }, { version: 2 }])
  })

  it('refuse a gap in the numbers and a word they do not know', async () => {
    const db = await openBare()
    await script('002-second.sql', 'CREATE TABLE second (id {serial});')
    await expect(migrate(db, dialect, scripts)).rejects.toThrow('002-second.sql is out of sequence')
    await script('001-first.sql', 'CREATE TABLE first (id {number});')
    await expect(migrate(db, dialect, scripts)).rejects.toThrow('unknown word: {number}')
  })

  it('refuse a database of a newer version', async () => {
    const db = await openDatabase({ url, dataDir })
    opened.push(db)
    const known = (await versions(db)).length
    await db.write((tx) => tx.run('INSERT INTO schema_version (version) VALUES ($1)', known + 4))
    await expect(openDatabase({ url, dataDir })).rejects.toThrow(
      `the data folder was written by a newer version of Starling (schema ${known + 4}, this one knows ${known})`,
    )
  })

  it('of this version apply when the whole database is opened many times at once', async () => {
    opened.push(...(await Promise.all(Array.from({ length: 5 }, () => openDatabase({ url, dataDir })))))
    const db = opened[0]
    expect(db && (await versions(db)).length).toBeGreaterThan(0)
  })
})

describe('opening a database', () => {
  it('refuses an address that is not of PostgreSQL, without repeating it', async () => {
    const opening = openDatabase({ url: 'mysql://user:secret@host/db', dataDir: tmpdir() })
    await expect(opening).rejects.toThrow(/^the address of the database must begin with postgres:\/\/$/)
  })
})
