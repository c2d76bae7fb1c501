import { BUILT_IN_APP } from '../db/apps.js'
import type { Tx } from '../db/db.js'
import {
  deleteCodesOfApp,
  deletePersonalToken,
  deleteTokensOfApp,
  listOwnTokens,
  nameToken,
  type OwnTokenRow,
} from '../db/own-tokens.js'
import type { Person } from '../gate/person.js'
import { Failure } from '../model/failures.js'
import { isHex } from '../model/ids.js'
import { parseScopes } from '../model/scopes.js'
import { hashSecret, isUuid } from '../model/secrets.js'
import { withoutAdmin } from './authorizations.js'
import { record } from './journal.js'
import type { IssuedToken, Tokens } from './tokens.js'

const NAME_LENGTH_MAX = 255
const DEVICE_ID_HEX_DIGITS = 32

/** An application with everything that the person has given it. */
export interface AuthorizedApp {
  readonly id: string
  readonly name: string
  readonly scopes: string[]
  readonly createdMs: number
  readonly usedMs: number | undefined
  /** Undefined: at least one of its tokens does not end. */
  readonly expiresMs: number | undefined
  readonly tokens: number
}

export interface PersonalToken {
  readonly deviceId: string
  readonly name: string
  readonly scopes: string[]
  readonly createdMs: number
  readonly usedMs: number | undefined
  readonly expiresMs: number | undefined
}

export interface OwnTokens {
  apps(tx: Tx, person: Person): Promise<AuthorizedApp[]>
  revokeApp(tx: Tx, person: Person, appId: string): Promise<void>
  personal(tx: Tx, person: Person): Promise<PersonalToken[]>
  make(
    tx: Tx,
    person: Person,
    wish: { name: string; scopes: readonly string[]; lifetimeSeconds: number },
  ): Promise<IssuedToken>
  revokePersonal(tx: Tx, person: Person, deviceId: string): Promise<void>
}

export function ownTokens(deps: { now: () => number; tokens: Tokens }): OwnTokens {
  return {
    async apps(tx, person) {
      const rows = await listOwnTokens(tx, person.userId, deps.now())
      const byApp = new Map<string, OwnTokenRow[]>()
      for (const row of rows) {
        if (row.app_id !== BUILT_IN_APP) byApp.set(row.app_id, [...(byApp.get(row.app_id) ?? []), row])
      }
      return [...byApp.values()].map((ofApp) => summary(ofApp, person))
    },

    async revokeApp(tx, person, appId) {
      if (
        appId === BUILT_IN_APP ||
        !isUuid(appId) ||
        (await deleteTokensOfApp(tx, person.userId, appId)) === 0
      ) {
        throw new Failure('notFound', 'you have not authorized this application')
      }
      await deleteCodesOfApp(tx, person.userId, appId)
      await record(tx, person, { atMs: deps.now(), action: 'app.revoke', subject: appId })
    },

    async personal(tx, person) {
      const rows = await listOwnTokens(tx, person.userId, deps.now())
      return rows
        .filter((row) => row.app_id === BUILT_IN_APP)
        .map((row) => ({
          deviceId: row.device_id,
          name: row.device_name ?? row.app_name,
          scopes: scopesOf(row, person),
          createdMs: row.created_ms,
          usedMs: row.used_ms ?? undefined,
          expiresMs: row.expires_ms ?? undefined,
        }))
    },

    async make(tx, person, wish) {
      const name = wish.name.trim()
      if (name === '' || name.length > NAME_LENGTH_MAX || /\p{Cc}/u.test(name)) {
        throw new Failure('badArgs', `the name must have 1 to ${NAME_LENGTH_MAX} characters`)
      }
      if (wish.scopes.length === 0) throw new Failure('badArgs', 'choose at least one permission')
      // The person may be an admin by now and the session still one from before.
      if (!person.isAdmin && wish.scopes.some((scope) => scope.includes('organization.admin'))) {
        throw new Failure('forbidden', 'only an admin can grant organization.admin')
      }
      const issued = await deps.tokens.issue(tx, person, {
        email: person.email,
        scope: wish.scopes.join(','),
        appId: undefined,
        lifetimeSeconds: wish.lifetimeSeconds,
      })
      await nameToken(tx, hashSecret(issued.access_token), name)
      return issued
    },

    async revokePersonal(tx, person, deviceId) {
      const isId = isHex(deviceId, DEVICE_ID_HEX_DIGITS)
      if (!isId || (await deletePersonalToken(tx, person.userId, deviceId)) === 0) {
        throw new Failure('notFound', 'you have no such token')
      }
      await record(tx, person, { atMs: deps.now(), action: 'token.revoke', subject: deviceId })
    },
  }
}

function summary(rows: readonly OwnTokenRow[], person: Person): AuthorizedApp {
  const [first] = rows
  const ends = rows.map((row) => row.expires_ms)
  const used = rows.flatMap((row) => row.used_ms ?? [])
  return {
    id: first?.app_id ?? '',
    name: first?.app_name ?? '',
    scopes: [...new Set(rows.flatMap((row) => scopesOf(row, person)))],
    createdMs: Math.min(...rows.map((row) => row.created_ms)),
    usedMs: used.length === 0 ? undefined : Math.max(...used),
    expiresMs: ends.includes(null) ? undefined : Math.max(...ends.map((end) => end ?? 0)),
    tokens: rows.length,
  }
}

function scopesOf(row: OwnTokenRow, person: Person): string[] {
  return withoutAdmin(parseScopes(row.scopes), person.isAdmin).entries.map(({ text }) => text)
}
