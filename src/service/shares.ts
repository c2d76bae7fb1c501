import type { Tx } from '../db/db.js'
import { listShareGroups, type ShareGroupRow } from '../db/groups.js'
import { listPending, type PendingRow } from '../db/invitations.js'
import { listMembers, type MemberRow } from '../db/memberships.js'
import { insertShare, listSeenShares, type SeenShareRow, type ShareSelection } from '../db/shares.js'
import type { Caller } from '../gate/caller.js'
import type { GroupGrant, InvitationGrant, NewShareGrant, ShareGrant } from '../gate/grants.js'
import { compareNames } from '../model/names.js'
import { OWNER } from '../model/permissions.js'
import { reaches, reachOf, shareTag } from '../model/shares.js'
import type { ServiceDeps } from './deps.js'
import { record } from './journal.js'
import { admit } from './sharing.js'
import { createStore } from './stores.js'

/** A shared folder as one reader sees it. */
export interface SharedFolder {
  readonly sid: string
  readonly name: string
  readonly isExternal: boolean
  /** What the reader may do, as bits. */
  readonly permissions: number
  readonly isMember: boolean
  readonly members: readonly MemberRow[]
  readonly groups: readonly ShareGroupRow[]
  readonly pending: readonly PendingRow[]
  readonly tag: string
}

export interface Shares {
  /** The caller becomes its only member and owner. */
  create(tx: Tx, grant: NewShareGrant, wish: { name: string; isExternal: boolean }): Promise<SharedFolder>
}

export function shares(deps: ServiceDeps): Shares {
  return {
    async create(tx, { caller }, { name, isExternal }) {
      const nowMs = deps.now()
      const sid = await createStore(tx, { kind: 'share', name }, nowMs)
      await insertShare(tx, { sid, name }, nowMs)
      const { userId, rootSid } = caller
      await admit(tx, [{ userId, rootSid, sid, shareName: name, direct: OWNER, isExternal }], nowMs)
      await record(tx, caller, {
        atMs: nowMs,
        action: 'share.create',
        subject: sid,
        after: { name, external: isExternal },
      })
      return readShare(tx, caller, sid)
    },
  }
}

/** A share that is known to be there and to be visible to the caller. */
async function readShare(tx: Tx, caller: Pick<Caller, 'userId'>, sid: string): Promise<SharedFolder> {
  const [share] = await loadShares(tx, caller.userId, { by: 'share', key: sid })
  if (share === undefined) throw new Error(`there is no share ${sid}`)
  return share
}

export function showShare(tx: Tx, grant: ShareGrant): Promise<SharedFolder> {
  return readShare(tx, grant.caller, grant.share.sid)
}

/** The share of an invitation that has been accepted. */
export function showAccepted(tx: Tx, { caller, invitation }: InvitationGrant): Promise<SharedFolder> {
  return readShare(tx, caller, invitation.sid)
}

/** The shares that a person has joined, as the caller sees them and as far as the token reaches. */
export async function listShares(tx: Tx, caller: Caller, userId: string): Promise<SharedFolder[]> {
  if (!caller.scopes.any('acl.read')) return []
  const reach = reachOf(caller, 'acl.read')
  const found = await loadShares(tx, caller.userId, { by: 'member', key: userId })
  return found.filter(({ sid }) => reaches(reach, sid))
}

/** Those of a group's shares that the caller could read one by one. */
export async function listSharesOfGroup(
  tx: Tx,
  caller: Caller,
  { group }: GroupGrant,
): Promise<SharedFolder[]> {
  if (!caller.scopes.any('acl.read')) return []
  const reach = reachOf(caller, 'acl.read')
  const found = await loadShares(tx, caller.userId, { by: 'group', key: group.id })
  return found.filter(({ sid, isMember }) => (isMember || caller.isAdmin) && reaches(reach, sid))
}

/** For the operator, who is in no share. */
export function loadSharesForOperator(tx: Tx, sid?: string): Promise<SharedFolder[]> {
  return loadShares(tx, '', sid === undefined ? { by: 'all' } : { by: 'share', key: sid })
}

async function loadShares(tx: Tx, readerId: string, selection: ShareSelection): Promise<SharedFolder[]> {
  const rows = await listSeenShares(tx, selection, readerId)
  if (rows.length === 0) return []
  const members = bySid(await listMembers(tx, selection), ({ email }) => email)
  const groups = bySid(await listShareGroups(tx, selection), ({ group_id }) => group_id)
  const pending = bySid(await listPending(tx, selection), ({ email }) => email)
  const found = rows.map((row) => ({
    ...seenBy(row),
    members: members.get(row.sid) ?? [],
    groups: groups.get(row.sid) ?? [],
    pending: pending.get(row.sid) ?? [],
  }))
  return found.sort((a, b) => compareNames(a.name, b.name) || compareNames(a.sid, b.sid))
}

/** Who is not in the share sees what its creator made. */
function seenBy(row: SeenShareRow): Omit<SharedFolder, 'members' | 'groups' | 'pending'> {
  return {
    sid: row.sid,
    name: row.own_name ?? row.name,
    isExternal: row.own_external === 1,
    permissions: row.own_effective ?? 0,
    isMember: row.own_rev !== null,
    tag: shareTag(row, row.own_rev ?? undefined),
  }
}

/** The rows of each share, ordered by code units, which no database does. */
function bySid<Row extends { sid: string }>(
  rows: readonly Row[],
  key: (row: Row) => string,
): Map<string, Row[]> {
  const lists = new Map<string, Row[]>()
  for (const row of rows) {
    const list = lists.get(row.sid)
    if (list === undefined) lists.set(row.sid, [row])
    else list.push(row)
  }
  for (const list of lists.values()) list.sort((a, b) => compareNames(key(a), key(b)))
  return lists
}
