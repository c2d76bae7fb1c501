/** Groups of the organization in shared folders. */
import type { Tx } from '../db/db.js'
import {
  deleteShareGroup,
  findShareGroup,
  insertShareGroup,
  listShareGroups,
  setShareGroup,
  type ShareGroupRow,
} from '../db/groups.js'
import { listOutsidersOfShare } from '../db/memberships.js'
import type { ShareGrant } from '../gate/grants.js'
import { Failure } from '../model/failures.js'
import { compareNames } from '../model/names.js'
import { permissionNames } from '../model/permissions.js'
import type { ServiceDeps } from './deps.js'
import { record } from './journal.js'
import { admit, grow, settle, type Newcomer } from './sharing.js'

export interface ShareGroups {
  list(tx: Tx, grant: ShareGrant): Promise<ShareGroupRow[]>
  /** The people of the group are in at once, also those who had left. 409 for a group that is in the share. */
  add(tx: Tx, grant: ShareGrant<'newGroup'>, permissions: number): Promise<ShareGroupRow>
  /** The permissions that are there already change nothing; nobody comes back who has left. */
  change(tx: Tx, grant: ShareGrant<'group'>, permissions: number): Promise<ShareGroupRow>
  /** Those who are in through the group alone are out. */
  remove(tx: Tx, grant: ShareGrant<'group'>): Promise<void>
}

export function shareGroups(deps: ServiceDeps): ShareGroups {
  return {
    async list(tx, { share }) {
      const rows = await listShareGroups(tx, { by: 'share', key: share.sid })
      return rows.sort((a, b) => compareNames(a.group_id, b.group_id))
    },

    async add(tx, { caller, share, entry: group }, permissions) {
      const { sid } = share
      if ((await findShareGroup(tx, sid, group.id)) !== undefined) {
        throw new Failure('conflict', 'the group is in the shared folder already')
      }
      const nowMs = deps.now()
      await insertShareGroup(tx, { sid, groupId: group.id, permissions })
      const outsiders = await listOutsidersOfShare(tx, sid, group.id)
      await admit(tx, outsiders.map(letIn), nowMs)
      await grow(tx, { sids: [sid] })
      await record(tx, caller, {
        atMs: nowMs,
        action: 'share.group.add',
        subject: sid,
        after: { group: group.id, permissions: permissionNames(permissions), joined: outsiders.length },
      })
      return { sid, group_id: group.id, name: group.name, permissions }
    },

    async change(tx, { caller, share, entry: group }, permissions) {
      const { sid } = share
      if (permissions === group.permissions) return group
      await setShareGroup(tx, { sid, groupId: group.group_id, permissions })
      await settle(tx, deps, caller, { sids: [sid] })
      await record(tx, caller, {
        atMs: deps.now(),
        action: 'share.group.change',
        subject: sid,
        before: { group: group.group_id, permissions: permissionNames(group.permissions) },
        after: { group: group.group_id, permissions: permissionNames(permissions) },
      })
      return { ...group, permissions }
    },

    async remove(tx, { caller, share, entry: group }) {
      const { sid } = share
      await deleteShareGroup(tx, sid, group.group_id)
      await settle(tx, deps, caller, { sids: [sid] })
      await record(tx, caller, {
        atMs: deps.now(),
        action: 'share.group.remove',
        subject: sid,
        before: { group: group.group_id, permissions: permissionNames(group.permissions) },
      })
    },
  }
}

/** Somebody whom a group lets into a share. */
export function letIn(row: { user_id: string; root_sid: string; sid: string; share_name: string }): Newcomer {
  return {
    userId: row.user_id,
    rootSid: row.root_sid,
    sid: row.sid,
    shareName: row.share_name,
    direct: null,
    isExternal: false,
  }
}
