/**
 * How people come into shared folders and how they go. Every change of who is in a share or what they may do runs with
 * the share's row locked and ends in `settle` or `grow`, which keep the effective permissions, the mounts and the rule
 * that a share with people in it has an owner.
 */
import type { Tx } from '../db/db.js'
import { deleteGroupMemberships, listGroupsOfUser } from '../db/groups.js'
import { deleteInvitation, deleteInvitationsTo, listInvitations } from '../db/invitations.js'
import {
  deleteMemberships,
  deleteUnfounded,
  findMembership,
  listJoined,
  listUnfounded,
  putJoined,
  recountEffective,
  setDirect,
  setLeft,
  type Recount,
} from '../db/memberships.js'
import { deleteShare, listSharesShowing, listStanding, touchShares } from '../db/shares.js'
import type { UserRow } from '../db/users.js'
import { Failure } from '../model/failures.js'
import { OWNER, permissionNames } from '../model/permissions.js'
import type { ServiceDeps } from './deps.js'
import { record, type Actor } from './journal.js'
import { mountShares, unmountShares } from './sharing-mounts.js'
import { destroyStore } from './stores.js'

/** Somebody who comes into a share; `direct` is null for those whom a group lets in. */
export interface Newcomer {
  readonly userId: string
  readonly rootSid: string
  readonly sid: string
  /** The name given to the share at its creation. */
  readonly shareName: string
  readonly direct: number | null
  readonly isExternal: boolean
}

/** Puts people who are not in them into shares, each with a mount unless the share is external for them. */
export async function admit(tx: Tx, people: readonly Newcomer[], nowMs: number): Promise<void> {
  const internal = people.filter(({ isExternal }) => !isExternal)
  const names = await mountShares(
    tx,
    internal.map(({ rootSid, sid, shareName }) => ({ rootSid, sid, name: shareName })),
    nowMs,
  )
  const nameOf = new Map(internal.map((person, index) => [person, names[index]]))
  await putJoined(
    tx,
    people.map((person) => ({ ...person, name: nameOf.get(person) ?? person.shareName })),
    nowMs,
  )
}

/** After changes by which nobody can lose anything. */
export async function grow(tx: Tx, change: Recount): Promise<void> {
  await recountEffective(tx, change)
  await touchShares(tx, change.sids)
}

/**
 * After changes by which people may have lost something: those whom nothing lets in any more are out, a share without
 * people is destroyed, and one with people but without an owner refuses the change, or gets the heir as its owner.
 */
export async function settle(
  tx: Tx,
  deps: ServiceDeps,
  actor: Actor,
  change: Recount,
  heir?: UserRow,
): Promise<void> {
  const nowMs = deps.now()
  await recountEffective(tx, change)
  const gone = await listUnfounded(tx, change)
  if (gone.length > 0) {
    await unmountShares(
      tx,
      gone.map(({ root_sid, sid }) => ({ rootSid: root_sid, sid })),
    )
    await deleteUnfounded(tx, change)
  }
  // The stores of shares are locked in one order, as all rows are.
  const standing = await listStanding(tx, [...change.sids].sort())
  for (const share of standing) {
    if (share.has_people === 0) await destroyShare(tx, deps, actor, share, nowMs)
    else if (share.has_owner === 0) await bequeath(tx, actor, share, heir, nowMs)
  }
  const living = standing.filter(({ has_people }) => has_people === 1).map(({ sid }) => sid)
  await touchShares(tx, living)
  // Downloads of those who are out are looked at again.
  tx.afterCommit(() => {
    for (const sid of living) deps.signal({ sid })
  })
}

async function destroyShare(
  tx: Tx,
  deps: ServiceDeps,
  actor: Actor,
  share: { sid: string; name: string },
  nowMs: number,
): Promise<void> {
  await deleteShare(tx, share.sid)
  const gone = await destroyStore(tx, deps, share.sid)
  await record(tx, actor, {
    atMs: nowMs,
    action: 'share.destroy',
    subject: share.sid,
    before: { name: share.name, ...gone },
  })
}

