import { describe, expect, test } from 'vitest'
import { openApi } from '../../src/api/openapi.js'
import { ROUTES } from '../../src/api/routes.js'
import { consoleDoor } from '../../src/console/pages.js'
import { referencePage } from '../../src/console/reference.js'
import { html } from '../../src/http/html.js'
import { replyEmpty } from '../../src/http/reply.js'
import { V1_0, V1_3, V1_4 } from '../../src/model/version.js'
import { ask, request, startServer, type TestServer } from '../http/support.js'

const BASE = 'https://files.example.org'
const document = (baseUrl: string): object => openApi({ versions: [V1_0, V1_3, V1_4], baseUrl })
const page = referencePage(document(BASE))
const text = page
  .replaceAll('<wbr />', '')
  .replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))

function serve(): Promise<TestServer> {
  const door = consoleDoor({ document, baseUrl: () => BASE })
  return startServer((exchange) => {
    if (!door(exchange)) replyEmpty(exchange, 404)
    return Promise.resolve()
  })
}

describe('the reference page', () => {
  test('shows every route with its summary', () => {
    for (const { method, path, doc } of ROUTES) {
      const shown = path.replaceAll(/:(\w+)/g, '{$1}')
      expect(text).toMatch(
        new RegExp(
          `<h3>\\s*<span class="method ${method.toLowerCase()}">${method}</span>\\s*<code>${literal(shown)}</code>`,
        ),
      )
      expect(text).toContain(doc.summary)
    }
  })

  test('has a curl line for every route, with the newest version that serves it', () => {
    expect(text).toContain(`curl '${BASE}/api/v1.4/folders/root'`)
    expect(text).toContain(`curl '${BASE}/api/v1.0/children'`)
    expect(text.match(/<pre><code>curl /g)?.length).toBeGreaterThanOrEqual(ROUTES.length)
  })

  test('marks what only some versions have', () => {
    const upload = text.slice(text.indexOf('<article id="put-files--id--content">'))
    expect(upload).toMatch(/>507<[^]*?1\.3, 1\.4 only/)
    expect(upload).toMatch(/>500<[^]*?1\.0 only/)
  })

  test('links only to anchors that are there', () => {
    for (const [, anchor] of page.matchAll(/href="#([^"]+)"/g)) expect(page).toContain(`id="${anchor}"`)
  })

  test('escapes markup in whatever the document says', () => {
    const evil = `<script>alert("1")</script><img src=x onerror='a'>&`
    const poisoned = JSON.parse(JSON.stringify(document(BASE)), (_key, value: unknown) =>
      typeof value === 'string' && !value.startsWith('#/') && !TAGS.includes(value) ? value + evil : value,
    ) as object
    const result = referencePage(poisoned)
    expect(result).not.toMatch(/<script|<img/)
    expect(result).toContain('&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;')
  })

  test('fetches nothing from elsewhere and has neither scripts nor inline styles', () => {
    expect([...page.matchAll(/(?:src|href|action)="([^"#][^"]*)"/g)].map(([, url]) => url).sort()).toEqual([
      '/docs/style.css',
      '/openapi.json',
    ])
    expect(page).not.toMatch(/<script|<style|\sstyle=|\son[a-z]+=/)
    expect(page.match(/https?:\/\/[^/'"&]+/g)?.every((url) => url === BASE)).toBe(true)
  })
})

describe('the html template', () => {
  test('escapes text, keeps markup and joins lists', () => {
    const value = html`<p title="${`"'`}">${['<', html`<b>${'&'}</b>`, 1, undefined]}</p>`
    expect(value.text).toBe('<p title="&#34;&#39;">&#60;<b>&#38;</b>1</p>')
  })
})

describe('the console door', () => {
  test('serves the page with headers that let nothing else in', async () => {
    const answer = await ask(await serve(), request('GET /docs'))
    expect(answer.status).toBe(200)
    expect(answer.header('content-type')).toBe('text/html; charset=utf-8')
    expect(answer.header('content-security-policy')).toBe(
      "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    )
    expect(answer.header('x-frame-options')).toBe('DENY')
    expect(answer.header('referrer-policy')).toBe('no-referrer')
    expect(answer.header('x-content-type-options')).toBe('nosniff')
    expect(answer.body.toString()).toBe(page)
  })

  test('serves the document and the stylesheet, and tolerates a trailing slash', async () => {
    const server = await serve()
    const json = await ask(server, request('GET /openapi.json'))
    expect(json.header('content-type')).toBe('application/json')
    expect(json.json()).toEqual(document(BASE))
    const style = await ask(server, request('GET /docs/style.css'))
    expect(style.header('content-type')).toBe('text/css; charset=utf-8')
    expect(style.body.toString()).not.toMatch(/url\(|@import/)
    expect((await ask(server, request('GET /docs/'))).status).toBe(200)
  })

  test('answers HEAD without a body and OPTIONS with Allow', async () => {
    const server = await serve()
    const head = await ask(server, request('HEAD /docs'))
    expect([head.status, head.body.length]).toEqual([200, 0])
    const options = await ask(server, request('OPTIONS /docs'))
    expect([options.status, options.header('allow')]).toEqual([204, 'GET, HEAD, OPTIONS'])
  })

  test('refuses other methods with Allow', async () => {
    const server = await serve()
    for (const path of ['/docs', '/docs/style.css', '/openapi.json']) {
      const answer = await ask(server, request(`POST ${path}`, ['Content-Length: 0']))
      expect([answer.status, answer.header('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
      expect(answer.json()['type']).toBe('BAD_ARGS')
    }
  })

  test('leaves every other path alone', async () => {
    const server = await serve()
    for (const path of ['/', '/docs/other', '/api/v1.3/folders/root', '/constructor', '/docs//']) {
      expect((await ask(server, request(`GET ${path}`))).status).toBe(404)
    }
  })
})

/** Routes are sorted under their tags, so poisoned tags would leave nothing to look at. */
const TAGS = [...new Set(ROUTES.map(({ doc }) => doc.tag))]

function literal(pattern: string): string {
  return pattern.replaceAll(/[{}]/g, '\\$&')
}
