/** Moves of whole subtrees from one store into another, where every object gets another id. */
import { pieces, rowMarks } from './batches.js'
import type { Tx } from './db.js'
import { touchListing, type ObjectKind, type ObjectRow } from './objects.js'

export interface SubtreeRow {
  readonly oid: string
  readonly parent: string
  readonly kind: ObjectKind
  readonly size: number | null
}

/** The object and everything below it, parents before their children. */
export async function listSubtree(tx: Tx, sid: string, oid: string): Promise<SubtreeRow[]> {
  const rows = await tx.lists<[oid: string, parent: string, kind: ObjectKind, size: number | null]>(
    `WITH RECURSIVE subtree (sid, oid, parent, kind, size, depth) AS (
       SELECT sid, oid, parent, kind, size, 0 FROM objects WHERE sid = $1 AND oid = $2
       UNION ALL
       SELECT o.sid, o.oid, o.parent, o.kind, o.size, s.depth + 1
       FROM objects o JOIN subtree s ON o.sid = s.sid AND o.parent = s.oid
     )
     SELECT oid, parent, kind, size FROM subtree ORDER BY depth`,
    sid,
    oid,
  )
  return rows.map(([child, parent, kind, size]) => ({ oid: child, parent, kind, size }))
}

/** What an object of the source is to be in the destination. */
export interface Renewed {
  readonly oid: string
  readonly newOid: string
  readonly newParent: string
}

const COPIED = 'kind, listing, content, size, modified_ms, created_ms'

/** Puts a copy of the topmost object of a move into its new folder. */
export async function copyTop(
  tx: Tx,
  object: ObjectRow,
  to: { sid: string; oid: string; parent: string; name: string; nameKey: string },
): Promise<ObjectRow> {
  await tx.run(
    `INSERT INTO objects (sid, oid, parent, name, name_key, rev, ${COPIED})
     SELECT $3, $4, $5, $6, $7, rev + 1, ${COPIED} FROM objects WHERE sid = $1 AND oid = $2`,
    object.sid,
    object.oid,
    to.sid,
    to.oid,
    to.parent,
    to.name,
    to.nameKey,
  )
  await touchListing(tx, to.sid, to.parent)
  return { ...object, sid: to.sid, oid: to.oid, parent: to.parent, name: to.name, rev: object.rev + 1 }
}

/** Copies what is below it; a parent must come before its children. */
export async function copyBelow(
  tx: Tx,
  fromSid: string,
  toSid: string,
  objects: readonly Renewed[],
): Promise<void> {
  for (const some of pieces(objects)) {
    await tx.run(
      `INSERT INTO objects (sid, oid, parent, name, name_key, rev, ${COPIED})
       SELECT $2, renewed.column2, renewed.column3, name, name_key, rev, ${COPIED}
       FROM (VALUES ${rowMarks(some.length, 3, 3)}) AS renewed
       JOIN objects o ON o.sid = $1 AND o.oid = renewed.column1`,
      fromSid,
      toSid,
      ...some.flatMap(({ oid, newOid, newParent }) => [oid, newOid, newParent]),
    )
  }
}

/** What nodes are set not to hold, they go on not holding under the new ids. */
export async function copyDeselections(
  tx: Tx,
  fromSid: string,
  toSid: string,
  objects: readonly Pick<Renewed, 'oid' | 'newOid'>[],
): Promise<void> {
  if ((await tx.get('SELECT 1 AS one FROM deselections WHERE sid = $1 LIMIT 1', fromSid)) === undefined)
    return
  for (const some of pieces(objects)) {
    await tx.run(
      `INSERT INTO deselections (node_id, sid, oid)
       SELECT d.node_id, $2, renewed.column2 FROM (VALUES ${rowMarks(some.length, 2, 3)}) AS renewed
       JOIN deselections d ON d.sid = $1 AND d.oid = renewed.column1`,
      fromSid,
      toSid,
      ...some.flatMap(({ oid, newOid }) => [oid, newOid]),
    )
  }
}
