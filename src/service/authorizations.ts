import { createHash } from 'node:crypto'
import type { Db, Tx } from '../db/db.js'
import { findCode, insertCode, setCodeToken, spendForm, type CodeRow } from '../db/codes.js'
import { findSignInById } from '../db/sessions.js'
import { deleteToken, findToken, type TokenRow } from '../db/tokens.js'
import type { Person } from '../gate/person.js'
import { Failure } from '../model/failures.js'
import { parseScopes, ScopeList } from '../model/scopes.js'
import { hashSecret, isToken, randomHex, sameSecret } from '../model/secrets.js'
import { authenticateClient, findClient, redirectUrisOf, type ClientCredentials } from './clients.js'
import { networkOf, type Guesses } from './guesses.js'
import { record } from './journal.js'
import type { IssuedToken, Tokens } from './tokens.js'

const CODE_BYTES = 32

/** A request of an application that a person has looked at. */
export interface AskedFor {
  readonly clientId: string
  readonly redirectUri: string
  readonly scopes: ScopeList
  readonly challenge: string | undefined
}

export interface Client {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly redirectUris: readonly string[]
  readonly isPublic: boolean
}

export interface ExchangeForm {
  readonly code: string
  readonly redirectUri: string
  readonly verifier: string | undefined
}

export type Exchanged = IssuedToken | 'invalid_client' | 'invalid_grant'

export interface TokenInfo {
  readonly audience: string
  readonly scopes: string[]
  readonly principal: string
  readonly expires_in: number
}

export interface Authorizations {
  client(id: string): Promise<Client | undefined>
  /** What of the request the person can grant at this moment. */
  grantable(person: Person, scopes: ScopeList): ScopeList
  /** Uses up the form it was decided in; false when it was used before. */
  spend(tx: Tx, nonce: string, expiresMs: number): Promise<boolean>
  /** A code for what was granted; undefined when nothing was, or the application is not what it was. */
  allow(tx: Tx, person: Person, asked: AskedFor, ticked: ReadonlySet<string>): Promise<string | undefined>
  exchange(credentials: ClientCredentials, form: ExchangeForm, origin: string): Promise<Exchanged>
  /** Undefined: the credentials are wrong. 404 for a token that is not the client's. */
  tokenInfo(credentials: ClientCredentials, token: string, origin: string): Promise<TokenInfo | undefined>
  /** Whoever has a token may end it. False when there is none. */
  revoke(token: string, origin: string): Promise<boolean>
}

