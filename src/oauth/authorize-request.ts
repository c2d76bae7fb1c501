/**
 * The checks of a request to /authorize, in two ordered lists: before the redirect address is trusted, when whatever is
 * wrong is told to the person, and after, when it is told to the application.
 */
import { Failure } from '../model/failures.js'
import { parseScopes, type ScopeList } from '../model/scopes.js'
import type { AskedFor, Client } from '../service/authorizations.js'
import { PageFailure } from './refusals.js'
import { TEXTS } from './texts.js'

/** Wrong before the redirect address is trusted: a page, and no redirect. */
export class Untrusted extends PageFailure {
  constructor(text: string) {
    super('badArgs', text)
  }
}

/** Sends the browser to the application with these parameters. */
export interface Redirect {
  readonly location: string
}

export interface AuthorizeRequest {
  readonly client: Client
  readonly asked: AskedFor
  /** The address that tells the application a result; `state` is in it if it was sent. */
  redirect(parameters: Readonly<Record<string, string>>): Redirect
}

type RawParameters = ReadonlyMap<string, readonly string[]>

export async function readAuthorizeRequest(
  rawQuery: string,
  findClient: (id: string) => Promise<Client | undefined>,
): Promise<AuthorizeRequest | Redirect> {
  const raw = rawParameters(rawQuery)
  const client = await findClient(requiredOnce(raw, 'client_id'))
  if (client === undefined) throw new Untrusted(TEXTS.authorize.unknownClient)
  const redirectUri = requiredOnce(raw, 'redirect_uri')
  if (!client.redirectUris.includes(redirectUri)) throw new Untrusted(TEXTS.authorize.unknownAddress)
  const states = raw.get('state') ?? []
  const redirect: AuthorizeRequest['redirect'] = (parameters) => ({
    location: withParameters(redirectUri, parameters, states.length === 1 ? states[0] : undefined),
  })
  for (const check of CHECKS) {
    const problem = check(raw, client)
    if (problem !== undefined) {
      return redirect({ error: problem[0], error_description: description(problem[1]) })
    }
  }
  const scopes = parseScopes(formValue(raw, 'scope') ?? '')
  const challenge = formValue(raw, 'code_challenge')
  return { client, asked: { clientId: client.id, redirectUri, scopes, challenge }, redirect }
}

const DESCRIPTION_LENGTH_MAX = 300

/** Repeats what was sent, but for the characters that RFC 6749 keeps out of descriptions. */
function description(text: string): string {
  const plain = text.replaceAll('"', "'").replace(/[^\x20-\x5b\x5d-\x7e]/gu, '?')
  return plain.slice(0, DESCRIPTION_LENGTH_MAX)
}

type Problem = readonly [error: string, description: string]
type Check = (raw: RawParameters, client: Client) => Problem | undefined

/** In the order in which they count. */
const CHECKS: readonly Check[] = [
  checkResponseType,
  checkScope,
  checkRepeated,
  checkChallenge,
  checkPublicClient,
]

function checkResponseType(raw: RawParameters): Problem | undefined {
  const values = raw.get('response_type') ?? []
  const value = values.length === 1 ? formValue(raw, 'response_type') : undefined
  if (value === undefined || value === '') return ['invalid_request', 'response_type must be given once']
  return value === 'code' ? undefined : ['unsupported_response_type', 'response_type must be code']
}

function checkScope(raw: RawParameters): Problem | undefined {
  const values = raw.get('scope') ?? []
  const value = values.length === 1 ? formValue(raw, 'scope') : undefined
  if (value === undefined || value === '') return ['invalid_request', 'scope must be given once']
  const refusal = scopeRefusal(value)
  return refusal === undefined ? undefined : ['invalid_scope', refusal]
}

function scopeRefusal(text: string): string | undefined {
  try {
    const list: ScopeList = parseScopes(text)
    return list.entries.length === 0 ? 'scope is empty' : undefined
  } catch (error) {
    if (error instanceof Failure) return error.message
    throw error
  }
}

function checkRepeated(raw: RawParameters): Problem | undefined {
  for (const name of ['state', 'code_challenge', 'code_challenge_method']) {
    if ((raw.get(name)?.length ?? 0) > 1) return ['invalid_request', `${name} must be given once`]
  }
  return undefined
}

const CHALLENGE = /^[A-Za-z0-9_-]{43}$/

function checkChallenge(raw: RawParameters): Problem | undefined {
  if (!raw.has('code_challenge') && !raw.has('code_challenge_method')) return undefined
  if (formValue(raw, 'code_challenge_method') !== 'S256') {
    return ['invalid_request', 'code_challenge_method must be S256']
  }
  if (CHALLENGE.test(formValue(raw, 'code_challenge') ?? '')) return undefined
  return ['invalid_request', 'code_challenge must be 43 characters of base64url']
}

function checkPublicClient(raw: RawParameters, client: Client): Problem | undefined {
  if (!client.isPublic || raw.has('code_challenge')) return undefined
  return ['invalid_request', 'this application must send a code_challenge']
}

/** Raw values by decoded name: `state` is returned as it came, and never decoded at all. */
function rawParameters(rawQuery: string): RawParameters {
  const found = new Map<string, string[]>()
  for (const pair of rawQuery.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decoded(equals < 0 ? pair : pair.slice(0, equals))
    if (name === undefined) continue
    const values = found.get(name) ?? []
    values.push(equals < 0 ? '' : pair.slice(equals + 1))
    found.set(name, values)
  }
  return found
}

/** A plus is a plus: clients in the field send addresses without encoding them. */
function requiredOnce(raw: RawParameters, name: string): string {
  const values = raw.get(name) ?? []
  if (values.length > 1) throw new Untrusted(TEXTS.authorize.repeated(name))
  const value = decoded(values[0] ?? '')
  if (value === undefined) throw new Untrusted(TEXTS.authorize.undecodable(name))
  if (value === '') throw new Untrusted(TEXTS.authorize.missing(name))
  return value
}

/** The first value as a form has it, where a plus is a blank; undefined when absent or broken. */
function formValue(raw: RawParameters, name: string): string | undefined {
  const value = raw.get(name)?.[0]
  return value === undefined ? undefined : decoded(value.replaceAll('+', ' '))
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function withParameters(
  uri: string,
  parameters: Readonly<Record<string, string>>,
  rawState: string | undefined,
): string {
  const parts = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  if (rawState !== undefined) parts.push(`state=${safeRaw(rawState)}`)
  const joint = !uri.includes('?') ? '?' : /[?&]$/.test(uri) ? '' : '&'
  return `${uri.replace(/[^\x21-\x7e]/gu, encodeURIComponent)}${joint}${parts.join('&')}`
}

/** A stray percent sign, and everything that has no place in a query; the rest is encoded as the sender meant it. */
const UNSAFE = /%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9._~!$()*+,;:@/?%=-]/g

/** Characters of a request's target are bytes, and are encoded as such. */
function safeRaw(text: string): string {
  return text.replace(
    UNSAFE,
    (character) => `%${(character.charCodeAt(0) & 0xff).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}
