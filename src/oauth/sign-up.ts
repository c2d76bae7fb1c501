import type { Exchange } from '../http/exchange.js'
import { html, type Markup } from '../http/html.js'
import { Failure } from '../model/failures.js'
import type { SignUpMail } from '../service/sign-up-codes.js'
import type { OauthDeps } from './deps.js'
import { field, form, notice, problem, replyPage, replyRedirect, withName } from './page.js'
import { PageFailure, told } from './refusals.js'
import { formToken, giveBrowser, giveSession, whereabouts, type PageRequest } from './requests.js'
import { endReplaced } from './sign-in.js'
import { TEXTS } from './texts.js'

interface News {
  readonly status?: number
  readonly problem?: string
}

type Handler = (request: PageRequest) => Promise<void>

/** Refusals that are about what was typed, and are shown above the form. */
const SHOWN: Partial<Record<Failure['kind'], number>> = {
  badArgs: 400,
  forbidden: 403,
  notFound: 404,
  conflict: 409,
}

function newsOf(error: unknown): News {
  const status = error instanceof Failure ? SHOWN[error.kind] : undefined
  if (!(error instanceof Failure) || status === undefined) throw error
  return { status, problem: told(error) }
}

/** The ways to an account of one's own: by an invitation, by a mail to oneself, and as the first person of all. */
export function signUpPages(
  deps: OauthDeps,
): Record<'get' | 'post' | 'postAddress' | 'getSetUp' | 'postSetUp', Handler> {
  function page(request: PageRequest, news: News, body: Markup): void {
    replyPage(request.exchange, {
      title: TEXTS.signUp.title,
      status: news.status ?? 200,
      body: html`${problem(news.problem)} ${body}
        <p class="links"><a href="/sign-in">${TEXTS.signIn.title}</a></p>`,
    })
  }

  async function show(request: PageRequest, news: News = {}): Promise<void> {
    const code = codeOf(request)
    const address = code === '' ? undefined : await deps.signUps.addressFor(code)
    const introduction = deps.isSignUpOpen ? TEXTS.signUp.withCodeAbout : TEXTS.signUp.askForCode
    const codeField =
      address === undefined
        ? field({ label: TEXTS.fields.signUpCode, name: 'code', value: value(request, 'code') })
        : html`<input type="hidden" name="code" value="${code}" />`
    const personForm = html`<p>
        ${address === undefined ? introduction : withName(TEXTS.signUp.as, address)}
      </p>
      ${form({
        action: '/sign-up',
        formToken: formToken(request),
        body: [
          codeField,
          personFields(deps, request),
          html`<p class="actions"><button>${TEXTS.buttons.signUp}</button></p>`,
        ],
      })}`
    page(
      request,
      news,
      address === undefined && deps.isSignUpOpen
        ? html`${addressForm(request)}
            <h2>${TEXTS.signUp.withCode}</h2>
            ${personForm}`
        : personForm,
    )
  }

  /** The link leads to this site for certain, or there is none: a stranger may have asked, and says where he likes. */
  function mailFor(exchange: Exchange): SignUpMail {
    const base = deps.certainBaseUrl(exchange)
    const { body, withoutLink, ...texts } = TEXTS.signUpMail
    return {
      ...texts,
      body: (code, lifetimeMs) =>
        base === undefined ? withoutLink(code, lifetimeMs) : body(`${base}/sign-up?code=${code}`, lifetimeMs),
    }
  }

  async function showSetUp(request: PageRequest, news: News = {}): Promise<void> {
    const code = value(request, 'code')
    if (!(await deps.setUp.isGood(code))) throw new PageFailure('notFound', TEXTS.setUp.wrongCode)
    replyPage(request.exchange, {
      title: TEXTS.setUp.title,
      status: news.status ?? 200,
      body: html`<p>${TEXTS.setUp.about}</p>
        ${problem(news.problem)}
        ${form({
          action: '/set-up',
          formToken: formToken(request),
          hidden: { code },
          body: [
            addressField(request),
            personFields(deps, request),
            html`<p class="actions"><button>${TEXTS.buttons.setUp}</button></p>`,
          ],
        })}`,
    })
  }

  /** Whoever has just made an account need not type the password once more. */
  async function enter(request: PageRequest, email: string): Promise<void> {
    const { exchange } = request
    const signedIn = await deps.signIn.enter(email, whereabouts(exchange))
    await endReplaced(deps, request)
    giveSession(exchange, signedIn, deps.now())
    giveBrowser(exchange, signedIn.browser)
    replyRedirect(exchange, '/account')
  }

  return {
    get: (request) => show(request),

    async post(request) {
      let made: { readonly email: string }
      try {
        made = await deps.signIn.guarded('sign-up', request.exchange.client, () =>
          deps.signUps.signUp({
            code: codeOf(request),
            email: value(request, 'email'),
            ...typed(request),
            origin: request.exchange.client,
          }),
        )
      } catch (error) {
        return show(request, newsOf(error))
      }
      await enter(request, made.email)
    },

    async postAddress(request) {
      const { exchange, form: posted } = request
      try {
        await deps.signUpCodes.ask(posted.one('email') ?? '', exchange.client, mailFor(exchange))
      } catch (error) {
        return show(request, newsOf(error))
      }
      page(request, {}, html`${notice(TEXTS.signUp.sent)}`)
    },

    getSetUp: (request) => showSetUp(request),

    async postSetUp(request) {
      const email = value(request, 'email')
      try {
        const origin = request.exchange.client
        await deps.setUp.redeem(value(request, 'code'), { email, ...typed(request), origin })
      } catch (error) {
        return showSetUp(request, newsOf(error))
      }
      await enter(request, email.trim().toLowerCase())
    },
  }
}

function value(request: PageRequest, name: string): string {
  return request.form.one(name) ?? request.query.one(name) ?? ''
}

/** As it was sent, without what typing and copying adds. */
function codeOf(request: PageRequest): string {
  return value(request, 'code').replace(/[\s\p{Cc}]/gu, '')
}

function typed(request: PageRequest): { firstName: string; lastName: string; password: string } {
  return {
    firstName: value(request, 'first_name'),
    lastName: value(request, 'last_name'),
    password: request.form.one('password') ?? '',
  }
}

function addressForm(request: PageRequest): Markup {
  return html`<p>${TEXTS.signUp.askForAddress}</p>
    ${form({
      action: '/sign-up/address',
      formToken: formToken(request),
      body: html`${addressField(request)}
        <p class="actions"><button>${TEXTS.buttons.sendMail}</button></p>`,
    })}`
}

function addressField(request: PageRequest): Markup {
  return field({
    label: TEXTS.fields.email,
    name: 'email',
    type: 'email',
    autocomplete: 'username',
    value: value(request, 'email'),
  })
}

function personFields(deps: OauthDeps, request: PageRequest): Markup {
  return html`${field({
    label: TEXTS.fields.firstName,
    name: 'first_name',
    autocomplete: 'given-name',
    value: value(request, 'first_name'),
  })}
  ${field({
    label: TEXTS.fields.lastName,
    name: 'last_name',
    autocomplete: 'family-name',
    value: value(request, 'last_name'),
  })}
  ${field({
    label: TEXTS.fields.newPassword,
    name: 'password',
    type: 'password',
    autocomplete: 'new-password',
    hint: TEXTS.hints.passwordMin(deps.passwordLengthMin),
  })}`
}
