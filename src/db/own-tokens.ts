import { BUILT_IN_APP } from './apps.js'
import type { Tx } from './db.js'

/** A token as its owner sees it. */
export interface OwnTokenRow {
  device_id: string
  device_name: string | null
  app_id: string
  app_name: string
  scopes: string
  created_ms: number
  used_ms: number | null
  expires_ms: number | null
}

const COLUMNS = `t.device_id, t.device_name, t.app_id, a.name AS app_name, t.scopes, t.created_ms, t.used_ms,
  t.expires_ms`

/** The live ones, newest first. */
export function listOwnTokens(tx: Tx, userId: string, nowMs: number): Promise<OwnTokenRow[]> {
  return tx.all<OwnTokenRow>(
    `SELECT ${COLUMNS} FROM tokens t JOIN apps a ON a.id = t.app_id
     WHERE t.user_id = $1 AND (t.expires_ms IS NULL OR t.expires_ms > $2)
     ORDER BY a.name, t.app_id, t.created_ms DESC, t.device_id`,
    userId,
    nowMs,
  )
}

/** All tokens that the person gave the application; resolves to their number. */
export function deleteTokensOfApp(tx: Tx, userId: string, appId: string): Promise<number> {
  return tx.run('DELETE FROM tokens WHERE user_id = $1 AND app_id = $2', userId, appId)
}

/** The codes go with the tokens: an open one would give a token after all. */
export async function deleteCodesOfApp(tx: Tx, userId: string, appId: string): Promise<void> {
  await tx.run('DELETE FROM codes WHERE user_id = $1 AND app_id = $2', userId, appId)
}

export function deletePersonalToken(tx: Tx, userId: string, deviceId: string): Promise<number> {
  return tx.run(
    'DELETE FROM tokens WHERE user_id = $1 AND device_id = $2 AND app_id = $3',
    userId,
    deviceId,
    BUILT_IN_APP,
  )
}

export async function nameToken(tx: Tx, hash: string, name: string): Promise<void> {
  await tx.run('UPDATE tokens SET device_name = $2 WHERE hash = $1', hash, name)
}
