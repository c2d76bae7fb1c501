import { BUILT_IN_APP, findApp, type AppRow } from '../db/apps.js'
import type { Tx } from '../db/db.js'
import { hashSecret, isUuid, sameSecret } from '../model/secrets.js'

/** An application that says who it is. */
export interface ClientCredentials {
  readonly id: string
  readonly secret: string | undefined
}

/** A registered application; the built-in one is nobody's client. */
export async function findClient(tx: Tx, id: string): Promise<AppRow | undefined> {
  return id === BUILT_IN_APP || !isUuid(id) ? undefined : findApp(tx, id)
}

/** The application behind the credentials. A public one has no secret, and none is taken from it. */
export async function authenticateClient(
  tx: Tx,
  credentials: ClientCredentials,
): Promise<AppRow | undefined> {
  const app = await findClient(tx, credentials.id)
  if (app === undefined) return undefined
  const { secret } = credentials
  if (app.is_public === 1) return secret === undefined ? app : undefined
  if (app.secret_hash === null || secret === undefined) return undefined
  return sameSecret(hashSecret(secret), app.secret_hash) ? app : undefined
}

export function redirectUrisOf(app: AppRow): string[] {
  return JSON.parse(app.redirect_uris) as string[]
}
