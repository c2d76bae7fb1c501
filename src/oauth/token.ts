import type { Exchange } from '../http/exchange.js'
import type { Query } from '../http/query.js'
import { parseQuery } from '../http/query.js'
import { replyEmpty, replyJson } from '../http/reply.js'
import { decodeSegment } from '../http/segments.js'
import { Failure } from '../model/failures.js'
import { basicCredentials, clientCredentials, InvalidClient } from './client-credentials.js'
import type { OauthDeps } from './deps.js'
import { OauthFailure } from './oauth-failure.js'
import { readForm } from './requests.js'

const NO_STORE = { 'Cache-Control': 'no-store', Pragma: 'no-cache' }

/** POST /auth/token: a code becomes a token. */
export async function exchangeCode(deps: OauthDeps, exchange: Exchange): Promise<void> {
  const form = await readForm(exchange)
  const credentials = clientCredentials(exchange, form)
  const grantType = once(form, 'grant_type')
  if (grantType === undefined) throw missing('grant_type')
  if (grantType !== 'authorization_code') {
    throw new OauthFailure('unsupported_grant_type', 'grant_type must be authorization_code')
  }
  const code = once(form, 'code')
  const redirectUri = once(form, 'redirect_uri')
  const verifier = once(form, 'code_verifier')
  for (const name of SINGLE) once(form, name)
  // Wrong credentials are told before anything is said of the rest.
  const wish = { code: code ?? '', redirectUri: redirectUri ?? '', verifier }
  const result = await deps.authorizations.exchange(credentials, wish, exchange.client)
  if (result === 'invalid_client') throw new InvalidClient()
  if (code === undefined) throw missing('code')
  if (redirectUri === undefined) throw missing('redirect_uri')
  if (result === 'invalid_grant') {
    throw new OauthFailure('invalid_grant', 'the code is not valid for this application and redirect_uri')
  }
  replyJson(exchange, 200, JSON.stringify(result), NO_STORE)
}

const SINGLE = ['client_id', 'client_secret', 'scope']

/** Undefined when absent or empty; a repeated parameter is refused. */
function once(form: Query, name: string): string | undefined {
  const values = form.all(name)
  if (values.length > 1) throw new OauthFailure('invalid_request', `${name} is given more than once`)
  return values[0] === '' ? undefined : values[0]
}

function missing(name: string): OauthFailure {
  return new OauthFailure('invalid_request', `${name} is missing`)
}

/** DELETE /auth/token/<token>: possession is the right to revoke. */
export async function revokeToken(deps: OauthDeps, exchange: Exchange, rawToken: string): Promise<void> {
  const isRevoked = await deps.authorizations.revoke(decodeSegment(rawToken), exchange.client)
  if (!isRevoked) throw new Failure('notFound', 'there is no such token')
  replyEmpty(exchange, 200, NO_STORE)
}

/** GET /auth/tokeninfo: a client asks about a token of its own. */
export async function tokenInfo(deps: OauthDeps, exchange: Exchange): Promise<void> {
  const credentials = basicCredentials(exchange)
  if (credentials === undefined) throw new InvalidClient()
  const tokens = parseQuery(exchange.rawQuery).all('access_token')
  const [token = ''] = tokens
  // Without a token the credentials are judged all the same, by one that nobody has.
  const info = await deps.authorizations
    .tokenInfo(credentials, token, exchange.client)
    .catch((error: unknown) => {
      if (error instanceof Failure && error.kind === 'notFound' && (token === '' || tokens.length > 1)) {
        throw new OauthFailure('invalid_request', 'access_token must be given once')
      }
      throw error
    })
  if (info === undefined) throw new InvalidClient()
  if (tokens.length > 1) throw new OauthFailure('invalid_request', 'access_token must be given once')
  replyJson(exchange, 200, JSON.stringify(info), NO_STORE)
}
