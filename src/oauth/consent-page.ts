import type { Person } from '../gate/person.js'
import { html, type Markup } from '../http/html.js'
import type { ScopeEntry, ScopeList } from '../model/scopes.js'
import type { Client } from '../service/authorizations.js'
import { checkbox, form, withName, type PageContent } from './page.js'
import { TEXTS } from './texts.js'

export function consentPage(options: {
  client: Client
  person: Person
  scopes: ScopeList
  /** Names of what limited scopes are limited to, by the id in the scope. */
  subjects: ReadonlyMap<string, string>
  hidden: Readonly<Record<string, string>>
  formToken: string
  redirectUri: string
}): PageContent {
  const { client, scopes } = options
  return {
    title: TEXTS.consent.title(client.name),
    heading: withName(TEXTS.consent.title, client.name),
    formsLeave: true,
    body: html`<p>${withName(TEXTS.signedInAs, options.person.email)}</p>
      ${client.description === '' ? '' : html`<p><bdi>${client.description}</bdi></p>`}
      ${form({
        action: '/authorize',
        formToken: options.formToken,
        hidden: options.hidden,
        body: html`<fieldset>
            <legend>${withName(TEXTS.consent.asks, client.name)}</legend>
            ${scopes.entries.map((entry, index) => choice(entry, index, options.subjects))}
          </fieldset>
          <p class="hint">${TEXTS.consent.choose}</p>
          <p class="hint">${TEXTS.consent.leads(destination(options.redirectUri))}</p>
          <p class="actions">
            <button type="submit" name="decision" value="allow">${TEXTS.buttons.allow}</button>
            <button type="submit" name="decision" value="deny" class="second">${TEXTS.buttons.deny}</button>
          </p>`,
      })}`,
  }
}

function choice(entry: ScopeEntry, index: number, subjects: ReadonlyMap<string, string>): Markup {
  const isFarReaching = entry.scope.name === 'organization.admin'
  return checkbox({
    id: `scope-${index}`,
    name: 'scope',
    value: entry.text,
    isChecked: !isFarReaching,
    label: html`${isFarReaching ? html`<span class="strong">${TEXTS.farReaching}</span> ` : ''}${
      TEXTS.scopes[entry.scope.name]
    }
    ${limit(entry, subjects)}`,
  })
}

function limit(entry: ScopeEntry, subjects: ReadonlyMap<string, string>): Markup | string {
  if (entry.qualifier === undefined) return ''
  const name = subjects.get(entry.qualifier)
  const words = name === undefined ? TEXTS.consent.unseen : withName(TEXTS.consent.limited, name)
  return html`<span class="hint">${words}</span>`
}

/** The host, or the scheme of an application that has one of its own. */
function destination(redirectUri: string): string {
  const url = new URL(redirectUri)
  return url.host === '' || !/^https?:$/.test(url.protocol) ? url.protocol.replace(/:$/, '') : url.host
}
