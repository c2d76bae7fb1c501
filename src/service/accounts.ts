import type { Tx } from '../db/db.js'
import { deleteInvitee } from '../db/invitees.js'
import { deleteSignUpCodes } from '../db/sign-up-codes.js'
import {
  countAdmins,
  findOtherAdmin,
  findUser,
  findUserByEmail,
  insertUser,
  listPeopleAfter,
  listPeopleBefore,
  setUserAdmin,
  setUserNames,
  setUserQuota,
  type PersonRow,
  type UserRow,
} from '../db/users.js'
import type { CallerGrant, PersonGrant } from '../gate/grants.js'
import { normalAddress } from '../model/addresses.js'
import { Failure } from '../model/failures.js'
import { ROOT_NAME } from '../model/names.js'
import type { Page, PageWish } from '../model/pages.js'
import { personName } from '../model/people.js'
import { randomHex } from '../model/secrets.js'
import { deleteUser } from './accounts-removal.js'
import type { ServiceDeps } from './deps.js'
import { holdAddresses } from './invitees.js'
import { record, type Actor } from './journal.js'
import { changePassword } from './passwords.js'
import { addressGotAccount, personRenamed } from './sharing.js'
import { createStore } from './stores.js'

export { hashPassword } from './passwords.js'
export type { PersonRow, UserRow } from '../db/users.js'

const ID_BYTES = 16

export interface NewUser {
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  readonly isAdmin: boolean
  readonly passwordHash: string | null
  /** An external directory holds the password. */
  readonly isExternal?: boolean
}

export interface Accounts {
  add(tx: Tx, actor: Actor, user: NewUser): Promise<UserRow>
  /** For a caller who may make users. */
  create(tx: Tx, grant: CallerGrant, user: Omit<NewUser, 'isAdmin' | 'passwordHash'>): Promise<UserRow>
  page(tx: Tx, grant: CallerGrant, wish: PageWish): Promise<Page<PersonRow>>
  rename(tx: Tx, grant: PersonGrant, names: { firstName?: string; lastName?: string }): Promise<UserRow>
  /** By the API: what needs an owner goes to the acting admin, unless the admin is the one who goes. */
  delete(tx: Tx, grant: PersonGrant): Promise<void>
  /** By the command line: what needs an owner goes to the admin with the lowest address. */
  remove(tx: Tx, actor: Actor, email: string): Promise<void>
  setPassword(tx: Tx, actor: Actor, email: string, passwordHash: string | null): Promise<void>
  setAdmin(tx: Tx, actor: Actor, email: string, isAdmin: boolean): Promise<void>
  setQuota(tx: Tx, actor: Actor, email: string, quotaBytes: number | null): Promise<void>
}

export function normalEmail(text: string): string {
  return normalAddress(text)
}

