/** Groups of the organization. */
import { randomInt } from 'node:crypto'
import type { Tx } from '../db/db.js'
import {
  deleteGroup,
  deleteGroupMember,
  deleteSharesOfGroup,
  findGroup,
  findGroupMember,
  insertGroup,
  insertGroupMember,
  listGroupMembers,
  listGroups,
  listGroupsOfUser,
  listSidsOfGroup,
  type GroupMemberRow,
  type GroupRow,
} from '../db/groups.js'
import { listOutsideShares } from '../db/memberships.js'
import type { CallerGrant, GroupGrant, PersonGrant } from '../gate/grants.js'
import { Failure } from '../model/failures.js'
import { GROUP_ID_MAX } from '../model/groups.js'
import { compareNames } from '../model/names.js'
import type { ServiceDeps } from './deps.js'
import { record, type Actor } from './journal.js'
import { letIn } from './share-groups.js'
import { admit, grow, settle } from './sharing.js'

export interface Group extends GroupRow {
  readonly members: readonly GroupMemberRow[]
}

export interface Groups {
  create(tx: Tx, actor: Actor, name: string): Promise<Group>
  /** Out of every share too; 409 and nothing at all where that would leave people without an owner. */
  remove(tx: Tx, grant: GroupGrant): Promise<void>
  /** The person is in every share of the group at once; 409 for somebody who is in the group. */
  addMember(tx: Tx, grant: GroupGrant<'newcomer'>): Promise<GroupMemberRow>
  removeMember(tx: Tx, grant: GroupGrant<'member'>): Promise<void>
}

export function groups(deps: ServiceDeps): Groups {
  return {
    async create(tx, actor, name) {
      const group = { id: await freeId(tx), name }
      const nowMs = deps.now()
      await insertGroup(tx, group, nowMs)
      await record(tx, actor, { atMs: nowMs, action: 'group.create', subject: group.id, after: { name } })
      return { ...group, members: [] }
    },

    async remove(tx, { actor, group }) {
      const sids = await listSidsOfGroup(tx, group.id)
      await deleteSharesOfGroup(tx, group.id)
      await settle(tx, deps, actor, { sids })
      await deleteGroup(tx, group.id)
      await record(tx, actor, {
        atMs: deps.now(),
        action: 'group.delete',
        subject: group.id,
        before: { name: group.name, shares: sids.length },
      })
    },

    async addMember(tx, { actor, group, entry: user }) {
      if ((await findGroupMember(tx, group.id, user.email)) !== undefined) {
        throw new Failure('conflict', `${user.email} is in the group already`)
      }
      const nowMs = deps.now()
      await insertGroupMember(tx, group.id, user.id)
      await admit(tx, (await listOutsideShares(tx, group.id, user.id)).map(letIn), nowMs)
      await grow(tx, { sids: await listSidsOfGroup(tx, group.id), userId: user.id })
      await record(tx, actor, {
        atMs: nowMs,
        action: 'group.member.add',
        subject: group.id,
        after: { email: user.email },
      })
      const { id, email, first_name, last_name } = user
      return { group_id: group.id, user_id: id, email, first_name, last_name }
    },

    async removeMember(tx, { actor, group, entry: member }) {
      await deleteGroupMember(tx, group.id, member.user_id)
      await settle(tx, deps, actor, {
        sids: await listSidsOfGroup(tx, group.id),
        userId: member.user_id,
      })
      await record(tx, actor, {
        atMs: deps.now(),
        action: 'group.member.remove',
        subject: group.id,
        before: { email: member.email },
      })
    },
  }
}

/** A part of the list by name, then id. The order is by code units, so it is made here. */
export async function listGroupPage(
  tx: Tx,
  _: CallerGrant,
  page: { readonly offset: number; readonly results: number },
): Promise<Group[]> {
  const rows = inOrder(await listGroups(tx))
  return withMembers(tx, rows.slice(page.offset, page.offset + page.results))
}

export async function listAllGroups(tx: Tx): Promise<Group[]> {
  return withMembers(tx, inOrder(await listGroups(tx)))
}

export async function listGroupsOf(tx: Tx, { person }: PersonGrant): Promise<Group[]> {
  return withMembers(tx, inOrder(await listGroupsOfUser(tx, person.id)))
}

export async function showGroup(tx: Tx, { group }: GroupGrant): Promise<Group> {
  const members = await listGroupMembers(tx, [group.id])
  return { ...group, members: members.sort((a, b) => compareNames(a.email, b.email)) }
}

function inOrder(rows: GroupRow[]): GroupRow[] {
  return rows.sort((a, b) => compareNames(a.name, b.name) || compareNames(a.id, b.id))
}

async function withMembers(tx: Tx, rows: readonly GroupRow[]): Promise<Group[]> {
  const found = rows.map((row) => ({ ...row, members: [] as GroupMemberRow[] }))
  const byId = new Map(found.map((group) => [group.id, group]))
  for (const member of await listGroupMembers(tx, [...byId.keys()])) {
    byId.get(member.group_id)?.members.push(member)
  }
  for (const { members } of found) members.sort((a, b) => compareNames(a.email, b.email))
  return found
}

/** Two groups made at once can only meet in the same one of four billion ids; the second then fails and tries again. */
async function freeId(tx: Tx): Promise<string> {
  for (;;) {
    const id = String(randomInt(1, GROUP_ID_MAX + 1))
    if ((await findGroup(tx, id)) === undefined) return id
  }
}
