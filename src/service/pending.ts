import type { Tx } from '../db/db.js'
import {
  deleteInvitation,
  findPending,
  listPending,
  putInvitation,
  type PendingRow,
} from '../db/invitations.js'
import { findMembership } from '../db/memberships.js'
import { touchShares } from '../db/shares.js'
import type { ShareGrant } from '../gate/grants.js'
import { Failure } from '../model/failures.js'
import { compareNames } from '../model/names.js'
import { permissionNames } from '../model/permissions.js'
import type { ServiceDeps } from './deps.js'
import { ensureInvitee } from './invitees.js'
import { record } from './journal.js'
import { queueMail } from './mail.js'

export interface Pending {
  list(tx: Tx, grant: ShareGrant): Promise<PendingRow[]>
  /** 409 for a direct member. A second invitation takes the place of the first; the note goes into the mail alone. */
  invite(
    tx: Tx,
    grant: ShareGrant<'address'>,
    wish: { permissions: number; note: string | undefined },
  ): Promise<PendingRow>
  revoke(tx: Tx, grant: ShareGrant<'pending'>): Promise<void>
}

export function pending(deps: ServiceDeps): Pending {
  return {
    async list(tx, { share }) {
      const rows = await listPending(tx, { by: 'share', key: share.sid })
      return rows.sort((a, b) => compareNames(a.email, b.email))
    },

    async invite(tx, grant, { permissions, note }) {
      const { caller, share, entry } = grant
      const { email, user } = entry
      const { sid } = share
      if (user === undefined) await ensureInvitee(tx, deps, caller, email)
      else await checkNoMember(tx, user, sid)
      const nowMs = deps.now()
      await putInvitation(tx, { sid, email, invitedBy: caller.email, permissions }, nowMs)
      await touchShares(tx, [sid])
      await record(tx, caller, {
        atMs: nowMs,
        action: 'share.invite',
        subject: sid,
        after: { email, permissions: permissionNames(permissions) },
      })
      await queueMail(tx, invitationMail(deps, grant, note), nowMs)
      const row = await findPending(tx, sid, email)
      if (row === undefined) throw new Error(`there is no invitation of ${email} to ${sid}`)
      return row
    },

    async revoke(tx, { caller, share, entry }) {
      await deleteInvitation(tx, share.sid, entry.email)
      await touchShares(tx, [share.sid])
      await record(tx, caller, {
        atMs: deps.now(),
        action: 'share.revoke',
        subject: share.sid,
        before: { email: entry.email, permissions: permissionNames(entry.permissions) },
      })
    },
  }
}

async function checkNoMember(tx: Tx, user: { id: string; email: string }, sid: string): Promise<void> {
  const membership = await findMembership(tx, user.id, sid)
  if (membership !== undefined && membership.direct !== null) {
    throw new Failure('conflict', `${user.email} is a member already`)
  }
}

function invitationMail(
  deps: ServiceDeps,
  { caller, share, entry }: ShareGrant<'address'>,
  note: string | undefined,
): { to: string; subject: string; body: string } {
  const where = deps.publicUrl === undefined ? 'Starling' : `Starling at ${deps.publicUrl}`
  return {
    to: entry.email,
    subject: `Invitation to the shared folder ${share.name}`,
    body: [
      `${caller.email} invites you to the shared folder "${share.name}".`,
      '',
      ...(note === undefined || note.trim() === '' ? [] : [note.trim(), '']),
      `You can accept or ignore the invitation in ${where}.`,
    ].join('\n'),
  }
}
