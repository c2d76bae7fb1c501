/** How a person gets an account without an administrator, for the page that lets people sign up. */
import type { Db, Tx } from '../db/db.js'
import {
  deleteInvitee,
  findInvitee,
  findInviteeByCode,
  hasInvitation,
  type InviteeRow,
} from '../db/invitees.js'
import { findUserByEmail, type UserRow } from '../db/users.js'
import { normalAddress } from '../model/addresses.js'
import { Failure } from '../model/failures.js'
import { checkPassword, personName } from '../model/people.js'
import { accounts } from './accounts.js'
import type { ServiceDeps } from './deps.js'
import { holdAddresses } from './invitees.js'

export interface SignUp {
  readonly code?: string | undefined
  /** Needed without a code; with one it must be the invited address. */
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
    const email = isGiven(wish.email) ? normalAddress(wish.email) : undefined
    if (isGiven(wish.code)) {
      const invitee = await findInviteeByCode(tx, wish.code.trim())
      if (invitee === undefined || !(await mayStillInvite(tx, invitee))) throw badCode()
      if (email !== undefined && email !== invitee.email) {
        throw new Failure('forbidden', 'the sign-up code was made for another address')
      }
      return invitee.email
    }
    if (deps.signUpPolicy !== 'open') throw new Failure('forbidden', 'a sign-up code is needed')
    if (email === undefined) throw new Failure('badArgs', 'email is missing')
    if ((await findUserByEmail(tx, email)) !== undefined) throw taken(email)
    const isExpected = (await findInvitee(tx, email)) !== undefined || (await hasInvitation(tx, email))
    if (isExpected) throw new Failure('forbidden', 'this address is invited: its sign-up code is needed')
    return email
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
        // Of two who come with one code the second finds it gone.
        if (isGiven(wish.code) && !(await deleteInvitee(tx, address))) throw badCode()
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

    async addressFor(code) {
      return (await db.read((tx) => findInviteeByCode(tx, code.trim())))?.email
    },
  }
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
