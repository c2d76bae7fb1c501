import { html, type Markup } from '../http/html.js'
import { parseScopes, SCOPES } from '../model/scopes.js'
import type { AuthorizedApp, PersonalToken } from '../service/own-tokens.js'
import { accountPage, orProblem } from './account.js'
import type { OauthDeps } from './deps.js'
import { checkbox, facts, field, form, moment, problem, replyPage, replyRedirect } from './page.js'
import { formToken, type PersonRequest } from './requests.js'
import { TEXTS } from './texts.js'

type Handler = (request: PersonRequest) => Promise<void>

const SECONDS_A_DAY = 86_400
const DAYS_MAX = 36_500

/** What the applications and the personal tokens of a person may do, and how the person ends that. */
export function ownAccessPages(
  deps: OauthDeps,
): Record<'getApps' | 'revokeApp' | 'getTokens' | 'makeToken' | 'revokeToken', Handler> {
  async function showTokens(
    request: PersonRequest,
    news: { problem?: string; status?: number } = {},
  ): Promise<void> {
    const tokens = await deps.gate.reading(request.exchange, (tx, person) =>
      deps.ownTokens.personal(tx, person),
    )
    accountPage(request, {
      path: '/account/tokens',
      title: TEXTS.tokens.title,
      status: news.status ?? 200,
      body: html`${problem(news.problem)}
        <p>${TEXTS.tokens.about}</p>
        ${tokens.length === 0 ? html`<p>${TEXTS.tokens.none}</p>` : ''}
        <ul class="items">
          ${tokens.map((token) => tokenItem(request, token))}
        </ul>
        <h2>${TEXTS.tokens.make}</h2>
        ${tokenForm(request)}`,
    })
  }

  async function makeToken(request: PersonRequest): Promise<void> {
    const { form: posted, exchange } = request
    const days = (posted.one('days') ?? '').trim()
    if (!/^\d{0,5}$/.test(days) || (days !== '' && (Number(days) < 1 || Number(days) > DAYS_MAX))) {
      return showTokens(request, { problem: TEXTS.tokens.wrongDays, status: 400 })
    }
    const issued = await deps.gate.writing(exchange, (tx, person) =>
      deps.ownTokens.make(tx, person, {
        name: posted.one('name') ?? '',
        scopes: posted.all('scope'),
        // None: it does not end.
        lifetimeSeconds: Number(days) * SECONDS_A_DAY,
      }),
    )
    replyPage(exchange, {
      title: TEXTS.tokens.title,
      body: html`<p>${TEXTS.tokens.made}</p>
        <p class="secret"><code>${issued.access_token}</code></p>
        <p class="links"><a class="button" href="/account/tokens">${TEXTS.tokens.back}</a></p>`,
    })
  }

  return {
    async getApps(request) {
      const found = await deps.gate.reading(request.exchange, (tx, person) => deps.ownTokens.apps(tx, person))
      accountPage(request, {
        path: '/account/apps',
        title: TEXTS.apps.title,
        body: html`<p>${found.length === 0 ? TEXTS.apps.none : TEXTS.apps.about}</p>
          <ul class="items">
            ${found.map((app) => appItem(request, app))}
          </ul>`,
      })
    },

    async revokeApp({ exchange, form: posted }) {
      const id = posted.one('client_id') ?? ''
      await deps.gate.writing(exchange, (tx, person) => deps.ownTokens.revokeApp(tx, person, id))
      replyRedirect(exchange, '/account/apps')
    },

    getTokens: (request) => showTokens(request),

    makeToken: (request) =>
      orProblem(
        () => makeToken(request),
        (reason, status) => showTokens(request, { problem: reason, status }),
      ),

    async revokeToken({ exchange, form: posted }) {
      const id = posted.one('device_id') ?? ''
      await deps.gate.writing(exchange, (tx, person) => deps.ownTokens.revokePersonal(tx, person, id))
      replyRedirect(exchange, '/account/tokens')
    },
  }
}

function appItem(request: PersonRequest, app: AuthorizedApp): Markup {
  return html`<li>
    <h2><bdi>${app.name}</bdi></h2>
    ${accessFacts(app)}
    ${form({
      action: '/account/apps/revoke',
      formToken: formToken(request),
      hidden: { client_id: app.id },
      body: revokeButton(app.name),
    })}
  </li>`
}

function tokenItem(request: PersonRequest, token: PersonalToken): Markup {
  return html`<li>
    <h2><bdi>${token.name}</bdi></h2>
    ${accessFacts(token)}
    ${form({
      action: '/account/tokens/revoke',
      formToken: formToken(request),
      hidden: { device_id: token.deviceId },
      body: revokeButton(token.name),
    })}
  </li>`
}

function revokeButton(name: string): Markup {
  return html`<button class="danger" aria-label="${TEXTS.buttons.revoke}: ${name}">
    ${TEXTS.buttons.revoke}
  </button>`
}

function accessFacts(access: AuthorizedApp | PersonalToken): Markup {
  const scopes = access.scopes.map((text) => html`<div>${wordsOf(text)} <small>(${text})</small></div>`)
  return facts([
    [TEXTS.facts.permissions, scopes],
    [TEXTS.facts.since, moment(access.createdMs)],
    [TEXTS.facts.lastUse, moment(access.usedMs)],
    [TEXTS.facts.ends, moment(access.expiresMs)],
  ])
}

function wordsOf(scope: string): string {
  const [entry] = parseScopes(scope).entries
  return entry === undefined ? scope : TEXTS.scopes[entry.scope.name]
}

function tokenForm(request: PersonRequest): Markup {
  const offered = SCOPES.filter(({ name }) => name !== 'organization.admin' || request.person.isAdmin)
  return form({
    action: '/account/tokens',
    formToken: formToken(request),
    body: [
      field({
        label: TEXTS.fields.tokenName,
        name: 'name',
        hint: TEXTS.hints.tokenName,
        value: request.form.one('name') ?? '',
      }),
      html`<fieldset>
        <legend>${TEXTS.fields.tokenScopes}</legend>
        ${offered.map(({ name }) =>
          checkbox({
            id: `scope-${name}`,
            name: 'scope',
            value: name,
            isChecked: request.form.all('scope').includes(name),
            label: html`${
                name === 'organization.admin' ? html`<span class="strong">${TEXTS.farReaching}</span> ` : ''
              }${TEXTS.scopes[name]} <small>(${name})</small>`,
          }),
        )}
      </fieldset>`,
      field({
        label: TEXTS.fields.tokenDays,
        name: 'days',
        type: 'number',
        inputMode: 'numeric',
        isOptional: true,
        hint: TEXTS.hints.tokenDays,
        value: request.form.one('days') ?? '',
      }),
      html`<p class="actions"><button>${TEXTS.buttons.makeToken}</button></p>`,
    ],
  })
}
