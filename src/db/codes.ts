import type { Tx } from './db.js'

export interface CodeRow {
  hash: string
  user_id: string
  app_id: string
  redirect_uri: string
  scopes: string
  challenge: string | null
  token_hash: string | null
  expires_ms: number
}

export function findCode(tx: Tx, hash: string): Promise<CodeRow | undefined> {
  return tx.get<CodeRow>(
    `SELECT hash, user_id, app_id, redirect_uri, scopes, challenge, token_hash, expires_ms
     FROM codes WHERE hash = $1`,
    hash,
  )
}

export async function insertCode(tx: Tx, code: Omit<CodeRow, 'token_hash'>): Promise<void> {
  await tx.run(
    `INSERT INTO codes (hash, user_id, app_id, redirect_uri, scopes, challenge, expires_ms)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    code.hash,
    code.user_id,
    code.app_id,
    code.redirect_uri,
    code.scopes,
    code.challenge,
    code.expires_ms,
  )
}

export async function setCodeToken(tx: Tx, hash: string, tokenHash: string): Promise<void> {
  await tx.run('UPDATE codes SET token_hash = $2 WHERE hash = $1', hash, tokenHash)
}

/** What was not yet exchanged for a token. */
export async function deleteUnusedCodes(tx: Tx, userId: string): Promise<void> {
  await tx.run('DELETE FROM codes WHERE user_id = $1 AND token_hash IS NULL', userId)
}

/** False when the form was spent before. */
export async function spendForm(tx: Tx, hash: string, expiresMs: number): Promise<boolean> {
  const inserted = await tx.run(
    'INSERT INTO spent_forms (hash, expires_ms) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING',
    hash,
    expiresMs,
  )
  return inserted === 1
}
