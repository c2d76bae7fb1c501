import type { Tx } from './db.js'

export interface UserRow {
  id: string
  email: string
  first_name: string
  last_name: string
  is_admin: number
  password_hash: string | null
  quota: number | null
  root_sid: string
}

const COLUMNS = 'id, email, first_name, last_name, is_admin, password_hash, quota, root_sid'

export function findUserByEmail(tx: Tx, email: string): Promise<UserRow | undefined> {
  return tx.get<UserRow>(`SELECT ${COLUMNS} FROM users WHERE email = $1`, email)
}

export function listUsers(tx: Tx): Promise<UserRow[]> {
  return tx.all<UserRow>(`SELECT ${COLUMNS} FROM users ORDER BY email`)
}

export async function countUsers(tx: Tx): Promise<number> {
  return (await tx.get<{ count: number }>('SELECT COUNT(*) AS count FROM users'))?.count ?? 0
}

export async function countAdmins(tx: Tx): Promise<number> {
  return (
    (await tx.get<{ count: number }>('SELECT COUNT(*) AS count FROM users WHERE is_admin = 1'))?.count ?? 0
  )
}

export async function insertUser(tx: Tx, user: UserRow, nowMs: number): Promise<void> {
  await tx.run(
    `INSERT INTO users (id, email, first_name, last_name, is_admin, password_hash, quota, root_sid, created_ms)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    user.id,
    user.email,
    user.first_name,
    user.last_name,
    user.is_admin,
    user.password_hash,
    user.quota,
    user.root_sid,
    nowMs,
  )
}

export async function setUserPassword(tx: Tx, id: string, passwordHash: string | null): Promise<void> {
  await tx.run('UPDATE users SET password_hash = $2 WHERE id = $1', id, passwordHash)
}

export async function setUserAdmin(tx: Tx, id: string, isAdmin: boolean): Promise<void> {
  await tx.run('UPDATE users SET is_admin = $2 WHERE id = $1', id, isAdmin ? 1 : 0)
}

export async function setUserQuota(tx: Tx, id: string, quotaBytes: number | null): Promise<void> {
  await tx.run('UPDATE users SET quota = $2 WHERE id = $1', id, quotaBytes)
}

export async function deleteUser(tx: Tx, id: string): Promise<void> {
  await tx.run('DELETE FROM users WHERE id = $1', id)
}
