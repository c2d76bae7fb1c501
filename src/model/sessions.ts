import { hashSecret } from './secrets.js'

/** The parts of a stored session that say whether it still is one. */
export interface SessionLife {
  readonly expires_ms: number
  readonly used_ms: number
  readonly is_remembered: number
  readonly credential: string
  readonly password_hash: string | null
}

/** What a session remembers of whoever opened it: the password, and whether it was an admin. */
export function credentialMark(passwordHash: string | null, isAdmin: boolean): string {
  return hashSecret(`${isAdmin ? 'admin ' : ''}${passwordHash ?? ''}`)
}

/** The rights of an admin are for sessions that an admin opened: a secret from before has none of them. */
export function isAdminSession(session: Pick<SessionLife, 'credential' | 'password_hash'>): boolean {
  return session.credential === credentialMark(session.password_hash, true)
}

/** A session is over at its end, after silence unless it is remembered, and when the password is another one. */
export function isLiveSession(session: SessionLife, nowMs: number, idleMs: number): boolean {
  const isOfPassword =
    session.credential === credentialMark(session.password_hash, false) || isAdminSession(session)
  if (session.expires_ms <= nowMs || !isOfPassword) return false
  return session.is_remembered === 1 || session.used_ms + idleMs > nowMs
}
