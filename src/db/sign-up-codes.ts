import type { Tx } from './db.js'

export interface SignUpCodeRow {
  email: string
  expires_ms: number
}

export function findSignUpCode(tx: Tx, hash: string): Promise<SignUpCodeRow | undefined> {
  return tx.get<SignUpCodeRow>('SELECT email, expires_ms FROM sign_up_codes WHERE hash = $1', hash)
}

/** The newest code of an address is the only one. */
export async function putSignUpCode(tx: Tx, hash: string, email: string, expiresMs: number): Promise<void> {
  await tx.run(
    `INSERT INTO sign_up_codes (hash, email, expires_ms) VALUES ($1, $2, $3)
     ON CONFLICT (email) DO UPDATE SET hash = excluded.hash, expires_ms = excluded.expires_ms`,
    hash,
    email,
    expiresMs,
  )
}

export async function deleteSignUpCodes(tx: Tx, email: string): Promise<void> {
  await tx.run('DELETE FROM sign_up_codes WHERE email = $1', email)
}
