/** Groups of the organization, the people in them, and the shares that they are in. */
import { marks, pieces } from './batches.js'
import type { Tx } from './db.js'
import { selected, type ShareSelection } from './shares.js'

export interface GroupRow {
  id: string
  name: string
}

export function findGroup(tx: Tx, id: string): Promise<GroupRow | undefined> {
  return tx.get<GroupRow>('SELECT id, name FROM org_groups WHERE id = $1', id)
}

/** In no particular order. */
export function listGroups(tx: Tx): Promise<GroupRow[]> {
  return tx.all<GroupRow>('SELECT id, name FROM org_groups')
}

export function listGroupsOfUser(tx: Tx, userId: string): Promise<GroupRow[]> {
  return tx.all<GroupRow>(
    'SELECT g.id, g.name FROM group_members p JOIN org_groups g ON g.id = p.group_id WHERE p.user_id = $1',
    userId,
  )
}

export async function insertGroup(tx: Tx, group: GroupRow, nowMs: number): Promise<void> {
  await tx.run(
    'INSERT INTO org_groups (id, name, created_ms) VALUES ($1, $2, $3)',
    group.id,
    group.name,
    nowMs,
  )
}

/** With what it has to do with people and shares. */
export async function deleteGroup(tx: Tx, id: string): Promise<void> {
  await tx.run('DELETE FROM org_groups WHERE id = $1', id)
}

export interface GroupMemberRow {
  group_id: string
  user_id: string
  email: string
  first_name: string
  last_name: string
}

const GROUP_MEMBERS = `SELECT p.group_id, p.user_id, u.email, u.first_name, u.last_name
  FROM group_members p JOIN users u ON u.id = p.user_id`

/** The people of some groups, in no particular order. */
export async function listGroupMembers(tx: Tx, groupIds: readonly string[]): Promise<GroupMemberRow[]> {
  const members: GroupMemberRow[] = []
  for (const some of pieces(groupIds)) {
    members.push(
      ...(await tx.all<GroupMemberRow>(
        `${GROUP_MEMBERS} WHERE p.group_id IN (${marks(some.length)})`,
        ...some,
      )),
    )
  }
  return members
}

export function findGroupMember(tx: Tx, groupId: string, email: string): Promise<GroupMemberRow | undefined> {
  return tx.get<GroupMemberRow>(`${GROUP_MEMBERS} WHERE p.group_id = $1 AND u.email = $2`, groupId, email)
}

export async function insertGroupMember(tx: Tx, groupId: string, userId: string): Promise<void> {
  await tx.run('INSERT INTO group_members (group_id, user_id) VALUES ($1, $2)', groupId, userId)
}

export async function deleteGroupMember(tx: Tx, groupId: string, userId: string): Promise<void> {
  await tx.run('DELETE FROM group_members WHERE group_id = $1 AND user_id = $2', groupId, userId)
}

/** Out of every group. */
export async function deleteGroupMemberships(tx: Tx, userId: string): Promise<void> {
  await tx.run('DELETE FROM group_members WHERE user_id = $1', userId)
}

/** A group in a share. */
export interface ShareGroupRow {
  sid: string
  group_id: string
  name: string
  permissions: number
}

const SHARE_GROUPS = `SELECT g.sid, g.group_id, o.name, g.permissions
  FROM share_groups g JOIN org_groups o ON o.id = g.group_id`

export function findShareGroup(tx: Tx, sid: string, groupId: string): Promise<ShareGroupRow | undefined> {
  return tx.get<ShareGroupRow>(`${SHARE_GROUPS} WHERE g.sid = $1 AND g.group_id = $2`, sid, groupId)
}

export function listShareGroups(tx: Tx, selection: ShareSelection): Promise<ShareGroupRow[]> {
  const { where, values } = selected(selection, 'g.sid')
  return tx.all<ShareGroupRow>(`${SHARE_GROUPS} WHERE ${where}`, ...values)
}

export async function listSidsOfGroup(tx: Tx, groupId: string): Promise<string[]> {
  const rows = await tx.all<{ sid: string }>(
    'SELECT sid FROM share_groups WHERE group_id = $1 ORDER BY sid',
    groupId,
  )
  return rows.map(({ sid }) => sid)
}

export async function insertShareGroup(
  tx: Tx,
  row: { sid: string; groupId: string; permissions: number },
): Promise<void> {
  await tx.run(
    'INSERT INTO share_groups (sid, group_id, permissions) VALUES ($1, $2, $3)',
    row.sid,
    row.groupId,
    row.permissions,
  )
}

export async function setShareGroup(
  tx: Tx,
  row: { sid: string; groupId: string; permissions: number },
): Promise<void> {
  await tx.run(
    'UPDATE share_groups SET permissions = $3 WHERE sid = $1 AND group_id = $2',
    row.sid,
    row.groupId,
    row.permissions,
  )
}

export async function deleteShareGroup(tx: Tx, sid: string, groupId: string): Promise<void> {
  await tx.run('DELETE FROM share_groups WHERE sid = $1 AND group_id = $2', sid, groupId)
}

/** Out of every share. */
export async function deleteSharesOfGroup(tx: Tx, groupId: string): Promise<void> {
  await tx.run('DELETE FROM share_groups WHERE group_id = $1', groupId)
}
