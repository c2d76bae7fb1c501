import type { Exchange } from '../http/exchange.js'
import type { Query } from '../http/query.js'
import { Failure } from '../model/failures.js'
import type { ClientCredentials } from '../service/clients.js'
import { OauthFailure } from './oauth-failure.js'

/** Who asks is not known: 401, with the challenge of the OAuth routes. */
export class InvalidClient extends Failure {
  constructor() {
    super('unauthorized', 'the application is unknown or its secret is wrong', {
      'Cache-Control': 'no-store',
      Pragma: 'no-cache',
    })
  }
}

/** By HTTP Basic, or by the form; not by both. */
export function clientCredentials(exchange: Exchange, form: Query): ClientCredentials {
  const basic = basicCredentials(exchange)
  const [id, ...furtherIds] = form.all('client_id')
  const [secret, ...furtherSecrets] = form.all('client_secret')
  if (furtherIds.length > 0 || furtherSecrets.length > 0) {
    throw new OauthFailure('invalid_request', 'client_id or client_secret is given more than once')
  }
  if (basic === undefined) {
    if (id === undefined || id === '') throw new InvalidClient()
    return { id, secret: secret === '' ? undefined : secret }
  }
  if (secret !== undefined) {
    throw new OauthFailure(
      'invalid_request',
      'client_secret must not be given beside the Authorization header',
    )
  }
  if (id !== undefined && id !== basic.id) {
    throw new OauthFailure('invalid_request', 'client_id differs from the Authorization header')
  }
  return basic
}

/** Undefined without an Authorization header; one that is not of this form is refused. */
export function basicCredentials(exchange: Exchange): ClientCredentials | undefined {
  const lines = exchange.req.headersDistinct['authorization'] ?? []
  const [line] = lines
  if (line === undefined) return undefined
  const encoded = lines.length === 1 ? /^basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(line)?.[1] : undefined
  if (encoded === undefined) throw new InvalidClient()
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 0) throw new InvalidClient()
  const secret = decoded(text.slice(colon + 1))
  return { id: decoded(text.slice(0, colon)), secret: secret === '' ? undefined : secret }
}

/** Both parts are form-encoded before they are joined; many clients forget it, so what cannot be decoded is taken as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
