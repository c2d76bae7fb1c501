import type { Failure, FailureKind } from '../model/failures.js'
import type { Exchange } from './exchange.js'
import { replyEmpty, replyJson } from './reply.js'

export type ErrorType =
  | 'BAD_ARGS'
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'TOO_MANY_REQUESTS'
  | 'INTERNAL_ERROR'
  | 'INSUFFICIENT_STORAGE'

export interface FailureOptions {
  /** The first version of the API has no word for a full store: it becomes an internal error there. */
  readonly storageAsInternal?: boolean
  /** OAuth routes send error and error_description beside type and message. */
  readonly pairs?: 'oauth'
  /** The OAuth error code, where the kind alone does not say it. */
  readonly error?: string
}

/** The one place where a kind of failure gets its status and its type. */
export const FAILURES: Readonly<Record<FailureKind, readonly [status: number, type: ErrorType]>> = {
  badArgs: [400, 'BAD_ARGS'],
  unauthorized: [401, 'UNAUTHORIZED'],
  forbidden: [403, 'FORBIDDEN'],
  notFound: [404, 'NOT_FOUND'],
  methodNotAllowed: [405, 'BAD_ARGS'],
  requestTimeout: [408, 'BAD_ARGS'],
  conflict: [409, 'CONFLICT'],
  preconditionFailed: [412, 'CONFLICT'],
  bodyTooLarge: [413, 'BAD_ARGS'],
  uriTooLong: [414, 'BAD_ARGS'],
  unsupportedMediaType: [415, 'BAD_ARGS'],
  rangeNotSatisfiable: [416, 'BAD_ARGS'],
  expectationFailed: [417, 'BAD_ARGS'],
  tooManyRequests: [429, 'TOO_MANY_REQUESTS'],
  headersTooLarge: [431, 'BAD_ARGS'],
  internal: [500, 'INTERNAL_ERROR'],
  notImplemented: [501, 'INTERNAL_ERROR'],
  unavailable: [503, 'INTERNAL_ERROR'],
  httpVersion: [505, 'BAD_ARGS'],
  insufficientStorage: [507, 'INSUFFICIENT_STORAGE'],
}

/** The text of every answer whose cause is a fault of ours; the cause itself is in the log alone. */
export const INTERNAL_MESSAGE = 'the server could not complete the request'

/** Messages repeat input, so they are cut to this many characters. */
export const MESSAGE_LENGTH_MAX = 300

/** Answers with the error object; the failure's own headers go with it. */
export function replyFailure(exchange: Exchange, failure: Failure, options: FailureOptions = {}): void {
  const kind = options.storageAsInternal && failure.kind === 'insufficientStorage' ? 'internal' : failure.kind
  const [status, type] = FAILURES[kind]
  const headers = failureHeaders(kind, failure.headers, options)
  if (status === 416) replyEmpty(exchange, status, headers)
  else replyJson(exchange, status, errorBody(kind, type, failure.message, options), headers)
}

/** The JSON text of an error object, for answers that are written without an exchange too. */
export function errorBody(
  kind: FailureKind,
  type: ErrorType,
  text: string,
  options: FailureOptions = {},
): string {
  const message = shorten(text === '' ? type : text)
  if (options.pairs === undefined) return JSON.stringify({ type, message })
  const error = options.error ?? OAUTH_ERRORS[kind] ?? 'invalid_request'
  return JSON.stringify({ error, error_description: message, type, message })
}

const OAUTH_ERRORS: Partial<Record<FailureKind, string>> = {
  unauthorized: 'invalid_client',
  forbidden: 'access_denied',
  internal: 'server_error',
  notImplemented: 'server_error',
  insufficientStorage: 'server_error',
  unavailable: 'temporarily_unavailable',
  tooManyRequests: 'temporarily_unavailable',
}

function failureHeaders(
  kind: FailureKind,
  given: Readonly<Record<string, string>>,
  options: FailureOptions,
): Record<string, string> {
  const headers: Record<string, string> = { 'X-Content-Type-Options': 'nosniff' }
  if (kind === 'unauthorized') {
    headers['WWW-Authenticate'] = `${options.pairs === 'oauth' ? 'Basic' : 'Bearer'} realm="Starling"`
  }
  if (kind === 'tooManyRequests') headers['Retry-After'] = '1'
  return Object.assign(headers, given)
}

function shorten(text: string): string {
  if (text.length <= MESSAGE_LENGTH_MAX) return text
  const cut = text.slice(0, MESSAGE_LENGTH_MAX - 1)
  return `${HIGH_SURROGATE_AT_END.test(cut) ? cut.slice(0, -1) : cut}…`
}

const HIGH_SURROGATE_AT_END = /[\uD800-\uDBFF]$/
