import type { Tx } from '../db/db.js'
import { BUILT_IN_APP, deleteApp, findApp, insertApp, setAppSecret, type AppRow } from '../db/apps.js'
import { Failure } from '../model/failures.js'
import { hashSecret, newUuid } from '../model/secrets.js'
import type { ServiceDeps } from './deps.js'
import { record, type Actor } from './journal.js'

export interface NewApp {
  readonly name: string
  readonly description: string
  readonly redirectUris: readonly string[]
  readonly isPublic: boolean
  readonly tokenLifetimeSeconds: number
}

export interface Apps {
  /** The secret is known at this moment alone; a public application has none. */
  add(tx: Tx, actor: Actor, app: NewApp): Promise<{ app: AppRow; secret: string | undefined }>
  remove(tx: Tx, actor: Actor, id: string): Promise<void>
  /** A new secret; the one before is dead. */
  renewSecret(tx: Tx, actor: Actor, id: string): Promise<{ app: AppRow; secret: string | undefined }>
}

const NAME_LENGTH_MAX = 255

/** Schemes that a browser would run or open on the person's own machine. */
const REFUSED_SCHEMES = new Set(['javascript:', 'data:', 'vbscript:', 'file:', 'blob:', 'about:'])
const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]'])

/** https, plain http on loopback, or a private scheme; absolute, without a fragment. */
export function checkRedirectUri(text: string): string {
  const refused = new Failure(
    'badArgs',
    'the redirect URI must be https, http on loopback, or of a private scheme',
  )
  if (/[\s\p{Cc}#]/u.test(text) || !URL.canParse(text)) throw refused
  const url = new URL(text)
  if (REFUSED_SCHEMES.has(url.protocol)) throw refused
  if (url.protocol === 'http:' && !LOOPBACK_HOSTS.has(url.hostname)) throw refused
  return text
}

export function apps(deps: ServiceDeps): Apps {
  async function find(tx: Tx, id: string): Promise<AppRow> {
    const app = id === BUILT_IN_APP ? undefined : await findApp(tx, id)
    if (app === undefined) throw new Failure('notFound', `there is no application ${id}`)
    return app
  }

  return {
    async add(tx, actor, given) {
      const name = given.name.trim()
      if (name === '' || name.length > NAME_LENGTH_MAX)
        throw new Failure('badArgs', 'the name must have 1 to 255 characters')
      if (given.redirectUris.length === 0) throw new Failure('badArgs', 'an application needs a redirect URI')
      if (!Number.isSafeInteger(given.tokenLifetimeSeconds) || given.tokenLifetimeSeconds < 0) {
        throw new Failure('badArgs', 'the token lifetime must be a whole number of seconds, 0 for ever')
      }
      const secret = given.isPublic ? undefined : newUuid()
      const app: AppRow = {
        id: newUuid(),
        secret_hash: secret === undefined ? null : hashSecret(secret),
        name,
        description: given.description,
        redirect_uris: JSON.stringify(given.redirectUris.map(checkRedirectUri)),
        is_public: given.isPublic ? 1 : 0,
        token_lifetime_s: given.tokenLifetimeSeconds,
      }
      await insertApp(tx, app, deps.now())
      await record(tx, actor, { atMs: deps.now(), action: 'app.create', subject: app.id, after: { name } })
      return { app, secret }
    },

    async remove(tx, actor, id) {
      const app = await find(tx, id)
      await deleteApp(tx, id)
      await record(tx, actor, {
        atMs: deps.now(),
        action: 'app.delete',
        subject: id,
        before: { name: app.name },
      })
    },

    async renewSecret(tx, actor, id) {
      const app = await find(tx, id)
      if (app.is_public === 1) return { app, secret: undefined }
      const secret = newUuid()
      await setAppSecret(tx, id, hashSecret(secret))
      await record(tx, actor, { atMs: deps.now(), action: 'app.secret', subject: id })
      return { app, secret }
    },
  }
}
