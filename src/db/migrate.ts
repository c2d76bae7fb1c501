/** Brings the tables to the newest version: numbered SQL files, each run once, each in a transaction of its own. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Db, Tx } from './db.js'
import { splitStatements } from './sql-text.js'

/** What the files leave open because the engines say it differently. */
export interface Dialect {
  /** What stands for {word} in a file. */
  words: Readonly<Record<string, string>>
  /** Statements at the start of a transaction that keep every other start out until its end. */
  lockSchema: readonly string[]
}

/** Where the numbers of the scripts that were run are kept. */
export const SCHEMA_TABLE = 'schema_version'

const MIGRATIONS_FOLDER = fileURLToPath(new URL('./migrations', import.meta.url))
const FILE_NAME = /^(\d{3})-[a-z0-9-]+\.sql$/
const WORD = /\{([a-z]+)\}/g

export async function migrate(db: Db, dialect: Dialect, folder: string = MIGRATIONS_FOLDER): Promise<void> {
  const scripts = await readScripts(folder, dialect)
  let isNewest = false
  while (!isNewest) isNewest = await db.write((tx) => migrateOnce(tx, dialect, scripts))
}

/** The version that this program brings tables to. */
export async function newestVersion(folder: string = MIGRATIONS_FOLDER): Promise<number> {
  return (await scriptNames(folder)).length
}

/** The version that the tables have. */
export async function versionOf(tx: Tx): Promise<number> {
  const row = await tx.get<{ version: number }>(
    'SELECT COALESCE(MAX(version), 0) AS version FROM schema_version',
  )
  return row?.version ?? 0
}

/** Runs the next script, if there is one; resolves to whether the schema was the newest already. */
async function migrateOnce(tx: Tx, dialect: Dialect, scripts: readonly string[]): Promise<boolean> {
  for (const statement of dialect.lockSchema) await tx.run(statement)
  await tx.run('CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY)')
  const version = await versionOf(tx)
  if (version > scripts.length) {
    const versions = `schema ${version}, this one knows ${scripts.length}`
    throw new Error(`the data folder was written by a newer version of Starling (${versions})`)
  }
  const script = scripts[version]
  if (script === undefined) return true
  for (const statement of splitStatements(script)) await tx.run(statement)
  await tx.run('INSERT INTO schema_version (version) VALUES ($1)', version + 1)
  return false
}

async function readScripts(folder: string, dialect: Dialect): Promise<string[]> {
  const names = await scriptNames(folder)
  return Promise.all(
    names.map(async (name, index) => {
      if (Number(FILE_NAME.exec(name)?.[1]) !== index + 1)
        throw new Error(`the migration ${name} is out of sequence`)
      const script = await readFile(join(folder, name), 'utf8')
      return script.replace(WORD, (text, word: string) => {
        const replacement = dialect.words[word]
        if (replacement === undefined) throw new Error(`the migration ${name} has an unknown word: ${text}`)
        return replacement
      })
    }),
  )
}

async function scriptNames(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
}
