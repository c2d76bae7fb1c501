import type { Tx } from '../db/db.js'
import {
  deleteSession,
  deleteSessions,
  findSignInById,
  insertSession,
  listSessions,
  type SignInRow,
} from '../db/sessions.js'
import type { Person } from '../gate/person.js'
import { Failure } from '../model/failures.js'
import { hashSecret, randomHex } from '../model/secrets.js'
import { credentialMark, isLiveSession } from '../model/sessions.js'
import { record } from './journal.js'

const SECRET_BYTES = 32
const AGENT_LENGTH_MAX = 300
const HANDLE_HEX_DIGITS = 32

/** Lives of sessions and of what leads to them. */
export interface SessionLives {
  readonly idleMs: number
  readonly sessionMs: number
  readonly halfMs: number
}

/** Where a browser is: its address and what it says of itself. */
export interface Whereabouts {
  readonly origin: string
  readonly agent: string
}

export interface OpenedSession {
  readonly secret: string
  readonly isRemembered: boolean
  readonly expiresMs: number
}

export interface OwnSession {
  /** Names a session to its owner; it opens nothing. */
  readonly handle: string
  readonly isCurrent: boolean
  readonly createdMs: number
  readonly usedMs: number
  readonly origin: string
  readonly agent: string
}

export interface Sessions {
  open(
    tx: Tx,
    user: SignInRow,
    wish: Whereabouts & { stage: 'half' | 'full'; isRemembered: boolean },
  ): Promise<OpenedSession>
  /** The same session under a new secret, after a change of what it may do; the old secret is worth nothing. */
  renew(tx: Tx, person: Person, agent: string): Promise<OpenedSession>
  end(tx: Tx, sessionHash: string): Promise<void>
  endAll(tx: Tx, userId: string): Promise<void>
  endOthers(tx: Tx, person: Person): Promise<void>
  list(tx: Tx, person: Person): Promise<OwnSession[]>
  endOne(tx: Tx, person: Person, handle: string): Promise<void>
}

export function sessions(deps: { now: () => number }, lives: SessionLives): Sessions {
  async function open(
    tx: Tx,
    user: SignInRow,
    wish: Whereabouts & { stage: 'half' | 'full'; isRemembered: boolean },
  ): Promise<OpenedSession> {
    const secret = randomHex(SECRET_BYTES)
    const nowMs = deps.now()
    const expiresMs = nowMs + (wish.stage === 'half' ? lives.halfMs : lives.sessionMs)
    await insertSession(tx, {
      hash: hashSecret(secret),
      user_id: user.user_id,
      stage: wish.stage,
      is_remembered: wish.isRemembered ? 1 : 0,
      credential: credentialMark(user.password_hash, user.is_admin === 1),
      created_ms: nowMs,
      expires_ms: expiresMs,
      origin: wish.origin,
      agent: wish.agent.slice(0, AGENT_LENGTH_MAX),
    })
    return { secret, isRemembered: wish.isRemembered, expiresMs }
  }

  return {
    open,

    async renew(tx, person, agent) {
      const { userId, isRemembered, origin } = person
      const user = await findSignInById(tx, userId)
      if (user === undefined) throw new Failure('notFound', 'there is no such account any more')
      await deleteSession(tx, person.sessionHash)
      return open(tx, user, { stage: 'full', isRemembered, origin, agent })
    },

    async end(tx, sessionHash) {
      await deleteSession(tx, sessionHash)
    },

    async endAll(tx, userId) {
      await deleteSessions(tx, userId)
    },

    async endOthers(tx, person) {
      await deleteSessions(tx, person.userId, person.sessionHash)
    },

    async list(tx, person) {
      const nowMs = deps.now()
      return (await listSessions(tx, person.userId))
        .filter((row) => isLiveSession(row, nowMs, lives.idleMs))
        .map((row) => ({
          handle: handleOf(row.hash),
          isCurrent: row.hash === person.sessionHash,
          createdMs: row.created_ms,
          usedMs: row.used_ms,
          origin: row.origin,
          agent: row.agent,
        }))
    },

    async endOne(tx, person, handle) {
      const row = (await listSessions(tx, person.userId)).find(({ hash }) => handleOf(hash) === handle)
      if (row === undefined) throw new Failure('notFound', 'there is no such session')
      await deleteSession(tx, row.hash)
      await record(tx, person, { atMs: deps.now(), action: 'session.end', subject: person.email })
    },
  }
}

function handleOf(hash: string): string {
  return hash.slice(0, HANDLE_HEX_DIGITS)
}
