import type { Tx } from './db.js'

/** Where content is: in the row itself, or at a place of the content store. */
export type BlobRow = { hash: string; size: number } & (
  { place: string; data: null } | { place: null; data: Buffer }
)

export function findBlob(tx: Tx, hash: string): Promise<BlobRow | undefined> {
  return tx.get<BlobRow>('SELECT hash, size, place, data FROM blobs WHERE hash = $1', hash)
}

export async function blobExists(tx: Tx, hash: string): Promise<boolean> {
  return (await tx.get('SELECT 1 AS one FROM blobs WHERE hash = $1', hash)) !== undefined
}

/** False when content of that name is there already: the one that is there stays. */
export async function insertBlob(tx: Tx, blob: BlobRow, nowMs: number): Promise<boolean> {
  const inserted = await tx.run(
    `INSERT INTO blobs (hash, size, place, data, created_ms) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (hash) DO NOTHING`,
    blob.hash,
    blob.size,
    blob.place,
    blob.data,
    nowMs,
  )
  return inserted > 0
}

/** Content that is there already is from now on at this place; returns where it was. */
export async function moveBlob(tx: Tx, hash: string, place: string): Promise<string | null> {
  const before = await tx.get<{ place: string | null }>('SELECT place FROM blobs WHERE hash = $1', hash)
  await tx.run('UPDATE blobs SET place = $2 WHERE hash = $1', hash, place)
  return before?.place ?? null
}

/** Removes the rows that no object names any more, and says what they were. */
export function deleteUnnamedBlobs(
  tx: Tx,
  hashes: readonly string[],
): Promise<{ hash: string; size: number; place: string | null }[]> {
  const list = hashes.map((_, index) => `$${index + 1}`).join(', ')
  return tx.all<{ hash: string; size: number; place: string | null }>(
    `DELETE FROM blobs WHERE hash IN (${list}) AND NOT EXISTS (SELECT 1 FROM objects WHERE content = blobs.hash)
     RETURNING hash, size, place`,
    ...hashes,
  )
}

export async function placeIsNamed(tx: Tx, place: string): Promise<boolean> {
  return (await tx.get('SELECT 1 AS one FROM blobs WHERE place = $1', place)) !== undefined
}
