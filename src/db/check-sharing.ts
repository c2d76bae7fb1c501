/** What `starling check` asks about shared folders, the people in them and groups. Each question gives only what is broken. */
import type { Tx } from './db.js'

/** Shares whose store is missing or of another kind (`kind` says which), and stores of shares that have no share. */
export function listSharesWithoutStore(tx: Tx): Promise<{ sid: string; kind: string | null }[]> {
  return tx.all(
    `SELECT s.sid, t.kind FROM shares s LEFT JOIN stores t ON t.sid = s.sid
     WHERE t.sid IS NULL OR t.kind <> 'share' ORDER BY s.sid`,
  )
}

export function listStoresWithoutShare(tx: Tx): Promise<{ sid: string }[]> {
  return tx.all(
    `SELECT t.sid FROM stores t LEFT JOIN shares s ON s.sid = t.sid
     WHERE t.kind = 'share' AND s.sid IS NULL ORDER BY t.sid`,
  )
}

/** Shares without people, and shares with people none of whom may manage them (the bit 2). */
export function listUnownedShares(tx: Tx): Promise<{ sid: string; people: number }[]> {
  return tx.all(
    `SELECT s.sid, COUNT(m.user_id) AS people FROM shares s
     LEFT JOIN memberships m ON m.sid = s.sid AND m.state = 'joined'
     GROUP BY s.sid
     HAVING COALESCE(MAX(m.effective & 2), 0) = 0 ORDER BY s.sid`,
  )
}

export interface CheckedMembership {
  user_id: string
  sid: string
  state: string
  direct: number | null
  effective: number
  /** What the person's groups give in the share; null when none is in it. */
  given: number | null
}

/** Those whose permissions do not add up, whom nothing lets in, or who have left and kept something. */
export function listBrokenMemberships(tx: Tx): Promise<CheckedMembership[]> {
  return tx.all<CheckedMembership>(
    `SELECT user_id, sid, state, direct, effective, given FROM (
       SELECT m.user_id, m.sid, m.state, m.direct, m.effective,
         (SELECT MAX(g.permissions & 1) | MAX(g.permissions & 2) FROM share_groups g
          JOIN group_members p ON p.group_id = g.group_id
          WHERE g.sid = m.sid AND p.user_id = m.user_id) AS given
       FROM memberships m) AS counted
     WHERE (state = 'left' AND (direct IS NOT NULL OR effective <> 0))
       OR (state = 'joined' AND effective <> (COALESCE(direct, 0) | COALESCE(given, 0)))
       OR (state = 'joined' AND direct IS NULL AND given IS NULL)
     ORDER BY user_id, sid`,
  )
}

/** People of a group in a share who neither are in the share nor have left it. */
export function listForgottenPeople(tx: Tx): Promise<{ user_id: string; sid: string; group_id: string }[]> {
  return tx.all(
    `SELECT p.user_id, g.sid, g.group_id FROM share_groups g
     JOIN group_members p ON p.group_id = g.group_id
     LEFT JOIN memberships m ON m.user_id = p.user_id AND m.sid = g.sid
     WHERE m.user_id IS NULL ORDER BY p.user_id, g.sid, g.group_id`,
  )
}

/** Invitations of people who are direct members. */
export function listInvitedMembers(tx: Tx): Promise<{ sid: string; email: string }[]> {
  return tx.all(
    `SELECT i.sid, i.email FROM invitations i JOIN users u ON u.email = i.email
     JOIN memberships m ON m.user_id = u.id AND m.sid = i.sid AND m.direct IS NOT NULL ORDER BY i.sid, i.email`,
  )
}

/** Permissions that hold more than the known bits, by where they stand. */
export function listUnknownPermissions(tx: Tx): Promise<{ subject: string; permissions: number }[]> {
  return tx.all(
    `SELECT sid || ' ' || user_id AS subject, direct AS permissions FROM memberships WHERE direct < 0 OR direct > 3
     UNION ALL
     SELECT sid || ' ' || group_id, permissions FROM share_groups WHERE permissions < 0 OR permissions > 3
     UNION ALL
     SELECT sid || ' ' || email, permissions FROM invitations WHERE permissions < 0 OR permissions > 3
     ORDER BY 1`,
  )
}

export function listGroupIds(tx: Tx, after: string, rowsMax: number): Promise<{ id: string }[]> {
  return tx.all('SELECT id FROM org_groups WHERE id > $1 ORDER BY id LIMIT $2', after, rowsMax)
}
