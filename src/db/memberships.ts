import { marks, pieces, rowMarks } from './batches.js'
import type { Tx } from './db.js'
import { selected, type ShareSelection } from './shares.js'

/** What one person has to do with one share. */
export interface MembershipRow {
  user_id: string
  sid: string
  state: 'joined' | 'left'
  /** Permission bits granted to the person; null: in through groups alone. */
  direct: number | null
  /** The union of `direct` and of what the person's groups give. */
  effective: number
  /** The person's own name for the share. */
  name: string
  is_external: number
  rev: number
  /** When this stay began to be known: the row of a removed person goes, and a later one is another. */
  created_ms: number
}

const COLUMNS = 'user_id, sid, state, direct, effective, name, is_external, rev, created_ms'

export function findMembership(tx: Tx, userId: string, sid: string): Promise<MembershipRow | undefined> {
  return tx.recall<MembershipRow>(
    `SELECT ${COLUMNS} FROM memberships WHERE user_id = $1 AND sid = $2`,
    userId,
    sid,
  )
}

/** The shares that a person has joined, in no particular order. */
export function listJoined(tx: Tx, userId: string): Promise<MembershipRow[]> {
  return tx.all<MembershipRow>(
    `SELECT ${COLUMNS} FROM memberships WHERE user_id = $1 AND state = 'joined'`,
    userId,
  )
}

/** The person's own name for a share; the mount, where there is one, has the same. */
export async function renameMembership(tx: Tx, userId: string, sid: string, name: string): Promise<void> {
  await tx.run(
    'UPDATE memberships SET name = $3, rev = rev + 1 WHERE user_id = $1 AND sid = $2',
    userId,
    sid,
    name,
  )
}

/** A direct member as others see one. */
export interface MemberRow {
  sid: string
  user_id: string
  email: string
  first_name: string
  last_name: string
  direct: number
}

const MEMBERS = `SELECT m.sid, m.user_id, u.email, u.first_name, u.last_name, m.direct
  FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.direct IS NOT NULL`

/** In no particular order. */
export function listMembers(tx: Tx, selection: ShareSelection): Promise<MemberRow[]> {
  const { where, values } = selected(selection, 'm.sid')
  return tx.all<MemberRow>(`${MEMBERS} AND ${where}`, ...values)
}

export function findMember(tx: Tx, sid: string, email: string): Promise<MemberRow | undefined> {
  return tx.get<MemberRow>(`${MEMBERS} AND m.sid = $1 AND u.email = $2`, sid, email)
}

/** Somebody who comes into a share, or comes back; `direct` is null for those whom a group lets in. */
export interface Joining {
  readonly userId: string
  readonly sid: string
  readonly direct: number | null
  readonly name: string
  readonly isExternal: boolean
}

/** Their effective permissions are to be counted afterwards. */
export async function putJoined(tx: Tx, people: readonly Joining[], nowMs: number): Promise<void> {
  for (const some of pieces(people)) {
    const values = some.flatMap(({ userId, sid, direct, name, isExternal }) => [
      userId,
      sid,
      'joined',
      direct,
      direct ?? 0,
      name,
      isExternal ? 1 : 0,
      nowMs,
    ])
    await tx.run(
      `INSERT INTO memberships (user_id, sid, state, direct, effective, name, is_external, created_ms)
       VALUES ${rowMarks(some.length, 8)}
       ON CONFLICT (user_id, sid) DO UPDATE SET state = excluded.state, direct = excluded.direct,
         effective = excluded.effective, name = excluded.name, is_external = excluded.is_external,
         rev = memberships.rev + 1`,
      ...values,
    )
  }
}

export async function setDirect(tx: Tx, userId: string, sid: string, direct: number | null): Promise<void> {
  await tx.run('UPDATE memberships SET direct = $3 WHERE user_id = $1 AND sid = $2', userId, sid, direct)
}

/** The person goes by their own will, so that no group lets them in again by itself. */
export async function setLeft(tx: Tx, userId: string, sids: readonly string[]): Promise<void> {
  for (const some of pieces(sids)) {
    await tx.run(
      `UPDATE memberships SET state = 'left', direct = NULL, effective = 0
       WHERE user_id = $1 AND state = 'joined' AND sid IN (${marks(some.length, 2)})`,
      userId,
      ...some,
    )
  }
}

