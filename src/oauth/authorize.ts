import { createHmac } from 'node:crypto'
import type { Person } from '../gate/person.js'
import { NotSignedIn, sessionSecret } from '../gate/sessions.js'
import type { Exchange } from '../http/exchange.js'
import { randomHex, sameSecret } from '../model/secrets.js'
import { scopeSubjects } from '../service/scope-subjects.js'
import { readAuthorizeRequest, type AuthorizeRequest, type Redirect } from './authorize-request.js'
import { consentPage } from './consent-page.js'
import type { OauthDeps } from './deps.js'
import { replyPage, replyRedirect } from './page.js'
import { PageFailure } from './refusals.js'
import { formToken, headerText, type PageRequest } from './requests.js'
import { showWayIn } from './sign-in.js'
import { TEXTS } from './texts.js'

const NONCE_BYTES = 16

const DENIED = { error: 'access_denied', error_description: 'the person did not allow it' }

export function authorizePages(
  deps: OauthDeps,
): Record<'get' | 'post', (request: PageRequest) => Promise<void>> {
  const read = (rawQuery: string): Promise<AuthorizeRequest | Redirect> =>
    readAuthorizeRequest(rawQuery, (id) => deps.authorizations.client(id))

  async function showConsent(request: PageRequest, person: Person, wanted: AuthorizeRequest): Promise<void> {
    const { exchange } = request
    const scopes = deps.authorizations.grantable(person, wanted.asked.scopes)
    if (scopes.entries.length === 0) return replyRedirect(exchange, wanted.redirect(DENIED).location)
    const subjects = await deps.gate.reading(exchange, (tx, now) => scopeSubjects(tx, now, scopes))
    const { client, asked } = wanted
    const hidden = sealed(exchange, { request: exchange.rawQuery, issuedMs: deps.now() })
    replyPage(
      exchange,
      consentPage({
        client,
        person,
        scopes,
        subjects,
        hidden,
        formToken: formToken(request),
        redirectUri: asked.redirectUri,
      }),
    )
  }

  /** The answer in the form: an address at the application. The form is used up by it, whatever it was. */
  async function decide(
    request: PageRequest,
    wanted: AuthorizeRequest,
    nonce: string,
    expiresMs: number,
  ): Promise<Redirect> {
    const { exchange, form } = request
    const ticked = new Set(form.all('scope'))
    const isAllowed = form.one('decision') === 'allow'
    const code = await deps.gate.writing(exchange, async (tx, person) => {
      if (!(await deps.authorizations.spend(tx, nonce, expiresMs))) {
        throw new PageFailure('badArgs', TEXTS.consent.spent)
      }
      return isAllowed ? deps.authorizations.allow(tx, person, wanted.asked, ticked) : undefined
    })
    return wanted.redirect(code === undefined ? DENIED : { code })
  }

  return {
    async get(request) {
      const { exchange, visit } = request
      const wanted = await read(exchange.rawQuery)
      if ('location' in wanted) return replyRedirect(exchange, wanted.location)
      if (visit.stage === 'full') return showConsent(request, visit.person, wanted)
      showWayIn(request, { next: targetOf(exchange.rawQuery), appName: wanted.client.name })
    },

    async post(request) {
      const { exchange, form, visit } = request
      if (visit.stage !== 'full') throw new NotSignedIn(visit.stage)
      const issuedMs = Number(form.one('issued') ?? '')
      const nonce = form.one('nonce') ?? ''
      const rawQuery = form.one('request') ?? ''
      const seal = sealOf(exchange, rawQuery, issuedMs, nonce)
      const isOurs = Number.isSafeInteger(issuedMs) && sameSecret(seal, form.one('seal') ?? '')
      if (!isOurs) throw new PageFailure('forbidden', TEXTS.errors.forgedForm)
      const wanted = await read(rawQuery)
      if ('location' in wanted) return replyRedirect(exchange, wanted.location)
      const expiresMs = issuedMs + deps.consentLifetimeMs
      if (expiresMs <= deps.now()) throw new PageFailure('badArgs', TEXTS.consent.expired)
      replyRedirect(exchange, (await decide(request, wanted, nonce, expiresMs)).location)
    },
  }
}

/** What the form carries: the request that was looked at, sealed for this session, good once. */
function sealed(exchange: Exchange, about: { request: string; issuedMs: number }): Record<string, string> {
  const nonce = randomHex(NONCE_BYTES)
  const seal = sealOf(exchange, about.request, about.issuedMs, nonce)
  return { request: about.request, issued: String(about.issuedMs), nonce, seal }
}

/** The session's secret is known to the browser and to nobody else. */
function sealOf(exchange: Exchange, rawQuery: string, issuedMs: number, nonce: string): string {
  const text = JSON.stringify(['consent', rawQuery, issuedMs, nonce])
  return createHmac('sha256', sessionSecret(exchange) ?? '')
    .update(text)
    .digest('hex')
}

/** The same request once more, as a path that every check of targets lets pass. */
function targetOf(rawQuery: string): string {
  return `/authorize?${headerText(rawQuery)}`
}
