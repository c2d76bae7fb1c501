/** The part of authorization that is about groups of the organization. */
import type { Tx } from '../db/db.js'
import { findGroup, findGroupMember, listSidsOfGroup } from '../db/groups.js'
import { findUserByEmail } from '../db/users.js'
import type { PersonId } from '../model/addresses.js'
import { Failure } from '../model/failures.js'
import type { Caller } from './caller.js'
import type { GroupEntry, GroupGrant } from './grants.js'
import type { GroupNeed } from './group-needs.js'

/** Scopes were checked before, and with them who may change groups. */
export async function grantGroup(
  tx: Tx,
  caller: Caller,
  need: GroupNeed,
  input: Readonly<Record<string, unknown>>,
  mode: { readonly canWrite: boolean },
): Promise<unknown> {
  const id = input[need.from] as string
  const named = need.by === undefined ? undefined : (input[need.by] as PersonId | string | undefined)
  const email = named === undefined ? undefined : emailOf(caller, named)
  if (mode.canWrite && need.to === 'change') await lockConcerned(tx, id, need.entry, email)
  return grantOf(tx, caller, id, need.entry, email)
}

/** The operator of the installation may read and change every group. */
export async function operatorGroup<E extends GroupEntry>(
  tx: Tx,
  actor: GroupGrant['actor'],
  wish: { readonly to: 'read' | 'change'; readonly id: string; readonly entry: E; readonly email?: string },
): Promise<GroupGrant<E>> {
  const { to, id, entry, email } = wish
  if (to === 'change') await lockConcerned(tx, id, entry, email)
  return (await grantOf(tx, actor, id, entry, email)) as GroupGrant<E>
}

/** In the order that everybody keeps: people, groups, and all shares that the group is in. */
async function lockConcerned(
  tx: Tx,
  id: string,
  entry: GroupEntry,
  email: string | undefined,
): Promise<void> {
  if (entry !== 'none' && email !== undefined) {
    const user = await findUserByEmail(tx, email)
    if (user !== undefined) await tx.lock('users', user.id)
  }
  await tx.lock('org_groups', id)
  const sids = await listSidsOfGroup(tx, id)
  if (sids.length > 0) await tx.lock('shares', ...sids)
}

async function grantOf(
  tx: Tx,
  actor: GroupGrant['actor'],
  id: string,
  entry: GroupEntry,
  email: string | undefined,
): Promise<unknown> {
  const group = await findGroup(tx, id)
  if (group === undefined) throw new Failure('notFound', 'there is no such group')
  return { actor, group, entry: email === undefined ? undefined : await findEntry(tx, id, entry, email) }
}

async function findEntry(tx: Tx, id: string, entry: GroupEntry, email: string): Promise<unknown> {
  if (entry === 'member') {
    const member = await findGroupMember(tx, id, email)
    if (member === undefined) throw new Failure('notFound', `${email} is not in the group`)
    return member
  }
  const user = await findUserByEmail(tx, email)
  if (user === undefined) throw new Failure('notFound', `there is no user ${email}`)
  return user
}

function emailOf(caller: Caller, named: PersonId | string): string {
  if (typeof named === 'string') return named
  return 'alias' in named ? caller.email : named.email
}
