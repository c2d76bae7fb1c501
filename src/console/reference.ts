import { html, type Markup } from '../http/html.js'
import { breakable, methodBadge, only, paragraphs, resourceName } from './reference-parts.js'
import { routeArticle } from './reference-route.js'
import { merge, readReference, type Reference, type Schema, type Versioned } from './reference-source.js'

/** One page that shows an OpenAPI document to a person, with the differences between its versions. */
export function referencePage(document: object): string {
  const reference = readReference(document)
  const { info, tags, resources } = reference
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${info.title}</title>
        <link rel="stylesheet" href="/docs/style.css" />
      </head>
      <body>
        <header id="top">
          <h1>${info.title}</h1>
          <p class="facts">Versions ${info.version} · <a href="/openapi.json">OpenAPI document</a></p>
        </header>
        <nav aria-label="Contents">
          <details>
            <summary>Contents</summary>
            ${contents(reference)}
          </details>
          <div class="wide">${contents(reference)}</div>
        </nav>
        <main>
          <section id="about">
            <h2>About</h2>
            ${paragraphs(info.description?.split('\n\n') ?? [])}
          </section>
          <section id="authentication">
            <h2>Access tokens</h2>
            ${paragraphs(reference.authentication)}
          </section>
          ${tags.map(
            ({ name, routes }) =>
              html`<section>
                <h2>${name}</h2>
                ${routes.map(routeArticle)}
              </section>`,
          )}
          <section id="resources">
            <h2>Resources</h2>
            ${resources.map(({ name, schemas }) => resourceArticle(name, schemas))}
          </section>
        </main>
      </body>
    </html> `.text
}

function contents({ tags, resources }: Reference): Markup {
  return html`<p><a href="#about">About</a></p>
    <p><a href="#authentication">Access tokens</a></p>
    ${tags.map(
      ({ name, routes }) =>
        html`<h3>${name}</h3>
          <ul>
            ${routes.map(
              (route) =>
                html`<li>
                  <a href="#${route.anchor}"
                    >${methodBadge(route.method)} <code>${breakable(route.path)}</code></a
                  >
                </li>`,
            )}
          </ul>`,
    )}
    <h3>Resources</h3>
    <ul>
      ${resources.map(({ name }) => html`<li><a href="#resource-${name}">${name}</a></li>`)}
    </ul>`
}

function resourceArticle(name: string, schemas: readonly Versioned<Schema>[]): Markup {
  const all = schemas.flatMap(({ versions }) => versions)
  const fields = merge(
    schemas.flatMap(({ versions, value }) =>
      Object.entries(value.properties ?? {}).map(([key, schema]) => ({
        versions,
        value: {
          key,
          type: typeText(schema),
          text: schema.description ?? '',
          values: schema.enum ?? [],
          isOptional: !(value.required ?? []).includes(key),
        },
      })),
    ),
  )
  return html`<article id="resource-${name}">
    <h3>${name}</h3>
    <dl class="rows">
      ${fields.map(
        (item) =>
          html`<dt><code>${item.value.key}</code> <small>${item.value.type}</small></dt>
            <dd>
              ${item.value.text} ${item.value.isOptional ? html`<small>optional</small>` : undefined}
              ${only(all, item)}
              ${item.value.values.length === 0 ? undefined : html`<div class="headers">${item.value.values.join(', ')}</div>`}
            </dd>`,
      )}
    </dl>
  </article>`
}

function typeText(schema: Schema): string {
  if (schema.items !== undefined) return `list of ${typeText(schema.items)}`
  return resourceName(schema) ?? schema.type ?? 'any'
}
