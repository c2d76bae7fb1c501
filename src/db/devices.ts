import type { Tx } from './db.js'

/** A live token as a device, or a node. */
export interface DeviceRow {
  kind: 'token' | 'node'
  id: string
  /** Whose token; empty for a node, which belongs to nobody in particular. */
  user_id: string
  owner: string
  /** What a person called it; else the name of the application, or empty for a node. */
  name: string
  created_ms: number
  /** For a node how long it has promised to be there, which may lie ahead. */
  used_ms: number | null
}

const TOKENS = `SELECT 'token' AS kind, t.device_id AS id, t.user_id, u.email AS owner,
    COALESCE(t.device_name, a.name) AS name, t.created_ms, t.used_ms
  FROM tokens t JOIN users u ON u.id = t.user_id JOIN apps a ON a.id = t.app_id`

const NODES = `SELECT 'node' AS kind, id, '' AS user_id, '' AS owner, COALESCE(name, '') AS name, created_ms,
    CASE WHEN alive_until_ms > 0 THEN alive_until_ms END AS used_ms FROM nodes`

/** The devices of one person: the tokens that have not expired. */
export function listDevices(tx: Tx, userId: string, nowMs: number): Promise<DeviceRow[]> {
  return tx.all<DeviceRow>(
    `${TOKENS} WHERE t.user_id = $1 AND (t.expires_ms IS NULL OR t.expires_ms > $2)`,
    userId,
    nowMs,
  )
}

export function listNodes(tx: Tx): Promise<DeviceRow[]> {
  return tx.all<DeviceRow>(NODES)
}

export async function findDevice(tx: Tx, id: string, nowMs: number): Promise<DeviceRow | undefined> {
  const token = await tx.get<DeviceRow>(
    `${TOKENS} WHERE t.device_id = $1 AND (t.expires_ms IS NULL OR t.expires_ms > $2)`,
    id,
    nowMs,
  )
  return token ?? tx.get<DeviceRow>(`${NODES} WHERE id = $1`, id)
}

export async function renameDevice(tx: Tx, device: DeviceRow, name: string): Promise<void> {
  if (device.kind === 'node') await tx.run('UPDATE nodes SET name = $2 WHERE id = $1', device.id, name)
  else await tx.run('UPDATE tokens SET device_name = $2 WHERE device_id = $1', device.id, name)
}

/** Never takes a time back: two processes may have seen the same token. */
export async function noteDeviceUse(tx: Tx, id: string, usedMs: number): Promise<void> {
  await tx.run(
    'UPDATE tokens SET used_ms = $2 WHERE device_id = $1 AND (used_ms IS NULL OR used_ms < $2)',
    id,
    usedMs,
  )
}
