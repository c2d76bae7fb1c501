import { ZERO_OID } from '../model/ids.js'
import type { Tx } from './db.js'

/** The name under which a person knows an object: in their own root, or in a shared folder that they have joined. */
export async function findNameFor(
  tx: Tx,
  person: { userId: string; rootSid: string },
  place: { sid: string; oid: string },
): Promise<string | undefined> {
  const { sid, oid } = place
  if (sid !== person.rootSid) {
    const joined = await tx.get<{ name: string }>(
      `SELECT name FROM memberships WHERE user_id = $1 AND sid = $2 AND state = 'joined'`,
      person.userId,
      sid,
    )
    if (joined === undefined || oid === ZERO_OID) return joined?.name
  }
  const object = await tx.get<{ name: string }>(
    'SELECT name FROM objects WHERE sid = $1 AND oid = $2',
    sid,
    oid,
  )
  return object?.name
}
