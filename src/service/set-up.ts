/** The first account of an empty installation, made in a browser by whoever can read what the server printed. */
import type { Db } from '../db/db.js'
import { deleteSetUpCode, findSetUpCode, putSetUpCode } from '../db/set-up.js'
import { countUsers } from '../db/users.js'
import { Failure } from '../model/failures.js'
import { hashSecret, randomHex, sameSecret } from '../model/secrets.js'
import type { Accounts } from './accounts.js'
import { networkOf, type Guesses } from './guesses.js'
import type { PasswordQueue } from './password-queue.js'

const CODE_BYTES = 32

export interface FirstAdmin {
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  readonly password: string
  readonly origin: string
}

export interface SetUp {
  isGood(code: string): Promise<boolean>
  /** Makes the first admin; the code is worth nothing afterwards. */
  redeem(code: string, admin: FirstAdmin): Promise<void>
}

/** A new code in place of the one before, if there is no account yet. */
export async function offerSetUp(db: Db): Promise<string | undefined> {
  const code = randomHex(CODE_BYTES)
  if ((await db.read(countUsers)) > 0) return undefined
  await db.write((tx) => putSetUpCode(tx, hashSecret(code)))
  return code
}

export function setUp(deps: {
  db: Db
  accounts: Accounts
  passwords: PasswordQueue
  guesses: Guesses
  passwordLengthMin: number
}): SetUp {
  const { db, guesses: counts } = deps

  async function isGood(code: string): Promise<boolean> {
    return db.read(async (tx) => {
      const stored = await findSetUpCode(tx)
      return stored !== undefined && sameSecret(hashSecret(code), stored) && (await countUsers(tx)) === 0
    })
  }

  return {
    isGood,

    async redeem(code, admin) {
      const guesser = { purpose: 'set-up from', subject: networkOf(admin.origin) }
      await counts.check(guesser)
      if (!(await isGood(code))) {
        await db.write((tx) => counts.count(tx, guesser))
        throw new Failure('notFound', 'the set-up link does not work any more')
      }
      const passwordHash = await deps.passwords.hash(admin.password, deps.passwordLengthMin)
      await db.write(async (tx) => {
        // Two who come at once take turns; the second finds an account.
        await tx.lock('meta', 'epoch')
        if ((await countUsers(tx)) > 0)
          throw new Failure('notFound', 'the set-up link does not work any more')
        const { email, firstName, lastName, origin } = admin
        const actor = { userId: '', deviceId: '', origin }
        await deps.accounts.add(tx, actor, { email, firstName, lastName, isAdmin: true, passwordHash })
        await deleteSetUpCode(tx)
      })
    },
  }
}
