import type { Tx } from './db.js'

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
}

const COLUMNS = 'user_id, sid, state, direct, effective, name, is_external, rev'

export function findMembership(tx: Tx, userId: string, sid: string): Promise<MembershipRow | undefined> {
  return tx.get<MembershipRow>(
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
export async function setPersonalName(tx: Tx, userId: string, sid: string, name: string): Promise<void> {
  await tx.run(
    'UPDATE memberships SET name = $3, rev = rev + 1 WHERE user_id = $1 AND sid = $2',
    userId,
    sid,
    name,
  )
}
