import type { Tx } from '../db/db.js'
import { insertObject, measureSubtree } from '../db/objects.js'
import { deleteStore, insertStore } from '../db/stores.js'
import { deleteStoreObjects, listStagedOfUser } from '../db/removal.js'
import {
  countAdmins,
  deleteUser,
  findUserByEmail,
  insertUser,
  setUserAdmin,
  setUserPassword,
  setUserQuota,
  type UserRow,
} from '../db/users.js'
import { Failure } from '../model/failures.js'
import { ZERO_OID } from '../model/ids.js'
import { nameKey, ROOT_NAME } from '../model/names.js'
import { randomHex } from '../model/secrets.js'
import type { ServiceDeps } from './deps.js'
import { record, type Actor } from './journal.js'
import { releaseContents, removeStaged } from './release.js'

const ID_BYTES = 16
const EMAIL_LENGTH_MAX = 254

export interface NewUser {
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  readonly isAdmin: boolean
  readonly passwordHash: string | null
}

export interface Accounts {
  add(tx: Tx, actor: Actor, user: NewUser): Promise<UserRow>
  remove(tx: Tx, actor: Actor, email: string): Promise<void>
  setPassword(tx: Tx, actor: Actor, email: string, passwordHash: string | null): Promise<void>
  setAdmin(tx: Tx, actor: Actor, email: string, isAdmin: boolean): Promise<void>
  setQuota(tx: Tx, actor: Actor, email: string, quotaBytes: number | null): Promise<void>
}

/** Trimmed and lower-cased, one `@` with something on both sides. */
export function normalEmail(text: string): string {
  const email = text.trim().toLowerCase()
  const parts = email.split('@')
  const isAddress = parts.length === 2 && parts.every((part) => part !== '') && !/[\s\p{Cc}]/u.test(email)
  if (!isAddress || email.length > EMAIL_LENGTH_MAX)
    throw new Failure('badArgs', 'email must be an e-mail address')
  return email
}

/** The library's argon2id, off the main thread. */
export async function hashPassword(password: string, lengthMin: number): Promise<string> {
  if (password.length < lengthMin) {
    throw new Failure('badArgs', `the password must have at least ${lengthMin} characters`)
  }
  const argon2 = await import('@node-rs/argon2')
  return argon2.hash(password)
}

export function accounts(deps: ServiceDeps): Accounts {
  async function find(tx: Tx, email: string): Promise<UserRow> {
    const user = await findUserByEmail(tx, normalEmail(email))
    if (user === undefined) throw new Failure('notFound', `there is no user ${normalEmail(email)}`)
    await tx.lock('users', user.id)
    return user
  }

  async function checkNotLastAdmin(tx: Tx, user: UserRow, what: string): Promise<void> {
    if (user.is_admin !== 1) return
    // The organization has no row of its own; this one is always there. Without turns the last two could go at once.
    await tx.lock('meta', 'epoch')
    if ((await countAdmins(tx)) === 1) {
      throw new Failure('conflict', `the last admin of the organization cannot be ${what}`)
    }
  }

  return {
    async add(tx, actor, given) {
      const email = normalEmail(given.email)
      if ((await findUserByEmail(tx, email)) !== undefined)
        throw new Failure('conflict', `${email} is a user already`)
      const nowMs = deps.now()
      const sid = randomHex(ID_BYTES)
      const user: UserRow = {
        id: randomHex(ID_BYTES),
        email,
        first_name: required(given.firstName, 'first_name'),
        last_name: required(given.lastName, 'last_name'),
        is_admin: given.isAdmin ? 1 : 0,
        password_hash: given.passwordHash,
        quota: null,
        root_sid: sid,
        is_external: 0,
        second_factor: null,
      }
      await insertStore(tx, sid, 'root', nowMs)
      await insertObject(tx, {
        sid,
        oid: ZERO_OID,
        parent: null,
        name: ROOT_NAME,
        nameKey: nameKey(ROOT_NAME),
        kind: 'folder',
        nowMs,
      })
      await insertUser(tx, user, nowMs)
      await record(tx, actor, {
        atMs: nowMs,
        action: 'user.create',
        subject: email,
        after: { admin: given.isAdmin },
      })
      return user
    },

    async remove(tx, actor, email) {
      const user = await find(tx, email)
      await checkNotLastAdmin(tx, user, 'removed')
      const sid = user.root_sid
      await tx.lock('stores', sid)
      const gone = await measureSubtree(tx, sid, ZERO_OID)
      const staged = await listStagedOfUser(tx, user.id)
      await deleteStoreObjects(tx, sid)
      await releaseContents(tx, deps, gone.contents)
      await deleteUser(tx, user.id)
      await deleteStore(tx, sid)
      await record(tx, actor, {
        atMs: deps.now(),
        action: 'user.delete',
        subject: user.email,
        before: { root: sid, objects: gone.objects, bytes: gone.bytes },
      })
      tx.afterCommit(() => {
        for (const name of staged) removeStaged(deps, name)
        deps.signal({ sid })
      })
    },

    async setPassword(tx, actor, email, passwordHash) {
      const user = await find(tx, email)
      await setUserPassword(tx, user.id, passwordHash)
      await record(tx, actor, { atMs: deps.now(), action: 'user.password', subject: user.email })
    },

    async setAdmin(tx, actor, email, isAdmin) {
      const user = await find(tx, email)
      if (!isAdmin) await checkNotLastAdmin(tx, user, 'made an ordinary user')
      await setUserAdmin(tx, user.id, isAdmin)
      await record(tx, actor, {
        atMs: deps.now(),
        action: 'user.admin',
        subject: user.email,
        after: { admin: isAdmin },
      })
    },

    async setQuota(tx, actor, email, quotaBytes) {
      const user = await find(tx, email)
      await setUserQuota(tx, user.id, quotaBytes)
      await record(tx, actor, {
        atMs: deps.now(),
        action: 'user.quota',
        subject: user.email,
        after: { quotaBytes },
      })
    },
  }
}

const PERSON_NAME_LENGTH_MAX = 255

function required(text: string, key: string): string {
  const name = text.trim()
  if (name === '' || name.length > PERSON_NAME_LENGTH_MAX || /\p{Cc}/u.test(name)) {
    throw new Failure('badArgs', `${key} must have 1 to ${PERSON_NAME_LENGTH_MAX} characters`)
  }
  return name
}
