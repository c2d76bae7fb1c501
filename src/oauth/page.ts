import type { Exchange } from '../http/exchange.js'
import { html, type HtmlValue, type Markup } from '../http/html.js'
import { replyBytes, replyEmpty } from '../http/reply.js'
import type { Person } from '../gate/person.js'
import { TEXTS } from './texts.js'

export const STYLE_PATH = '/style.css'

export interface PageContent {
  readonly title: string
  /** The title where it holds somebody's name; absent: the title. */
  readonly heading?: Markup
  readonly body: Markup
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** The person in whose account the page is, with the token of the sign-out form; absent: a page for anybody. */
  readonly account?: { readonly person: Person; readonly formToken: string; readonly path: string }
  /**
   * Submitting a form of the page may end at an application's address, and browsers hold every step of the way against
   * the policy for forms.
   */
  readonly formsLeave?: boolean
}

/** What every page is sent with: nothing is loaded but the stylesheet, nothing frames it, nothing keeps it. */
export function pageHeaders(formsLeave = false): Record<string, string> {
  const forms = formsLeave ? '' : "; form-action 'self'"
  return {
    'Content-Security-Policy': `default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'${forms}`,
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  }
}

export function replyPage(exchange: Exchange, page: PageContent): void {
  replyBytes(exchange, page.status ?? 200, 'text/html; charset=utf-8', layout(page).text, {
    ...pageHeaders(page.formsLeave),
    ...page.headers,
  })
}

/** Sends the browser on; what it was sent for is neither kept nor told to the next site. */
export function replyRedirect(exchange: Exchange, location: string): void {
  replyEmpty(exchange, 303, {
    Location: location,
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
  })
}

/** A title has no markup: these marks end there whatever a name in it does to the direction of text. */
const FIRST_STRONG_ISOLATE = '\u2068'
const POP_ISOLATE = '\u2069'

/** A sentence with a name in it, which may turn the direction of text for itself and for nothing else. */
export function withName(text: (name: string) => string, name: string): Markup {
  const [before = '', after = ''] = text(NAME).split(NAME)
  return html`${before}<bdi>${name}</bdi>${after}`
}

/** Stands for the name; it is in no text. */
const NAME = '\ue000'

function layout(page: PageContent): Markup {
  const { account } = page
  return html`<!doctype html>
    <html lang="${TEXTS.language}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${FIRST_STRONG_ISOLATE}${page.title}${POP_ISOLATE} – ${TEXTS.product}</title>
        <link rel="stylesheet" href="${STYLE_PATH}" />
      </head>
      <body class="${account === undefined ? 'narrow' : 'wide'}">
        <a class="skip" href="#content">${TEXTS.skip}</a>
        <header>
          <a class="brand" href="/account">${TEXTS.product}</a>
          ${account === undefined ? '' : whoIsIt(account.person, account.formToken)}
        </header>
        ${account === undefined ? '' : navigation(account.person, account.path)}
        <main id="content">
          <h1>${page.heading ?? page.title}</h1>
          ${page.body}
        </main>
      </body>
    </html>`
}

function whoIsIt(person: Person, formToken: string): Markup {
  return html`<div class="who">
    <span>${withName(TEXTS.signedInAs, person.email)}</span>
    ${form({
      action: '/sign-out',
      formToken,
      className: 'inline',
      body: html`<button class="second">${TEXTS.buttons.signOut}</button>`,
    })}
  </div>`
}

const NAVIGATION = [
  ['/account', TEXTS.nav.account],
  ['/account/password', TEXTS.nav.password],
  ['/account/second-factor', TEXTS.nav.secondFactor],
  ['/account/apps', TEXTS.nav.apps],
  ['/account/tokens', TEXTS.nav.tokens],
  ['/account/sessions', TEXTS.nav.sessions],
] as const

function navigation(person: Person, path: string): Markup {
  const entries: (readonly [string, string])[] = [...NAVIGATION]
  if (person.isAdmin) entries.push(['/admin/apps', TEXTS.nav.adminApps])
  return html`<nav aria-label="${TEXTS.navigation}">
    <ul>
      ${entries.map(
        ([href, words]) =>
          html`<li><a href="${href}" ${href === path ? html`aria-current="page"` : ''}>${words}</a></li>`,
      )}
    </ul>
  </nav>`
}

export function form(options: {
  action: string
  formToken: string
  body: HtmlValue
  hidden?: Readonly<Record<string, string>>
  className?: string
}): Markup {
  const hidden = Object.entries({ form_token: options.formToken, ...options.hidden })
  return html`<form method="post" action="${options.action}" class="${options.className ?? 'stacked'}">
    ${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
    ${options.body}
  </form>`
}

export interface Field {
  readonly label: string
  readonly name: string
  readonly type?: 'text' | 'email' | 'password' | 'number'
  readonly value?: string
  readonly autocomplete?: string
  readonly hint?: string
  readonly isOptional?: boolean
  /** Distinguishes fields of the same name on one page. */
  readonly id?: string
  readonly inputMode?: string
}

export function field(given: Field): Markup {
  const id = given.id ?? `field-${given.name}`
  const hintId = `${id}-hint`
  return html`<div class="field">
    <label for="${id}">${given.label}</label>
    <input
      id="${id}"
      name="${given.name}"
      type="${given.type ?? 'text'}"
      value="${given.value ?? ''}"
      autocomplete="${given.autocomplete ?? 'off'}"
      ${given.inputMode === undefined ? '' : html`inputmode="${given.inputMode}"`}
      ${given.hint === undefined ? '' : html`aria-describedby="${hintId}"`}
      ${given.isOptional === true ? '' : html`required`}
    />
    ${given.hint === undefined ? '' : html`<p class="hint" id="${hintId}">${given.hint}</p>`}
  </div>`
}

export function checkbox(given: {
  id: string
  name: string
  value?: string
  label: HtmlValue
  isChecked: boolean
  /** The browser does not send the form without it. */
  isRequired?: boolean
}): Markup {
  return html`<div class="choice">
    <input
      type="checkbox"
      id="${given.id}"
      name="${given.name}"
      value="${given.value ?? 'on'}"
      ${given.isChecked ? html`checked` : ''}
      ${given.isRequired === true ? html`required` : ''}
    />
    <label for="${given.id}">${given.label}</label>
  </div>`
}

export function problem(text: string | undefined): Markup | string {
  return text === undefined ? '' : html`<p class="problem" role="alert">${text}</p>`
}

export function notice(text: string | undefined): Markup | string {
  return text === undefined ? '' : html`<p class="notice" role="status">${text}</p>`
}

export function facts(entries: readonly (readonly [string, HtmlValue])[]): Markup {
  return html`<dl>
    ${entries.map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`
}

/** A moment in words that need no time zone of the reader. */
export function moment(ms: number | undefined): string {
  if (ms === undefined) return TEXTS.facts.never
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