export function accounts(deps: ServiceDeps): Accounts {
  async function find(tx: Tx, email: string): Promise<UserRow> {
    const user = await findUserByEmail(tx, normalEmail(email))
    if (user === undefined) throw noSuchUser(email)
    return user
  }

  async function findHeld(tx: Tx, email: string): Promise<UserRow> {
    const held = await hold(tx, (await find(tx, email)).id)
    if (held === undefined) throw noSuchUser(email)
    return held
  }

  const add: Accounts['add'] = async (tx, actor, given) => {
    const email = normalEmail(given.email)
    const firstName = personName(given.firstName, 'first_name')
    const lastName = personName(given.lastName, 'last_name')
    await holdAddresses(tx)
    const taken = new Failure('conflict', `${email} is a user already`)
    if ((await findUserByEmail(tx, email)) !== undefined) throw taken
    const nowMs = deps.now()
    const user: UserRow = {
      id: randomHex(ID_BYTES),
      email,
      first_name: firstName,
      last_name: lastName,
      is_admin: given.isAdmin ? 1 : 0,
      password_hash: given.passwordHash,
      quota: null,
      root_sid: await createStore(tx, { kind: 'root', name: ROOT_NAME }, nowMs),
      is_external: given.isExternal === true ? 1 : 0,
      second_factor: null,
    }
    if (!(await insertUser(tx, user, nowMs))) throw taken
    await deleteInvitee(tx, email)
    await deleteSignUpCodes(tx, email)
    await addressGotAccount(tx, user)
    await record(tx, actor, {
      atMs: nowMs,
      action: 'user.create',
      subject: email,
      after: { id: user.id, admin: given.isAdmin, external: user.is_external === 1 },
    })
    return user
  }

  return {
    add,

    create: (tx, { caller }, user) => add(tx, caller, { ...user, isAdmin: false, passwordHash: null }),

    page: (tx, _, wish) => pageOfPeople(tx, wish),

    rename: (tx, { caller, person }, names) => renamePerson(tx, deps, caller, person, names),

    async delete(tx, { caller, person, isSelf }) {
      const heir = isSelf ? undefined : await findUser(tx, caller.userId)
      await checkNotLastAdmin(tx, person, 'deleted')
      await deleteUser(tx, deps, caller, person, heir)
    },

    async remove(tx, actor, email) {
      const { id } = await find(tx, email)
      const heir = await findOtherAdmin(tx, id)
      const user = await hold(tx, id, ...(heir === undefined ? [] : [heir.id]))
      if (user === undefined) throw noSuchUser(email)
      await checkNotLastAdmin(tx, user, 'removed')
      await deleteUser(tx, deps, actor, user, heir)
    },

    async setPassword(tx, actor, email, passwordHash) {
      await changePassword(tx, deps, actor, await findHeld(tx, email), passwordHash)
    },

    async setAdmin(tx, actor, email, isAdmin) {
      const user = await findHeld(tx, email)
      if (!isAdmin) await checkNotLastAdmin(tx, user, 'made an ordinary user')
      await setUserAdmin(tx, user.id, isAdmin)
      await record(tx, actor, {
        atMs: deps.now(),
        action: 'user.admin',
        subject: user.email,
        before: { admin: user.is_admin === 1 },
        after: { admin: isAdmin },
      })
    },

    async setQuota(tx, actor, email, quotaBytes) {
      const user = await findHeld(tx, email)
      await setUserQuota(tx, user.id, quotaBytes)
      await record(tx, actor, {
        atMs: deps.now(),
        action: 'user.quota',
        subject: user.email,
        before: { quotaBytes: user.quota },
        after: { quotaBytes },
      })
    },
  }
}

/** Changes the names of a person whose row is locked; they are shown to everybody who shares with them. */
export async function renamePerson(
  tx: Tx,
  deps: Pick<ServiceDeps, 'now'>,
  actor: Actor,
  person: UserRow,
  names: { firstName?: string; lastName?: string },
): Promise<UserRow> {
  const firstName = names.firstName ?? person.first_name
  const lastName = names.lastName ?? person.last_name
  if (firstName === person.first_name && lastName === person.last_name) return person
  await setUserNames(tx, person.id, { firstName, lastName })
  await personRenamed(tx, person)
  await record(tx, actor, {
    atMs: deps.now(),
    action: 'user.rename',
    subject: person.email,
    before: { firstName: person.first_name, lastName: person.last_name },
    after: { firstName, lastName },
  })
  return { ...person, first_name: firstName, last_name: lastName }
}

/** The first of the people as they are now; nobody changes any of them until the end of the transaction. */
async function hold(tx: Tx, id: string, ...others: readonly string[]): Promise<UserRow | undefined> {
  await tx.lock('users', ...[id, ...others].sort())
  return findUser(tx, id)
}

function noSuchUser(email: string): Failure {
  return new Failure('notFound', `there is no user ${normalEmail(email)}`)
}

async function checkNotLastAdmin(tx: Tx, user: UserRow, what: string): Promise<void> {
  if (user.is_admin !== 1) return
  // The organization has no row of its own; this one is always there. Without turns the last two could go at once.
  await tx.lock('meta', 'epoch')
  if ((await countAdmins(tx)) === 1) {
    throw new Failure('conflict', `the last admin of the organization cannot be ${what}`)
  }
}

/** One row more than wanted tells whether there are more. */
async function pageOfPeople(tx: Tx, { limit, after, before }: PageWish): Promise<Page<PersonRow>> {
  const rowsMax = limit === 0 ? Number.MAX_SAFE_INTEGER : limit + 1
  const isBackwards = before !== undefined && after === undefined
  const rows = isBackwards
    ? await listPeopleBefore(tx, before, rowsMax)
    : await listPeopleAfter(tx, { after: after ?? '', before: before ?? '' }, rowsMax)
  const hasMore = limit > 0 && rows.length > limit
  const data = hasMore ? rows.slice(0, limit) : rows
  return { hasMore, data: isBackwards ? data.reverse() : data }
}
