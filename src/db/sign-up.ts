import type { Tx } from './db.js'

export interface InvitationToSignUp {
  email: string
  email_from: string
  code: string | null
  /** Whether the one who invited is an admin at this moment. */
  is_from_admin: number
}

const COLUMNS = `i.email, i.email_from, i.code,
  CASE WHEN EXISTS (SELECT 1 FROM users u WHERE u.email = i.email_from AND u.is_admin = 1) THEN 1 ELSE 0 END
    AS is_from_admin`

export function findInviteeByCode(tx: Tx, code: string): Promise<InvitationToSignUp | undefined> {
  return tx.get<InvitationToSignUp>(`SELECT ${COLUMNS} FROM invitees i WHERE i.code = $1`, code)
}

export function findInviteeByEmail(tx: Tx, email: string): Promise<InvitationToSignUp | undefined> {
  return tx.get<InvitationToSignUp>(`SELECT ${COLUMNS} FROM invitees i WHERE i.email = $1`, email)
}

export async function deleteInviteeOf(tx: Tx, email: string): Promise<void> {
  await tx.run('DELETE FROM invitees WHERE email = $1', email)
}

const SET_UP = 'set-up'

/** The hash of the code that makes the first admin; one at a time. */
export async function putSetUpCode(tx: Tx, hash: string): Promise<void> {
  await tx.run(
    `INSERT INTO meta (key, value) VALUES ($1, $2)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
    SET_UP,
    hash,
  )
}

export async function findSetUpCode(tx: Tx): Promise<string | undefined> {
  return (await tx.get<{ value: string }>('SELECT value FROM meta WHERE key = $1', SET_UP))?.value
}

export async function deleteSetUpCode(tx: Tx): Promise<void> {
  await tx.run('DELETE FROM meta WHERE key = $1', SET_UP)
}
