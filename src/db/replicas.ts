/** What a node holds of content on its own disk. */
import { marks, pieces } from './batches.js'
import type { Tx } from './db.js'

export interface HeldBlob {
  readonly hash: string
  readonly size: number
  /** The file on the node's own disk. */
  readonly place: string
  /** The hashes of the full blocks, one behind the other. */
  readonly blocks: Buffer
}

/** Says whether the node keeps a local copy at all. */
export async function setReplica(tx: Tx, nodeId: string, isReplica: boolean): Promise<void> {
  await tx.run('UPDATE nodes SET replica = $2, stalled_ms = NULL WHERE id = $1', nodeId, isReplica ? 1 : 0)
}

export async function setStalled(tx: Tx, nodeId: string, sinceMs: number | null): Promise<void> {
  await tx.run('UPDATE nodes SET stalled_ms = $2 WHERE id = $1', nodeId, sinceMs)
}

/** Holds the node's count, so that what is written about its copies in the transaction is written by one at a time. */
function lockCount(tx: Tx, nodeId: string): Promise<void> {
  return tx.lock('nodes', nodeId)
}

async function count(tx: Tx, nodeId: string, bytes: number): Promise<void> {
  await tx.run('UPDATE nodes SET held = held + $2, held_rev = held_rev + 1 WHERE id = $1', nodeId, bytes)
}

export function findHeld(tx: Tx, nodeId: string, hash: string): Promise<HeldBlob | undefined> {
  return tx.get<HeldBlob>(
    'SELECT hash, size, place, blocks FROM replica_blobs WHERE node_id = $1 AND hash = $2',
    nodeId,
    hash,
  )
}

/** From now on the node holds the content in this file; returns the file that it was in before. */
export async function insertHeld(tx: Tx, nodeId: string, blob: HeldBlob): Promise<string | undefined> {
  await lockCount(tx, nodeId)
  const before = await findHeld(tx, nodeId, blob.hash)
  await tx.run(
    `INSERT INTO replica_blobs (node_id, hash, size, place, blocks) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (node_id, hash) DO UPDATE SET place = excluded.place, blocks = excluded.blocks`,
    nodeId,
    blob.hash,
    blob.size,
    blob.place,
    blob.blocks,
  )
  await count(tx, nodeId, before === undefined ? blob.size : 0)
  await deleteFailure(tx, nodeId, blob.hash)
  return before?.place
}

/** The node holds these no longer, whatever the reason; returns their files. */
export async function deleteHeld(tx: Tx, nodeId: string, hashes: readonly string[]): Promise<string[]> {
  if (hashes.length === 0) return []
  await lockCount(tx, nodeId)
  const gone: Gone[] = []
  for (const some of pieces(hashes)) {
    gone.push(
      ...(await tx.all<Gone>(
        `DELETE FROM replica_blobs WHERE node_id = $1 AND hash IN (${marks(some.length, 2)}) RETURNING place, size`,
        nodeId,
        ...some,
      )),
    )
  }
  return counted(tx, nodeId, gone)
}

/** The file of a copy turned out to be missing or wrong. False when the copy is in another file by now. */
export async function deleteHeldAt(tx: Tx, nodeId: string, hash: string, place: string): Promise<boolean> {
  await lockCount(tx, nodeId)
  const gone = await tx.all<Gone>(
    'DELETE FROM replica_blobs WHERE node_id = $1 AND hash = $2 AND place = $3 RETURNING place, size',
    nodeId,
    hash,
    place,
  )
  return (await counted(tx, nodeId, gone)).length > 0
}

/** The folder of the copies is a new one: nothing is held. */
export async function deleteAllHeld(tx: Tx, nodeId: string): Promise<void> {
  await lockCount(tx, nodeId)
  await tx.run('DELETE FROM replica_blobs WHERE node_id = $1', nodeId)
  await tx.run('DELETE FROM replica_failures WHERE node_id = $1', nodeId)
  await tx.run('UPDATE nodes SET held = 0, held_rev = held_rev + 1 WHERE id = $1', nodeId)
}

interface Gone {
  place: string
  size: number
}

async function counted(tx: Tx, nodeId: string, gone: readonly Gone[]): Promise<string[]> {
  if (gone.length > 0) await count(tx, nodeId, -gone.reduce((sum, { size }) => sum + size, 0))
  return gone.map(({ place }) => place)
}

