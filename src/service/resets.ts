import type { Db } from '../db/db.js'
import { deleteResets, findReset, putReset } from '../db/resets.js'
import { deleteKnownBrowsers, findSignIn, findSignInById } from '../db/sessions.js'
import { normalAddress } from '../model/addresses.js'
import { Failure } from '../model/failures.js'
import { hashSecret, randomHex } from '../model/secrets.js'
import type { Accounts } from './accounts.js'
import { networkOf, type Guesses } from './guesses.js'
import { queueMail } from './mail.js'
import type { PasswordQueue } from './password-queue.js'
import type { Sessions } from './sessions.js'

const CODE_BYTES = 32

/** What the mail says; the page's words, so that there is one place to translate. */
export interface ResetMail {
  readonly subject: string
  readonly body: (code: string, lifetimeMs: number) => string
  /** For those whose password a directory keeps. */
  readonly external: string
}

export interface Resets {
  /**
   * Sends a link if there is such an account, in the background: the answer tells nothing. `badArgs` for what is no
   * address, 429 after too many.
   */
  ask(email: string, origin: string, mail: ResetMail): Promise<void>
  isGood(code: string): Promise<boolean>
  /** Sets the password, uses the link up, and ends every session of the person. */
  redeem(code: string, password: string, origin: string): Promise<void>
}

export function resets(deps: {
  now: () => number
  db: Db
  accounts: Accounts
  sessions: Sessions
  passwords: PasswordQueue
  guesses: Guesses
  lifetimeMs: number
  passwordLengthMin: number
  complain: (message: string, error: unknown) => void
}): Resets {
  const { db, guesses: counts } = deps
  const wrongCode = (): Failure => new Failure('notFound', 'the link does not work any more')

  async function send(email: string, mail: ResetMail): Promise<void> {
    await db.write(async (tx) => {
      const user = await findSignIn(tx, email)
      if (user === undefined) return
      const to = user.email
      const { subject } = mail
      if (user.is_external === 1) return queueMail(tx, { to, subject, body: mail.external }, deps.now())
      const code = randomHex(CODE_BYTES)
      await putReset(tx, hashSecret(code), user.user_id, deps.now() + deps.lifetimeMs)
      const body = mail.body(code, deps.lifetimeMs)
      await queueMail(tx, { to, subject, body }, deps.now())
    })
  }

  return {
    async ask(text, origin, mail) {
      const email = normalAddress(text)
      const keys = [
        { purpose: 'reset from', subject: networkOf(origin) },
        { purpose: 'reset of', subject: email },
      ]
      await db.write((tx) => counts.claim(tx, ...keys))
      void send(email, mail).catch((error: unknown) => deps.complain('a reset could not be sent', error))
    },

    async isGood(code) {
      const found = await db.read((tx) => findReset(tx, hashSecret(code)))
      return found !== undefined && found.expires_ms > deps.now()
    },

    async redeem(code, password, origin) {
      const guesser = { purpose: 'reset code from', subject: networkOf(origin) }
      await counts.check(guesser)
      if (!(await this.isGood(code))) {
        await db.write((tx) => counts.count(tx, guesser))
        throw wrongCode()
      }
      const passwordHash = await deps.passwords.hash(password, deps.passwordLengthMin)
      await db.write(async (tx) => {
        const hash = hashSecret(code)
        await tx.lock('resets', hash)
        const reset = await findReset(tx, hash)
        const user = reset === undefined ? undefined : await findSignInById(tx, reset.user_id)
        if (reset === undefined || user === undefined || reset.expires_ms <= deps.now()) throw wrongCode()
        await deleteResets(tx, user.user_id)
        const actor = { userId: user.user_id, deviceId: '', origin }
        await deps.accounts.setPassword(tx, actor, user.email, passwordHash)
        await deps.sessions.endAll(tx, user.user_id)
        await deleteKnownBrowsers(tx, user.user_id)
      })
    },
  }
}
