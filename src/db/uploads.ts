import type { Tx } from './db.js'

/** An upload in progress; `id` is the hash of the Upload-ID. */
export interface UploadRow {
  id: string
  node_id: string
  user_id: string
  sid: string
  oid: string
  staged: string
  received: number
  used_ms: number
}

const COLUMNS = 'id, node_id, user_id, sid, oid, staged, received, used_ms'

export function findUpload(tx: Tx, id: string): Promise<UploadRow | undefined> {
  return tx.get<UploadRow>(`SELECT ${COLUMNS} FROM uploads WHERE id = $1`, id)
}

export async function insertUpload(tx: Tx, upload: UploadRow): Promise<void> {
  await tx.run(
    `INSERT INTO uploads (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    upload.id,
    upload.node_id,
    upload.user_id,
    upload.sid,
    upload.oid,
    upload.staged,
    upload.received,
    upload.used_ms,
  )
}

export function touchUpload(tx: Tx, id: string, nowMs: number): Promise<number> {
  return tx.run('UPDATE uploads SET used_ms = $2 WHERE id = $1', id, nowMs)
}

/** False when the upload is gone (its file deleted, expired meanwhile). Blocks from `keep` on are replaced by `blocks`. */
export async function advanceUpload(
  tx: Tx,
  id: string,
  progress: { received: number; keep: number; blocks: readonly Buffer[]; nowMs: number },
): Promise<boolean> {
  const changed = await tx.run(
    'UPDATE uploads SET received = $2, used_ms = $3 WHERE id = $1',
    id,
    progress.received,
    progress.nowMs,
  )
  if (changed === 0) return false
  await tx.run('DELETE FROM upload_blocks WHERE upload = $1 AND position >= $2', id, progress.keep)
  for (const [index, hash] of progress.blocks.entries()) {
    await tx.run(
      'INSERT INTO upload_blocks (upload, position, hash) VALUES ($1, $2, $3)',
      id,
      progress.keep + index,
      hash,
    )
  }
  return true
}

export async function listUploadBlocks(tx: Tx, id: string): Promise<Buffer[]> {
  const rows = await tx.all<{ hash: Buffer }>(
    'SELECT hash FROM upload_blocks WHERE upload = $1 ORDER BY position',
    id,
  )
  return rows.map((row) => row.hash)
}

/** The staged file to remove, when the upload was still there. */
export async function deleteUpload(tx: Tx, id: string): Promise<string | undefined> {
  return (await tx.get<{ staged: string }>('DELETE FROM uploads WHERE id = $1 RETURNING staged', id))?.staged
}

/** True when the upload was there and had not been used since that time. */
export async function deleteUnusedUpload(tx: Tx, id: string, beforeMs: number): Promise<boolean> {
  return (await tx.run('DELETE FROM uploads WHERE id = $1 AND used_ms < $2', id, beforeMs)) > 0
}

export async function stagedIsNamed(tx: Tx, staged: string): Promise<boolean> {
  return (await tx.get('SELECT 1 AS one FROM uploads WHERE staged = $1', staged)) !== undefined
}

export function listUploadsUnusedSince(tx: Tx, nodeId: string, beforeMs: number): Promise<UploadRow[]> {
  return tx.all<UploadRow>(
    `SELECT ${COLUMNS} FROM uploads WHERE node_id = $1 AND used_ms < $2 ORDER BY used_ms LIMIT 1000`,
    nodeId,
    beforeMs,
  )
}

/** Bytes that the uploads in progress of a node hold. */
export async function sumStagedBytes(tx: Tx, nodeId: string): Promise<number> {
  const row = await tx.get<{ bytes: number }>(
    'SELECT CAST(COALESCE(SUM(received), 0) AS BIGINT) AS bytes FROM uploads WHERE node_id = $1',
    nodeId,
  )
  return row?.bytes ?? 0
}

/** Bytes that the uploads in progress of a person hold, on all nodes, but for one of them. */
export async function sumStagedBytesOfUser(tx: Tx, userId: string, exceptId: string): Promise<number> {
  const row = await tx.get<{ bytes: number }>(
    'SELECT CAST(COALESCE(SUM(received), 0) AS BIGINT) AS bytes FROM uploads WHERE user_id = $1 AND id <> $2',
    userId,
    exceptId,
  )
  return row?.bytes ?? 0
}

export async function listStagedNames(tx: Tx, nodeId: string): Promise<Set<string>> {
  const rows = await tx.all<{ staged: string }>('SELECT staged FROM uploads WHERE node_id = $1', nodeId)
  return new Set(rows.map((row) => row.staged))
}
