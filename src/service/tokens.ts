import type { Tx } from '../db/db.js'
import { BUILT_IN_APP, findApp } from '../db/apps.js'
import { deleteToken, findToken, insertToken } from '../db/tokens.js'
import { findUserByEmail } from '../db/users.js'
import { Failure } from '../model/failures.js'
import { parseScopes } from '../model/scopes.js'
import { hashSecret, randomHex } from '../model/secrets.js'
import { normalEmail } from './accounts.js'
import type { ServiceDeps } from './deps.js'
import { record, type Actor } from './journal.js'

const TOKEN_BYTES = 32
const DEVICE_ID_BYTES = 16
/** As long as the query of an authorization can be at most; every request with the token reads the list. */
const SCOPES_LENGTH_MAX = 16_384

/** As the token endpoint answers. */
export interface IssuedToken {
  readonly access_token: string
  readonly token_type: 'bearer'
  readonly expires_in: number
  readonly scope: string
}

export interface Tokens {
  issue(
    tx: Tx,
    actor: Actor,
    wish: { email: string; scope: string; appId: string | undefined; lifetimeSeconds: number | undefined },
  ): Promise<IssuedToken>
  /** False when there is no such token. */
  revoke(tx: Tx, actor: Actor, token: string): Promise<boolean>
}

export function tokens(deps: ServiceDeps): Tokens {
  return {
    async issue(tx, actor, wish) {
      const user = await findUserByEmail(tx, normalEmail(wish.email))
      if (user === undefined) throw new Failure('notFound', `there is no user ${normalEmail(wish.email)}`)
      const appId = wish.appId ?? BUILT_IN_APP
      const app = await findApp(tx, appId)
      if (app === undefined) throw new Failure('notFound', `there is no application ${appId}`)
      if (wish.scope.length > SCOPES_LENGTH_MAX) {
        throw new Failure('badArgs', `the scopes must have at most ${SCOPES_LENGTH_MAX} characters together`)
      }
      const scopes = parseScopes(wish.scope)
      if (scopes.any('organization.admin') && user.is_admin !== 1) {
        throw new Failure('forbidden', `${user.email} is no admin: organization.admin cannot be granted`)
      }
      const lifetime = wish.lifetimeSeconds ?? app.token_lifetime_s
      if (!Number.isSafeInteger(lifetime) || lifetime < 0) {
        throw new Failure('badArgs', 'the lifetime must be a whole number of seconds, 0 for ever')
      }
      const token = randomHex(TOKEN_BYTES)
      const nowMs = deps.now()
      const deviceId = randomHex(DEVICE_ID_BYTES)
      await insertToken(tx, {
        hash: hashSecret(token),
        device_id: deviceId,
        user_id: user.id,
        app_id: app.id,
        scopes: scopes.text,
        created_ms: nowMs,
        expires_ms: lifetime === 0 ? null : nowMs + lifetime * 1000,
      })
      await record(tx, actor, {
        atMs: nowMs,
        action: 'token.create',
        subject: deviceId,
        after: { user: user.email, app: app.id, scope: scopes.text },
      })
      return { access_token: token, token_type: 'bearer', expires_in: lifetime, scope: scopes.text }
    },

    async revoke(tx, actor, token) {
      const hash = hashSecret(token)
      const row = await findToken(tx, hash)
      if (row === undefined) return false
      await deleteToken(tx, hash)
      await record(tx, actor, { atMs: deps.now(), action: 'token.revoke', subject: row.device_id })
      return true
    },
  }
}
