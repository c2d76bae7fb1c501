/** Everything that the door serves, as two tables: what programs call, and what people see. */
import { NotSignedIn } from '../gate/sessions.js'
import type { Exchange } from '../http/exchange.js'
import { accountPages } from './account.js'
import { ownAccessPages } from './account-apps.js'
import { secondFactorPages } from './account-second-factor.js'
import { sessionPages } from './account-sessions.js'
import { adminAppPages } from './admin-apps.js'
import { authorizePages } from './authorize.js'
import type { OauthDeps } from './deps.js'
import { replyRedirect } from './page.js'
import type { PageRequest, PersonRequest } from './requests.js'
import { resetPages } from './reset.js'
import { signInPages } from './sign-in.js'
import { signUpPages } from './sign-up.js'
import { exchangeCode, revokeToken, tokenInfo } from './token.js'

type Params = Readonly<Record<string, string>>

/** Answers in JSON with both pairs of error keys. */
export interface ProgramRow {
  readonly path: readonly string[]
  readonly methods: Partial<
    Record<'GET' | 'POST' | 'DELETE', (exchange: Exchange, params: Params) => Promise<void>>
  >
}

/** Answers with pages. Every POST has passed the check that this site gave the form to this browser. */
export interface PageRow {
  readonly path: readonly string[]
  readonly access: 'anyone' | 'person' | 'admin'
  readonly GET?: (request: PageRequest) => Promise<void>
  readonly POST?: (request: PageRequest) => Promise<void>
}

export function programRows(deps: OauthDeps): readonly ProgramRow[] {
  return [
    { path: at('/auth/token'), methods: { POST: (exchange) => exchangeCode(deps, exchange) } },
    {
      path: at('/auth/token/:token'),
      methods: { DELETE: (exchange, params) => revokeToken(deps, exchange, params['token'] ?? '') },
    },
    { path: at('/auth/tokeninfo'), methods: { GET: (exchange) => tokenInfo(deps, exchange) } },
  ]
}

export function pageRows(deps: OauthDeps): readonly PageRow[] {
  const authorize = authorizePages(deps)
  const signIn = signInPages(deps)
  const signUp = signUpPages(deps)
  const reset = resetPages(deps)
  const account = accountPages(deps)
  const factor = secondFactorPages(deps)
  const access = ownAccessPages(deps)
  const sessions = sessionPages(deps)
  const apps = adminAppPages(deps)
  return [
    anyone('/', (request) => {
      replyRedirect(request.exchange, '/account')
      return Promise.resolve()
    }),
    anyone('/authorize', authorize.get, authorize.post),
    anyone('/sign-in', signIn.get, signIn.post),
    anyone('/sign-in/second-factor', signIn.getCode, signIn.postCode),
    anyone('/sign-out', undefined, signIn.signOut),
    person('/sign-out/everywhere', undefined, signIn.signOutEverywhere),
    anyone('/sign-up', signUp.get, signUp.post),
    anyone('/sign-up/address', undefined, signUp.postAddress),
    anyone('/set-up', signUp.getSetUp, signUp.postSetUp),
    anyone('/forgot', reset.getForgot, reset.postForgot),
    anyone('/reset', reset.get, reset.post),
    person('/account', account.get, account.post),
    person('/account/password', account.getPassword, account.postPassword),
    person('/account/second-factor', factor.get),
    person('/account/second-factor/enrol', undefined, factor.enrol),
    person('/account/second-factor/leave', undefined, factor.leave),
    person('/account/second-factor/recovery-codes', undefined, factor.renewCodes),
    person('/account/apps', access.getApps),
    person('/account/apps/revoke', undefined, access.revokeApp),
    person('/account/tokens', access.getTokens, access.makeToken),
    person('/account/tokens/revoke', undefined, access.revokeToken),
    person('/account/sessions', sessions.get),
    person('/account/sessions/end', undefined, sessions.end),
    admin('/admin/apps', apps.list, apps.register),
    admin('/admin/apps/:id', apps.get, apps.change),
    admin('/admin/apps/:id/secret', undefined, apps.renewSecret),
    admin('/admin/apps/:id/config', undefined, apps.download),
    admin('/admin/apps/:id/remove', undefined, apps.remove),
  ]
}

function at(path: string): readonly string[] {
  return path.split('/').filter((part) => part !== '')
}

type Page = (request: PageRequest) => Promise<void>
type PersonPage = (request: PersonRequest) => Promise<void>

function anyone(path: string, get: Page | undefined, post?: Page): PageRow {
  return row(path, 'anyone', get, post)
}

function person(path: string, get: PersonPage | undefined, post?: PersonPage): PageRow {
  return row(path, 'person', forPerson(get), forPerson(post))
}

function admin(path: string, get: PersonPage | undefined, post?: PersonPage): PageRow {
  return row(path, 'admin', forPerson(get), forPerson(post))
}

function row(
  path: string,
  access: PageRow['access'],
  get: Page | undefined,
  post: Page | undefined,
): PageRow {
  return {
    path: at(path),
    access,
    ...(get === undefined ? {} : { GET: get }),
    ...(post === undefined ? {} : { POST: post }),
  }
}

function forPerson(page: PersonPage | undefined): Page | undefined {
  if (page === undefined) return undefined
  return async (request) => {
    if (request.visit.stage !== 'full') throw new NotSignedIn(request.visit.stage)
    await page({ ...request, person: request.visit.person })
  }
}
