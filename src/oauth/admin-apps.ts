import { html, type Markup } from '../http/html.js'
import { replyJson } from '../http/reply.js'
import { decodeSegment } from '../http/segments.js'
import type { AppRow, NewApp } from '../service/apps.js'
import { redirectUrisOf } from '../service/clients.js'
import { accountPage, orProblem } from './account.js'
import type { OauthDeps } from './deps.js'
import {
  checkbox,
  facts,
  field,
  form,
  notice,
  pageHeaders,
  problem,
  replyPage,
  replyRedirect,
} from './page.js'
import { PageFailure } from './refusals.js'
import { formToken, type PersonRequest } from './requests.js'
import { TEXTS } from './texts.js'

const PATH = '/admin/apps'
const YEAR_SECONDS = 31_536_000

type Handler = (request: PersonRequest) => Promise<void>

interface News {
  readonly problem?: string
  readonly notice?: string
  readonly status?: number
}

export function adminAppPages(
  deps: OauthDeps,
): Record<'list' | 'register' | 'get' | 'change' | 'renewSecret' | 'download' | 'remove', Handler> {
  async function showList(request: PersonRequest, news: News = {}): Promise<void> {
    const found = await deps.gate.adminReading(request.exchange, (tx) => deps.apps.list(tx))
    accountPage(request, {
      path: PATH,
      title: TEXTS.adminApps.title,
      status: news.status ?? 200,
      body: html`${problem(news.problem)} ${found.length === 0 ? html`<p>${TEXTS.adminApps.none}</p>` : ''}
        <ul class="items">
          ${found.map(
            (app) =>
              html`<li>
                <h2>
                  <a href="${PATH}/${app.id}"><bdi>${app.name}</bdi></a>
                </h2>
                ${appFacts(app)}
              </li>`,
          )}
        </ul>
        <h2>${TEXTS.adminApps.register}</h2>
        ${appForm(request, PATH, TEXTS.buttons.register, typedOrNew(request))}`,
    })
  }

  async function showOne(request: PersonRequest, news: News = {}): Promise<void> {
    const id = idOf(request)
    const app = await deps.gate.adminReading(request.exchange, (tx) => deps.apps.get(tx, id))
    const token = formToken(request)
    const button = (action: string, words: string, className: string): Markup =>
      form({
        action: `${PATH}/${id}/${action}`,
        formToken: token,
        className: 'inline',
        body: html`<button class="${className}">${words}</button> `,
      })
    const secretForms = html`<h2>${TEXTS.adminApps.secretForm}</h2>
      <p>${app.is_public === 1 ? TEXTS.adminApps.noSecret : TEXTS.adminApps.secretAbout}</p>
      <div class="actions">
        ${app.is_public === 1 ? '' : button('secret', TEXTS.buttons.renewSecret, 'second')}
        ${button('config', TEXTS.buttons.download, 'second')}
      </div>`
    accountPage(request, {
      path: PATH,
      title: app.name,
      heading: html`<bdi>${app.name}</bdi>`,
      status: news.status ?? 200,
      body: html`${problem(news.problem)} ${notice(news.notice)} ${appFacts(app)}
        <h2>${TEXTS.adminApps.settings}</h2>
        ${appForm(request, `${PATH}/${id}`, TEXTS.buttons.save, typedOr(request, app))} ${secretForms}
        <h2>${TEXTS.adminApps.removeTitle}</h2>
        <p>${TEXTS.adminApps.removeAbout}</p>
        ${form({
          action: `${PATH}/${id}/remove`,
          formToken: token,
          body: html`${checkbox({
              id: 'confirm',
              name: 'confirm',
              label: TEXTS.adminApps.removeConfirm,
              isChecked: false,
              isRequired: true,
            })}
            <p class="actions"><button class="danger">${TEXTS.buttons.remove}</button></p>`,
        })}`,
    })
  }

  /** The one moment at which a secret is seen. */
  function showSecret(request: PersonRequest, app: AppRow, secret: string | undefined): void {
    replyPage(request.exchange, {
      title: app.name,
      heading: html`<bdi>${app.name}</bdi>`,
      body: html`${facts([[TEXTS.facts.clientId, html`<code>${app.id}</code>`]])}
        <h2>${TEXTS.adminApps.secretTitle}</h2>
        ${
          secret === undefined
            ? html`<p>${TEXTS.adminApps.noSecret}</p>`
            : html`<p>${TEXTS.adminApps.secret}</p>
                <p class="secret"><code>${secret}</code></p>`
        }
        <p class="links"><a class="button" href="${PATH}/${app.id}">${TEXTS.adminApps.back}</a></p>`,
    })
  }

  return {
    list: (request) => showList(request),

    register: (request) =>
      orProblem(
        async () => {
          const wish = wishOf(request)
          const isPublic = request.form.one('public') === 'on'
          const { app, secret } = await deps.gate.adminWriting(request.exchange, (tx, admin) =>
            deps.apps.add(tx, admin, { ...wish, isPublic }),
          )
          showSecret(request, app, secret)
        },
        (reason, status) => showList(request, { problem: reason, status }),
      ),

    get: (request) => showOne(request),

    change: (request) =>
      orProblem(
        async () => {
          const wish = wishOf(request)
          const id = idOf(request)
          await deps.gate.adminWriting(request.exchange, (tx, admin) => deps.apps.change(tx, admin, id, wish))
          await showOne(request, { notice: TEXTS.adminApps.saved })
        },
        (reason, status) => showOne(request, { problem: reason, status }),
      ),

    async renewSecret(request) {
      const id = idOf(request)
      const { app, secret } = await deps.gate.adminWriting(request.exchange, (tx, admin) =>
        deps.apps.renewSecret(tx, admin, id),
      )
      showSecret(request, app, secret)
    },

    async download(request) {
      const { exchange } = request
      const id = idOf(request)
      const cert = await deps.certificate()
      const { secret } = await deps.gate.adminWriting(exchange, (tx, admin) =>
        deps.apps.renewSecret(tx, admin, id),
      )
      const config = {
        client_id: id,
        ...(secret === undefined ? {} : { client_secret: secret }),
        hostname: new URL(deps.baseUrl(exchange)).host,
        cert,
      }
      replyJson(exchange, 200, JSON.stringify(config), {
        ...pageHeaders(),
        'Content-Disposition': 'attachment; filename="appconfig.json"',
      })
    },

    async remove(request) {
      const id = idOf(request)
      if (request.form.one('confirm') !== 'on') {
        return showOne(request, { problem: TEXTS.adminApps.removeUnconfirmed, status: 400 })
      }
      await deps.gate.adminWriting(request.exchange, (tx, admin) => deps.apps.remove(tx, admin, id))
      replyRedirect(request.exchange, PATH)
    },
  }
}

