import type { Tx } from './db.js'

export interface StoreRow {
  sid: string
  kind: 'root' | 'share'
  used: number
  appdata: string | null
}

export function findStore(tx: Tx, sid: string): Promise<StoreRow | undefined> {
  return tx.recall<StoreRow>('SELECT sid, kind, used, appdata FROM stores WHERE sid = $1', sid)
}

export async function insertStore(tx: Tx, sid: string, kind: 'root' | 'share', nowMs: number): Promise<void> {
  await tx.run('INSERT INTO stores (sid, kind, created_ms) VALUES ($1, $2, $3)', sid, kind, nowMs)
}

export async function addStoreUse(tx: Tx, sid: string, bytes: number): Promise<void> {
  if (bytes !== 0) await tx.run('UPDATE stores SET used = used + $2 WHERE sid = $1', sid, bytes)
}

export async function setAppdata(tx: Tx, sid: string, oid: string): Promise<void> {
  await tx.run('UPDATE stores SET appdata = $2 WHERE sid = $1', sid, oid)
}

export async function deleteStore(tx: Tx, sid: string): Promise<void> {
  await tx.run('DELETE FROM stores WHERE sid = $1', sid)
}

/** What counts against a person's quota: what their root holds, and every share they have joined, in full. */
export async function sumUseOfPerson(tx: Tx, person: { userId: string; rootSid: string }): Promise<number> {
  const row = await tx.get<{ bytes: number }>(
    `SELECT CAST(COALESCE(SUM(held.used), 0) AS BIGINT) AS bytes FROM (
       SELECT used FROM stores WHERE sid = $1
       UNION ALL
       SELECT s.used FROM memberships m JOIN stores s ON s.sid = m.sid WHERE m.user_id = $2 AND m.state = 'joined'
     ) held`,
    person.rootSid,
    person.userId,
  )
  return row?.bytes ?? 0
}
