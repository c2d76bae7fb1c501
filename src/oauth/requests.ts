/** What a page's handler works with, and the checks that every posted form passes before it. */
import type { Tx } from '../gate/grants.js'
import type { Person } from '../gate/person.js'
import { SESSION_COOKIE, secretCookie, sessionSecret, type Visit } from '../gate/sessions.js'
import { readFormBody } from '../http/body.js'
import type { Exchange } from '../http/exchange.js'
import { parseForm, parseQuery, type Query } from '../http/query.js'
import { Failure } from '../model/failures.js'
import { hashSecret, randomHex, sameSecret } from '../model/secrets.js'
import type { OpenedSession } from '../service/sessions.js'
import { PageFailure } from './refusals.js'
import { TEXTS } from './texts.js'

/** Ties a form to a browser that has no session yet. */
const FORM_COOKIE = '__Host-form'
export const BROWSER_COOKIE = '__Host-browser'
const SECRET_BYTES = 32
const BROWSER_MAX_AGE_SECONDS = 365 * 24 * 60 * 60

export interface PageRequest {
  readonly exchange: Exchange
  readonly visit: Visit
  readonly query: Query
  /** What was posted; empty for a GET. */
  readonly form: Query
  readonly params: Readonly<Record<string, string>>
}

/** A request of somebody who is signed in. */
export interface PersonRequest extends PageRequest {
  readonly person: Person
}

export type { Tx }

/** The secret that forms of this browser are tied to: its session's, or one for browsers without a session. */
function formSecret(exchange: Exchange, visit: Visit): string | undefined {
  return visit.stage === 'none' ? secretCookie(exchange, FORM_COOKIE) : sessionSecret(exchange)
}

function tokenOf(secret: string): string {
  return hashSecret(`form ${secret}`)
}

/** The token of a form that is shown; a browser without a session gets the cookie that belongs to it. */
export function formToken({ exchange, visit }: Pick<PageRequest, 'exchange' | 'visit'>): string {
  const known = formSecret(exchange, visit) ?? givenSecret(exchange)
  if (known !== undefined) return tokenOf(known)
  const secret = randomHex(SECRET_BYTES)
  addCookie(exchange, `${FORM_COOKIE}=${secret}; ${COOKIE_ATTRIBUTES}`)
  return tokenOf(secret)
}

/** The secret that this very answer gives to the browser: all forms of a page have one token. */
function givenSecret(exchange: Exchange): string | undefined {
  const lines = [exchange.extraHeaders['Set-Cookie'] ?? []].flat()
  const line = lines.find((one) => one.startsWith(`${FORM_COOKIE}=`))
  return line?.slice(FORM_COOKIE.length + 1).split(';')[0]
}

/** Reads a posted form and makes sure that this site gave it to this browser. */
export async function readPostedForm(exchange: Exchange, visit: Visit): Promise<Query> {
  const form = await readForm(exchange)
  const tokens = form.all('form_token')
  const secret = formSecret(exchange, visit)
  const isOurs = secret !== undefined && tokens.length === 1 && sameSecret(tokens[0] ?? '', tokenOf(secret))
  if (!isOurs) throw new PageFailure('forbidden', TEXTS.errors.forgedForm)
  return form
}

export async function readForm(exchange: Exchange): Promise<Query> {
  const declared = exchange.req.headers['content-type']
  const type = declared?.split(';')[0]?.trim().toLowerCase()
  if (type !== undefined && type !== '' && type !== 'application/x-www-form-urlencoded') {
    throw new Failure('unsupportedMediaType', 'the Content-Type must be application/x-www-form-urlencoded')
  }
  return parseForm((await readFormBody(exchange)).toString('utf8'))
}

/**
 * A browser says where a form was sent from. Pages that give away no referrer make it say `null`, as a frame of a
 * stranger would: then only its word that both are the same site counts.
 */
export function checkOrigin(exchange: Exchange, baseUrl: string): void {
  const { headers } = exchange.req
  const site = headers['sec-fetch-site']
  const forged = new PageFailure('forbidden', TEXTS.errors.forgedForm)
  if (site !== undefined && site !== 'same-origin' && site !== 'none') throw forged
  const { origin } = headers
  if (origin === undefined) return
  if (origin === 'null') {
    if (site === undefined) throw forged
    return
  }
  const own = [new URL(baseUrl).origin, `https://${headers.host ?? ''}`]
  if (!own.some((one) => sameOrigin(one, origin))) throw forged
}

function sameOrigin(a: string, b: string): boolean {
  return URL.canParse(a) && URL.canParse(b) && new URL(a).origin === new URL(b).origin
}

const COOKIE_ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax'

function addCookie(exchange: Exchange, line: string): void {
  const before = exchange.extraHeaders['Set-Cookie'] ?? []
  exchange.extraHeaders['Set-Cookie'] = [before, line].flat()
}

/** Gives the browser its session; one that is to be remembered outlives the browser. */
export function giveSession(exchange: Exchange, opened: OpenedSession, nowMs: number): void {
  const seconds = Math.max(0, Math.floor((opened.expiresMs - nowMs) / 1000))
  const life = opened.isRemembered ? `; Max-Age=${seconds}` : ''
  addCookie(exchange, `${SESSION_COOKIE}=${opened.secret}; ${COOKIE_ATTRIBUTES}${life}`)
}

export function takeSession(exchange: Exchange): void {
  addCookie(exchange, `${SESSION_COOKIE}=; ${COOKIE_ATTRIBUTES}; Max-Age=0`)
}

export function giveBrowser(exchange: Exchange, secret: string | undefined): void {
  if (secret === undefined) return
  addCookie(exchange, `${BROWSER_COOKIE}=${secret}; ${COOKIE_ATTRIBUTES}; Max-Age=${BROWSER_MAX_AGE_SECONDS}`)
}

export function whereabouts(exchange: Exchange): { origin: string; agent: string } {
  return { origin: exchange.client, agent: exchange.req.headers['user-agent'] ?? '' }
}

export function queryOf(exchange: Exchange): Query {
  return parseQuery(exchange.rawQuery)
}

export const NO_FORM: Query = { all: () => [], one: () => undefined }

/** The rest of a request's target, as a header can carry it; its characters are bytes, and are encoded as such. */
export function headerText(raw: string): string {
  return raw.replace(
    /[^\x21-\x5b\x5d-\x7e]/g,
    (character) => `%${(character.charCodeAt(0) & 0xff).toString(16).padStart(2, '0')}`,
  )
}

/** A path on this very site, or the usual page: no address of a stranger is ever followed. */
export function safeTarget(wish: string | undefined): string {
  if (wish === undefined || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(wish)) return '/account'
  const url = new URL(wish, 'https://this.invalid')
  return url.origin === 'https://this.invalid' ? wish : '/account'
}
