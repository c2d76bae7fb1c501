import type { Tx } from '../db/db.js'
import { findHolder } from '../db/tokens.js'
import type { Exchange } from '../http/exchange.js'
import { parseQuery } from '../http/query.js'
import { Failure } from '../model/failures.js'
import { parseScopes, type ScopeList } from '../model/scopes.js'
import { hashSecret, isToken } from '../model/secrets.js'
import type { Version } from '../model/version.js'
import type { Caller } from './caller.js'

const SCOPE_CACHE_ENTRIES = 1000
/** Longer lists are rare, and a thousand of them would take memory that a client decides about. */
const SCOPE_CACHE_LENGTH_MAX = 1000
const USE_NOTED_EVERY_MS = 60_000

export interface Authenticator {
  /** The hash of the token that the request carries, 401 when it carries none or in the wrong way. */
  tokenOf(exchange: Exchange, queryToken: boolean): string
  /** The holder of the token at this moment, 401 when there is none. */
  authenticate(tx: Tx, tokenHash: string, exchange: Exchange, version: Version): Promise<Caller>
  /**
   * For a holder whom the database has not changed since: whether the token holds at this moment. Its use is noted as
   * that of any other.
   */
  isCurrent(caller: Caller): boolean
}

/** `noteUse` hears of tokens in use whose last use is not known, or was a while ago; it must not take time. */
export function authenticator(
  nodeId: string,
  now: () => number,
  noteUse: (deviceId: string, usedMs: number) => void = () => undefined,
): Authenticator {
  const scopeLists = new Map<string, ScopeList>()

  function scopeListOf(text: string): ScopeList {
    const known = scopeLists.get(text)
    if (known !== undefined) return known
    const list = parseScopes(text)
    if (text.length > SCOPE_CACHE_LENGTH_MAX) return list
    if (scopeLists.size >= SCOPE_CACHE_ENTRIES) scopeLists.clear()
    scopeLists.set(text, list)
    return list
  }

  function isCurrent({
    expiresMs,
    usedMs,
    deviceId,
  }: Pick<Caller, 'expiresMs' | 'usedMs' | 'deviceId'>): boolean {
    const nowMs = now()
    if (expiresMs !== null && expiresMs <= nowMs) return false
    if (usedMs === null || nowMs - usedMs >= USE_NOTED_EVERY_MS) noteUse(deviceId, nowMs)
    return true
  }

  return {
    isCurrent,

    tokenOf(exchange, queryToken) {
      const token = presentedToken(exchange, queryToken)
      if (!isToken(token)) throw unauthorized('the access token is not valid')
      return hashSecret(token)
    },

    async authenticate(tx, tokenHash, exchange, version) {
      const holder = await findHolder(tx, tokenHash, nodeId)
      if (holder === undefined) throw unauthorized('the access token is not valid')
      const scopes = scopeListOf(holder.scopes)
      const caller: Caller = {
        userId: holder.user_id,
        email: holder.email,
        rootSid: holder.root_sid,
        quotaBytes: holder.quota,
        appId: holder.app_id,
        deviceId: holder.device_id,
        scopes,
        isAdmin: holder.is_admin === 1 && scopes.has('organization.admin'),
        nodeDeselects: holder.deselections === 1,
        expiresMs: holder.expires_ms,
        usedMs: holder.used_ms,
        version,
        origin: exchange.client,
      }
      if (!isCurrent(caller)) throw unauthorized('the access token is not valid')
      return caller
    },
  }
}

/** The header exactly once, or on a route that a plain link may open the query parameter exactly once. */
function presentedToken(exchange: Exchange, queryToken: boolean): string {
  const headers = authorizationLines(exchange.req.rawHeaders)
  const inQuery = queryToken ? tokensInQuery(exchange.rawQuery) : []
  if (headers.length + inQuery.length === 0) throw unauthorized('the request has no access token')
  if (headers.length + inQuery.length > 1) throw unauthorized('the request has more than one access token')
  const [header] = headers
  if (header === undefined) return inQuery[0] ?? ''
  const match = /^bearer +([^\s,]+) *$/i.exec(header)
  if (match?.[1] === undefined)
    throw unauthorized('the Authorization header is not of the form "Bearer <token>"')
  return match[1]
}

/** A token that cannot be decoded is a wrong one: it is judged as a token before the query is judged as a query. */
function tokensInQuery(rawQuery: string): string[] {
  try {
    return parseQuery(rawQuery).all('token')
  } catch (error) {
    if (error instanceof Failure) throw unauthorized('the access token is not valid')
    throw error
  }
}

function authorizationLines(rawHeaders: readonly string[]): string[] {
  const lines: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 13 && name.toLowerCase() === 'authorization') lines.push(rawHeaders[index + 1] ?? '')
  }
  return lines
}

function unauthorized(message: string): Failure {
  return new Failure('unauthorized', message)
}