async function bequeath(
  tx: Tx,
  actor: Actor,
  share: { sid: string; name: string },
  heir: UserRow | undefined,
  nowMs: number,
): Promise<void> {
  const { sid } = share
  if (heir === undefined) {
    throw new Failure(
      'conflict',
      `the shared folder ${sid} would have people in it and nobody who may manage them`,
    )
  }
  await enrol(tx, { user: heir, sid, shareName: share.name, direct: OWNER, isExternal: false }, nowMs)
  await recountEffective(tx, { sids: [sid], userId: heir.id })
  await record(tx, actor, {
    atMs: nowMs,
    action: 'share.inherit',
    subject: sid,
    after: { email: heir.email, permissions: permissionNames(OWNER) },
  })
}

/** Makes a person a direct member; whoever is in through a group keeps mount, name and place. */
export async function enrol(
  tx: Tx,
  entry: { user: UserRow; sid: string; shareName: string; direct: number; isExternal: boolean },
  nowMs: number,
): Promise<void> {
  const { user, sid, shareName, direct, isExternal } = entry
  await deleteInvitation(tx, sid, user.email)
  const membership = await findMembership(tx, user.id, sid)
  if (membership?.state === 'joined') return setDirect(tx, user.id, sid, direct)
  await admit(tx, [{ userId: user.id, rootSid: user.root_sid, sid, shareName, direct, isExternal }], nowMs)
}

/** A person who goes by their own will. */
export interface Leaver {
  readonly userId: string
  readonly rootSid: string
  readonly email: string
}

/** Out of these shares, all or none; what the person is not in is passed over. */
export async function leaveShares(
  tx: Tx,
  deps: ServiceDeps,
  actor: Actor,
  person: Leaver,
  sids: readonly string[],
): Promise<void> {
  if (sids.length === 0) return
  await tx.lock('shares', ...sids)
  const wanted = new Set(sids)
  const left = (await listJoined(tx, person.userId)).map(({ sid }) => sid).filter((sid) => wanted.has(sid))
  const nowMs = deps.now()
  await unmountShares(
    tx,
    left.map((sid) => ({ rootSid: person.rootSid, sid })),
  )
  await setLeft(tx, person.userId, left)
  for (const sid of left) {
    await deleteInvitation(tx, sid, person.email)
    await record(tx, actor, {
      atMs: nowMs,
      action: 'share.leave',
      subject: sid,
      before: { email: person.email },
    })
  }
  await settle(tx, deps, actor, { sids: left, userId: person.userId })
}

/**
 * Takes a person out of all groups and shares, before the account goes. The person's row is locked already; the root and
 * the mounts in it go with the account.
 */
export async function removePerson(
  tx: Tx,
  deps: ServiceDeps,
  actor: Actor,
  person: UserRow,
  heir: UserRow | undefined,
): Promise<void> {
  const groups = await listGroupsOfUser(tx, person.id)
  if (groups.length > 0) await tx.lock('org_groups', ...groups.map(({ id }) => id))
  const joined = (await listJoined(tx, person.id)).map(({ sid }) => sid)
  const invited = (await listInvitations(tx, person.email)).map(({ sid }) => sid)
  const all = [...new Set([...joined, ...invited])]
  if (all.length > 0) await tx.lock('shares', ...all)
  await deleteGroupMemberships(tx, person.id)
  await deleteMemberships(tx, person.id)
  await deleteInvitationsTo(tx, person.email)
  await settle(tx, deps, actor, { sids: joined, userId: person.id }, heir)
  await touchShares(
    tx,
    invited.filter((sid) => !joined.includes(sid)),
  )
}

/** The names of a person have changed: whoever reads a share that shows them sees something new. */
export async function personRenamed(tx: Tx, person: { id: string; email: string }): Promise<void> {
  const sids = await listSharesShowing(tx, person.id, person.email)
  if (sids.length > 0) await tx.lock('shares', ...sids)
  await touchShares(tx, sids)
}

/** An address that may be invited to shares has an account now, and with it names. */
export function addressGotAccount(tx: Tx, person: { id: string; email: string }): Promise<void> {
  return personRenamed(tx, person)
}
