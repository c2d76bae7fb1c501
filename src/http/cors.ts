import type { Exchange } from './exchange.js'
import { drainUnreadBody } from './drain.js'
import { appendHeaders } from './reply.js'

/** A browser's question whether a page of another origin may make the real request. */
export function isPreflight(exchange: Exchange): boolean {
  return exchange.method === 'OPTIONS' && exchange.req.headers['access-control-request-method'] !== undefined
}

/** Allows the real request, whatever it is: it is checked when it comes. */
export function replyPreflight(exchange: Exchange): void {
  const { res, req } = exchange
  if (res.destroyed) return
  const lines = [
    'Access-Control-Allow-Origin',
    '*',
    'Access-Control-Allow-Methods',
    ALLOWED_METHODS,
    'Access-Control-Max-Age',
    PREFLIGHT_MAX_AGE_SECONDS,
  ]
  const names = headerNames(req.headers['access-control-request-headers'])
  if (names.length > 0) lines.push('Access-Control-Allow-Headers', names.join(', '))
  appendHeaders(exchange, lines, undefined)
  drainUnreadBody(exchange)
  res.writeHead(204, lines)
  res.end()
}

const ALLOWED_METHODS = 'GET,HEAD,PUT,POST,PATCH,DELETE,OPTIONS'
const PREFLIGHT_MAX_AGE_SECONDS = '86400'
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Names of a comma list that are header names at all; only those may be repeated in an answer. */
function headerNames(list: string | string[] | undefined): string[] {
  if (list === undefined) return []
  const text = typeof list === 'string' ? list : list.join(',')
  return text.split(',').flatMap((part) => {
    const name = part.trim()
    return TOKEN.test(name) ? [name] : []
  })
}