/** Copies by key, for walks through all of them. */
export function listHeld(tx: Tx, nodeId: string, after: string, rowsMax: number): Promise<HeldBlob[]> {
  return tx.all<HeldBlob>(
    `SELECT hash, size, place, blocks FROM replica_blobs WHERE node_id = $1 AND hash > $2 ORDER BY hash LIMIT $3`,
    nodeId,
    after,
    rowsMax,
  )
}

/** Whether the file is the one in which the node holds the content. */
export async function isHeldAt(tx: Tx, nodeId: string, hash: string, place: string): Promise<boolean> {
  return (await findHeld(tx, nodeId, hash))?.place === place
}

/** The size of content that is not in the database and of which the node has no copy; undefined when it has all it needs. */
export async function findMissingSize(tx: Tx, nodeId: string, hash: string): Promise<number | undefined> {
  const row = await tx.get<{ size: number }>(
    `SELECT b.size FROM blobs b WHERE b.hash = $2 AND ${LACKED}`,
    nodeId,
    hash,
  )
  return row?.size
}

/** The same for all files of a folder at one look. */
export async function listMissingInFolder(
  tx: Tx,
  nodeId: string,
  folder: { sid: string; oid: string },
): Promise<Set<string>> {
  const rows = await tx.all<{ hash: string }>(
    `SELECT b.hash FROM objects o JOIN blobs b ON b.hash = o.content
     WHERE o.sid = $2 AND o.parent = $3 AND ${LACKED}`,
    nodeId,
    folder.sid,
    folder.oid,
  )
  return new Set(rows.map((row) => row.hash))
}

const LACKED = `b.place IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM replica_blobs r WHERE r.node_id = $1 AND r.hash = b.hash)`

// Every folder below one that the node is set not to hold, that one included.
const UNHELD = `WITH RECURSIVE unheld (sid, oid) AS (
  SELECT sid, oid FROM deselections WHERE node_id = $1
  UNION
  SELECT o.sid, o.oid FROM unheld u JOIN objects o ON o.sid = u.sid AND o.parent = u.oid WHERE o.kind = 'folder'
)`

/** Some file with that content lies where the node is set to hold content. */
function wanted(hash: string): string {
  return `EXISTS (SELECT 1 FROM objects o WHERE o.content = ${hash}
    AND NOT EXISTS (SELECT 1 FROM unheld u WHERE u.sid = o.sid AND u.oid = o.parent))`
}

function notTriedLately(nowMs: string): string {
  return `NOT EXISTS (SELECT 1 FROM replica_failures f
    WHERE f.node_id = $1 AND f.hash = b.hash AND f.retry_ms > ${nowMs})`
}

export interface MissingBlob {
  readonly hash: string
  readonly size: number
  /** Where the content store has it. */
  readonly place: string
}

/** What the node is set to hold and does not, the smallest first; what failed lately is left out. */
export function listMissing(
  tx: Tx,
  nodeId: string,
  after: { size: number; hash: string },
  bounds: { sizeMax: number; nowMs: number; rowsMax: number },
): Promise<MissingBlob[]> {
  return tx.all<MissingBlob>(
    `${UNHELD} SELECT b.hash, b.size, b.place FROM blobs b
     WHERE ${LACKED} AND (b.size, b.hash) > ($2, $3) AND b.size <= $4 AND ${wanted('b.hash')}
       AND ${notTriedLately('$5')}
     ORDER BY b.size, b.hash LIMIT $6`,
    nodeId,
    after.size,
    after.hash,
    bounds.sizeMax,
    bounds.nowMs,
    bounds.rowsMax,
  )
}

/** Those of these that the node is set to hold and does not; what failed lately is left out. */
export async function listMissingAmong(
  tx: Tx,
  nodeId: string,
  hashes: readonly string[],
  nowMs: number,
): Promise<MissingBlob[]> {
  const missing: MissingBlob[] = []
  for (const some of pieces(hashes)) {
    missing.push(
      ...(await tx.all<MissingBlob>(
        `${UNHELD} SELECT b.hash, b.size, b.place FROM blobs b
         WHERE ${LACKED} AND b.hash IN (${marks(some.length, 3)}) AND ${wanted('b.hash')} AND ${notTriedLately('$2')}`,
        nodeId,
        nowMs,
        ...some,
      )),
    )
  }
  return missing
}

export interface UnwantedBlob {
  readonly hash: string
  readonly size: number
  /** Where the content store has it; null when the content is nobody's any more. */
  readonly stored: string | null
}

