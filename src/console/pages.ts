import type { Exchange } from '../http/exchange.js'
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

interface Rendered {
  readonly baseUrl: string
  readonly json: string
  readonly page: string
}

/** Serves the description of the API. The handler is false for a path that is not its own, and has replied otherwise. */
export function consoleDoor(options: {
  /** The OpenAPI document for a server at that address. */
  document: (baseUrl: string) => object
  /** The address of the service as the client knows it, without a trailing slash. */
  baseUrl: (exchange: Exchange) => string
}): (exchange: Exchange) => boolean {
  let latest: Rendered | undefined

  /** Nearly every server has one address, so one rendering is kept. */
  function rendered(exchange: Exchange): Rendered {
    const baseUrl = options.baseUrl(exchange)
    if (latest?.baseUrl === baseUrl) return latest
    const document = options.document(baseUrl)
    latest = { baseUrl, json: JSON.stringify(document), page: referencePage(document) }
    return latest
  }

  const pages: Readonly<Record<string, (exchange: Exchange) => void>> = {
    '/openapi.json': (exchange) => replyJson(exchange, 200, rendered(exchange).json, PAGE_HEADERS),
    '/docs': (exchange) =>
      replyBytes(exchange, 200, 'text/html; charset=utf-8', rendered(exchange).page, PAGE_HEADERS),
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
