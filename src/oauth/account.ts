import { Failure } from '../model/failures.js'
import { html } from '../http/html.js'
import type { OauthDeps } from './deps.js'
import { field, form, notice, problem, replyPage, type PageContent } from './page.js'
import { told } from './refusals.js'
import { formToken, giveSession, whereabouts, type PersonRequest } from './requests.js'
import { TEXTS } from './texts.js'

/** The frame of a page in somebody's account. */
export function accountPage(
  request: PersonRequest,
  page: Omit<PageContent, 'account'> & { path: string },
): void {
  const account = { person: request.person, formToken: formToken(request), path: page.path }
  replyPage(request.exchange, { ...page, account })
}

/** What a person typed is shown again with the reason; any other refusal has its own page. */
export async function orProblem(
  work: () => Promise<void>,
  show: (reason: string, status: number) => unknown,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    const status = error instanceof Failure ? SHOWN[error.kind] : undefined
    if (!(error instanceof Failure) || status === undefined) throw error
    await show(told(error), status)
  }
}

const SHOWN: Partial<Record<Failure['kind'], number>> = { badArgs: 400, conflict: 409 }

type Handler = (request: PersonRequest) => Promise<void>

export function accountPages(
  deps: OauthDeps,
): Record<'get' | 'post' | 'getPassword' | 'postPassword', Handler> {
  function show(
    request: PersonRequest,
    names: { firstName: string; lastName: string },
    news: { notice?: string; problem?: string; status?: number } = {},
  ): void {
    accountPage(request, {
      path: '/account',
      title: TEXTS.account.title,
      status: news.status ?? 200,
      body: html`${notice(news.notice)} ${problem(news.problem)}
        <h2>${TEXTS.account.name}</h2>
        ${form({
          action: '/account',
          formToken: formToken(request),
          body: [
            field({
              label: TEXTS.fields.firstName,
              name: 'first_name',
              autocomplete: 'given-name',
              value: names.firstName,
            }),
            field({
              label: TEXTS.fields.lastName,
              name: 'last_name',
              autocomplete: 'family-name',
              value: names.lastName,
            }),
            html`<p class="actions"><button>${TEXTS.buttons.save}</button></p>`,
          ],
        })}`,
    })
  }

  function showPassword(request: PersonRequest, news: PasswordNews = {}): void {
    const passwordForm = form({
      action: '/account/password',
      formToken: formToken(request),
      body: [
        field({
          label: TEXTS.fields.currentPassword,
          name: 'current_password',
          type: 'password',
          autocomplete: 'current-password',
        }),
        field({
          label: TEXTS.fields.newPassword,
          name: 'password',
          type: 'password',
          autocomplete: 'new-password',
          hint: TEXTS.hints.passwordMin(deps.passwordLengthMin),
        }),
        html`<p class="actions"><button>${TEXTS.buttons.setPassword}</button></p>`,
      ],
    })
    accountPage(request, {
      path: '/account/password',
      title: TEXTS.account.passwordTitle,
      status: news.status ?? 200,
      body: html`${notice(news.notice)} ${problem(news.problem)}
      ${request.person.isExternal ? html`<p>${TEXTS.account.external}</p>` : passwordForm}`,
    })
  }

  async function changePassword(request: PersonRequest): Promise<void> {
    const { exchange, form: posted, person } = request
    if (!(await deps.signIn.confirm(person, posted.one('current_password') ?? ''))) {
      return showPassword(request, { problem: TEXTS.account.passwordWrong, status: 403 })
    }
    const passwordHash = await deps.passwords.hash(posted.one('password') ?? '', deps.passwordLengthMin)
    const { agent } = whereabouts(exchange)
    const opened = await deps.gate.writing(exchange, (tx, now) =>
      deps.profiles.setPassword(tx, now, passwordHash, agent),
    )
    giveSession(exchange, opened, deps.now())
    // The forms of this page belong to the session that was; the next page has those of the new one.
    accountNotice(request, TEXTS.account.passwordSaved, '/account')
  }

  return {
    get: (request) => {
      show(request, request.person)
      return Promise.resolve()
    },

    post(request) {
      const { exchange, form: posted } = request
      const names = { firstName: posted.one('first_name') ?? '', lastName: posted.one('last_name') ?? '' }
      return orProblem(
        async () => {
          await deps.gate.writing(exchange, (tx, person) => deps.profiles.rename(tx, person, names))
          show(request, names, { notice: TEXTS.account.saved })
        },
        (reason, status) => show(request, names, { problem: reason, status }),
      )
    },

    getPassword: (request) => {
      showPassword(request)
      return Promise.resolve()
    },

    postPassword: (request) =>
      orProblem(
        () => changePassword(request),
        (reason, status) => showPassword(request, { problem: reason, status }),
      ),
  }
}

interface PasswordNews {
  readonly notice?: string
  readonly problem?: string
  readonly status?: number
}

/** A page without forms, for the moment at which a session gets a new secret. */
export function accountNotice(request: PersonRequest, text: string, next: string): void {
  replyPage(request.exchange, {
    title: TEXTS.account.title,
    body: html`${notice(text)}
      <p class="links"><a class="button" href="${next}">${TEXTS.buttons.continue}</a></p>`,
  })
}