/** What the node holds and need not: content that is gone, or that lies in deselected folders alone. */
export function listUnwanted(
  tx: Tx,
  nodeId: string,
  after: string,
  rowsMax: number,
): Promise<UnwantedBlob[]> {
  return tx.all<UnwantedBlob>(
    `${UNHELD} SELECT r.hash, r.size, b.place AS stored FROM replica_blobs r LEFT JOIN blobs b ON b.hash = r.hash
     WHERE r.node_id = $1 AND r.hash > $2 AND (b.hash IS NULL OR NOT ${wanted('r.hash')}) ORDER BY r.hash LIMIT $3`,
    nodeId,
    after,
    rowsMax,
  )
}

/** Those of these that are still unwanted. */
export async function listUnwantedAmong(
  tx: Tx,
  nodeId: string,
  hashes: readonly string[],
): Promise<string[]> {
  const found: string[] = []
  for (const some of pieces(hashes)) {
    const rows = await tx.all<{ hash: string }>(
      `${UNHELD} SELECT r.hash FROM replica_blobs r LEFT JOIN blobs b ON b.hash = r.hash
       WHERE r.node_id = $1 AND r.hash IN (${marks(some.length, 2)}) AND (b.hash IS NULL OR NOT ${wanted('r.hash')})`,
      nodeId,
      ...some,
    )
    found.push(...rows.map((row) => row.hash))
  }
  return found
}

export interface ReplicaSums {
  readonly held_count: number
  readonly held_bytes: number
  readonly missing_count: number
  readonly missing_bytes: number
  readonly failed_count: number
}

/** How far the node is. */
export async function sumReplica(tx: Tx, nodeId: string): Promise<ReplicaSums> {
  const held = await tx.get<Pick<ReplicaSums, 'held_count' | 'held_bytes'>>(
    `SELECT COUNT(*) AS held_count, CAST(COALESCE(SUM(size), 0) AS BIGINT) AS held_bytes
     FROM replica_blobs WHERE node_id = $1`,
    nodeId,
  )
  const missing = await tx.get<Pick<ReplicaSums, 'missing_count' | 'missing_bytes' | 'failed_count'>>(
    `${UNHELD} SELECT COUNT(*) AS missing_count, CAST(COALESCE(SUM(b.size), 0) AS BIGINT) AS missing_bytes,
       COUNT(f.hash) AS failed_count
     FROM blobs b LEFT JOIN replica_failures f ON f.node_id = $1 AND f.hash = b.hash
     WHERE ${LACKED} AND ${wanted('b.hash')}`,
    nodeId,
  )
  return {
    held_count: held?.held_count ?? 0,
    held_bytes: held?.held_bytes ?? 0,
    missing_count: missing?.missing_count ?? 0,
    missing_bytes: missing?.missing_bytes ?? 0,
    failed_count: missing?.failed_count ?? 0,
  }
}

/** The bytes that the node counts and those that its rows have, at one moment. */
export async function sumHeld(tx: Tx, nodeId: string): Promise<{ counted: number; held: number }> {
  const row = await tx.get<{ counted: number; held: number }>(
    `SELECT n.held AS counted,
       CAST(COALESCE((SELECT SUM(r.size) FROM replica_blobs r WHERE r.node_id = n.id), 0) AS BIGINT) AS held
     FROM nodes n WHERE n.id = $1`,
    nodeId,
  )
  return row ?? { counted: 0, held: 0 }
}

export async function countTries(tx: Tx, nodeId: string, hash: string): Promise<number> {
  const row = await tx.get<{ tries: number }>(
    'SELECT tries FROM replica_failures WHERE node_id = $1 AND hash = $2',
    nodeId,
    hash,
  )
  return row?.tries ?? 0
}

export async function noteFailure(
  tx: Tx,
  nodeId: string,
  failure: { hash: string; tries: number; retryMs: number; reason: string },
): Promise<void> {
  await tx.run(
    `INSERT INTO replica_failures (node_id, hash, tries, retry_ms, reason) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (node_id, hash) DO UPDATE SET tries = excluded.tries, retry_ms = excluded.retry_ms, reason = excluded.reason`,
    nodeId,
    failure.hash,
    failure.tries,
    failure.retryMs,
    failure.reason,
  )
}

export async function deleteFailure(tx: Tx, nodeId: string, hash: string): Promise<void> {
  await tx.run('DELETE FROM replica_failures WHERE node_id = $1 AND hash = $2', nodeId, hash)
}

/** Failures about content that is nobody's any more. */
export async function deleteStaleFailures(tx: Tx, nodeId: string): Promise<void> {
  await tx.run(
    `DELETE FROM replica_failures WHERE node_id = $1
     AND NOT EXISTS (SELECT 1 FROM blobs b WHERE b.hash = replica_failures.hash)`,
    nodeId,
  )
}
