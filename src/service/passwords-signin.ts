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

/** Work on a password that waits for its turn; those who count failures hear how it ended. */
export type InTurn = (work: () => Promise<boolean>) => Promise<boolean>

export interface SignIns {
  /**
   * The person, or undefined when address and password do not fit. A person whom the directory knows gets an account
   * at the first sign-in where the policy or an invitation lets them in. Throws `unavailable` when the directory has to
   * be asked and does not answer. The second factor is the caller's to ask for.
   */
  verifyPassword(signIn: SignIn, inTurn?: InTurn): Promise<UserRow | undefined>
}

/** The hash of a password that nobody has: an unknown address takes as long to refuse as a wrong password. */
const NOBODY =
  '$argon2id$v=19$m=19456,t=2,p=1$c3RhcmxpbmctbnVsbC1zYWx0$ilm2Ov6rArMw2QcJTCQCvL1hdCJNqM+KN4fNVbDIw1k'

export function signIns(deps: ServiceDeps, db: Db): SignIns {
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

  return {
    async verifyPassword({ email: text, password, origin }, inTurn = deps.hashing.run) {
      if (password.length > PASSWORD_LENGTH_MAX) return undefined
      const email = addressOf(text)
      const user = email === undefined ? undefined : await db.read((tx) => findUserByEmail(tx, email))
      const { directory } = deps
      if (user?.is_external === 1) {
        if (directory === undefined) throw new Failure('unavailable', 'there is no directory to ask')
        return (await directory.verify(user.email, password)) === undefined ? undefined : user
      }
      const isRight = await inTurn(() => verifyLocal(user, password))
      if (user !== undefined || email === undefined) return isRight ? user : undefined
      if (directory === undefined || !(await mayJoin(email))) return undefined
      const entry = await directory.verify(email, password)
      return entry === undefined ? undefined : join(email, entry, origin)
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
