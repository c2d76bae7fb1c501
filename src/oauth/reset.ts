import { html } from '../http/html.js'
import type { Exchange } from '../http/exchange.js'
import { Failure } from '../model/failures.js'
import type { ResetMail } from '../service/resets.js'
import type { OauthDeps } from './deps.js'
import { field, form, notice, problem, replyPage, replyRedirect } from './page.js'
import { PageFailure, told } from './refusals.js'
import { formToken, takeSession, type PageRequest } from './requests.js'
import { TEXTS } from './texts.js'

type Handler = (request: PageRequest) => Promise<void>

export function resetPages(deps: OauthDeps): Record<'getForgot' | 'postForgot' | 'get' | 'post', Handler> {
  function showForgot(
    request: PageRequest,
    news: { isSent?: boolean; status?: number; problem?: string } = {},
  ): void {
    replyPage(request.exchange, {
      title: TEXTS.forgot.title,
      status: news.status ?? 200,
      body: news.isSent
        ? html`${notice(TEXTS.forgot.sent)}
            <p class="links"><a href="/sign-in">${TEXTS.signIn.title}</a></p>`
        : html`${problem(news.problem)}
            <p>${TEXTS.forgot.about}</p>
            ${form({
              action: '/forgot',
              formToken: formToken(request),
              body: html`${field({
                  label: TEXTS.fields.email,
                  name: 'email',
                  type: 'email',
                  autocomplete: 'username',
                })}
                <p class="actions"><button>${TEXTS.buttons.sendLink}</button></p>`,
            })}
            <p class="links"><a href="/sign-in">${TEXTS.signIn.title}</a></p>`,
    })
  }

  function show(request: PageRequest, code: string, news: { status?: number; problem?: string } = {}): void {
    replyPage(request.exchange, {
      title: TEXTS.reset.title,
      status: news.status ?? 200,
      body: html`${problem(news.problem)}
        ${form({
          action: '/reset',
          formToken: formToken(request),
          body: [
            code === ''
              ? field({ label: TEXTS.fields.resetCode, name: 'code' })
              : html`<input type="hidden" name="code" value="${code}" />`,
            field({
              label: TEXTS.fields.newPassword,
              name: 'password',
              type: 'password',
              autocomplete: 'new-password',
              hint: TEXTS.hints.passwordMin(deps.passwordLengthMin),
            }),
            html`<p class="actions"><button>${TEXTS.buttons.setPassword}</button></p>`,
          ],
        })}
        <p class="links"><a href="/forgot">${TEXTS.reset.again}</a></p>`,
    })
  }

  /** The link leads to this site for certain, or there is none: a stranger may have asked, and says where he likes. */
  function mailFor(exchange: Exchange): ResetMail {
    const base = deps.certainBaseUrl(exchange)
    const { subject, body, withoutLink, external } = TEXTS.resetMail
    return {
      subject,
      external,
      body: (code, lifetimeMs) =>
        base === undefined ? withoutLink(code, lifetimeMs) : body(`${base}/reset?code=${code}`, lifetimeMs),
    }
  }

  return {
    getForgot: (request) => {
      showForgot(request)
      return Promise.resolve()
    },

    async postForgot(request) {
      const { exchange, form: posted } = request
      try {
        await deps.resets.ask(posted.one('email') ?? '', exchange.client, mailFor(exchange))
      } catch (error) {
        if (!(error instanceof Failure) || error.kind !== 'badArgs') throw error
        return showForgot(request, { status: 400, problem: told(error) })
      }
      showForgot(request, { isSent: true })
    },

    async get(request) {
      const code = request.query.one('code') ?? ''
      if (code !== '' && !(await deps.resets.isGood(code)))
        throw new PageFailure('notFound', TEXTS.reset.wrongCode)
      show(request, code)
    },

    async post(request) {
      const { exchange, form: posted } = request
      const code = (posted.one('code') ?? '').trim()
      try {
        await deps.resets.redeem(code, posted.one('password') ?? '', exchange.client)
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        if (error.kind === 'badArgs') return show(request, code, { status: 400, problem: told(error) })
        if (error.kind === 'notFound') throw new PageFailure('notFound', TEXTS.reset.wrongCode)
        throw error
      }
      takeSession(exchange)
      replyRedirect(exchange, '/sign-in?news=password-set')
    },
  }
}
