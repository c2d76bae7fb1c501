import type { Tx } from './db.js'

/** The application of every token that belongs to no registered one. */
export const BUILT_IN_APP = '00000000-0000-4000-8000-000000000000'

export interface AppRow {
  id: string
  secret_hash: string | null
  name: string
  description: string
  redirect_uris: string
  is_public: number
  token_lifetime_s: number
}

const COLUMNS = 'id, secret_hash, name, description, redirect_uris, is_public, token_lifetime_s'

export function findApp(tx: Tx, id: string): Promise<AppRow | undefined> {
  return tx.get<AppRow>(`SELECT ${COLUMNS} FROM apps WHERE id = $1`, id)
}

/** The registered ones: the built-in one is nobody's to see or change. */
export function listApps(tx: Tx): Promise<AppRow[]> {
  return tx.all<AppRow>(`SELECT ${COLUMNS} FROM apps WHERE id <> $1 ORDER BY name, id`, BUILT_IN_APP)
}

export async function insertApp(tx: Tx, app: AppRow, nowMs: number): Promise<void> {
  await tx.run(
    `INSERT INTO apps (id, secret_hash, name, description, redirect_uris, is_public, token_lifetime_s, created_ms)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    app.id,
    app.secret_hash,
    app.name,
    app.description,
    app.redirect_uris,
    app.is_public,
    app.token_lifetime_s,
    nowMs,
  )
}

export async function updateApp(tx: Tx, app: AppRow): Promise<void> {
  await tx.run(
    `UPDATE apps SET name = $2, description = $3, redirect_uris = $4, token_lifetime_s = $5 WHERE id = $1`,
    app.id,
    app.name,
    app.description,
    app.redirect_uris,
    app.token_lifetime_s,
  )
}

export async function setAppSecret(tx: Tx, id: string, secretHash: string): Promise<void> {
  await tx.run('UPDATE apps SET secret_hash = $2 WHERE id = $1', id, secretHash)
}

export function deleteApp(tx: Tx, id: string): Promise<number> {
  return tx.run('DELETE FROM apps WHERE id = $1', id)
}
