import { marks, pieces } from './batches.js'
import type { Tx } from './db.js'

export interface ShareRow {
  sid: string
  /** The one given at creation. */
  name: string
  rev: number
}

/**
 * Which shares a question is about: one, those that a person has joined, those that a group is in, all. The text
 * completes `WHERE s.sid …`; it has at most the placeholder $1.
 */
export type ShareSelection =
  | { readonly by: 'share'; readonly key: string }
  | { readonly by: 'member'; readonly key: string }
  | { readonly by: 'group'; readonly key: string }
  | { readonly by: 'all' }

const SELECTIONS: Readonly<Record<ShareSelection['by'], string>> = {
  share: '= $1',
  member: `IN (SELECT sid FROM memberships WHERE user_id = $1 AND state = 'joined')`,
  group: 'IN (SELECT sid FROM share_groups WHERE group_id = $1)',
  all: 'IS NOT NULL',
}

/** The condition of a selection on a column, and its values. */
export function selected(selection: ShareSelection, column: string): { where: string; values: string[] } {
  const values = selection.by === 'all' ? [] : [selection.key]
  return { where: `${column} ${SELECTIONS[selection.by]}`, values }
}

export function findShare(tx: Tx, sid: string): Promise<ShareRow | undefined> {
  return tx.get<ShareRow>('SELECT sid, name, rev FROM shares WHERE sid = $1', sid)
}

/** What a reader's tag is made of. */
export function findShareRevisions(
  tx: Tx,
  sid: string,
  userId: string,
): Promise<{ rev: number; own_rev: number | null } | undefined> {
  return tx.get(
    `SELECT s.rev, m.rev AS own_rev FROM shares s
     LEFT JOIN memberships m ON m.sid = s.sid AND m.user_id = $2 AND m.state = 'joined' WHERE s.sid = $1`,
    sid,
    userId,
  )
}

/** A share together with what it is to one reader: null where the reader is not in it. */
export interface SeenShareRow extends ShareRow {
  own_name: string | null
  own_external: number | null
  own_effective: number | null
  own_rev: number | null
}

export function listSeenShares(tx: Tx, selection: ShareSelection, readerId: string): Promise<SeenShareRow[]> {
  const { where, values } = selected(selection, 's.sid')
  return tx.all<SeenShareRow>(
    `SELECT s.sid, s.name, s.rev, m.name AS own_name, m.is_external AS own_external,
       m.effective AS own_effective, m.rev AS own_rev
     FROM shares s
     LEFT JOIN memberships m ON m.sid = s.sid AND m.user_id = $${values.length + 1} AND m.state = 'joined'
     WHERE ${where}`,
    ...values,
    readerId,
  )
}

export async function insertShare(
  tx: Tx,
  share: { sid: string; name: string },
  nowMs: number,
): Promise<void> {
  await tx.run('INSERT INTO shares (sid, name, created_ms) VALUES ($1, $2, $3)', share.sid, share.name, nowMs)
}

/** Something that readers of these shares can see has changed. */
export async function touchShares(tx: Tx, sids: readonly string[]): Promise<void> {
  for (const some of pieces(sids)) {
    await tx.run(`UPDATE shares SET rev = rev + 1 WHERE sid IN (${marks(some.length)})`, ...some)
  }
}

/** With its memberships, invitations and groups; the store is another matter. */
export async function deleteShare(tx: Tx, sid: string): Promise<void> {
  await tx.run('DELETE FROM shares WHERE sid = $1', sid)
}

/** Whether anybody is in each share, and whether anybody in it may manage it (the bit 2). */
export async function listStanding(
  tx: Tx,
  sids: readonly string[],
): Promise<{ sid: string; name: string; has_people: number; has_owner: number }[]> {
  const found: { sid: string; name: string; has_people: number; has_owner: number }[] = []
  const joined = `SELECT 1 FROM memberships m WHERE m.sid = s.sid AND m.state = 'joined'`
  for (const some of pieces(sids)) {
    found.push(
      ...(await tx.all<(typeof found)[number]>(
        `SELECT s.sid, s.name, CASE WHEN EXISTS (${joined}) THEN 1 ELSE 0 END AS has_people,
           CASE WHEN EXISTS (${joined} AND (m.effective & 2) <> 0) THEN 1 ELSE 0 END AS has_owner
         FROM shares s WHERE s.sid IN (${marks(some.length)}) ORDER BY s.sid`,
        ...some,
      )),
    )
  }
  return found
}

/** The shares that show a person by name: to which the person was added directly, or is invited. */
export async function listSharesShowing(tx: Tx, userId: string, email: string): Promise<string[]> {
  const rows = await tx.all<{ sid: string }>(
    `SELECT sid FROM memberships WHERE user_id = $1 AND direct IS NOT NULL
     UNION SELECT sid FROM invitations WHERE email = $2 ORDER BY sid`,
    userId,
    email,
  )
  return rows.map(({ sid }) => sid)
}
