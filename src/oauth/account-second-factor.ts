import { encode } from 'uqr'
import { html, type Markup } from '../http/html.js'
import type { OpenedSession } from '../service/sessions.js'
import { accountNotice, accountPage, orProblem } from './account.js'
import type { OauthDeps } from './deps.js'
import { field, form, notice, problem, replyPage } from './page.js'
import { PageFailure } from './refusals.js'
import { formToken, giveSession, whereabouts, type PersonRequest } from './requests.js'
import { codeField } from './sign-in.js'
import { TEXTS } from './texts.js'

const PATH = '/account/second-factor'
const BASE32 = /^[A-Z2-7]{16,64}$/

type Handler = (request: PersonRequest) => Promise<void>

interface News {
  readonly problem?: string
  readonly notice?: string
  readonly status?: number
}

export function secondFactorPages(
  deps: OauthDeps,
): Record<'get' | 'enrol' | 'leave' | 'renewCodes', Handler> {
  async function show(request: PersonRequest, news: News = {}, secret?: string): Promise<void> {
    const left = await deps.gate.reading(request.exchange, (tx, person) =>
      deps.secondFactor.recoveryCodesLeft(tx, person),
    )
    accountPage(request, {
      path: PATH,
      title: TEXTS.secondFactor.title,
      status: news.status ?? 200,
      body: html`${problem(news.problem)} ${notice(news.notice)}
      ${request.person.hasSecondFactor ? forMembers(request, left) : forOthers(request, secret)}`,
    })
  }

  function forOthers(request: PersonRequest, kept: string | undefined): Markup {
    const { email } = request.person
    const { secret, address } =
      kept === undefined
        ? deps.secondFactor.propose(email)
        : { secret: kept, address: deps.secondFactor.addressOf(email, kept) }
    return html`<p>${TEXTS.secondFactor.isOff}</p>
      <p>${TEXTS.secondFactor.scan}</p>
      ${picture(address)}
      <p>${TEXTS.secondFactor.key}: <code>${(secret.match(/.{1,4}/g) ?? []).join(' ')}</code></p>
      ${form({
        action: `${PATH}/enrol`,
        formToken: formToken(request),
        hidden: { secret },
        body: [
          codeField(TEXTS.hints.firstCode),
          passwordField('enrol'),
          html`<p class="actions"><button>${TEXTS.buttons.turnOn}</button></p>`,
        ],
      })}`
  }

  function forMembers(request: PersonRequest, left: number): Markup {
    const token = formToken(request)
    return html`<p>${TEXTS.secondFactor.isOn} ${TEXTS.secondFactor.left(left)}</p>
      <h2>${TEXTS.secondFactor.newCodesTitle}</h2>
      <p>${TEXTS.secondFactor.newCodes}</p>
      ${form({
        action: `${PATH}/recovery-codes`,
        formToken: token,
        body: html`${passwordField('codes')}
          <p class="actions"><button class="second">${TEXTS.buttons.newCodes}</button></p>`,
      })}
      <h2>${TEXTS.secondFactor.turnOffTitle}</h2>
      ${form({
        action: `${PATH}/leave`,
        formToken: token,
        body: html`${passwordField('leave')}
          <p class="actions"><button class="danger">${TEXTS.buttons.turnOff}</button></p>`,
      })}`
  }

  /** Great changes are for those who know the password, not for whoever finds a browser open. */
  async function confirmed(request: PersonRequest): Promise<boolean> {
    return deps.signIn.confirm(request.person, request.form.one('password') ?? '')
  }

  const refuse = (request: PersonRequest, secret?: string): Promise<void> =>
    show(request, { problem: TEXTS.account.passwordWrong, status: 403 }, secret)

  async function enrol(request: PersonRequest, secret: string): Promise<void> {
    const { exchange, form: posted } = request
    if (!(await confirmed(request))) return refuse(request, secret)
    const { agent } = whereabouts(exchange)
    const result = await deps.gate.writing(exchange, async (tx, person) => {
      const codes = await deps.secondFactor.enrol(tx, person, secret, posted.one('code') ?? '')
      if (codes === undefined) return undefined
      await deps.sessions.endOthers(tx, person)
      return { codes, opened: await deps.sessions.renew(tx, person, agent) }
    })
    if (result !== undefined) return showCodes(request, result.codes, result.opened)
    await show(request, { problem: TEXTS.secondFactor.wrong, status: 400 }, secret)
  }

  function showCodes(request: PersonRequest, codes: readonly string[], opened?: OpenedSession): void {
    if (opened !== undefined) giveSession(request.exchange, opened, deps.now())
    replyPage(request.exchange, {
      title: TEXTS.secondFactor.codesTitle,
      body: html`<p>${TEXTS.secondFactor.codes}</p>
        <ul class="codes">
          ${codes.map((code) => html`<li><code>${code}</code></li>`)}
        </ul>
        <p class="links"><a class="button" href="${PATH}">${TEXTS.secondFactor.done}</a></p>`,
    })
  }

  return {
    get: (request) => show(request),

    enrol(request) {
      const secret = request.form.one('secret') ?? ''
      if (!BASE32.test(secret)) throw new PageFailure('badArgs', TEXTS.secondFactor.keyMissing)
      return orProblem(
        () => enrol(request, secret),
        (reason, status) => show(request, { problem: reason, status }),
      )
    },

    async leave(request) {
      const { exchange } = request
      if (!(await confirmed(request))) return refuse(request)
      const { agent } = whereabouts(exchange)
      const opened = await deps.gate.writing(exchange, async (tx, person) => {
        await deps.secondFactor.leave(tx, person)
        return deps.sessions.renew(tx, person, agent)
      })
      giveSession(exchange, opened, deps.now())
      accountNotice(request, TEXTS.secondFactor.turnedOff, PATH)
    },

    async renewCodes(request) {
      if (!(await confirmed(request))) return refuse(request)
      const codes = await deps.gate.writing(request.exchange, (tx, person) =>
        deps.secondFactor.renewRecoveryCodes(tx, person),
      )
      showCodes(request, codes)
    },
  }
}

function passwordField(what: string): Markup {
  return field({
    id: `password-${what}`,
    label: TEXTS.fields.currentPassword,
    name: 'password',
    type: 'password',
    autocomplete: 'current-password',
  })
}

/** The address as a picture, drawn into the page. */
function picture(address: string): Markup {
  const { data, size } = encode(address, { border: 4 })
  const dots = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
  return html`<svg
    class="picture"
    viewBox="0 0 ${size} ${size}"
    role="img"
    aria-label="${TEXTS.secondFactor.picture}"
  >
    <path d="${dots.join('')}" fill="#000000" />
  </svg>`
}
