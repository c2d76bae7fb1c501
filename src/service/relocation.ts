/**
 * Moves an installation: its metadata into another database, its content into another store, or both. What it is moved
 * from stays as it is. A run that was broken off is begun again: rows are copied anew, since nobody can tell whether they
 * have changed meanwhile, and content that has arrived is kept.
 */
import { listTables, type Table } from '../db/catalog.js'
import type { Db, Tx } from '../db/db.js'
import { newestVersion, SCHEMA_TABLE, versionOf } from '../db/migrate.js'
import { listMembers } from '../db/nodes.js'
import type { BareDatabase } from '../db/open.js'
import {
  countPlacedBlobs,
  dropTables,
  findContentFact,
  findFact,
  inspectTarget,
  markFinished,
  markUnfinished,
  OWN_FACTS,
  refuseHalfDone,
  setContentFact,
} from '../db/relocation.js'
import { compareTable, copyTable, TablesDiffer } from '../db/table-copy.js'
import { Failure } from '../model/failures.js'
import { copyContent, type ContentCount, type ContentMove } from './relocation-content.js'

export type ContentKind = 'disk' | 's3'

/** What is known of an installation before anything is moved. */
export interface InstallationFacts {
  readonly installation: string
  readonly content: ContentKind
}

export interface Relocation {
  readonly source: BareDatabase
  readonly facts: InstallationFacts
  /** Absent: the metadata stays where it is. */
  readonly target: BareDatabase | undefined
  /** Absent: the content stays where it is. */
  readonly content: (ContentMove & { readonly kind: ContentKind }) | undefined
  /** The node whose data folder is held for the time of the move. */
  readonly ownNodeId: string
  readonly now: () => number
  readonly report: Report
}

export interface Report {
  /** Said at once. */
  step(text: string): void
  /** Said now and then. */
  progress(text: () => string): void
}

export interface Relocated {
  /** Rows by table, the same in both databases; absent when the metadata stayed. */
  readonly tables: Readonly<Record<string, number>> | undefined
  readonly content: ContentCount | undefined
}

/** Throws when the database is not an installation that this version of the program can move. */
export async function readFacts({ db, catalog }: BareDatabase): Promise<InstallationFacts> {
  const newest = await newestVersion()
  return db.read(async (tx) => {
    const tables = await listTables(tx, catalog)
    const version = tables.some(({ name }) => name === SCHEMA_TABLE) ? await versionOf(tx) : 0
    if (version === 0) throw new Error('the database holds no installation')
    if (version !== newest) {
      const versions = `schema ${version}, this one knows ${newest}`
      throw new Error(`the data were written by another version of Starling (${versions}): serve them once`)
    }
    await refuseHalfDone(tx)
    const installation = await findFact(tx, 'installation')
    // Where nobody has served it yet there is no content.
    const content = (await findContentFact(tx)) ?? 'disk'
    if (installation === undefined || (content !== 'disk' && content !== 's3'))
      throw new Error('the database holds no installation')
    return { installation, content }
  })
}

export async function relocate(relocation: Relocation): Promise<Relocated> {
  const { source, target, content, facts } = relocation
  await refuseWhileServed(relocation)
  if (target !== undefined) await inspectOnly(target, facts)
  await content?.to.probe()
  if (target !== undefined) await prepare(target, facts, relocation.report)
  const count = content === undefined ? undefined : await bringContent(relocation, source.db, content, 'read')
  const tables = target === undefined ? undefined : await bringRows(relocation, target)
  const settled = (target ?? source).db
  if (content !== undefined) await bringContent(relocation, settled, content, 'length')
  await refuseWhileServed(relocation)
  const kind = content?.kind ?? facts.content
  await settled.write((tx) => (target === undefined ? setContentFact(tx, kind) : markFinished(tx, kind)))
  return { tables, content: count }
}

/** The lock on the data folder says that its own node is down, whatever the node last said of itself. */
async function refuseWhileServed({ source, ownNodeId, now }: Relocation): Promise<void> {
  const members = await source.db.read(listMembers)
  const alive = members.find(({ id, alive_until_ms }) => id !== ownNodeId && alive_until_ms > now())
  if (alive === undefined) return
  throw new Failure('conflict', `the node ${alive.id} (${alive.name}) is alive: stop all nodes first`)
}

