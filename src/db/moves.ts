/** Moves of whole subtrees from one store into another, where every object gets another id. */
import { pieces, rowMarks } from './batches.js'
import type { Tx } from './db.js'
import { touchListing, type ObjectKind } from './objects.js'

/** An object with everything that a copy of it has. */
export interface CopiedRow {
  oid: string
  parent: string
  name: string
  name_key: string
  kind: ObjectKind
  rev: number
  listing: number
  content: string | null
  size: number | null
  modified_ms: number | null
  created_ms: number
}

/** The object and everything below it, parents before their children. */
export function listSubtree(tx: Tx, sid: string, oid: string): Promise<CopiedRow[]> {
  return tx.all<CopiedRow>(
    `WITH RECURSIVE subtree (sid, oid, depth) AS (
       SELECT sid, oid, 0 FROM objects WHERE sid = $1 AND oid = $2
       UNION ALL
       SELECT o.sid, o.oid, s.depth + 1 FROM objects o JOIN subtree s ON o.sid = s.sid AND o.parent = s.oid
     )
     SELECT o.oid, o.parent, o.name, o.name_key, o.kind, o.rev, o.listing, o.content, o.size, o.modified_ms, o.created_ms
     FROM subtree s JOIN objects o ON o.sid = s.sid AND o.oid = s.oid ORDER BY s.depth`,
    sid,
    oid,
  )
}

/**
 * Puts rows into a store, parents before their children; the first one is the topmost. They come as values and not by a
 * join with the old ones, which would go through the whole of the old store for each piece.
 */
export async function insertSubtree(tx: Tx, sid: string, rows: readonly CopiedRow[]): Promise<void> {
  for (const some of pieces(rows)) {
    await tx.run(
      `INSERT INTO objects (sid, oid, parent, name, name_key, kind, rev, listing, content, size, modified_ms, created_ms)
       VALUES ${rowMarks(some.length, 12)}`,
      ...some.flatMap((row) => [
        sid,
        row.oid,
        row.parent,
        row.name,
        row.name_key,
        row.kind,
        row.rev,
        row.listing,
        row.content,
        row.size,
        row.modified_ms,
        row.created_ms,
      ]),
    )
  }
  await touchListing(tx, sid, rows[0]?.parent ?? null)
}

/** What nodes are set not to hold in a store; there are never many. */
export function listDeselectionsIn(tx: Tx, sid: string): Promise<{ node_id: string; oid: string }[]> {
  return tx.all('SELECT node_id, oid FROM deselections WHERE sid = $1 ORDER BY node_id, oid', sid)
}
