/** What exists for a caller: folders and files of their root, of the shares they are in, and for admins of every share. */
import type { Tx } from '../db/db.js'
import { findMembership, type MembershipRow } from '../db/memberships.js'
import { findObject, type ObjectRow } from '../db/objects.js'
import { findStore } from '../db/stores.js'
import { Failure } from '../model/failures.js'
import { ZERO_OID } from '../model/ids.js'
import type { Caller } from './caller.js'

/** Where an object is, whatever the form of the identifier that named it. */
export interface Place {
  readonly sid: string
  readonly oid: string
}

/**
 * An object that exists for the caller. `stands` says how they come to see it: in their own root, in a share that is
 * mounted there (the mount itself included), in a share that is external for them, or as an admin in a share that is
 * not theirs.
 */
export interface Sighted {
  readonly object: ObjectRow
  readonly stands: 'own' | 'mounted' | 'external' | 'visiting'
  /** Permission bits in the share that the object is in or is the mount of. */
  readonly permissions: number
  /** What the caller calls an external share. */
  readonly shareName?: string
}

export function notFound(): Failure {
  return new Failure('notFound', 'there is no such folder or file')
}

/**
 * What the caller sees at a place; 404 where nothing exists for them. `known` is the row at that place, if it was read
 * before. In the caller's own root it takes one look, elsewhere one more, by primary key, however many shares there are.
 */
export async function sight(
  tx: Tx,
  caller: Caller,
  { sid, oid }: Place,
  known?: ObjectRow,
): Promise<Sighted> {
  const seen =
    sid === caller.rootSid
      ? await sightInRoot(tx, caller, known ?? (await findObject(tx, sid, oid)))
      : await sightInShare(tx, caller, sid, oid)
  if (seen === undefined) throw notFound()
  return seen
}

async function sightInRoot(
  tx: Tx,
  caller: Caller,
  object: ObjectRow | undefined,
): Promise<Sighted | undefined> {
  if (object === undefined) return undefined
  if (object.kind !== 'mount') return { object, stands: 'own', permissions: 0 }
  const membership = await findJoined(tx, caller, object.oid)
  return membership && { object, stands: 'mounted', permissions: membership.effective }
}

/** The top of a mounted share is its mount, however it was addressed. */
async function sightInShare(tx: Tx, caller: Caller, sid: string, oid: string): Promise<Sighted | undefined> {
  const membership = await findJoined(tx, caller, sid)
  if (membership === undefined) return caller.isAdmin ? visit(tx, sid, oid) : undefined
  const permissions = membership.effective
  const isTop = oid === ZERO_OID
  if (membership.is_external === 0) {
    const object = isTop ? await findObject(tx, caller.rootSid, sid) : await findObject(tx, sid, oid)
    return object && { object, stands: 'mounted', permissions }
  }
  const object = await findObject(tx, sid, oid)
  if (object === undefined) return undefined
  return {
    object: isTop ? asCalledBy(membership, object) : object,
    stands: 'external',
    permissions,
    shareName: membership.name,
  }
}

async function findJoined(tx: Tx, caller: Caller, sid: string): Promise<MembershipRow | undefined> {
  const membership = await findMembership(tx, caller.userId, sid)
  return membership?.state === 'joined' ? membership : undefined
}

/** An admin of the organization sees every share, and nobody's root. */
async function visit(tx: Tx, sid: string, oid: string): Promise<Sighted | undefined> {
  if ((await findStore(tx, sid))?.kind !== 'share') return undefined
  const object = await findObject(tx, sid, oid)
  return object && { object, stands: 'visiting', permissions: 0 }
}

/** The folder of an external share has the person's own name for it, and a revision that grows with that name. */
function asCalledBy(membership: MembershipRow, share: ObjectRow): ObjectRow {
  return { ...share, name: membership.name, rev: membership.created_ms + membership.rev }
}
