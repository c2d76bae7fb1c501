import { html, type Markup } from '../http/html.js'
import type { Schema, Versioned } from './reference-source.js'

export function methodBadge(method: string): Markup {
  return html`<span class="method ${method.toLowerCase()}">${method}</span>`
}

/** A long path may break after each slash. */
export function breakable(path: string): Markup[] {
  return path.split('/').map((segment, index) => (index === 0 ? html`${segment}` : html`/<wbr />${segment}`))
}

/** Names the versions of a thing when the route has others too. */
export function only<T>(all: readonly string[], item: Versioned<T>): Markup | undefined {
  const own = new Set(item.versions)
  if (all.every((version) => own.has(version))) return undefined
  return html`<small class="only">${[...own].join(', ')} only</small>`
}

export function resourceLink(name: string | undefined): Markup | undefined {
  return name === undefined ? undefined : html`<a href="#resource-${name}">${name}</a>`
}

/** The name without its version. */
export function resourceName(schema: Schema | undefined): string | undefined {
  return schema?.$ref === undefined ? undefined : /([^/]+?)(_\d+_\d+)?$/.exec(schema.$ref)?.[1]
}

export function json(value: unknown): Markup | undefined {
  return value === undefined ? undefined : html`<pre><code>${JSON.stringify(value, null, 2)}</code></pre>`
}

export function paragraphs(texts: readonly string[]): Markup[] {
  return texts.map((text) => html`<p>${text}</p>`)
}
