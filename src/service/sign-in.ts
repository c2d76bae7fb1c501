import type { Db, Tx } from '../db/db.js'
import {
  countTry,
  deleteKnownBrowsers,
  deleteSession,
  findSession,
  findSignIn,
  findSignInById,
  insertKnownBrowser,
  isKnownBrowser,
  type SignInRow,
} from '../db/sessions.js'
import type { UserRow } from '../db/users.js'
import type { Person } from '../gate/person.js'
import { Failure } from '../model/failures.js'
import { hashSecret, randomHex } from '../model/secrets.js'
import { networkOf, type GuessKey, type Guesses } from './guesses.js'
import { record } from './journal.js'
import type { PasswordQueue } from './password-queue.js'
import type { SignIns } from './passwords-signin.js'
import type { SecondFactor } from './second-factor.js'
import type { OpenedSession, Sessions, Whereabouts } from './sessions.js'
import { turns } from './turns.js'

/** Wrong codes after which a half session is over. */
export const SECOND_FACTOR_TRIES_MAX = 5

/** A code has few digits and the password is known already: its failures are remembered longer. */
const SECOND_FACTOR_WINDOW_FACTOR = 15

/** Those who wait while a directory is asked about the same person. */
const ASKED_WAITING_MAX = 20

const BROWSER_BYTES = 32
const KNOWN_BROWSER_MS = 365 * 24 * 60 * 60 * 1000

export interface SignInDeps {
  readonly now: () => number
  readonly db: Db
  readonly sessions: Sessions
  readonly guesses: Guesses
  readonly passwords: PasswordQueue
  readonly secondFactor: SecondFactor
  /** Whether address and password fit, of whatever kind the account is. */
  readonly verifyPassword: SignIns['verifyPassword']
}

export interface PasswordGiven extends Whereabouts {
  readonly email: string
  readonly password: string
  readonly isRemembered: boolean
  /** The secret of a browser in which this person may have signed in before. */
  readonly browser: string | undefined
}

/** A signed-in browser gets a name of its own besides the session, so that others' failures do not hold it up. */
export type SignedIn = OpenedSession & {
  readonly stage: 'half' | 'full'
  readonly browser: string | undefined
}

export interface SignIn {
  /** Undefined: wrong address or password, and nobody can tell which. 429 after too many failures. */
  withPassword(given: PasswordGiven): Promise<SignedIn | undefined>
  /** 'wrong': try again; 'over': the half session is gone. */
  withCode(
    sessionHash: string,
    given: Whereabouts & { code: string; browser: string | undefined },
  ): Promise<SignedIn | 'wrong' | 'over'>
  /** Whether somebody who is signed in knows the password, asked before great changes. */
  confirm(person: Person, password: string): Promise<boolean>
  /** For those who have just been given an account. */
  enter(email: string, where: Whereabouts): Promise<SignedIn>
  /** Counts refusals of the work for the address they come from; 429 after too many. */
  guarded<T>(purpose: string, origin: string, work: () => Promise<T>): Promise<T>
  /** Signing out needs no more than the session, full or half. */
  end(sessionHash: string): Promise<void>
  /** Every session and every known browser of the person is forgotten. */
  endEverywhere(tx: Tx, person: Person): Promise<void>
}

