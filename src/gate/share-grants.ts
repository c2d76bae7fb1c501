/** The part of authorization that is about shared folders; `authorize.ts` alone calls it. */
import type { Tx } from '../db/db.js'
import { findGroup, findShareGroup } from '../db/groups.js'
import { findInvitation, findPending } from '../db/invitations.js'
import { findMember, findMembership, type MembershipRow } from '../db/memberships.js'
import { findShare } from '../db/shares.js'
import { findUser, findUserByEmail } from '../db/users.js'
import type { PersonId } from '../model/addresses.js'
import { Failure } from '../model/failures.js'
import { mayManage } from '../model/permissions.js'
import { reaches, reachOf } from '../model/shares.js'
import type { Caller } from './caller.js'
import type { PersonGrant, ShareEntry } from './grants.js'
import type { InvitationNeed, ShareNeed } from './share-needs.js'
import { grantUser } from './user-grants.js'

type Input = Readonly<Record<string, unknown>>

interface Mode {
  readonly canWrite: boolean
  readonly nowMs: number
}

/** Named by a body: nobody learns what exists who may not act on it. */
const NAMED_BY_BODY: ReadonlySet<ShareEntry> = new Set<ShareEntry>(['newcomer', 'newGroup', 'address'])

/**
 * Whether the token holds the scope was checked before. Here follow: reach of the token (403), visibility of the share
 * and of what the path names in it (404), privilege (403), existence of what the body names (404).
 */
export async function grantShare(
  tx: Tx,
  caller: Caller,
  need: ShareNeed,
  input: Input,
  mode: Mode,
): Promise<unknown> {
  const sid = input[need.from] as string
  checkReach(caller, need, sid)
  if (mode.canWrite && need.to === 'manage') await lockConcerned(tx, need, input, sid)
  const share = await findShare(tx, sid)
  const membership = share === undefined ? undefined : await joinedMembership(tx, caller, sid)
  if (share === undefined || (membership === undefined && !caller.isAdmin)) {
    throw new Failure('notFound', 'there is no such shared folder')
  }
  const look = { tx, caller, sid, membership, name: need.by === undefined ? undefined : input[need.by] }
  const standing = NAMED_BY_BODY.has(need.entry) ? undefined : await findStanding(look, need.entry)
  if (need.to === 'manage') checkPrivilege(caller, membership, isOwnExit(need, standing))
  const entry = NAMED_BY_BODY.has(need.entry) ? await findNamed(look, need.entry) : standing
  return { caller, share, membership, entry }
}

function checkReach(caller: Caller, need: ShareNeed, sid: string): void {
  const [scope] = need.scopes
  if (reaches(reachOf(caller, scope), sid)) return
  throw new Failure('forbidden', `the scope ${scope} of the access token does not reach this shared folder`)
}

/** In the order that everybody keeps: people, groups, shares. What is read afterwards stays as it is. */
async function lockConcerned(tx: Tx, need: ShareNeed, input: Input, sid: string): Promise<void> {
  const name = need.by === undefined ? undefined : input[need.by]
  if (typeof name === 'string') {
    if (need.entry === 'newcomer' || need.entry === 'address') {
      const user = await findUserByEmail(tx, name)
      if (user !== undefined) await tx.lock('users', user.id)
    } else if (need.entry === 'group' || need.entry === 'newGroup') await tx.lock('org_groups', name)
  }
  await tx.lock('shares', sid)
}

async function joinedMembership(tx: Tx, caller: Caller, sid: string): Promise<MembershipRow | undefined> {
  const membership = await findMembership(tx, caller.userId, sid)
  return membership?.state === 'joined' ? membership : undefined
}

interface Look {
  readonly tx: Tx
  readonly caller: Caller
  readonly sid: string
  readonly membership: MembershipRow | undefined
  readonly name: unknown
}

/** What the path names. */
async function findStanding(look: Look, entry: ShareEntry): Promise<unknown> {
  const { tx, sid, name } = look
  switch (entry) {
    case 'member':
      return found(await findMember(tx, sid, emailOf(look)), 'member')
    case 'memberOrGroup':
      return typeof name === 'string'
        ? found(await findShareGroup(tx, sid, name), 'group')
        : found(await findMember(tx, sid, emailOf(look)), 'member')
    case 'leaver':
      return findLeaver(look)
    case 'pending':
      return found(await findPending(tx, sid, emailOf(look)), 'invited person')
    case 'group':
      return found(await findShareGroup(tx, sid, name as string), 'group')
    default:
      return undefined
  }
}

async function findLeaver(look: Look): Promise<{ userId: string; email: string; isSelf: boolean }> {
  const { tx, caller, sid, membership } = look
  const email = emailOf(look)
  if (email === caller.email && membership !== undefined) {
    return { userId: caller.userId, email, isSelf: true }
  }
  const member = found(await findMember(tx, sid, email), 'member')
  return { userId: member.user_id, email, isSelf: false }
}

function isOwnExit(need: ShareNeed, standing: unknown): boolean {
  return need.entry === 'leaver' && (standing as { isSelf: boolean }).isSelf
}

function emailOf({ caller, name }: Look): string {
  const person = name as PersonId
  return 'alias' in person ? caller.email : person.email
}

function checkPrivilege(caller: Caller, membership: MembershipRow | undefined, isExit: boolean): void {
  if (isExit || caller.isAdmin || mayManage(membership?.effective ?? 0)) return
  throw new Failure('forbidden', 'you may not manage this shared folder')
}

/** What the body names. Before the body has come there is nothing to look up. */
async function findNamed({ tx, name }: Look, entry: ShareEntry): Promise<unknown> {
  if (typeof name !== 'string') return undefined
  if (entry === 'newGroup') return found(await findGroup(tx, name), 'group', 'there is no such group')
  const user = await findUserByEmail(tx, name)
  if (entry === 'address') return { email: name, user }
  return found(user, 'user', `there is no user ${name}`)
}

function found<T>(row: T | undefined, what: string, message?: string): T {
  if (row === undefined) {
    throw new Failure('notFound', message ?? `there is no such ${what} in the shared folder`)
  }
  return row
}

export async function grantNewShare(tx: Tx, caller: Caller, mode: Mode): Promise<unknown> {
  if (!caller.scopes.has('acl.write')) {
    throw new Failure(
      'forbidden',
      'the scope acl.write of the access token is limited to other shared folders',
    )
  }
  if (mode.canWrite) {
    // Whoever is deleted at this moment must not leave a share behind.
    await tx.lock('users', caller.userId)
    if ((await findUser(tx, caller.userId)) === undefined) {
      throw new Failure('unauthorized', 'the access token is not valid')
    }
  }
  return { caller }
}

/** Whoever may act for the person may answer; nobody else learns that there is an invitation. */
export async function grantInvitation(
  tx: Tx,
  caller: Caller,
  need: InvitationNeed,
  input: Input,
  mode: Mode,
): Promise<unknown> {
  const personNeed = { right: 'person', scopes: need.scopes, from: need.person, others: 'hidden' } as const
  const { person } = (await grantUser(tx, caller, personNeed, input, mode)) as PersonGrant
  const sid = input[need.from] as string
  if (mode.canWrite) await tx.lock('shares', sid)
  const invitation = await findInvitation(tx, sid, person.email)
  if (invitation === undefined) throw new Failure('notFound', 'there is no such invitation')
  return { caller, person, invitation }
}
