import type { Db, Tx } from '../db/db.js'
import { deleteInviteeOf, findInviteeByCode, findInviteeByEmail } from '../db/sign-up.js'
import { Failure } from '../model/failures.js'
import { normalEmail, type Accounts } from './accounts.js'
import type { PasswordQueue } from './password-queue.js'

/** Who may become a user: anybody, whom any user invites, whom an admin invites. */
export type SignUpPolicy = 'open' | 'invited' | 'admin'

export interface SignUpWish {
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
   * Makes an ordinary account that can sign in at once, and uses the code up. `badArgs` for what the person typed,
   * `forbidden` for a missing or worthless code, `conflict` for an address that has an account.
   */
  signUp(wish: SignUpWish): Promise<{ readonly email: string }>
  /** The address that a code was made for, for a form that shows it. */
  addressFor(code: string): Promise<string | undefined>
}

export function signUps(deps: {
  db: Db
  accounts: Accounts
  passwords: PasswordQueue
  policy: SignUpPolicy
  passwordLengthMin: number
}): SignUps {
  const { db } = deps
  const badCode = (): Failure => new Failure('forbidden', 'the sign-up code is not valid')

  /** The address that may be registered now. */
  async function admitted(tx: Tx, wish: SignUpWish): Promise<string> {
    const code = plain(wish.code)
    const email = (wish.email ?? '').trim() === '' ? undefined : normalEmail(wish.email ?? '')
    if (code !== '') {
      const invitee = await findInviteeByCode(tx, code)
      if (invitee === undefined || (email !== undefined && email !== invitee.email)) throw badCode()
      if (deps.policy === 'admin' && invitee.is_from_admin !== 1) throw badCode()
      return invitee.email
    }
    if (deps.policy !== 'open') throw new Failure('forbidden', 'a sign-up code is needed')
    if (email === undefined) throw new Failure('badArgs', 'email is missing')
    // What waits for an invited address is for the one who can read its mail.
    if ((await findInviteeByEmail(tx, email)) !== undefined) {
      throw new Failure('forbidden', 'this address is invited: its sign-up code is needed')
    }
    return email
  }

  return {
    async signUp(wish) {
      await db.read((tx) => admitted(tx, wish))
      const passwordHash = await deps.passwords.hash(wish.password, deps.passwordLengthMin)
      return db.write(async (tx) => {
        await tx.lock('meta', 'epoch')
        const email = await admitted(tx, wish)
        const { firstName, lastName, origin } = wish
        const actor = { userId: '', deviceId: '', origin }
        await deps.accounts.add(tx, actor, { email, firstName, lastName, isAdmin: false, passwordHash })
        await deleteInviteeOf(tx, email)
        return { email }
      })
    },

    async addressFor(code) {
      return (await db.read((tx) => findInviteeByCode(tx, plain(code))))?.email
    },
  }
}

/** As it was sent, without what typing and copying adds. */
function plain(code: string | undefined): string {
  return (code ?? '').replace(/[\s\p{Cc}]/gu, '')
}
