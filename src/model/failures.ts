/** Every way a request can be refused. One table elsewhere gives each kind its status and type. */
export type FailureKind =
  | 'badArgs'
  | 'methodNotAllowed'
  | 'requestTimeout'
  | 'bodyTooLarge'
  | 'uriTooLong'
  | 'unsupportedMediaType'
  | 'expectationFailed'
  | 'headersTooLarge'
  | 'httpVersion'
  | 'unauthorized'
  | 'forbidden'
  | 'notFound'
  | 'conflict'
  | 'preconditionFailed'
  | 'rangeNotSatisfiable'
  | 'tooManyRequests'
  | 'internal'
  | 'notImplemented'
  | 'unavailable'
  | 'insufficientStorage'

/**
 * A refusal that the caller is meant to read. Anything else that is thrown is a bug.
 * The message says what was wrong and names the offending parameter; it never holds internals.
 */
export class Failure extends Error {
  readonly kind: FailureKind
  /** Response headers that belong to this refusal, such as Allow, ETag, Retry-After or Upload-ID. */
  readonly headers: Readonly<Record<string, string>>

  constructor(kind: FailureKind, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.name = 'Failure'
    this.kind = kind
    this.headers = headers
  }
}
