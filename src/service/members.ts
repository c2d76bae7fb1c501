import type { Tx } from '../db/db.js'
import { findMember, findMembership, listMembers, setDirect, type MemberRow } from '../db/memberships.js'
import type { ShareGrant } from '../gate/grants.js'
import { Failure } from '../model/failures.js'
import { compareNames } from '../model/names.js'
import { permissionNames } from '../model/permissions.js'
import type { ServiceDeps } from './deps.js'
import { record } from './journal.js'
import { enrol, grow, leaveShares, settle } from './sharing.js'

export interface Members {
  list(tx: Tx, grant: ShareGrant): Promise<MemberRow[]>
  /** Adds a person without invitation; 409 for a direct member. */
  add(tx: Tx, grant: ShareGrant<'newcomer'>, permissions: number): Promise<MemberRow>
  /** The permissions that are there already change nothing. */
  change(tx: Tx, grant: ShareGrant<'member'>, permissions: number): Promise<MemberRow>
  /** Whoever removes themselves has left; whoever is removed and in a group of the share stays through it. */
  remove(tx: Tx, grant: ShareGrant<'leaver'>): Promise<void>
}

export function members(deps: ServiceDeps): Members {
  return {
    async list(tx, { share }) {
      const rows = await listMembers(tx, { by: 'share', key: share.sid })
      return rows.sort((a, b) => compareNames(a.email, b.email))
    },

    async add(tx, { caller, share, entry: user }, permissions) {
      const { sid } = share
      const membership = await findMembership(tx, user.id, sid)
      if (membership !== undefined && membership.direct !== null) {
        throw new Failure('conflict', `${user.email} is a member already`)
      }
      const nowMs = deps.now()
      await enrol(tx, { user, sid, shareName: share.name, direct: permissions, isExternal: false }, nowMs)
      await grow(tx, { sids: [sid], userId: user.id })
      await record(tx, caller, {
        atMs: nowMs,
        action: 'share.member.add',
        subject: sid,
        after: { email: user.email, permissions: permissionNames(permissions) },
      })
      return existing(tx, sid, user.email)
    },

    async change(tx, { caller, share, entry: member }, permissions) {
      const { sid } = share
      if (permissions === member.direct) return member
      await setDirect(tx, member.user_id, sid, permissions)
      await settle(tx, deps, caller, { sids: [sid], userId: member.user_id })
      await record(tx, caller, {
        atMs: deps.now(),
        action: 'share.member.change',
        subject: sid,
        before: { email: member.email, permissions: permissionNames(member.direct) },
        after: { email: member.email, permissions: permissionNames(permissions) },
      })
      return { ...member, direct: permissions }
    },

    async remove(tx, { caller, share, entry }) {
      const { sid } = share
      if (entry.isSelf) return leaveShares(tx, deps, caller, caller, [sid])
      await setDirect(tx, entry.userId, sid, null)
      await settle(tx, deps, caller, { sids: [sid], userId: entry.userId })
      await record(tx, caller, {
        atMs: deps.now(),
        action: 'share.member.remove',
        subject: sid,
        before: { email: entry.email },
      })
    },
  }
}

async function existing(tx: Tx, sid: string, email: string): Promise<MemberRow> {
  const member = await findMember(tx, sid, email)
  if (member === undefined) throw new Error(`there is no member ${email} in ${sid}`)
  return member
}
