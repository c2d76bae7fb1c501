import type { Tx } from './db.js'

/** Removes what has ended; codes stay until their second use need no longer be noticed. */
export async function deleteEndedSignIns(tx: Tx, nowMs: number, codesBeforeMs: number): Promise<void> {
  await tx.run('DELETE FROM sessions WHERE expires_ms <= $1', nowMs)
  await tx.run('DELETE FROM known_browsers WHERE expires_ms <= $1', nowMs)
  await tx.run('DELETE FROM failures WHERE expires_ms <= $1', nowMs)
  await tx.run('DELETE FROM codes WHERE expires_ms <= $1', codesBeforeMs)
  await tx.run('DELETE FROM spent_forms WHERE expires_ms <= $1', nowMs)
  await tx.run('DELETE FROM resets WHERE expires_ms <= $1', nowMs)
  await tx.run('DELETE FROM sign_up_codes WHERE expires_ms <= $1', nowMs)
}
