import { secretCookie, sessionSecret } from '../gate/sessions.js'
import { html, type Markup } from '../http/html.js'
import { Failure } from '../model/failures.js'
import { hashSecret } from '../model/secrets.js'
import type { SignedIn } from '../service/sign-in.js'
import type { OauthDeps } from './deps.js'
import { checkbox, field, form, notice, problem, replyPage, replyRedirect, withName } from './page.js'
import { told } from './refusals.js'
import {
  BROWSER_COOKIE,
  formToken,
  giveBrowser,
  giveSession,
  safeTarget,
  takeSession,
  whereabouts,
  type PageRequest,
} from './requests.js'
import { TEXTS } from './texts.js'

/** Where the browser goes on after signing in, and why it is asked to. */
export interface Continuation {
  readonly next: string
  /** The application that the person is on the way to. */
  readonly appName?: string | undefined
}

export interface SignInNews {
  readonly status?: number
  readonly problem?: string
  readonly notice?: string | undefined
  readonly email?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Seconds after which it may be worth another try, where nobody knows better. */
const RETRY_AFTER = '30'

export function showSignIn(request: PageRequest, on: Continuation, news: SignInNews = {}): void {
  const { appName } = on
  replyPage(request.exchange, {
    title: TEXTS.signIn.title,
    status: news.status ?? 200,
    headers: news.headers ?? {},
    formsLeave: leaves(on.next),
    body: html`${appName === undefined ? '' : html`<p>${withName(TEXTS.signIn.continueTo, appName)}</p>`}
      ${problem(news.problem)} ${notice(news.notice)}
      ${form({
        action: '/sign-in',
        formToken: formToken(request),
        hidden: { next: on.next },
        body: [
          field({
            label: TEXTS.fields.email,
            name: 'email',
            type: 'email',
            autocomplete: 'username',
            value: news.email ?? '',
          }),
          field({
            label: TEXTS.fields.password,
            name: 'password',
            type: 'password',
            autocomplete: 'current-password',
          }),
          checkbox({ id: 'remember', name: 'remember', label: TEXTS.fields.remember, isChecked: false }),
          html`<p class="actions"><button>${TEXTS.buttons.signIn}</button></p>`,
        ],
      })}
      <p class="links">
        <a href="/forgot">${TEXTS.signIn.forgot}</a> <a href="/sign-up">${TEXTS.signIn.signUp}</a>
      </p>`,
  })
}

export function showSecondFactor(request: PageRequest, on: Continuation, news: SignInNews = {}): void {
  replyPage(request.exchange, {
    title: TEXTS.secondFactor.title,
    status: news.status ?? 200,
    formsLeave: leaves(on.next),
    body: html`<p>${TEXTS.secondFactor.asked}</p>
      ${problem(news.problem)}
      ${form({
        action: '/sign-in/second-factor',
        formToken: formToken(request),
        hidden: { next: on.next },
        body: html`${codeField(TEXTS.hints.code)}
          <p class="actions"><button>${TEXTS.buttons.continue}</button></p>`,
      })}
      ${form({
        action: '/sign-out',
        formToken: formToken(request),
        className: 'links',
        body: html`<button class="second">${TEXTS.buttons.signOut}</button>`,
      })}`,
  })
}

export function codeField(hint: string): Markup {
  return field({ label: TEXTS.fields.code, name: 'code', autocomplete: 'one-time-code', hint })
}

/** Only the way to an application leads off this site. */
function leaves(next: string): boolean {
  return next.startsWith('/authorize')
}

/** Shows the page that the browser has to pass next, in the place of the one it asked for. */
export function showWayIn(request: PageRequest, on: Continuation): void {
  if (request.visit.stage === 'half') showSecondFactor(request, on)
  else showSignIn(request, on)
}

/** A browser has one session: the one that it held until now is over, so that nobody can go on with its secret. */
export async function endReplaced(deps: OauthDeps, { exchange, visit }: PageRequest): Promise<void> {
  const secret = visit.stage === 'none' ? undefined : sessionSecret(exchange)
  if (secret !== undefined) await deps.signIn.end(hashSecret(secret))
}

const NEWS: ReadonlyMap<string, string> = new Map([
  ['over', TEXTS.signIn.over],
  ['password-set', TEXTS.signIn.passwordIsSet],
  ['signed-out', TEXTS.signIn.signedOut],
])

export function signInPages(
  deps: OauthDeps,
): Record<
  'get' | 'post' | 'getCode' | 'postCode' | 'signOut' | 'signOutEverywhere',
  (request: PageRequest) => Promise<void>
> {
  function goOn(request: PageRequest, signedIn: SignedIn, next: string): void {
    giveSession(request.exchange, signedIn, deps.now())
    giveBrowser(request.exchange, signedIn.browser)
    const page = `/sign-in/second-factor?next=${encodeURIComponent(next)}`
    replyRedirect(request.exchange, signedIn.stage === 'half' ? page : next)
  }

  return {
    get: (request) => {
      const next = safeTarget(request.query.one('next'))
      if (request.visit.stage === 'full') replyRedirect(request.exchange, next)
      else showSignIn(request, { next }, { notice: NEWS.get(request.query.one('news') ?? '') })
      return Promise.resolve()
    },

    async post(request) {
      const { exchange, form: posted } = request
      const next = safeTarget(posted.one('next'))
      const email = posted.one('email') ?? ''
      let signedIn: SignedIn | undefined
      try {
        signedIn = await deps.signIn.withPassword({
          ...whereabouts(exchange),
          email,
          password: posted.one('password') ?? '',
          isRemembered: posted.one('remember') === 'on',
          browser: secretCookie(exchange, BROWSER_COOKIE),
        })
      } catch (error) {
        if (!(error instanceof Failure) || error.kind !== 'unavailable') throw error
        return showSignIn(
          request,
          { next },
          {
            status: 503,
            problem: told(error),
            email,
            headers: { 'Retry-After': RETRY_AFTER, ...error.headers },
          },
        )
      }
      if (signedIn === undefined) {
        return showSignIn(request, { next }, { status: 401, problem: TEXTS.signIn.wrong, email })
      }
      await endReplaced(deps, request)
      goOn(request, signedIn, next)
    },

    getCode: (request) => {
      const next = safeTarget(request.query.one('next'))
      if (request.visit.stage === 'half') showSecondFactor(request, { next })
      else if (request.visit.stage === 'full') replyRedirect(request.exchange, next)
      else replyRedirect(request.exchange, `/sign-in?next=${encodeURIComponent(next)}`)
      return Promise.resolve()
    },

    async postCode(request) {
      const { exchange, visit, form: posted } = request
      const next = safeTarget(posted.one('next'))
      if (visit.stage === 'full') return replyRedirect(exchange, next)
      const result =
        visit.stage === 'half'
          ? await deps.signIn.withCode(visit.sessionHash, {
              ...whereabouts(exchange),
              code: posted.one('code') ?? '',
              browser: secretCookie(exchange, BROWSER_COOKIE),
            })
          : 'over'
      if (result === 'wrong') {
        return showSecondFactor(request, { next }, { status: 401, problem: TEXTS.secondFactor.wrong })
      }
      if (result === 'over') {
        takeSession(exchange)
        return replyRedirect(exchange, `/sign-in?news=over&next=${encodeURIComponent(next)}`)
      }
      goOn(request, result, next)
    },

    async signOut({ exchange }) {
      const secret = sessionSecret(exchange)
      if (secret !== undefined) await deps.signIn.end(hashSecret(secret))
      takeSession(exchange)
      replyRedirect(exchange, '/sign-in?news=signed-out')
    },

    async signOutEverywhere({ exchange }) {
      await deps.gate.writing(exchange, (tx, person) => deps.signIn.endEverywhere(tx, person))
      takeSession(exchange)
      replyRedirect(exchange, '/sign-in?news=signed-out')
    },
  }
}
