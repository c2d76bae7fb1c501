import type { Tx } from './db.js'

/** Every node reads all content, so `used` counts the content of all of them. */
export interface NodeRow {
  id: string
  capacity: number | null
  used: number
}

export function findNode(tx: Tx, id: string): Promise<NodeRow | undefined> {
  return tx.get<NodeRow>(
    `SELECT id, capacity, CAST((SELECT SUM(used) FROM nodes) AS BIGINT) AS used FROM nodes WHERE id = $1`,
    id,
  )
}

export async function listNodeIds(tx: Tx): Promise<string[]> {
  return (await tx.all<{ id: string }>('SELECT id FROM nodes ORDER BY id')).map((row) => row.id)
}

export async function ensureNode(tx: Tx, id: string, nowMs: number): Promise<void> {
  await tx.run('INSERT INTO nodes (id, created_ms) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING', id, nowMs)
}

export async function setCapacity(tx: Tx, id: string, capacityBytes: number | null): Promise<void> {
  await tx.run('UPDATE nodes SET capacity = $2 WHERE id = $1', id, capacityBytes)
}

export async function addNodeUse(tx: Tx, id: string, bytes: number): Promise<void> {
  if (bytes !== 0) await tx.run('UPDATE nodes SET used = used + $2 WHERE id = $1', id, bytes)
}

export async function deselect(tx: Tx, nodeId: string, sid: string, oid: string): Promise<void> {
  await tx.run(
    'INSERT INTO deselections (node_id, sid, oid) VALUES ($1, $2, $3) ON CONFLICT (node_id, sid, oid) DO NOTHING',
    nodeId,
    sid,
    oid,
  )
}

export function select(tx: Tx, nodeId: string, sid: string, oid: string): Promise<number> {
  return tx.run('DELETE FROM deselections WHERE node_id = $1 AND sid = $2 AND oid = $3', nodeId, sid, oid)
}

export function listDeselections(tx: Tx, nodeId: string): Promise<{ sid: string; oid: string }[]> {
  return tx.all<{ sid: string; oid: string }>(
    'SELECT sid, oid FROM deselections WHERE node_id = $1 ORDER BY sid, oid',
    nodeId,
  )
}
