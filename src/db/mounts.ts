/** The rows of the tree that stand for shared folders in people's roots: kind 'mount', the oid is the share's sid. */
import { marks, pieces, rowMarks } from './batches.js'
import type { Tx } from './db.js'

/** A name at the top of a root, in its normal form. */
export interface TopName {
  readonly rootSid: string
  readonly nameKey: string
}

/** Those of the names that are taken. */
export async function listTaken(
  tx: Tx,
  names: readonly TopName[],
  rootOid: string,
): Promise<{ sid: string; name_key: string }[]> {
  const taken: { sid: string; name_key: string }[] = []
  for (const some of pieces(names)) {
    taken.push(
      ...(await tx.all<{ sid: string; name_key: string }>(
        `SELECT o.sid, o.name_key FROM (VALUES ${rowMarks(some.length, 2, 2)}) AS wanted
         JOIN objects o ON o.sid = wanted.column1 AND o.parent = $1 AND o.name_key = wanted.column2`,
        rootOid,
        ...some.flatMap(({ rootSid, nameKey }) => [rootSid, nameKey]),
      )),
    )
  }
  return taken
}

export interface NewMount {
  readonly rootSid: string
  readonly sid: string
  readonly name: string
  readonly nameKey: string
}

/**
 * At the top of the roots. The id is the same at every stay of a person in a share, so the revision begins with the time:
 * an entity tag of an earlier stay never comes back.
 */
export async function insertMounts(
  tx: Tx,
  mounts: readonly NewMount[],
  rootOid: string,
  nowMs: number,
): Promise<void> {
  for (const some of pieces(mounts)) {
    await tx.run(
      `INSERT INTO objects (sid, oid, parent, name, name_key, kind, rev, created_ms)
       VALUES ${rowMarks(some.length, 8)}`,
      ...some.flatMap(({ rootSid, sid, name, nameKey }) => [
        rootSid,
        sid,
        rootOid,
        name,
        nameKey,
        'mount',
        nowMs,
        nowMs,
      ]),
    )
  }
  for (const some of pieces([...new Set(mounts.map(({ rootSid }) => rootSid))])) {
    await tx.run(
      `UPDATE objects SET listing = listing + 1 WHERE oid = $1 AND sid IN (${marks(some.length, 2)})`,
      rootOid,
      ...some,
    )
  }
}

/** Wherever in the roots they are; a share that is not mounted there is passed over. */
export async function deleteMounts(
  tx: Tx,
  mounts: readonly { readonly rootSid: string; readonly sid: string }[],
): Promise<void> {
  for (const some of pieces(mounts)) {
    const wanted = `(VALUES ${rowMarks(some.length, 2)})`
    const values = some.flatMap(({ rootSid, sid }) => [rootSid, sid])
    await tx.run(
      `UPDATE objects SET listing = listing + 1 WHERE (sid, oid) IN
       (SELECT o.sid, o.parent FROM ${wanted} AS wanted
        JOIN objects o ON o.sid = wanted.column1 AND o.oid = wanted.column2 AND o.kind = 'mount')`,
      ...values,
    )
    await tx.run(`DELETE FROM objects WHERE (sid, oid) IN ${wanted} AND kind = 'mount'`, ...values)
  }
}