export function signIn(deps: SignInDeps): SignIn {
  const { db, passwords, guesses: counts } = deps
  const askedInTurn = turns(ASKED_WAITING_MAX)

  /** Undefined: a failure, and counted. The limit is looked at again when the turn has come. */
  async function verify(
    keys: readonly GuessKey[],
    given: { email: string; password: string; origin: string },
  ): Promise<UserRow | undefined> {
    let isCounted = false
    const count = async (): Promise<void> => {
      isCounted = true
      await db.write((tx) => counts.count(tx, ...keys))
    }
    const judged = async <T>(work: () => Promise<T>): Promise<T> => {
      await counts.check(...keys)
      const isRight = await work()
      if (isRight === false) await count()
      return isRight
    }
    await counts.check(...keys)
    const user = await deps.verifyPassword(given, {
      hash: (work) => passwords.run(() => judged(work)),
      ask: (email, work) => askedInTurn(email, () => judged(work)),
    })
    if (user === undefined && !isCounted) await count()
    return user
  }

  async function knownBrowser(email: string, browser: string | undefined): Promise<boolean> {
    if (browser === undefined || /\p{Cc}/u.test(email)) return false
    const found = await db.read((tx) => isKnownBrowser(tx, hashSecret(browser), email, deps.now()))
    return found !== undefined
  }

  async function rememberBrowser(
    tx: Tx,
    user: SignInRow,
    browser: string | undefined,
  ): Promise<string | undefined> {
    const nowMs = deps.now()
    const isKnown =
      browser !== undefined &&
      (await isKnownBrowser(tx, hashSecret(browser), user.email, nowMs)) !== undefined
    if (isKnown) return undefined
    const secret = randomHex(BROWSER_BYTES)
    await insertKnownBrowser(tx, {
      hash: hashSecret(secret),
      userId: user.user_id,
      expiresMs: nowMs + KNOWN_BROWSER_MS,
    })
    return secret
  }

  async function enter(
    tx: Tx,
    user: SignInRow,
    given: Whereabouts & { isRemembered: boolean; browser: string | undefined },
  ): Promise<SignedIn> {
    const opened = await deps.sessions.open(tx, user, { ...given, stage: 'full' })
    const actor = { userId: user.user_id, deviceId: '', origin: given.origin }
    await record(tx, actor, { atMs: deps.now(), action: 'session.start', subject: user.email })
    return { ...opened, stage: 'full', browser: await rememberBrowser(tx, user, given.browser) }
  }

  return {
    async withPassword(given) {
      const email = given.email.trim().toLowerCase()
      const isKnown = await knownBrowser(email, given.browser)
      const keys: GuessKey[] = [
        { purpose: 'sign-in from', subject: networkOf(given.origin) },
        isKnown
          ? { purpose: 'sign-in by browser', subject: given.browser ?? '' }
          : { purpose: 'sign-in as', subject: email },
      ]
      const user = await verify(keys, { email, password: given.password, origin: given.origin })
      if (user === undefined) return undefined
      return db.write(async (tx) => {
        const now = await findSignInById(tx, user.id)
        // Meanwhile the password may have been changed, or the account deleted.
        if (now === undefined || now.password_hash !== user.password_hash) return undefined
        if (now.second_factor === null) return enter(tx, now, given)
        const opened = await deps.sessions.open(tx, now, { ...given, stage: 'half' })
        return { ...opened, stage: 'half', browser: undefined }
      })
    },

    async withCode(sessionHash, given) {
      const half = await db.read((tx) => findSession(tx, sessionHash))
      if (half === undefined) return 'over'
      const key: GuessKey = {
        purpose: 'second factor of',
        subject: half.user_id,
        windowFactor: SECOND_FACTOR_WINDOW_FACTOR,
      }
      return db.write(async (tx) => {
        await tx.lock('sessions', sessionHash)
        const session = await findSession(tx, sessionHash)
        if (session?.stage !== 'half') return 'over'
        if (session.second_factor === null) {
          await deleteSession(tx, sessionHash)
          return 'over'
        }
        await counts.claim(tx, key)
        const user = { id: session.user_id, secret: session.second_factor }
        if (await deps.secondFactor.accept(tx, user, given.code)) {
          await counts.giveBack(tx, key)
          await deleteSession(tx, sessionHash)
          return enter(tx, session, { ...given, isRemembered: session.is_remembered === 1 })
        }
        if (session.tries + 1 >= SECOND_FACTOR_TRIES_MAX) {
          await deleteSession(tx, sessionHash)
          return 'over'
        }
        await countTry(tx, sessionHash)
        return 'wrong'
      })
    },

    async confirm(person, password) {
      const keys: GuessKey[] = [{ purpose: 'confirmation by', subject: person.userId }]
      const { email, origin, userId } = person
      return (await verify(keys, { email, password, origin }))?.id === userId
    },

    enter: (email, where) =>
      db.write(async (tx) => {
        const user = await findSignIn(tx, email)
        if (user === undefined) throw new Failure('notFound', `there is no user ${email}`)
        return enter(tx, user, { ...where, isRemembered: false, browser: undefined })
      }),

    async guarded(purpose, origin, work) {
      const key: GuessKey = { purpose: `${purpose} from`, subject: networkOf(origin) }
      await counts.check(key)
      try {
        return await work()
      } catch (error) {
        if (error instanceof Failure && error.kind === 'forbidden') {
          await db.write((tx) => counts.count(tx, key))
        }
        throw error
      }
    },

    end: (sessionHash) => db.write((tx) => deps.sessions.end(tx, sessionHash)),

    async endEverywhere(tx, person) {
      await deps.sessions.endAll(tx, person.userId)
      await deleteKnownBrowsers(tx, person.userId)
      await record(tx, person, { atMs: deps.now(), action: 'session.end-all', subject: person.email })
    },
  }
}
