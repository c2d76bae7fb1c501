import type { Tx } from './db.js'

export interface InviteeRow {
  email: string
  email_from: string
  /** NULL: an external directory signs the address in. */
  code: string | null
}

const COLUMNS = 'email, email_from, code'

export function findInvitee(tx: Tx, email: string): Promise<InviteeRow | undefined> {
  return tx.get<InviteeRow>(`SELECT ${COLUMNS} FROM invitees WHERE email = $1`, email)
}

export function findInviteeByCode(tx: Tx, code: string): Promise<InviteeRow | undefined> {
  return tx.get<InviteeRow>(`SELECT ${COLUMNS} FROM invitees WHERE code = $1`, code)
}

export function listInvitees(tx: Tx): Promise<(InviteeRow & { created_ms: number })[]> {
  return tx.all(`SELECT ${COLUMNS}, created_ms FROM invitees ORDER BY email`)
}

/** False when the address is invited already. */
export async function insertInvitee(tx: Tx, invitee: InviteeRow, nowMs: number): Promise<boolean> {
  const made = await tx.run(
    `INSERT INTO invitees (email, email_from, code, created_ms) VALUES ($1, $2, $3, $4)
     ON CONFLICT (email) DO NOTHING`,
    invitee.email,
    invitee.email_from,
    invitee.code,
    nowMs,
  )
  return made === 1
}

/** False when there was none: of two who want to use up one invitation, one gets it. */
export async function deleteInvitee(tx: Tx, email: string): Promise<boolean> {
  return (await tx.run('DELETE FROM invitees WHERE email = $1', email)) === 1
}

/** Whether an invitation to a shared folder waits for the address. */
export async function hasInvitation(tx: Tx, email: string): Promise<boolean> {
  return (await tx.get('SELECT 1 AS one FROM invitations WHERE email = $1 LIMIT 1', email)) !== undefined
}
