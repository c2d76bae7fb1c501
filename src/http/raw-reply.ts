import { STATUS_CODES } from 'node:http'
import type { FailureKind } from '../model/failures.js'
import { errorBody, FAILURES } from './failures.js'
import { DEFAULT_CACHE_CONTROL, EXPOSED_HEADERS } from './reply.js'

/** A whole error answer as text, for a connection whose request could not be parsed. */
export function rawFailure(kind: FailureKind, message: string, isHead = false): string {
  const [status, type] = FAILURES[kind]
  const body = errorBody(kind, type, message)
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Access-Control-Allow-Origin: *',
    `Access-Control-Expose-Headers: ${EXPOSED_HEADERS}`,
    `Cache-Control: ${DEFAULT_CACHE_CONTROL}`,
    'X-Content-Type-Options: nosniff',
    'Content-Type: application/json',
    `Date: ${new Date().toUTCString()}`,
    'Connection: close',
    'Transfer-Encoding: chunked',
    '',
  ]
  const head = `${lines.join('\r\n')}\r\n`
  return isHead ? head : `${head}${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`
}

/** The answer to somebody who does not speak TLS on a port that does; it is no answer of the API. */
export const PLAIN_HTTP_REFUSAL =
  'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nthis port speaks HTTPS\n'
