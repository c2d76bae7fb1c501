import { html, type Markup } from '../http/html.js'
import type { OwnSession } from '../service/sessions.js'
import { accountPage } from './account.js'
import type { OauthDeps } from './deps.js'
import { facts, form, moment, replyRedirect } from './page.js'
import { formToken, type PersonRequest } from './requests.js'
import { TEXTS } from './texts.js'

export function sessionPages(
  deps: OauthDeps,
): Record<'get' | 'end', (request: PersonRequest) => Promise<void>> {
  return {
    async get(request) {
      const found = await deps.gate.reading(request.exchange, (tx, person) => deps.sessions.list(tx, person))
      accountPage(request, {
        path: '/account/sessions',
        title: TEXTS.sessions.title,
        body: html`<ul class="items">
            ${found.map((session) => item(request, session))}
          </ul>
          <p>${TEXTS.sessions.everywhere}</p>
          ${form({
            action: '/sign-out/everywhere',
            formToken: formToken(request),
            body: html`<button class="danger">${TEXTS.buttons.signOutEverywhere}</button>`,
          })}`,
      })
    },

    async end({ exchange, form: posted }) {
      const handle = posted.one('session') ?? ''
      await deps.gate.writing(exchange, (tx, person) => deps.sessions.endOne(tx, person, handle))
      replyRedirect(exchange, '/account/sessions')
    },
  }
}

function item(request: PersonRequest, session: OwnSession): Markup {
  const agent = session.agent === '' ? TEXTS.sessions.unknownAgent : session.agent
  return html`<li>
    <h2>${session.isCurrent ? TEXTS.sessions.current : html`<bdi>${agent}</bdi>`}</h2>
    ${facts([
      [TEXTS.facts.since, moment(session.createdMs)],
      [TEXTS.facts.lastUse, moment(session.usedMs)],
      [TEXTS.facts.address, session.origin],
    ])}
    ${form({
      action: '/account/sessions/end',
      formToken: formToken(request),
      hidden: { session: session.handle },
      body: html`<button class="danger" aria-label="${TEXTS.buttons.end}: ${agent}">
        ${TEXTS.buttons.end}
      </button>`,
    })}
  </li>`
}
