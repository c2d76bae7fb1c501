import type { Tx } from './db.js'

/** Every node reads all content, so `used` counts the content of all of them. */
export interface NodeRow {
  id: string
  capacity: number | null
  used: number
  /** What the node holds on a disk of its own, where it keeps a local copy. */
  held: number
  /** Grows with each change of that. */
  held_rev: number
  replica: number
  stalled_ms: number | null
}

export function findNode(tx: Tx, id: string): Promise<NodeRow | undefined> {
  return tx.get<NodeRow>(
    `SELECT id, capacity, CAST((SELECT SUM(used) FROM nodes) AS BIGINT) AS used, held, held_rev, replica, stalled_ms
     FROM nodes WHERE id = $1`,
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

/** A node with what it last told of itself. */
export interface MemberRow {
  id: string
  name: string
  address: string
  capacity: number | null
  started_ms: number | null
  alive_until_ms: number
}

const MEMBER_COLUMNS = 'id, host AS name, address, capacity, started_ms, alive_until_ms'

export function listMembers(tx: Tx): Promise<MemberRow[]> {
  return tx.all<MemberRow>(`SELECT ${MEMBER_COLUMNS} FROM nodes ORDER BY created_ms, id`)
}

export function findMember(tx: Tx, id: string): Promise<MemberRow | undefined> {
  return tx.get<MemberRow>(`SELECT ${MEMBER_COLUMNS} FROM nodes WHERE id = $1`, id)
}

export async function registerMember(
  tx: Tx,
  id: string,
  facts: { name: string; address: string; startedMs: number; aliveUntilMs: number },
): Promise<void> {
  await tx.run(
    'UPDATE nodes SET host = $2, address = $3, started_ms = $4, alive_until_ms = $5 WHERE id = $1',
    id,
    facts.name,
    facts.address,
    facts.startedMs,
    facts.aliveUntilMs,
  )
}

export async function setAliveUntil(tx: Tx, id: string, aliveUntilMs: number): Promise<void> {
  await tx.run('UPDATE nodes SET alive_until_ms = $2 WHERE id = $1', id, aliveUntilMs)
}

/** Its uploads in progress and deselections go with it. What it counted is counted by the other node from now on. */
export async function removeMember(tx: Tx, id: string, heirId: string): Promise<void> {
  await tx.lock('nodes', id, heirId)
  await tx.run(
    'UPDATE nodes SET used = used + (SELECT used FROM nodes WHERE id = $1) WHERE id = $2',
    id,
    heirId,
  )
  await tx.run('DELETE FROM nodes WHERE id = $1', id)
}

/** For what one node at a time does. False: another one holds it, and its time is not over. */
export async function takeLease(
  tx: Tx,
  name: string,
  lease: { holderId: string; nowMs: number; untilMs: number },
): Promise<boolean> {
  const key = `lease ${name}`
  await tx.run(`INSERT INTO meta (key, value) VALUES ($1, '') ON CONFLICT (key) DO NOTHING`, key)
  await tx.lock('meta', key)
  const held = await tx.get<{ value: string }>('SELECT value FROM meta WHERE key = $1', key)
  const [holderId, untilMs] = (held?.value ?? '').split(' ')
  if (holderId !== lease.holderId && Number(untilMs ?? 0) > lease.nowMs) return false
  await tx.run('UPDATE meta SET value = $2 WHERE key = $1', key, `${lease.holderId} ${lease.untilMs}`)
  return true
}
