/** Moving the metadata of an installation into another database: what tells a finished one from a half-done one. */
import { BUILT_IN_APP } from './apps.js'
import { listTables, type Catalog, type Table } from './catalog.js'
import type { Tx } from './db.js'
import { SCHEMA_TABLE } from './migrate.js'
import type { Exempt } from './table-copy.js'

const MARK = 'migration'
const CONTENT = 'content'

/** The mark is the target's own, and where content is may be another place there. */
export const OWN_FACTS: Exempt = { table: 'meta', column: 'key', values: [MARK, CONTENT] }

/** A database that was never filled to its end must not be taken for an installation. */
export async function refuseHalfDone(tx: Tx): Promise<void> {
  if ((await findFact(tx, MARK)) === undefined) return
  throw new Error(
    'this database is the target of an unfinished migration: run starling migrate again with the same settings',
  )
}

export async function findFact(tx: Tx, key: string): Promise<string | undefined> {
  return (await tx.get<{ value: string }>('SELECT value FROM meta WHERE key = $1', key))?.value
}

/** `unfinished`: half of a copy of this very installation. Everything else that is not empty is refused. */
export async function inspectTarget(
  tx: Tx,
  catalog: Catalog,
  installation: string,
): Promise<{ state: 'empty' | 'unfinished'; tables: readonly Table[] }> {
  const tables = await listTables(tx, catalog)
  if (tables.length === 0) return { state: 'empty', tables }
  if (!tables.some(({ name }) => name === SCHEMA_TABLE))
    throw new Error('the target database holds tables of another program')
  const hasFacts = tables.some(({ name }) => name === OWN_FACTS.table)
  const owner = hasFacts ? await findFact(tx, MARK) : undefined
  if (owner === installation) return { state: 'unfinished', tables }
  if (owner !== undefined)
    throw new Error('the target database is that of an unfinished migration of another installation')
  if (hasFacts && (await findFact(tx, 'installation')) === installation)
    throw new Error('the target database holds this installation already')
  for (const { name } of tables) {
    if (name !== SCHEMA_TABLE && (await holdsRows(tx, name)))
      throw new Error('the target database is not empty')
  }
  return { state: 'empty', tables }
}

/** The application that comes with the tables does not count. */
async function holdsRows(tx: Tx, table: string): Promise<boolean> {
  const row =
    table === 'apps'
      ? await tx.get('SELECT 1 AS one FROM apps WHERE id <> $1 LIMIT 1', BUILT_IN_APP)
      : await tx.get(`SELECT 1 AS one FROM "${table}" LIMIT 1`)
  return row !== undefined
}

/** The tables come after those that they refer to, so they go in the opposite order. */
export async function dropTables(tx: Tx, tables: readonly Table[]): Promise<void> {
  for (const { name } of [...tables].reverse()) await tx.run(`DROP TABLE "${name}"`)
}

/** From here on nobody serves the database until the mark is gone. */
export async function markUnfinished(tx: Tx, installation: string): Promise<void> {
  await tx.run('INSERT INTO meta (key, value) VALUES ($1, $2)', MARK, installation)
  await tx.run('DELETE FROM apps WHERE id = $1', BUILT_IN_APP)
}

export async function markFinished(tx: Tx, content: string): Promise<void> {
  await setContentFact(tx, content)
  await tx.run('DELETE FROM meta WHERE key = $1', MARK)
}

/** Where the content is: `disk` or `s3`. */
export function findContentFact(tx: Tx): Promise<string | undefined> {
  return findFact(tx, CONTENT)
}

export async function setContentFact(tx: Tx, content: string): Promise<void> {
  await tx.run(
    'INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
    CONTENT,
    content,
  )
}

/** Content that is not in its row, in the order of its names. */
export function listPlacedBlobs(
  tx: Tx,
  afterHash: string,
  rowsMax: number,
): Promise<{ hash: string; size: number; place: string }[]> {
  return tx.all<{ hash: string; size: number; place: string }>(
    'SELECT hash, size, place FROM blobs WHERE place IS NOT NULL AND hash > $1 ORDER BY hash LIMIT $2',
    afterHash,
    rowsMax,
  )
}

export async function countPlacedBlobs(tx: Tx): Promise<{ blobs: number; bytes: number }> {
  const row = await tx.get<{ blobs: number; bytes: number }>(
    `SELECT COUNT(*) AS blobs, CAST(COALESCE(SUM(size), 0) AS BIGINT) AS bytes FROM blobs WHERE place IS NOT NULL`,
  )
  return row ?? { blobs: 0, bytes: 0 }
}
