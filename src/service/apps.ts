import type { Tx } from '../db/db.js'
import {
  BUILT_IN_APP,
  deleteApp,
  findApp,
  insertApp,
  listApps,
  setAppSecret,
  updateApp,
  type AppRow,
} from '../db/apps.js'
import { Failure } from '../model/failures.js'
import { hashSecret, isUuid, newUuid } from '../model/secrets.js'
import type { ServiceDeps } from './deps.js'
import { record, type Actor } from './journal.js'

export interface NewApp {
  readonly name: string
  readonly description: string
  readonly redirectUris: readonly string[]
  readonly isPublic: boolean
  readonly tokenLifetimeSeconds: number
}

/** What of an application can be changed; absent: it stays. */
export type AppChanges = Partial<Omit<NewApp, 'isPublic'>>

export type { AppRow } from '../db/apps.js'

export interface Apps {
  list(tx: Tx): Promise<AppRow[]>
  get(tx: Tx, id: string): Promise<AppRow>
  /** The secret is known at this moment alone; a public application has none. */
  add(tx: Tx, actor: Actor, app: NewApp): Promise<{ app: AppRow; secret: string | undefined }>
  change(tx: Tx, actor: Actor, id: string, changes: AppChanges): Promise<AppRow>
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

const DESCRIPTION_LENGTH_MAX = 1000
const REDIRECT_URIS_MAX = 100

function checkedName(text: string): string {
  const name = text.trim()
  if (name === '' || name.length > NAME_LENGTH_MAX || /\p{Cc}/u.test(name))
    throw new Failure('badArgs', `the name must have 1 to ${NAME_LENGTH_MAX} characters`)
  return name
}

function checkedDescription(text: string): string {
  if (text.length > DESCRIPTION_LENGTH_MAX || text.includes('\0'))
    throw new Failure('badArgs', `the description must have at most ${DESCRIPTION_LENGTH_MAX} characters`)
  return text.trim()
}

function checkedRedirectUris(uris: readonly string[]): string {
  if (uris.length === 0) throw new Failure('badArgs', 'an application needs a redirect URI')
  if (uris.length > REDIRECT_URIS_MAX)
    throw new Failure('badArgs', `an application has at most ${REDIRECT_URIS_MAX} redirect URIs`)
  return JSON.stringify([...new Set(uris.map(checkRedirectUri))])
}

/** A hundred years: the end of a token is a date that can be written down. */
const LIFETIME_SECONDS_MAX = 3_153_600_000

export function checkedLifetime(seconds: number): number {
  if (!Number.isSafeInteger(seconds) || seconds < 0 || seconds > LIFETIME_SECONDS_MAX)
    throw new Failure(
      'badArgs',
      `the token lifetime must be a whole number of seconds up to ${LIFETIME_SECONDS_MAX}, 0 for ever`,
    )
  return seconds
}

export function apps(deps: Pick<ServiceDeps, 'now'>): Apps {
  async function find(tx: Tx, id: string): Promise<AppRow> {
    const app = id === BUILT_IN_APP || !isUuid(id) ? undefined : await findApp(tx, id)
    if (app === undefined) throw new Failure('notFound', `there is no application ${id}`)
    return app
  }

  return {
    list: listApps,
    get: find,

    async add(tx, actor, given) {
      const name = checkedName(given.name)
      const secret = given.isPublic ? undefined : newUuid()
      const app: AppRow = {
        id: newUuid(),
        secret_hash: secret === undefined ? null : hashSecret(secret),
        name,
        description: checkedDescription(given.description),
        redirect_uris: checkedRedirectUris(given.redirectUris),
        is_public: given.isPublic ? 1 : 0,
        token_lifetime_s: checkedLifetime(given.tokenLifetimeSeconds),
      }
      await insertApp(tx, app, deps.now())
      await record(tx, actor, { atMs: deps.now(), action: 'app.create', subject: app.id, after: { name } })
      return { app, secret }
    },

    async change(tx, actor, id, changes) {
      const before = await find(tx, id)
      const app: AppRow = {
        ...before,
        name: checkedName(changes.name ?? before.name),
        description: checkedDescription(changes.description ?? before.description),
        redirect_uris:
          changes.redirectUris === undefined
            ? before.redirect_uris
            : checkedRedirectUris(changes.redirectUris),
        token_lifetime_s: checkedLifetime(changes.tokenLifetimeSeconds ?? before.token_lifetime_s),
      }
      await updateApp(tx, app)
      await record(tx, actor, {
        atMs: deps.now(),
        action: 'app.change',
        subject: id,
        before: { name: before.name, redirectUris: before.redirect_uris },
        after: { name: app.name, redirectUris: app.redirect_uris },
      })
      return app
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
