/** How a person gets an account without an administrator, for the page that lets people sign up. */
import type { Db, Tx } from '../db/db.js'
import { findInvitee, findInviteeByCode, hasInvitation, type InviteeRow } from '../db/invitees.js'
import { findSignUpCode } from '../db/sign-up-codes.js'
import { findUserByEmail, type UserRow } from '../db/users.js'
import { normalAddress } from '../model/addresses.js'
import { Failure } from '../model/failures.js'
import { checkPassword, personName } from '../model/people.js'
import { hashSecret } from '../model/secrets.js'
import { accounts } from './accounts.js'
import type { ServiceDeps } from './deps.js'
import { holdAddresses } from './invitees.js'

export interface SignUp {
  /** Of an invitation, or one by which the address was confirmed. */
  readonly code?: string | undefined
  /** It need not be given; if it is, it must be the address that the code was made for. */
  readonly email?: string | undefined
  readonly firstName: string
  readonly lastName: string
  readonly password: string
  /** The address of the peer, for the change log. */
  readonly origin: string
}

export interface SignUps {
  /**
   * Makes an ordinary account that can sign in at once, and uses the code up. Refused, it changes nothing: `badArgs` for
   * what the person typed, `forbidden` for a missing or worthless code, `conflict` for an address that has an account.
   */
  signUp(wish: SignUp): Promise<UserRow>
  /** The address that a code was made for, for a form that shows it. */
  addressFor(code: string): Promise<string | undefined>
}

export function signUps(deps: ServiceDeps, db: Db): SignUps {
  /** The address that may be registered now. */
  async function admitted(tx: Tx, wish: SignUp): Promise<string> {
    if (!isGiven(wish.code)) throw new Failure('forbidden', 'a sign-up code is needed')
    const code = wish.code.trim()
    const invitee = await findInviteeByCode(tx, code)
    if (invitee !== undefined && !(await mayStillInvite(tx, invitee))) throw badCode()
    const address = invitee?.email ?? (await confirmed(tx, code))
    if (address === undefined) throw badCode()
    // Whoever is expected comes with the code of the invitation.
    if (invitee === undefined && (await isExpected(tx, address))) {
      throw new Failure('forbidden', 'this address is invited: its sign-up code is needed')
    }
    if (isGiven(wish.email) && normalAddress(wish.email) !== address) {
      throw new Failure('forbidden', 'the sign-up code was made for another address')
    }
    return address
  }

  /** The address of somebody who has read the mail to it. */
  async function confirmed(tx: Tx, code: string): Promise<string | undefined> {
    if (deps.signUpPolicy !== 'open') return undefined
    const found = await findSignUpCode(tx, hashSecret(code))
    return found === undefined || found.expires_ms <= deps.now() ? undefined : found.email
  }

  /** Where only admins invite, a code is worth what the one who gave it is; the command line is an admin. */
  async function mayStillInvite(tx: Tx, invitee: InviteeRow): Promise<boolean> {
    if (deps.signUpPolicy !== 'admin' || invitee.email_from === '') return true
    return (await findUserByEmail(tx, invitee.email_from))?.is_admin === 1
  }

  return {
    async signUp(wish) {
      const firstName = personName(wish.firstName, 'first_name')
      const lastName = personName(wish.lastName, 'last_name')
      checkPassword(wish.password, deps.passwordLengthMin)
      const email = await db.read((tx) => admitted(tx, wish))
      if (deps.directory !== undefined && (await deps.directory.find(email)) !== undefined) {
        throw new Failure('forbidden', 'sign in with the password of your organization')
      }
      const passwordHash = await deps.hashing.hash(wish.password, deps.passwordLengthMin)
      return db.write(async (tx) => {
        await holdAddresses(tx)
        const address = await admitted(tx, wish)
        if ((await findUserByEmail(tx, address)) !== undefined) throw taken(address)
        // With the account both kinds of code go: of two who come with one the second finds it gone.
        const actor = { userId: '', deviceId: '', origin: wish.origin }
        return accounts(deps).add(tx, actor, {
          email: address,
          firstName,
          lastName,
          isAdmin: false,
          passwordHash,
        })
      })
    },

    addressFor: (code) =>
      db.read(async (tx) => {
        const invitee = await findInviteeByCode(tx, code.trim())
        return invitee?.email ?? confirmed(tx, code.trim())
      }),
  }
}

/** Whether an invitation waits for the address, to the organization or to a shared folder. */
export async function isExpected(tx: Tx, email: string): Promise<boolean> {
  return (await findInvitee(tx, email)) !== undefined || hasInvitation(tx, email)
}

function isGiven(text: string | undefined): text is string {
  return text !== undefined && text.trim() !== ''
}

function badCode(): Failure {
  return new Failure('forbidden', 'the sign-up code is not valid')
}

function taken(email: string): Failure {
  return new Failure('conflict', `${email} is a user already`)
}
