import type { Tx } from './db.js'
import { selected, type ShareSelection } from './shares.js'

/** Somebody who was invited to a share and has not answered; the names are null for an address without account. */
export interface PendingRow {
  sid: string
  email: string
  invited_by: string
  permissions: number
  first_name: string | null
  last_name: string | null
}

const PENDING = `SELECT i.sid, i.email, i.invited_by, i.permissions, u.first_name, u.last_name
  FROM invitations i LEFT JOIN users u ON u.email = i.email`

export function findPending(tx: Tx, sid: string, email: string): Promise<PendingRow | undefined> {
  return tx.get<PendingRow>(`${PENDING} WHERE i.sid = $1 AND i.email = $2`, sid, email)
}

export function listPending(tx: Tx, selection: ShareSelection): Promise<PendingRow[]> {
  const { where, values } = selected(selection, 'i.sid')
  return tx.all<PendingRow>(`${PENDING} WHERE ${where}`, ...values)
}

/** An invitation as the one who got it sees it. */
export interface InvitationRow {
  sid: string
  share_name: string
  invited_by: string
  permissions: number
}

const INVITATIONS = `SELECT i.sid, s.name AS share_name, i.invited_by, i.permissions
  FROM invitations i JOIN shares s ON s.sid = i.sid`

export function findInvitation(tx: Tx, sid: string, email: string): Promise<InvitationRow | undefined> {
  return tx.get<InvitationRow>(`${INVITATIONS} WHERE i.sid = $1 AND i.email = $2`, sid, email)
}

export function listInvitations(tx: Tx, email: string): Promise<InvitationRow[]> {
  return tx.all<InvitationRow>(`${INVITATIONS} WHERE i.email = $1`, email)
}

/** A second invitation takes the place of the first. */
export async function putInvitation(
  tx: Tx,
  invitation: { sid: string; email: string; invitedBy: string; permissions: number },
  nowMs: number,
): Promise<void> {
  await tx.run(
    `INSERT INTO invitations (sid, email, invited_by, permissions, created_ms) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (sid, email) DO UPDATE SET invited_by = excluded.invited_by, permissions = excluded.permissions,
       created_ms = excluded.created_ms`,
    invitation.sid,
    invitation.email,
    invitation.invitedBy,
    invitation.permissions,
    nowMs,
  )
}

/** Resolves to whether there was one. */
export async function deleteInvitation(tx: Tx, sid: string, email: string): Promise<boolean> {
  return (await tx.run('DELETE FROM invitations WHERE sid = $1 AND email = $2', sid, email)) > 0
}

export async function deleteInvitationsTo(tx: Tx, email: string): Promise<void> {
  await tx.run('DELETE FROM invitations WHERE email = $1', email)
}
