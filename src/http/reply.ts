import type { ServerResponse } from 'node:http'
import type { Exchange } from './exchange.js'
import { drainUnreadBody } from './drain.js'

export type Headers = Readonly<Record<string, string>>

/** Sends a serialized JSON value. */
export function replyJson(
  exchange: Exchange,
  status: number,
  json: string | Buffer,
  headers?: Headers,
): void {
  replyBytes(exchange, status, 'application/json', json, headers)
}

/**
 * Sends a body that is at hand as a whole, as one chunk; HEAD gets the head alone. A client of HTTP/1.0
 * cannot read chunks: the body of its refusal ends with the connection.
 */
export function replyBytes(
  exchange: Exchange,
  status: number,
  contentType: string,
  body: Buffer | string,
  headers?: Headers,
): void {
  const { res } = exchange
  if (res.destroyed) return
  const lines = commonLines(exchange, headers)
  lines.push('Content-Type', contentType)
  if (exchange.req.httpVersionMinor === 1) lines.push('Transfer-Encoding', 'chunked')
  drainUnreadBody(exchange)
  res.writeHead(status, lines)
  if (exchange.method === 'HEAD') res.end()
  else if (typeof body === 'string' && body !== '' && res.chunkedEncoding) endWithOneChunk(res, body)
  else res.end(body)
}

/** Writes the one chunk and the end as text behind the head: one write to the socket instead of six. */
function endWithOneChunk(res: ServerResponse, body: string): void {
  const bytes = Buffer.byteLength(body)
  res.chunkedEncoding = false
  // Text without anything beyond ASCII, as most of it is, need not be encoded.
  res.end(`${bytes.toString(16)}\r\n${body}\r\n0\r\n\r\n`, bytes === body.length ? 'latin1' : 'utf8')
}

/** Sends no body: 204 and 304 have no framing at all, every other status an empty chunked body. */
export function replyEmpty(exchange: Exchange, status: number, headers?: Headers): void {
  const { res } = exchange
  if (res.destroyed) return
  const lines = commonLines(exchange, headers)
  if (status !== 204 && status !== 304) lines.push('Transfer-Encoding', 'chunked')
  drainUnreadBody(exchange)
  res.writeHead(status, lines)
  res.end()
}

/**
 * The header lines that every reply has, followed by the given ones, as the flat list that writeHead takes.
 * A default gives way to a given header of the same spelling.
 */
export function commonLines(exchange: Exchange, headers: Headers | undefined): string[] {
  const lines = ['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', EXPOSED_HEADERS]
  if (headers?.['Cache-Control'] === undefined) lines.push('Cache-Control', DEFAULT_CACHE_CONTROL)
  appendHeaders(exchange, lines, headers)
  return lines
}

/** Adds the given headers, the exchange's own, and Connection: close when this reply is the last one. */
export function appendHeaders(exchange: Exchange, lines: string[], headers: Headers | undefined): void {
  for (const name in headers) lines.push(name, headers[name] ?? '')
  for (const name in exchange.extraHeaders) {
    const value = exchange.extraHeaders[name] ?? []
    if (typeof value === 'string') lines.push(name, value)
    else for (const line of value) lines.push(name, line)
  }
  if (exchange.connection.closing && headers?.['Connection'] === undefined) lines.push('Connection', 'close')
}

/** What a script of another origin may read of a reply. */
export const EXPOSED_HEADERS =
  'ETag, Location, Range, Content-Range, Content-Disposition, Upload-ID, Retry-After'

export const DEFAULT_CACHE_CONTROL = 'private, no-transform, no-cache'
