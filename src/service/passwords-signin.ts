/** Whether a person is who they say, for pages that sign people in. */
import type { Db } from '../db/db.js'
import { deleteInvitee, findInvitee } from '../db/invitees.js'
import { findUserByEmail, type UserRow } from '../db/users.js'
import { normalAddress } from '../model/addresses.js'
import { Failure } from '../model/failures.js'
import { PASSWORD_LENGTH_MAX } from '../model/people.js'
import { accounts } from './accounts.js'
import type { DirectoryEntry, ServiceDeps } from './deps.js'

export interface SignIn {
  readonly email: string
  readonly password: string
  /** The address of the peer, for the change log. */
  readonly origin: string
}

/** What counts failures wraps both kinds of work: it hears how each ended, and decides when it begins. */
export interface InTurn {
  /** Undefined: the hash decides nothing, the directory is asked next. */
  hash(work: () => Promise<boolean | undefined>): Promise<boolean | undefined>
  ask(email: string, work: () => Promise<boolean>): Promise<boolean>
}

export interface SignIns {
  /**
   * The person, or undefined when address and password do not fit. A person whom the directory knows gets an account
   * at the first sign-in where the policy or an invitation lets them in. Throws `unavailable` when the directory has to
   * be asked and does not answer. The second factor is the caller's to ask for. Every refusal costs one hash and, where
   * there is a directory, a search and a bind: the time tells nobody what kind of account an address has, if any.
   */
  verifyPassword(signIn: SignIn, inTurn?: InTurn): Promise<UserRow | undefined>
}

/** The hash of a password that nobody has: an unknown address takes as long to refuse as a wrong password. */
const NOBODY =
  '$argon2id$v=19$m=19456,t=2,p=1$c3RhcmxpbmctbnVsbC1zYWx0$ilm2Ov6rArMw2QcJTCQCvL1hdCJNqM+KN4fNVbDIw1k'

const NOBODYS_ADDRESS = 'nobody@nowhere.invalid'

export function signIns(deps: ServiceDeps, db: Db): SignIns {
  /** One hash for everybody, whether or not there is a password to compare with. */
  async function verifyLocal(user: UserRow | undefined, password: string): Promise<boolean> {
    const isRight = await deps.hashing.verify(user?.password_hash ?? NOBODY, password)
    return isRight && user !== undefined && user.password_hash !== null
  }

  /** Whether somebody without an account may get one by signing in. */
  async function mayJoin(email: string): Promise<boolean> {
    if (deps.signUpPolicy === 'open') return true
    return (await db.read((tx) => findInvitee(tx, email))) !== undefined
  }

  /** All is looked at again in the transaction: the invitation may be gone, or the account be there by now. */
  async function join(email: string, entry: DirectoryEntry, origin: string): Promise<UserRow | undefined> {
    return db.write(async (tx) => {
      const existing = await findUserByEmail(tx, email)
      if (existing !== undefined) return existing.is_external === 1 ? existing : undefined
      const isInvited = await deleteInvitee(tx, email)
      if (!isInvited && deps.signUpPolicy !== 'open') return undefined
      const [local = email] = email.split('@')
      return accounts(deps).add(
        tx,
        { userId: '', deviceId: '', origin },
        {
          email,
          firstName: entry.firstName ?? local,
          lastName: entry.lastName ?? local,
          isAdmin: false,
          passwordHash: null,
          isExternal: true,
        },
      )
    })
  }

  /** Whether the directory holds the password; a bind without a password would be an anonymous one. */
  async function isAsked(
    user: UserRow | undefined,
    email: string | undefined,
    password: string,
  ): Promise<boolean> {
    if (email === undefined || password === '' || deps.directory === undefined) return false
    return user === undefined ? mayJoin(email) : user.is_external === 1
  }

  async function askDirectory(
    email: string,
    password: string,
    inTurn: InTurn,
  ): Promise<DirectoryEntry | undefined> {
    let entry: DirectoryEntry | undefined
    await inTurn.ask(email, async () => {
      entry = await deps.directory?.verify(email, password)
      return entry !== undefined
    })
    return entry
  }

  const atOnce: InTurn = { hash: deps.hashing.run, ask: (_, work) => work() }

  return {
    async verifyPassword({ email: text, password, origin }, inTurn = atOnce) {
      if (password.length > PASSWORD_LENGTH_MAX) return undefined
      const email = addressOf(text)
      const user = email === undefined ? undefined : await db.read((tx) => findUserByEmail(tx, email))
      if (user?.is_external === 1 && deps.directory === undefined) {
        throw new Failure('unavailable', 'there is no directory to ask')
      }
      const isDirectorys = await isAsked(user, email, password)
      const isRight = await inTurn.hash(async () => {
        const fits = await verifyLocal(user, password)
        return isDirectorys ? undefined : fits
      })
      if (isRight === true) return user
      if (!isDirectorys || email === undefined) {
        // A directory that is away is the business of those alone whom it signs in.
        await deps.directory?.pretend(email ?? NOBODYS_ADDRESS).catch(() => undefined)
        return undefined
      }
      const entry = await askDirectory(email, password, inTurn)
      if (entry === undefined) return undefined
      return user ?? join(email, entry, origin)
    },
  }
}

function addressOf(text: string): string | undefined {
  try {
    return normalAddress(text)
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}