async function inspectOnly(
  { db, catalog }: BareDatabase,
  { installation }: InstallationFacts,
): Promise<void> {
  await db.read((tx) => inspectTarget(tx, catalog, installation))
}

/** Leaves the target with all tables, no rows and the mark of a migration that has not come to its end. */
async function prepare(target: BareDatabase, facts: InstallationFacts, report: Report): Promise<void> {
  const { db, catalog, makeTables } = target
  await db.write(async (tx) => {
    const { state, tables } = await inspectTarget(tx, catalog, facts.installation)
    if (state === 'unfinished') await dropTables(tx, tables)
  })
  await makeTables()
  await db.write(async (tx) => {
    await inspectTarget(tx, catalog, facts.installation)
    await markUnfinished(tx, facts.installation)
  })
  report.step('the target database is ready')
}

async function bringContent(
  { report, source }: Relocation,
  rows: Db,
  move: ContentMove,
  look: 'read' | 'length',
): Promise<ContentCount> {
  const whole = await source.db.read(countPlacedBlobs)
  const say = (count: ContentCount): string =>
    `content: ${count.blobs} of ${whole.blobs} blobs, ${count.bytes} of ${whole.bytes} bytes`
  const count = await copyContent(rows, move, look, (soFar) => report.progress(() => say(soFar)))
  if (count.blobs !== whole.blobs || count.bytes !== whole.bytes) throw changedMeanwhile()
  report.step(look === 'read' ? say(count) : 'content: the target holds all of it')
  return count
}

async function bringRows(relocation: Relocation, target: BareDatabase): Promise<Record<string, number>> {
  const { source, report } = relocation
  const tables = await tablesOf(source, target)
  await source.db.read(async (tx) => {
    for (const table of tables) {
      if (table.name !== SCHEMA_TABLE) await bringTable(tx, relocation, target, table)
    }
  })
  await target.db.write(async (tx) => {
    for (const statement of target.catalog.afterLoad) await tx.run(statement)
  })
  const counts = await compare(source.db, target.db, tables)
  report.step('rows: the same in both databases')
  return counts
}

/** Both sides list their own tables, so that one which only one of them has is noticed. */
async function tablesOf(source: BareDatabase, target: BareDatabase): Promise<readonly Table[]> {
  const [ours, theirs] = await Promise.all(
    [source, target].map(({ db, catalog }) => db.read((tx) => listTables(tx, catalog))),
  )
  const form = (tables: readonly Table[] = []): string =>
    JSON.stringify(
      tables.map(({ name, columns, key, counted, inward }) => [
        name,
        [...columns].sort(),
        key,
        counted,
        inward,
      ]),
    )
  if (form(ours) !== form(theirs)) throw new Error('the tables of the two databases are not the same')
  return ours ?? []
}

async function bringTable(
  tx: Tx,
  { source, report }: Relocation,
  target: BareDatabase,
  table: Table,
): Promise<void> {
  const { counted, name } = table
  try {
    const rows = await copyTable(tx, target, table, OWN_FACTS, (soFar) =>
      report.progress(() => `${name}: ${soFar} rows`),
    )
    if (counted !== undefined) {
      const last = await source.catalog.lastCounted(tx, name, counted)
      await target.db.write((write) => target.catalog.countFrom(write, name, counted, last))
    }
    report.step(`${name}: ${rows} rows`)
  } catch (error) {
    if (error instanceof Failure) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`the table ${name} could not be copied: ${reason}`, { cause: error })
  }
}

/** The source is read anew, so that a change of it since the copy is noticed. */
async function compare(source: Db, target: Db, tables: readonly Table[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  try {
    await source.read((ours) =>
      target.read(async (theirs) => {
        for (const table of tables) counts[table.name] = await compareTable(ours, theirs, table, OWN_FACTS)
      }),
    )
  } catch (error) {
    throw error instanceof TablesDiffer ? changedMeanwhile(error) : error
  }
  return counts
}

function changedMeanwhile(cause?: unknown): Error {
  return new Error('the installation was changed during the migration: run it again', { cause })
}
