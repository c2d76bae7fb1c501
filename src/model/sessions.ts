import { hashSecret } from './secrets.js'

/** The parts of a stored session that say whether it still is one. */
export interface SessionLife {
  readonly expires_ms: number
  readonly used_ms: number
  readonly is_remembered: number
  readonly credential: string
  readonly password_hash: string | null
}

/** What a session remembers of the password that opened it. */
export function credentialMark(passwordHash: string | null): string {
  return hashSecret(passwordHash ?? '')
}

/** A session is over at its end, after silence unless it is remembered, and when the password is another one. */
export function isLiveSession(session: SessionLife, nowMs: number, idleMs: number): boolean {
  if (session.expires_ms <= nowMs || session.credential !== credentialMark(session.password_hash))
    return false
  return session.is_remembered === 1 || session.used_ms + idleMs > nowMs
}
