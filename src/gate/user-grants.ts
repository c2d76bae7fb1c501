/** The part of authorization that is about people and their devices; `authorize.ts` alone calls it. */
import type { Tx } from '../db/db.js'
import { findDevice } from '../db/devices.js'
import { findUser, findUserByEmail, type UserRow } from '../db/users.js'
import type { PersonId } from '../model/addresses.js'
import { Failure } from '../model/failures.js'
import type { Caller } from './caller.js'
import type { PersonNeed, UserNeed } from './user-needs.js'

/** Scopes were checked before. */
export async function grantUser(
  tx: Tx,
  caller: Caller,
  need: UserNeed,
  input: Readonly<Record<string, unknown>>,
  mode: { canWrite: boolean; nowMs: number },
): Promise<unknown> {
  if (need.right === 'caller') return { caller }
  if (need.right === 'device') return grantDevice(tx, caller, input[need.from] as string, mode.nowMs)
  return grantPerson(tx, caller, need, input[need.from] as PersonId, mode.canWrite)
}

async function grantPerson(
  tx: Tx,
  caller: Caller,
  need: PersonNeed,
  id: PersonId,
  canWrite: boolean,
): Promise<unknown> {
  const isSelf = 'alias' in id || id.email === caller.email
  const email = 'alias' in id ? caller.email : id.email
  if (!isSelf && !caller.isAdmin) {
    if (need.others === 'refused') {
      throw new Failure('forbidden', 'the account of another person needs the scope organization.admin')
    }
    if (need.others === 'hidden') throw noSuchUser()
  }
  let person = isSelf ? await findUser(tx, caller.userId) : await findUserByEmail(tx, email)
  if (person !== undefined && canWrite) person = await heldUser(tx, caller, person)
  if (person === undefined) throw noSuchUser()
  return { caller, person, isSelf }
}

/**
 * Two who change one person take turns, and the second sees what the first did. The acting person is held too, in one
 * order for everybody: two admins may act on each other, and one who is gone by then acts no more.
 */
async function heldUser(tx: Tx, caller: Caller, { id }: UserRow): Promise<UserRow | undefined> {
  await tx.lock('users', ...new Set([caller.userId, id].sort()))
  if (id !== caller.userId) {
    const acting = await findUser(tx, caller.userId)
    if (acting === undefined) throw new Failure('unauthorized', 'the access token is not valid')
    if (acting.is_admin !== 1) throw new Failure('forbidden', 'you are no admin of the organization')
  }
  return findUser(tx, id)
}

async function grantDevice(tx: Tx, caller: Caller, id: string, nowMs: number): Promise<unknown> {
  const device = await findDevice(tx, id, nowMs)
  const isOwn = device !== undefined && device.user_id === caller.userId
  if (device === undefined || (!isOwn && !caller.isAdmin)) {
    throw new Failure('notFound', 'there is no such device')
  }
  return { caller, device }
}

function noSuchUser(): Failure {
  return new Failure('notFound', 'there is no such user')
}
