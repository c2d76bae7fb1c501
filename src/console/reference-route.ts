import { html, type Markup } from '../http/html.js'
import { breakable, json, methodBadge, only, resourceLink, resourceName } from './reference-parts.js'
import {
  merge,
  type Answer,
  type Media,
  type Operation,
  type Parameter,
  type ReferenceRoute,
  type Versioned,
} from './reference-source.js'

export function routeArticle(route: ReferenceRoute): Markup {
  const { operations } = route
  const newest = operations.at(-1)?.value
  if (newest === undefined) return html``
  return html`<article id="${route.anchor}">
    <h3>${methodBadge(route.method)} <code>${breakable(route.path)}</code></h3>
    <p class="summary">${newest.summary}. ${newest.description}</p>
    <dl class="facts">
      <dt>Versions</dt>
      <dd>${route.versions.join(', ')}</dd>
      <dt>Scopes</dt>
      <dd>${lines(route, (operation) => [scopesText(operation)])}</dd>
    </dl>
    ${parameterList(route)} ${bodyPart(route)} ${answerPart(route)}
    <h4>Calls</h4>
    ${newest['x-codeSamples']?.map(
      ({ label, source }) =>
        html`<figure>
          <figcaption>${label}</figcaption>
          <pre><code>${source}</code></pre>
        </figure>`,
    )}
  </article>`
}

/** What the operations of a route say, each thing once, with its versions where not all say it. */
function collect<T>(route: ReferenceRoute, pick: (operation: Operation) => readonly T[]): Versioned<T>[] {
  return merge(
    route.operations.flatMap(({ versions, value }) => pick(value).map((item) => ({ versions, value: item }))),
  )
}

function lines(route: ReferenceRoute, pick: (operation: Operation) => readonly string[]): Markup[] {
  return collect(route, pick).map((item) => html`<div>${item.value} ${only(route.versions, item)}</div>`)
}

function scopesText(operation: Operation): string {
  const lists = (operation.security ?? []).flatMap((entry) =>
    Object.values(entry).map((list) => list.join(' and ')),
  )
  const text = [...new Set(lists)].join(', or ')
  const isLink = (operation.security ?? []).some((entry) => 'link' in entry)
  return isLink ? `${text}; the token may be the query parameter token` : text
}

const PLACES = ['path', 'query', 'header']

function parameterList(route: ReferenceRoute): Markup | undefined {
  const parameters = collect<Parameter>(route, (operation) =>
    (operation.parameters ?? []).map(({ name, in: place, required, description }) => ({
      name,
      in: place,
      ...(required === undefined ? {} : { required }),
      ...(description === undefined ? {} : { description }),
    })),
  )
  if (parameters.length === 0) return undefined
  parameters.sort((a, b) => PLACES.indexOf(a.value.in) - PLACES.indexOf(b.value.in))
  return html`<h4>Parameters</h4>
    <dl class="rows">
      ${parameters.map(
        (item) =>
          html`<dt><code>${item.value.name}</code> <small>${item.value.in}</small></dt>
            <dd>${item.value.description} ${only(route.versions, item)}</dd>`,
      )}
    </dl>`
}

function bodyPart(route: ReferenceRoute): Markup | undefined {
  const bodies = collect(route, ({ requestBody }) =>
    Object.entries(requestBody?.content ?? {}).map(([type, media]) => ({
      type,
      text: requestBody?.description ?? '',
      resource: resourceName(media.schema),
      example: media.example,
    })),
  )
  if (bodies.length === 0) return undefined
  return html`<h4>Body</h4>
    ${bodies.map(
      (item) =>
        html`<p>
            <code>${item.value.type}</code> ${item.value.text} ${resourceLink(item.value.resource)}
            ${only(route.versions, item)}
          </p>
          ${json(item.value.example)}`,
    )}`
}

function answerPart(route: ReferenceRoute): Markup {
  const answers = collect(route, ({ responses }) =>
    Object.entries(responses).map(([status, answer]) => ({ status, ...answerFacts(answer) })),
  )
  const order = (status: string): number => (status === 'default' ? 1000 : Number(status))
  answers.sort((a, b) => order(a.value.status) - order(b.value.status))
  return html`<h4>Answers</h4>
    <dl class="rows answers">
      ${answers.map(
        (item) =>
          html`<dt>
              <code class="${isGood(item.value.status) ? 'good' : 'bad'}"
                >${statusText(item.value.status)}</code
              >
            </dt>
            <dd>
              ${item.value.text} ${resourceLink(item.value.resource)} ${only(route.versions, item)}
              ${headerLine(item.value.headers)} ${answerExamples(route, item)}
            </dd>`,
      )}
    </dl>`
}

interface AnswerFacts {
  readonly text: string
  readonly headers: readonly string[]
  readonly resource: string | undefined
}

function answerFacts(answer: Answer): AnswerFacts {
  const resource = resourceName(Object.values(answer.content ?? {})[0]?.schema)
  return {
    text: answer.description,
    headers: Object.keys(answer.headers ?? {}),
    // Every refusal has the same body; saying so once is enough.
    resource: resource === 'Error' ? undefined : resource,
  }
}

function answerExamples(
  route: ReferenceRoute,
  item: Versioned<AnswerFacts & { status: string }>,
): Markup | undefined {
  const examples = collect<unknown>(route, ({ responses }) => {
    const media: Media[] = Object.values(responses[item.value.status]?.content ?? {})
    return media.flatMap(({ example }) => (example === undefined ? [] : [example]))
  }).filter(({ versions }) => versions.some((version) => item.versions.includes(version)))
  if (examples.length === 0 || item.value.status === 'default') return undefined
  if (!isGood(item.value.status)) {
    return html`${examples.map(({ value }) => html`<div class="headers"><code>${JSON.stringify(value)}</code></div>`)}`
  }
  return html`<details>
    <summary>Example</summary>
    ${examples.map((example) => html`${only(route.versions, example)} ${json(example.value)}`)}
  </details>`
}

function headerLine(names: readonly string[]): Markup | undefined {
  if (names.length === 0) return undefined
  const codes = names.map((name, index) => html`${index === 0 ? '' : ', '}<code>${name}</code>`)
  return html`<div class="headers">Headers: ${codes}</div>`
}

function statusText(status: string): string {
  return status === 'default' ? 'other' : status
}

function isGood(status: string): boolean {
  return /^[23]/.test(status)
}
