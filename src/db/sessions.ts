import type { Tx } from './db.js'

/** What signing in asks about a person. */
export interface SignInRow {
  user_id: string
  email: string
  first_name: string
  last_name: string
  is_admin: number
  root_sid: string
  password_hash: string | null
  is_external: number
  second_factor: string | null
}

export interface NewSession {
  hash: string
  user_id: string
  stage: 'half' | 'full'
  is_remembered: number
  credential: string
  created_ms: number
  expires_ms: number
  origin: string
  agent: string
}

/** A session with the person it belongs to, found in one look-up. */
export interface SessionRow extends SignInRow, NewSession {
  tries: number
  used_ms: number
}

const PERSON = `u.id AS user_id, u.email, u.first_name, u.last_name, u.is_admin, u.root_sid, u.password_hash,
  u.is_external, u.second_factor`

const SESSION = `s.hash, s.stage, s.is_remembered, s.credential, s.tries, s.created_ms, s.used_ms, s.expires_ms,
  s.origin, s.agent`

/** Any text may be asked for; one with control characters is nobody's address, and not every engine takes it. */
export function findSignIn(tx: Tx, email: string): Promise<SignInRow | undefined> {
  if (/\p{Cc}/u.test(email)) return Promise.resolve(undefined)
  return tx.get<SignInRow>(`SELECT ${PERSON} FROM users u WHERE u.email = $1`, email)
}

export function findSignInById(tx: Tx, userId: string): Promise<SignInRow | undefined> {
  return tx.get<SignInRow>(`SELECT ${PERSON} FROM users u WHERE u.id = $1`, userId)
}

export function findSession(tx: Tx, hash: string): Promise<SessionRow | undefined> {
  return tx.get<SessionRow>(
    `SELECT ${SESSION}, ${PERSON} FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.hash = $1`,
    hash,
  )
}

export function listSessions(tx: Tx, userId: string): Promise<SessionRow[]> {
  return tx.all<SessionRow>(
    `SELECT ${SESSION}, ${PERSON} FROM sessions s JOIN users u ON u.id = s.user_id
     WHERE s.user_id = $1 AND s.stage = 'full' ORDER BY s.used_ms DESC, s.hash`,
    userId,
  )
}

export async function insertSession(tx: Tx, session: NewSession): Promise<void> {
  await tx.run(
    `INSERT INTO sessions
       (hash, user_id, stage, is_remembered, credential, created_ms, used_ms, expires_ms, origin, agent)
     VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8, $9)`,
    session.hash,
    session.user_id,
    session.stage,
    session.is_remembered,
    session.credential,
    session.created_ms,
    session.expires_ms,
    session.origin,
    session.agent,
  )
}

export async function touchSession(tx: Tx, hash: string, nowMs: number): Promise<void> {
  await tx.run('UPDATE sessions SET used_ms = $2 WHERE hash = $1 AND used_ms < $2', hash, nowMs)
}

export async function countTry(tx: Tx, hash: string): Promise<void> {
  await tx.run('UPDATE sessions SET tries = tries + 1 WHERE hash = $1', hash)
}

export function deleteSession(tx: Tx, hash: string): Promise<number> {
  return tx.run('DELETE FROM sessions WHERE hash = $1', hash)
}

export function deleteSessions(tx: Tx, userId: string, exceptHash = ''): Promise<number> {
  return tx.run('DELETE FROM sessions WHERE user_id = $1 AND hash <> $2', userId, exceptHash)
}

export function isKnownBrowser(
  tx: Tx,
  hash: string,
  email: string,
  nowMs: number,
): Promise<object | undefined> {
  return tx.get(
    `SELECT 1 AS one FROM known_browsers b JOIN users u ON u.id = b.user_id
     WHERE b.hash = $1 AND u.email = $2 AND b.expires_ms > $3`,
    hash,
    email,
    nowMs,
  )
}

export async function insertKnownBrowser(
  tx: Tx,
  browser: { hash: string; userId: string; expiresMs: number },
): Promise<void> {
  await tx.run(
    'INSERT INTO known_browsers (hash, user_id, expires_ms) VALUES ($1, $2, $3)',
    browser.hash,
    browser.userId,
    browser.expiresMs,
  )
}

export async function deleteKnownBrowsers(tx: Tx, userId: string): Promise<void> {
  await tx.run('DELETE FROM known_browsers WHERE user_id = $1', userId)
}