function idOf(request: PersonRequest): string {
  return decodeSegment(request.params['id'] ?? '')
}

interface Typed {
  readonly name: string
  readonly description: string
  readonly redirectUris: string
  readonly lifetime: string
  /** Undefined: it was decided at registration. */
  readonly isPublic: boolean | undefined
}

function typedOrNew({ form: posted }: PersonRequest): Typed {
  return {
    name: posted.one('name') ?? '',
    description: posted.one('description') ?? '',
    redirectUris: posted.one('redirect_uris') ?? '',
    lifetime: posted.one('token_lifetime') ?? String(YEAR_SECONDS),
    isPublic: posted.one('public') === 'on',
  }
}

function typedOr({ form: posted }: PersonRequest, app: AppRow): Typed {
  return {
    name: posted.one('name') ?? app.name,
    description: posted.one('description') ?? app.description,
    redirectUris: posted.one('redirect_uris') ?? redirectUrisOf(app).join('\n'),
    lifetime: posted.one('token_lifetime') ?? String(app.token_lifetime_s),
    isPublic: undefined,
  }
}

function wishOf({ form: posted }: PersonRequest): Omit<NewApp, 'isPublic'> {
  const lifetime = (posted.one('token_lifetime') ?? '').trim()
  if (!/^\d+$/.test(lifetime)) {
    throw new PageFailure('badArgs', TEXTS.adminApps.wrongLifetime)
  }
  return {
    name: posted.one('name') ?? '',
    description: posted.one('description') ?? '',
    redirectUris: (posted.one('redirect_uris') ?? '').split(/\r?\n/).flatMap((line) => {
      const uri = line.trim()
      return uri === '' ? [] : [uri]
    }),
    tokenLifetimeSeconds: Number(lifetime),
  }
}

function appForm(request: PersonRequest, action: string, words: string, typed: Typed): Markup {
  return form({
    action,
    formToken: formToken(request),
    body: [
      field({ label: TEXTS.fields.appName, name: 'name', value: typed.name }),
      field({
        label: TEXTS.fields.appDescription,
        name: 'description',
        value: typed.description,
        isOptional: true,
      }),
      html`<div class="field">
        <label for="redirect-uris">${TEXTS.fields.appRedirects}</label>
        <textarea id="redirect-uris" name="redirect_uris" required aria-describedby="redirect-uris-hint">
${typed.redirectUris}</textarea>
        <p class="hint" id="redirect-uris-hint">${TEXTS.hints.redirects}</p>
      </div>`,
      field({
        label: TEXTS.fields.appLifetime,
        name: 'token_lifetime',
        type: 'number',
        value: typed.lifetime,
        hint: TEXTS.hints.appLifetime,
      }),
      typed.isPublic === undefined
        ? ''
        : checkbox({
            id: 'public',
            name: 'public',
            label: TEXTS.fields.appPublic,
            isChecked: typed.isPublic,
          }),
      html`<p class="actions"><button>${words}</button></p>`,
    ],
  })
}

function appFacts(app: AppRow): Markup {
  return facts([
    [TEXTS.facts.clientId, html`<code>${app.id}</code>`],
    [TEXTS.facts.redirects, redirectUrisOf(app).map((uri) => html`<div><code>${uri}</code></div>`)],
    [TEXTS.facts.kind, app.is_public === 1 ? TEXTS.facts.public : TEXTS.facts.confidential],
    [TEXTS.facts.lifetime, TEXTS.facts.seconds(app.token_lifetime_s)],
  ])
}
