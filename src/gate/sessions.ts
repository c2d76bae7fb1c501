import type { Db, Tx } from '../db/db.js'
import { findSession, touchSession, type SessionRow } from '../db/sessions.js'
import { cookieValues } from '../http/cookies.js'
import type { Exchange } from '../http/exchange.js'
import { Failure } from '../model/failures.js'
import { isHex } from '../model/ids.js'
import { hashSecret } from '../model/secrets.js'
import { isAdminSession, isLiveSession } from '../model/sessions.js'
import type { AdminPerson, Person } from './person.js'

export const SESSION_COOKIE = '__Host-session'

const SECRET_HEX_DIGITS = 64
/** A session is marked as used at most this often. */
const TOUCH_EVERY_MS = 60_000

/** How far a browser has come. */
export type Visit =
  | { readonly stage: 'none' }
  | { readonly stage: 'half'; readonly sessionHash: string; readonly email: string }
  | {
      readonly stage: 'full'
      readonly person: Person
      /** The person has become an admin, or is one no more, since the session got its secret. */
      readonly isOutdated: boolean
    }

/** The browser is not signed in, or only half; the door shows it the way. */
export class NotSignedIn extends Failure {
  readonly stage: 'none' | 'half'

  constructor(stage: 'none' | 'half') {
    super('unauthorized', 'sign in first')
    this.stage = stage
  }
}

export interface SessionGate {
  visit(exchange: Exchange): Promise<Visit>
  /** One transaction for somebody who is signed in; NotSignedIn otherwise. */
  reading<T>(exchange: Exchange, body: (tx: Tx, person: Person) => Promise<T>): Promise<T>
  writing<T>(exchange: Exchange, body: (tx: Tx, person: Person) => Promise<T>): Promise<T>
  /** The same for admins; 403 for everybody else. */
  adminReading<T>(exchange: Exchange, body: (tx: Tx, person: AdminPerson) => Promise<T>): Promise<T>
  adminWriting<T>(exchange: Exchange, body: (tx: Tx, person: AdminPerson) => Promise<T>): Promise<T>
}

/** The secret in the session cookie; undefined when there is none, or more than one. */
export function sessionSecret(exchange: Exchange): string | undefined {
  return secretCookie(exchange, SESSION_COOKIE)
}

/** A cookie whose value is one of our secrets; anything else counts as absent. */
export function secretCookie(exchange: Exchange, name: string): string | undefined {
  const values = new Set(cookieValues(exchange.req.headers.cookie, name))
  const [value] = values
  return values.size === 1 && value !== undefined && isHex(value, SECRET_HEX_DIGITS) ? value : undefined
}

export function sessionGate(options: { db: Db; now: () => number; idleMs: number }): SessionGate {
  const { db, now, idleMs } = options

  /** The session as it stands at this moment, if it is good for anything. */
  async function liveSession(tx: Tx, exchange: Exchange): Promise<SessionRow | undefined> {
    const secret = sessionSecret(exchange)
    if (secret === undefined) return undefined
    const session = await findSession(tx, hashSecret(secret))
    return session !== undefined && isLiveSession(session, now(), idleMs) ? session : undefined
  }

  async function personIn(tx: Tx, exchange: Exchange): Promise<Person> {
    const session = await liveSession(tx, exchange)
    if (session?.stage !== 'full') throw new NotSignedIn(session === undefined ? 'none' : 'half')
    return personOf(session, exchange)
  }

  async function adminIn(tx: Tx, exchange: Exchange): Promise<AdminPerson> {
    const person = await personIn(tx, exchange)
    if (!isAdmin(person)) throw new Failure('forbidden', 'only an admin of the organization may do this')
    return person
  }

  return {
    async visit(exchange) {
      const session = await db.read((tx) => liveSession(tx, exchange))
      if (session === undefined) return { stage: 'none' }
      const { hash, email } = session
      if (session.stage === 'half') return { stage: 'half', sessionHash: hash, email }
      const touchMs = Math.min(TOUCH_EVERY_MS, idleMs / 4)
      if (session.used_ms + touchMs < now()) await db.write((tx) => touchSession(tx, hash, now()))
      const isOutdated = (session.is_admin === 1) !== isAdminSession(session)
      return { stage: 'full', person: personOf(session, exchange), isOutdated }
    },
    reading: (exchange, body) => db.read(async (tx) => body(tx, await personIn(tx, exchange))),
    writing: (exchange, body) => db.write(async (tx) => body(tx, await personIn(tx, exchange))),
    adminReading: (exchange, body) => db.read(async (tx) => body(tx, await adminIn(tx, exchange))),
    adminWriting: (exchange, body) => db.write(async (tx) => body(tx, await adminIn(tx, exchange))),
  }
}

function personOf(session: SessionRow, exchange: Exchange): Person {
  return {
    userId: session.user_id,
    email: session.email,
    firstName: session.first_name,
    lastName: session.last_name,
    isAdmin: session.is_admin === 1 && isAdminSession(session),
    rootSid: session.root_sid,
    isExternal: session.is_external === 1,
    hasSecondFactor: session.second_factor !== null,
    sessionHash: session.hash,
    isRemembered: session.is_remembered === 1,
    deviceId: '',
    origin: exchange.client,
  } as Person
}

function isAdmin(person: Person): person is AdminPerson {
  return person.isAdmin
}