export function authorizations(deps: {
  now: () => number
  db: Db
  tokens: Tokens
  guesses: Guesses
  codeLifetimeMs: number
}): Authorizations {
  const { db, guesses: counts } = deps

  /** Does the work when the counts allow it, and counts wrong credentials; without a secret nobody guesses at one. */
  async function asClient<T>(
    what: 'exchange' | 'token info',
    credentials: ClientCredentials,
    origin: string,
    work: () => Promise<T | 'invalid_client'>,
  ): Promise<T | 'invalid_client'> {
    const guesser = { purpose: `client credentials, ${what}, from`, subject: networkOf(origin) }
    await counts.check(guesser)
    const result = await work()
    const isGuess = result === 'invalid_client' && credentials.secret !== undefined
    if (isGuess) await db.write((tx) => counts.count(tx, guesser))
    return result
  }

  /** The token of a code that is used again is in wrong hands. */
  async function revokeReplayed(tx: Tx, code: CodeRow, origin: string): Promise<void> {
    const token = code.token_hash === null ? undefined : await findToken(tx, code.token_hash)
    if (token === undefined) return
    await deleteToken(tx, token.hash)
    const actor = { userId: code.user_id, deviceId: '', origin }
    await record(tx, actor, {
      atMs: deps.now(),
      action: 'token.revoke',
      subject: token.device_id,
      after: { reason: 'its code was used again' },
    })
  }

  async function findLiveToken(tx: Tx, value: string): Promise<TokenRow | undefined> {
    const token = await findToken(tx, hashSecret(value))
    const isOver = token !== undefined && token.expires_ms !== null && token.expires_ms <= deps.now()
    return isOver ? undefined : token
  }

  async function exchange(
    tx: Tx,
    credentials: ClientCredentials,
    form: ExchangeForm,
    origin: string,
  ): Promise<Exchanged> {
    const app = await authenticateClient(tx, credentials)
    if (app === undefined) return 'invalid_client'
    const hash = hashSecret(form.code)
    await tx.lock('codes', hash)
    const code = await findCode(tx, hash)
    if (code?.app_id !== app.id) return 'invalid_grant'
    if (code.token_hash !== null) {
      await revokeReplayed(tx, code, origin)
      return 'invalid_grant'
    }
    if (code.expires_ms <= deps.now() || code.redirect_uri !== form.redirectUri) return 'invalid_grant'
    return verifies(code.challenge, form.verifier) ? redeem(tx, code, origin) : 'invalid_grant'
  }

  async function describe(
    tx: Tx,
    credentials: ClientCredentials,
    value: string,
  ): Promise<TokenInfo | 'invalid_client'> {
    const app = await authenticateClient(tx, credentials)
    // A public application proves nothing by its name.
    if (app === undefined || app.is_public === 1) return 'invalid_client'
    const token = await findLiveToken(tx, value)
    const user = token === undefined ? undefined : await findSignInById(tx, token.user_id)
    if (token?.app_id !== app.id || user === undefined)
      throw new Failure('notFound', 'there is no such token')
    const { entries } = withoutAdmin(parseScopes(token.scopes), user.is_admin === 1)
    const leftMs = token.expires_ms === null ? 0 : token.expires_ms - deps.now()
    return {
      audience: app.id,
      scopes: entries.map(({ text }) => text),
      principal: user.email,
      expires_in: Math.ceil(leftMs / 1000),
    }
  }

  async function redeem(tx: Tx, code: CodeRow, origin: string): Promise<Exchanged> {
    const user = await findSignInById(tx, code.user_id)
    if (user === undefined) return 'invalid_grant'
    const scopes = withoutAdmin(parseScopes(code.scopes), user.is_admin === 1)
    if (scopes.entries.length === 0) return 'invalid_grant'
    const issued = await deps.tokens.issue(
      tx,
      { userId: user.user_id, deviceId: '', origin },
      { email: user.email, scope: scopes.text, appId: code.app_id, lifetimeSeconds: undefined },
    )
    await setCodeToken(tx, code.hash, hashSecret(issued.access_token))
    return issued
  }

  return {
    async client(id) {
      const app = await db.read((tx) => findClient(tx, id))
      if (app === undefined) return undefined
      const { name, description } = app
      return { id, name, description, redirectUris: redirectUrisOf(app), isPublic: app.is_public === 1 }
    },

    grantable: (person, scopes) => withoutAdmin(scopes, person.isAdmin),

    spend: (tx, nonce, expiresMs) => spendForm(tx, hashSecret(nonce), expiresMs),

    async allow(tx, person, asked, ticked) {
      const app = await findClient(tx, asked.clientId)
      if (app === undefined || !redirectUrisOf(app).includes(asked.redirectUri)) {
        throw new Failure('badArgs', 'the application has changed meanwhile; start again from there')
      }
      const possible = withoutAdmin(asked.scopes, person.isAdmin).entries
      const granted = new ScopeList(possible.filter(({ text }) => ticked.has(text)))
      if (granted.entries.length === 0) return undefined
      const code = randomHex(CODE_BYTES)
      await insertCode(tx, {
        hash: hashSecret(code),
        user_id: person.userId,
        app_id: app.id,
        redirect_uri: asked.redirectUri,
        scopes: granted.text,
        challenge: asked.challenge ?? null,
        expires_ms: deps.now() + deps.codeLifetimeMs,
      })
      await record(tx, person, {
        atMs: deps.now(),
        action: 'app.authorize',
        subject: app.id,
        after: { user: person.email, scope: granted.text },
      })
      return code
    },

    exchange: (credentials, form, origin) =>
      asClient<Exchanged>('exchange', credentials, origin, () =>
        db.write((tx) => exchange(tx, credentials, form, origin)),
      ),

    async tokenInfo(credentials, value, origin) {
      const result = await asClient('token info', credentials, origin, () =>
        db.read((tx) => describe(tx, credentials, value)),
      )
      return result === 'invalid_client' ? undefined : result
    },

    async revoke(value, origin) {
      if (!isToken(value)) return false
      const guesser = { purpose: 'revocation from', subject: networkOf(origin) }
      const isRevoked = await db.write(async (tx) => {
        const token = await findLiveToken(tx, value)
        if (token === undefined) return false
        return deps.tokens.revoke(tx, { userId: token.user_id, deviceId: token.device_id, origin }, value)
      })
      if (isRevoked) return true
      await counts.check(guesser)
      await db.write((tx) => counts.count(tx, guesser))
      return false
    },
  }
}

/** `organization.admin` is for admins alone. */
export function withoutAdmin(scopes: ScopeList, isAdmin: boolean): ScopeList {
  if (isAdmin) return scopes
  return new ScopeList(scopes.entries.filter(({ scope }) => scope.name !== 'organization.admin'))
}

/** A code that was asked for with a challenge needs its verifier; one without takes none. */
function verifies(challenge: string | null, verifier: string | undefined): boolean {
  if (challenge === null || verifier === undefined) return challenge === null && verifier === undefined
  return sameSecret(createHash('sha256').update(verifier).digest('base64url'), challenge)
}
