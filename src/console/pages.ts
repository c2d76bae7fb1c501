import type { Exchange } from '../http/exchange.js'
import { html } from '../http/html.js'
import { replyBytes, replyEmpty, replyJson } from '../http/reply.js'
import { Failure } from '../model/failures.js'
import { referencePage } from './reference.js'
import { STYLE } from './style.js'

/** The page needs its stylesheet and nothing else, so nothing else is let in, whatever text it shows. */
const PAGE_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

const ALLOW = 'GET, HEAD, OPTIONS'

/** Texts cut where the address of the service belongs. */
interface Rendered {
  readonly json: readonly string[]
  readonly page: readonly string[]
}

/** Stands for the address in what is rendered; no text of the document holds it. */
const BASE_URL = 'https://the-address-of-this-service.invalid'

/** Serves the description of the API. The handler is false for a path that is not its own, and has replied otherwise. */
export function consoleDoor(options: {
  /** The OpenAPI document for a server at that address. */
  document: (baseUrl: string) => object
  /** The address of the service as the client knows it, without a trailing slash. */
  baseUrl: (exchange: Exchange) => string
}): (exchange: Exchange) => boolean {
  let latest: Rendered | undefined

  /**
   * Rendering holds up everything else for a while, and the address may come from a Host header that strangers make up:
   * it is put in afterwards.
   */
  function rendered(): Rendered {
    if (latest !== undefined) return latest
    const document = options.document(BASE_URL)
    const [json, page] = [JSON.stringify(document), referencePage(document)]
    latest = { json: json.split(BASE_URL), page: page.split(BASE_URL) }
    return latest
  }

  /** An apostrophe would end the quotes of the lines for the shell; no real host has one. */
  function baseUrlOf(exchange: Exchange): string {
    return options.baseUrl(exchange).replaceAll("'", '%27')
  }

  function jsonFor(exchange: Exchange): string {
    return rendered().json.join(JSON.stringify(baseUrlOf(exchange)).slice(1, -1))
  }

  function pageFor(exchange: Exchange): string {
    return rendered().page.join(html`${baseUrlOf(exchange)}`.text)
  }

  const pages: Readonly<Record<string, (exchange: Exchange) => void>> = {
    '/openapi.json': (exchange) => replyJson(exchange, 200, jsonFor(exchange), PAGE_HEADERS),
    '/docs': (exchange) =>
      replyBytes(exchange, 200, 'text/html; charset=utf-8', pageFor(exchange), PAGE_HEADERS),
    '/docs/style.css': (exchange) =>
      replyBytes(exchange, 200, 'text/css; charset=utf-8', STYLE, PAGE_HEADERS),
  }

  return (exchange) => {
    const path = exchange.path.endsWith('/') ? exchange.path.slice(0, -1) : exchange.path
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined
    if (page === undefined) return false
    if (exchange.method === 'OPTIONS') replyEmpty(exchange, 204, { Allow: ALLOW })
    else if (exchange.method === 'GET' || exchange.method === 'HEAD') page(exchange)
    else {
      throw new Failure('methodNotAllowed', `the method ${exchange.method} is not served here`, {
        Allow: ALLOW,
      })
    }
    return true
  }
}
