import type { Tx } from './db.js'

/** A token with everything the gate asks about its holder, found in one look-up. */
export interface HolderRow {
  device_id: string
  app_id: string
  scopes: string
  expires_ms: number | null
  used_ms: number | null
  user_id: string
  email: string
  is_admin: number
  quota: number | null
  root_sid: string
  deselections: number
}

export interface TokenRow {
  hash: string
  device_id: string
  user_id: string
  app_id: string
  scopes: string
  created_ms: number
  expires_ms: number | null
}

/** `deselections` says whether the node has deselected anything at all. */
export function findHolder(tx: Tx, tokenHash: string, nodeId: string): Promise<HolderRow | undefined> {
  return tx.recall<HolderRow>(
    `SELECT t.device_id, t.app_id, t.scopes, t.expires_ms, t.used_ms, t.user_id, u.email, u.is_admin, u.quota, u.root_sid,
       CASE WHEN EXISTS (SELECT 1 FROM deselections d WHERE d.node_id = $2) THEN 1 ELSE 0 END AS deselections
     FROM tokens t JOIN users u ON u.id = t.user_id WHERE t.hash = $1`,
    tokenHash,
    nodeId,
  )
}

export function findToken(tx: Tx, tokenHash: string): Promise<TokenRow | undefined> {
  return tx.get<TokenRow>(
    'SELECT hash, device_id, user_id, app_id, scopes, created_ms, expires_ms FROM tokens WHERE hash = $1',
    tokenHash,
  )
}

/** Whether the token that goes by this device still exists. */
export async function hasToken(tx: Tx, deviceId: string): Promise<boolean> {
  return (await tx.recall('SELECT 1 AS one FROM tokens WHERE device_id = $1', deviceId)) !== undefined
}

export function listTokens(tx: Tx, userId: string): Promise<(TokenRow & { app_name: string })[]> {
  return tx.all<TokenRow & { app_name: string }>(
    `SELECT t.hash, t.device_id, t.user_id, t.app_id, t.scopes, t.created_ms, t.expires_ms, a.name AS app_name
     FROM tokens t JOIN apps a ON a.id = t.app_id WHERE t.user_id = $1 ORDER BY t.created_ms, t.device_id`,
    userId,
  )
}

export async function insertToken(tx: Tx, token: TokenRow): Promise<void> {
  await tx.run(
    `INSERT INTO tokens (hash, device_id, user_id, app_id, scopes, created_ms, expires_ms)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    token.hash,
    token.device_id,
    token.user_id,
    token.app_id,
    token.scopes,
    token.created_ms,
    token.expires_ms,
  )
}

export function deleteToken(tx: Tx, tokenHash: string): Promise<number> {
  return tx.run('DELETE FROM tokens WHERE hash = $1', tokenHash)
}
