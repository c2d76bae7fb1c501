/** Where anybody may sign up: a mail to the address comes before the account, so that nobody takes somebody else's. */
import type { Db, Tx } from '../db/db.js'
import { putSignUpCode } from '../db/sign-up-codes.js'
import { findUserByEmail } from '../db/users.js'
import { normalAddress } from '../model/addresses.js'
import { Failure } from '../model/failures.js'
import { hashSecret, randomHex } from '../model/secrets.js'
import type { ServiceDeps } from './deps.js'
import { networkOf, type Guesses } from './guesses.js'
import { isExpected } from './invitees-signup.js'
import { queueMail } from './mail.js'

const CODE_BYTES = 32

/** Mails to one address are counted for longer than failures are: nobody's mailbox is filled by a stranger. */
const MAILS_WINDOW_FACTOR = 15

/** What the mails say; the pages' words, so that there is one place to translate. */
export interface SignUpMail {
  readonly subject: string
  readonly body: (code: string, lifetimeMs: number) => string
  /** For those who have an account already. */
  readonly known: string
  /** For those whose invitation waits for them. */
  readonly invited: string
  /** For those whom a directory signs in. */
  readonly external: string
}

export interface SignUpCodes {
  /**
   * Sends what this address needs to hear, in the background: the answer tells nothing of it. `badArgs` for what is no
   * address, `forbidden` where sign-up is not open, 429 after too many.
   */
  ask(address: string, origin: string, mail: SignUpMail): Promise<void>
  /** The work of that, in the foreground and uncounted. */
  send(address: string, mail: SignUpMail): Promise<void>
}

export function signUpCodes(
  deps: Pick<ServiceDeps, 'now' | 'directory' | 'signUpPolicy' | 'complain'>,
  parts: { db: Db; guesses: Guesses; lifetimeMs: number },
): SignUpCodes {
  const { db } = parts

  async function bodyFor(tx: Tx, email: string, isExternal: boolean, mail: SignUpMail): Promise<string> {
    if ((await findUserByEmail(tx, email)) !== undefined) return mail.known
    if (isExternal) return mail.external
    if (await isExpected(tx, email)) return mail.invited
    const code = randomHex(CODE_BYTES)
    await putSignUpCode(tx, hashSecret(code), email, deps.now() + parts.lifetimeMs)
    return mail.body(code, parts.lifetimeMs)
  }

  function checked(address: string): string {
    if (deps.signUpPolicy !== 'open') throw new Failure('forbidden', 'a sign-up code is needed')
    return normalAddress(address)
  }

  async function send(address: string, mail: SignUpMail): Promise<void> {
    const email = checked(address)
    const isExternal = (await deps.directory?.find(email)) !== undefined
    await db.write(async (tx) => {
      const body = await bodyFor(tx, email, isExternal, mail)
      await queueMail(tx, { to: email, subject: mail.subject, body }, deps.now())
    })
  }

  return {
    send,

    async ask(address, origin, mail) {
      const email = checked(address)
      await db.write((tx) =>
        parts.guesses.claim(
          tx,
          { purpose: 'sign-up mail from', subject: networkOf(origin) },
          { purpose: 'sign-up mail to', subject: email, windowFactor: MAILS_WINDOW_FACTOR },
        ),
      )
      void send(email, mail).catch((error: unknown) =>
        deps.complain('a mail for signing up could not be sent', error),
      )
    },
  }
}
