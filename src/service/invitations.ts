import type { Tx } from '../db/db.js'
import {
  deleteInvitation,
  listInvitations as listInvitationRows,
  type InvitationRow,
} from '../db/invitations.js'
import { touchShares } from '../db/shares.js'
import type { Caller } from '../gate/caller.js'
import type { InvitationGrant } from '../gate/grants.js'
import { compareNames } from '../model/names.js'
import { permissionNames } from '../model/permissions.js'
import type { ServiceDeps } from './deps.js'
import { record } from './journal.js'
import { enrol, grow } from './sharing.js'

export interface Invitations {
  /** Whoever is in already through a group keeps mount, name and place. */
  accept(tx: Tx, grant: InvitationGrant, isExternal: boolean): Promise<void>
  ignore(tx: Tx, grant: InvitationGrant): Promise<void>
}

export function invitations(deps: ServiceDeps): Invitations {
  return {
    async accept(tx, { caller, person, invitation }, isExternal) {
      const { sid, share_name: shareName, permissions } = invitation
      const nowMs = deps.now()
      await enrol(tx, { user: person, sid, shareName, direct: permissions, isExternal }, nowMs)
      await grow(tx, { sids: [sid], userId: person.id })
      await record(tx, caller, {
        atMs: nowMs,
        action: 'share.accept',
        subject: sid,
        after: { email: person.email, permissions: permissionNames(permissions), external: isExternal },
      })
    },

    async ignore(tx, { caller, person, invitation }) {
      await deleteInvitation(tx, invitation.sid, person.email)
      await touchShares(tx, [invitation.sid])
      await record(tx, caller, {
        atMs: deps.now(),
        action: 'share.ignore',
        subject: invitation.sid,
        before: { email: person.email, permissions: permissionNames(invitation.permissions) },
      })
    },
  }
}

/** What a person has not answered yet; nothing for a token that may not know. */
export async function listInvitations(tx: Tx, caller: Caller, email: string): Promise<InvitationRow[]> {
  if (!caller.scopes.has('acl.invitations')) return []
  const rows = await listInvitationRows(tx, email)
  return rows.sort((a, b) => compareNames(a.share_name, b.share_name) || compareNames(a.sid, b.sid))
}