export async function deleteMemberships(tx: Tx, userId: string): Promise<void> {
  await tx.run('DELETE FROM memberships WHERE user_id = $1', userId)
}

/** What the groups of a member give in the share; null when no group of theirs is in it. Bits: 1 WRITE, 2 MANAGE. */
const GIVEN_BY_GROUPS = `(SELECT MAX(g.permissions & 1) | MAX(g.permissions & 2)
  FROM share_groups g JOIN group_members p ON p.group_id = g.group_id
  WHERE g.sid = memberships.sid AND p.user_id = memberships.user_id)`

/** Whose permissions are counted anew: everybody's in some shares, or one person's in some shares. */
export interface Recount {
  readonly sids: readonly string[]
  readonly userId?: string
}

function recounted(some: readonly string[], userId: string | undefined): { where: string; values: string[] } {
  const where = `state = 'joined' AND sid IN (${marks(some.length)})`
  if (userId === undefined) return { where, values: [...some] }
  return { where: `${where} AND user_id = $${some.length + 1}`, values: [...some, userId] }
}

export async function recountEffective(tx: Tx, { sids, userId }: Recount): Promise<void> {
  for (const some of pieces(sids)) {
    const { where, values } = recounted(some, userId)
    await tx.run(
      `UPDATE memberships SET effective = COALESCE(direct, 0) | COALESCE(${GIVEN_BY_GROUPS}, 0) WHERE ${where}`,
      ...values,
    )
  }
}

/** Those who have nothing left that lets them in. */
export async function listUnfounded(
  tx: Tx,
  { sids, userId }: Recount,
): Promise<{ user_id: string; sid: string; root_sid: string }[]> {
  const found: { user_id: string; sid: string; root_sid: string }[] = []
  for (const some of pieces(sids)) {
    const { where, values } = recounted(some, userId)
    found.push(
      ...(await tx.all<{ user_id: string; sid: string; root_sid: string }>(
        `SELECT user_id, sid, (SELECT root_sid FROM users WHERE id = user_id) AS root_sid FROM memberships
         WHERE ${where} AND direct IS NULL AND ${GIVEN_BY_GROUPS} IS NULL`,
        ...values,
      )),
    )
  }
  return found
}

export async function deleteUnfounded(tx: Tx, { sids, userId }: Recount): Promise<void> {
  for (const some of pieces(sids)) {
    const { where, values } = recounted(some, userId)
    await tx.run(
      `DELETE FROM memberships WHERE ${where} AND direct IS NULL AND ${GIVEN_BY_GROUPS} IS NULL`,
      ...values,
    )
  }
}

/** Somebody whom a group is to let into a share and who is not in it. */
export interface OutsiderRow {
  user_id: string
  root_sid: string
  sid: string
  share_name: string
}

const OUTSIDERS = `SELECT p.user_id, u.root_sid, g.sid, s.name AS share_name
  FROM share_groups g
  JOIN shares s ON s.sid = g.sid
  JOIN group_members p ON p.group_id = g.group_id
  JOIN users u ON u.id = p.user_id
  WHERE NOT EXISTS (SELECT 1 FROM memberships m
    WHERE m.user_id = p.user_id AND m.sid = g.sid AND m.state = 'joined')`

/** The people of a group who are not in a share that the group is in; those who left are among them. */
export function listOutsidersOfShare(tx: Tx, sid: string, groupId: string): Promise<OutsiderRow[]> {
  return tx.all<OutsiderRow>(
    `${OUTSIDERS} AND g.sid = $1 AND g.group_id = $2 ORDER BY p.user_id`,
    sid,
    groupId,
  )
}

/** The shares of a group that one of its people is not in. */
export function listOutsideShares(tx: Tx, groupId: string, userId: string): Promise<OutsiderRow[]> {
  return tx.all<OutsiderRow>(
    `${OUTSIDERS} AND g.group_id = $1 AND p.user_id = $2 ORDER BY g.sid`,
    groupId,
    userId,
  )
}

/** The roots in which a share is mounted. */
export async function listRootsOfShare(tx: Tx, sid: string): Promise<string[]> {
  const rows = await tx.all<{ root_sid: string }>(
    `SELECT u.root_sid FROM memberships m JOIN users u ON u.id = m.user_id
     WHERE m.sid = $1 AND m.state = 'joined' AND m.is_external = 0`,
    sid,
  )
  return rows.map(({ root_sid }) => root_sid)
}
