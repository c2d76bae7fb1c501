import type { Tx } from './db.js'

export interface SandboxRow {
  sid: string
  oid: string
}

export function findSandbox(tx: Tx, userId: string, appId: string): Promise<SandboxRow | undefined> {
  return tx.recall<SandboxRow>(
    'SELECT sid, oid FROM sandboxes WHERE user_id = $1 AND app_id = $2',
    userId,
    appId,
  )
}

export async function isSandbox(tx: Tx, sid: string, oid: string): Promise<boolean> {
  return (await tx.get('SELECT 1 AS one FROM sandboxes WHERE sid = $1 AND oid = $2', sid, oid)) !== undefined
}

export async function insertSandbox(
  tx: Tx,
  userId: string,
  appId: string,
  object: SandboxRow,
): Promise<void> {
  await tx.run(
    'INSERT INTO sandboxes (user_id, app_id, sid, oid) VALUES ($1, $2, $3, $4)',
    userId,
    appId,
    object.sid,
    object.oid,
  )
}
