import type { Tx } from './db.js'

export interface ResetRow {
  user_id: string
  expires_ms: number
}

export function findReset(tx: Tx, hash: string): Promise<ResetRow | undefined> {
  return tx.get<ResetRow>('SELECT user_id, expires_ms FROM resets WHERE hash = $1', hash)
}

/** The newest link of a person is the only one. */
export async function putReset(tx: Tx, hash: string, userId: string, expiresMs: number): Promise<void> {
  await tx.run(
    `INSERT INTO resets (hash, user_id, expires_ms) VALUES ($1, $2, $3)
     ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, expires_ms = excluded.expires_ms`,
    hash,
    userId,
    expiresMs,
  )
}

export async function deleteResets(tx: Tx, userId: string): Promise<void> {
  await tx.run('DELETE FROM resets WHERE user_id = $1', userId)
}
