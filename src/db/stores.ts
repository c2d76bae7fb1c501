import type { Tx } from './db.js'

export interface StoreRow {
  sid: string
  kind: 'root' | 'share'
  used: number
  appdata: string | null
}

export function findStore(tx: Tx, sid: string): Promise<StoreRow | undefined> {
  return tx.get<StoreRow>('SELECT sid, kind, used, appdata FROM stores WHERE sid = $1', sid)
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
