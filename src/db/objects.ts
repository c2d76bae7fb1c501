import { ZERO_OID } from '../model/ids.js'
import type { Tx } from './db.js'

export type ObjectKind = 'folder' | 'file' | 'mount'

/** One folder or file as the table has it. */
export interface ObjectRow {
  sid: string
  oid: string
  parent: string | null
  name: string
  kind: ObjectKind
  rev: number
  /** Grows with every change of the list of children. */
  listing: number
  content: string | null
  size: number | null
  modified_ms: number | null
}

/** Where the children of a folder are: those of a mount are in the store of its share. */
export function insideOf({ sid, oid, kind }: ObjectRow): { sid: string; oid: string } {
  return kind === 'mount' ? { sid: oid, oid: ZERO_OID } : { sid, oid }
}

const COLUMNS = 'sid, oid, parent, name, kind, rev, listing, content, size, modified_ms'

// The store goes along in every step: only then does SQLite find the children by the index of names.
const SUBTREE = `WITH RECURSIVE subtree (sid, oid) AS (
  SELECT sid, oid FROM objects WHERE sid = $1 AND oid = $2
  UNION ALL
  SELECT o.sid, o.oid FROM objects o JOIN subtree s ON o.sid = s.sid AND o.parent = s.oid
)`

const ANCESTORS = `WITH RECURSIVE chain (oid, parent, depth) AS (
  SELECT oid, parent, 0 FROM objects WHERE sid = $1 AND oid = $2
  UNION ALL
  SELECT o.oid, o.parent, c.depth + 1 FROM objects o JOIN chain c ON o.sid = $1 AND o.oid = c.parent
)`

export function findObject(tx: Tx, sid: string, oid: string): Promise<ObjectRow | undefined> {
  return tx.recall<ObjectRow>(`SELECT ${COLUMNS} FROM objects WHERE sid = $1 AND oid = $2`, sid, oid)
}

export function findChild(
  tx: Tx,
  sid: string,
  parent: string,
  nameKey: string,
): Promise<ObjectRow | undefined> {
  return tx.get<ObjectRow>(
    `SELECT ${COLUMNS} FROM objects WHERE sid = $1 AND parent = $2 AND name_key = $3`,
    sid,
    parent,
    nameKey,
  )
}

type ChildList = [
  oid: string,
  name: string,
  kind: ObjectKind,
  rev: number,
  listing: number,
  content: string | null,
  size: number | null,
  modifiedMs: number | null,
]

/** The children in no particular order. */
export async function listChildren(tx: Tx, sid: string, parent: string): Promise<ObjectRow[]> {
  const lists = await tx.lists<ChildList>(
    'SELECT oid, name, kind, rev, listing, content, size, modified_ms FROM objects WHERE sid = $1 AND parent = $2',
    sid,
    parent,
  )
  return lists.map(([oid, name, kind, rev, listing, content, size, modified_ms]) => {
    return { sid, oid, parent, name, kind, rev, listing, content, size, modified_ms }
  })
}

/** The object itself and everything above it in its store, from the object up to the store's root. */
export function listAncestors(tx: Tx, sid: string, oid: string): Promise<ObjectRow[]> {
  return tx.all<ObjectRow>(
    `${ANCESTORS}
     SELECT o.sid, o.oid, o.parent, o.name, o.kind, o.rev, o.listing, o.content, o.size, o.modified_ms
     FROM chain c JOIN objects o ON o.sid = $1 AND o.oid = c.oid ORDER BY c.depth`,
    sid,
    oid,
  )
}

/** The ids of the object and of everything above it, for questions of containment. */
export async function listAncestorIds(tx: Tx, sid: string, oid: string): Promise<string[]> {
  const rows = await tx.all<{ oid: string }>(`${ANCESTORS} SELECT oid FROM chain ORDER BY depth`, sid, oid)
  return rows.map((row) => row.oid)
}

