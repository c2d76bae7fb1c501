import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { Db } from '../db/db.js'
import { sessionGate } from '../gate/sessions.js'
import type { Exchange } from '../http/exchange.js'
import { oauthDoor } from '../oauth/door.js'
import { accounts } from '../service/accounts.js'
import { apps } from '../service/apps.js'
import { authorizations } from '../service/authorizations.js'
import type { ServiceDeps } from '../service/deps.js'
import { guesses } from '../service/guesses.js'
import { signUps } from '../service/invitees-signup.js'
import { ownTokens } from '../service/own-tokens.js'
import { signIns } from '../service/passwords-signin.js'
import { profiles } from '../service/profiles.js'
import { resets } from '../service/resets.js'
import { secondFactor } from '../service/second-factor.js'
import { sessions } from '../service/sessions.js'
import { setUp } from '../service/set-up.js'
import { signIn } from '../service/sign-in.js'
import { signUpCodes } from '../service/sign-up-codes.js'
import { tokens } from '../service/tokens.js'
import type { ServeSettings } from './settings.js'

/** The sign-in pages and the OAuth endpoints, put together. `certificate` is the one in use, as PEM. */
export function signInDoor(
  settings: ServeSettings,
  deps: ServiceDeps,
  db: Db,
  baseUrl: (exchange: Exchange) => string,
  certificate: string | undefined,
): (exchange: Exchange) => Promise<boolean> {
  const { now, complain } = deps
  const { passwordLengthMin, signIn: lives, signUpPolicy } = settings
  const counts = guesses(db, now, { failuresMax: lives.failuresMax, windowMs: lives.failuresWindowMs })
  const web = sessions({ now }, lives)
  const factor = secondFactor({ now })
  const issued = tokens(deps)
  const people = accounts(deps)
  const shared = {
    now,
    db,
    accounts: people,
    sessions: web,
    passwords: deps.hashing,
    guesses: counts,
    passwordLengthMin,
  }
  return oauthDoor({
    now,
    gate: sessionGate({ db, now, idleMs: lives.idleMs }),
    sessions: web,
    signIn: signIn({ ...shared, secondFactor: factor, verifyPassword: signIns(deps, db).verifyPassword }),
    secondFactor: factor,
    passwords: deps.hashing,
    authorizations: authorizations({
      now,
      db,
      tokens: issued,
      guesses: counts,
      codeLifetimeMs: lives.codeMs,
    }),
    ownTokens: ownTokens({ now, tokens: issued }),
    apps: apps(deps),
    profiles: profiles(shared),
    resets: resets({ ...shared, lifetimeMs: lives.resetMs, complain }),
    signUps: signUps(deps, db),
    signUpCodes: signUpCodes(deps, { db, guesses: counts, lifetimeMs: lives.signUpMs }),
    setUp: setUp(shared),
    passwordLengthMin,
    isSignUpOpen: signUpPolicy === 'open',
    consentLifetimeMs: lives.consentMs,
    baseUrl,
    certainBaseUrl: certainBaseUrl(settings, certificate),
    certificate: () => Promise.resolve(certificate ?? ''),
    complain,
  })
}

/**
 * The setting, or the Host that the client names if the certificate was made for it; else nobody knows. A name that only a
 * wildcard covers may be somebody else's, and so may another port of the same machine.
 */
function certainBaseUrl(
  settings: ServeSettings,
  certificate: string | undefined,
): (exchange: Exchange) => string | undefined {
  const parsed = certificate === undefined ? undefined : new X509Certificate(certificate)
  return (exchange) => {
    if (settings.baseUrl !== undefined) return settings.baseUrl
    const host = exchange.req.headers.host ?? ''
    if (parsed === undefined || !URL.canParse(`https://${host}`)) return undefined
    const { hostname, port } = new URL(`https://${host}`)
    if (port !== '' && port !== String(settings.port)) return undefined
    const name = hostname.replace(/^\[|\]$/g, '')
    const isOurs = isIP(name) === 0 ? parsed.checkHost(name, { wildcards: false }) : parsed.checkIP(name)
    return isOurs === undefined ? undefined : `https://${host}`
  }
}
