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
  /** 1: an external directory holds the password. */
  is_external: number
  second_factor: string | null
}

/** What everybody may see of a person. */
export type PersonRow = Pick<UserRow, 'email' | 'first_name' | 'last_name'>

const COLUMNS =
  'id, email, first_name, last_name, is_admin, password_hash, quota, root_sid, is_external, second_factor'

export function findUser(tx: Tx, id: string): Promise<UserRow | undefined> {
  return tx.get<UserRow>(`SELECT ${COLUMNS} FROM users WHERE id = $1`, id)
}

export function findUserByEmail(tx: Tx, email: string): Promise<UserRow | undefined> {
  return tx.get<UserRow>(`SELECT ${COLUMNS} FROM users WHERE email = $1`, email)
}

export function listUsers(tx: Tx): Promise<UserRow[]> {
  return tx.all<UserRow>(`SELECT ${COLUMNS} FROM users ORDER BY email`)
}

/** The first of the people between two addresses, both exclusive, ascending. An empty end is open. */
export function listPeopleAfter(
  tx: Tx,
  range: { after: string; before: string },
  rowsMax: number,
): Promise<PersonRow[]> {
  return tx.all<PersonRow>(
    `SELECT email, first_name, last_name FROM users
     WHERE email > $1 AND ($2 = '' OR email < $2) ORDER BY email LIMIT $3`,
    range.after,
    range.before,
    rowsMax,
  )
}

/** The last of the people before an address, descending. */
export function listPeopleBefore(tx: Tx, before: string, rowsMax: number): Promise<PersonRow[]> {
  return tx.all<PersonRow>(
    'SELECT email, first_name, last_name FROM users WHERE email < $1 ORDER BY email DESC LIMIT $2',
    before,
    rowsMax,
  )
}

export async function countUsers(tx: Tx): Promise<number> {
  return (await tx.get<{ count: number }>('SELECT COUNT(*) AS count FROM users'))?.count ?? 0
}

export async function countAdmins(tx: Tx): Promise<number> {
  return (
    (await tx.get<{ count: number }>('SELECT COUNT(*) AS count FROM users WHERE is_admin = 1'))?.count ?? 0
  )
}

/** The admin with the lowest address besides one. */
export function findOtherAdmin(tx: Tx, exceptId: string): Promise<UserRow | undefined> {
  return tx.get<UserRow>(
    `SELECT ${COLUMNS} FROM users WHERE is_admin = 1 AND id <> $1 ORDER BY email LIMIT 1`,
    exceptId,
  )
}

/** False when the address is taken, also by somebody who was a moment faster. */
export async function insertUser(tx: Tx, user: UserRow, nowMs: number): Promise<boolean> {
  const made = await tx.run(
    `INSERT INTO users (id, email, first_name, last_name, is_admin, password_hash, quota, root_sid, is_external,
       second_factor, created_ms)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (email) DO NOTHING`,
    user.id,
    user.email,
    user.first_name,
    user.last_name,
    user.is_admin,
    user.password_hash,
    user.quota,
    user.root_sid,
    user.is_external,
    user.second_factor,
    nowMs,
  )
  return made === 1
}

export async function setUserNames(
  tx: Tx,
  id: string,
  names: { firstName: string; lastName: string },
): Promise<void> {
  await tx.run(
    'UPDATE users SET first_name = $2, last_name = $3 WHERE id = $1',
    id,
    names.firstName,
    names.lastName,
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

/**
 * The first step of removing a person: from here to the end of the transaction no other one can make a row that refers
 * to the person. On an engine of many writers that takes a change of a unique column, since rows that begin to refer
 * to a row get along with any other change of it. The address is free in the same moment as the row is gone.
 */
export async function sealUser(tx: Tx, id: string): Promise<void> {
  await tx.run(`UPDATE users SET email = 'removed ' || id WHERE id = $1`, id)
}

export async function deleteUser(tx: Tx, id: string): Promise<void> {
  await tx.run('DELETE FROM users WHERE id = $1', id)
}