export async function insertObject(
  tx: Tx,
  row: {
    sid: string
    oid: string
    parent: string | null
    name: string
    nameKey: string
    kind: ObjectKind
    nowMs: number
  },
): Promise<ObjectRow> {
  await tx.run(
    `INSERT INTO objects (sid, oid, parent, name, name_key, kind, created_ms) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    row.sid,
    row.oid,
    row.parent,
    row.name,
    row.nameKey,
    row.kind,
    row.nowMs,
  )
  const { sid, oid, parent, name, kind } = row
  await touchListing(tx, sid, parent)
  return { sid, oid, parent, name, kind, rev: 1, listing: 0, content: null, size: null, modified_ms: null }
}

export async function placeObject(
  tx: Tx,
  object: ObjectRow,
  place: { parent: string; name: string; nameKey: string },
): Promise<ObjectRow> {
  await tx.run(
    `UPDATE objects SET parent = $3, name = $4, name_key = $5, rev = rev + 1 WHERE sid = $1 AND oid = $2`,
    object.sid,
    object.oid,
    place.parent,
    place.name,
    place.nameKey,
  )
  await touchListing(tx, object.sid, object.parent)
  if (place.parent !== object.parent) await touchListing(tx, object.sid, place.parent)
  return { ...object, parent: place.parent, name: place.name, rev: object.rev + 1 }
}

export async function setContent(
  tx: Tx,
  object: ObjectRow,
  content: { hash: string; size: number; modifiedMs: number },
): Promise<ObjectRow> {
  await tx.run(
    `UPDATE objects SET content = $3, size = $4, modified_ms = $5, rev = rev + 1 WHERE sid = $1 AND oid = $2`,
    object.sid,
    object.oid,
    content.hash,
    content.size,
    content.modifiedMs,
  )
  await touchListing(tx, object.sid, object.parent)
  return {
    ...object,
    content: content.hash,
    size: content.size,
    modified_ms: content.modifiedMs,
    rev: object.rev + 1,
  }
}

/** What an object and everything below it comes to: the content names, the bytes, the number of objects and mounts. */
export async function measureSubtree(
  tx: Tx,
  sid: string,
  oid: string,
): Promise<{ contents: string[]; bytes: number; objects: number; mounts: number }> {
  const contents = await tx.all<{ content: string }>(
    `${SUBTREE} SELECT DISTINCT o.content AS content FROM subtree s JOIN objects o ON o.sid = $1 AND o.oid = s.oid
     WHERE o.content IS NOT NULL`,
    sid,
    oid,
  )
  const sums = await tx.get<{ bytes: number; objects: number; mounts: number }>(
    `${SUBTREE} SELECT CAST(COALESCE(SUM(o.size), 0) AS BIGINT) AS bytes, COUNT(*) AS objects,
       COUNT(CASE WHEN o.kind = 'mount' THEN 1 END) AS mounts
     FROM subtree s JOIN objects o ON o.sid = $1 AND o.oid = s.oid`,
    sid,
    oid,
  )
  return {
    contents: contents.map((row) => row.content),
    bytes: sums?.bytes ?? 0,
    objects: sums?.objects ?? 0,
    mounts: sums?.mounts ?? 0,
  }
}

/** The shares that are mounted at the object or below it, by their ids. */
export async function listMountsInSubtree(tx: Tx, sid: string, oid: string): Promise<string[]> {
  const rows = await tx.all<{ oid: string }>(
    `${SUBTREE} SELECT o.oid AS oid FROM subtree s JOIN objects o ON o.sid = $1 AND o.oid = s.oid
     WHERE o.kind = 'mount' ORDER BY o.oid`,
    sid,
    oid,
  )
  return rows.map((row) => row.oid)
}

/** The staged files of the uploads in progress in the object and below it. */
export async function listStagedInSubtree(tx: Tx, sid: string, oid: string): Promise<string[]> {
  const rows = await tx.all<{ staged: string }>(
    `${SUBTREE} SELECT u.staged AS staged FROM subtree s JOIN uploads u ON u.sid = $1 AND u.oid = s.oid`,
    sid,
    oid,
  )
  return rows.map((row) => row.staged)
}

export async function deleteSubtree(tx: Tx, object: ObjectRow): Promise<void> {
  await tx.run(
    `${SUBTREE} DELETE FROM objects WHERE sid = $1 AND oid IN (SELECT oid FROM subtree)`,
    object.sid,
    object.oid,
  )
  await touchListing(tx, object.sid, object.parent)
}

/** Whoever changes a child tells its parent, so that a kept list of children is known to be old. */
export async function touchListing(tx: Tx, sid: string, parent: string | null): Promise<void> {
  if (parent === null) return
  await tx.run('UPDATE objects SET listing = listing + 1 WHERE sid = $1 AND oid = $2', sid, parent)
}
