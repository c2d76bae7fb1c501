import { html } from '../http/html.js'
import { Failure } from '../model/failures.js'
import type { OauthDeps } from './deps.js'
import { field, form, problem, replyPage, replyRedirect, withName } from './page.js'
import { formToken, giveBrowser, giveSession, whereabouts, type PageRequest } from './requests.js'
import { sentence } from './sentences.js'
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
  return { status, problem: sentence(error.message) }
}

/** The two ways to an account of one's own: by an invitation, and as the first person of an installation. */
export function signUpPages(deps: OauthDeps): Record<'get' | 'post' | 'getSetUp' | 'postSetUp', Handler> {
  async function show(request: PageRequest, news: News = {}): Promise<void> {
    const code = codeOf(request)
    const invited = code === '' ? undefined : await deps.signUps.addressFor(code)
    replyPage(request.exchange, {
      title: TEXTS.signUp.title,
      status: news.status ?? 200,
      body: html`${problem(news.problem)}
        <p>${invited === undefined ? introduction(deps) : withName(TEXTS.signUp.invited, invited)}</p>
        ${form({
          action: '/sign-up',
          formToken: formToken(request),
          body: [
            invited === undefined ? codeAndAddress(deps, request) : '',
            invited === undefined ? '' : html`<input type="hidden" name="code" value="${code}" />`,
            personFields(deps, request),
            html`<p class="actions"><button>${TEXTS.buttons.signUp}</button></p>`,
          ],
        })}
        <p class="links"><a href="/sign-in">${TEXTS.signIn.title}</a></p>`,
    })
  }

  async function showSetUp(request: PageRequest, news: News = {}): Promise<void> {
    const code = value(request, 'code')
    if (!(await deps.setUp.isGood(code))) throw new Failure('notFound', TEXTS.setUp.wrongCode)
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

function introduction(deps: OauthDeps): string {
  return deps.isSignUpOpen ? '' : TEXTS.signUp.askForCode
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

function codeAndAddress(deps: OauthDeps, request: PageRequest): ReturnType<typeof html> {
  const code = field({
    label: TEXTS.fields.signUpCode,
    name: 'code',
    value: value(request, 'code'),
    isOptional: deps.isSignUpOpen,
  })
  return deps.isSignUpOpen ? html`${addressField(request)}${code}` : code
}

function addressField(request: PageRequest): ReturnType<typeof html> {
  return field({
    label: TEXTS.fields.email,
    name: 'email',
    type: 'email',
    autocomplete: 'username',
    value: value(request, 'email'),
  })
}

function personFields(deps: OauthDeps, request: PageRequest): ReturnType<typeof html> {
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
