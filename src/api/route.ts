import type { Needs } from '../gate/needs.js'
import type { Gate, Incoming, Passed, Rule, Steps } from '../gate/pipeline.js'
import type { Version } from '../model/version.js'
import type { Accounts } from '../service/accounts.js'
import type { Devices } from '../service/devices.js'
import type { Invitees } from '../service/invitees.js'
import type { Passwords } from '../service/passwords.js'
import type { Presence } from '../service/presence.js'
import type { Quotas } from '../service/quotas.js'
import type { Sharing } from '../service/sharing-verbs.js'
import type { Space } from '../service/space.js'
import type { Tree } from '../service/tree.js'
import type { Uploads } from '../service/uploads.js'
import type { ServiceDeps, Turnstile } from '../service/deps.js'
import type { Downloads } from '../service/downloads.js'
import type { KeptListings } from './kept-listings.js'
import type { Resource } from './resources.js'
import type { Views } from './views.js'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH'

/** What the handlers work with. */
export interface ApiDeps {
  readonly gate: Gate
  readonly tree: Tree
  readonly uploads: Uploads
  readonly presence: Presence
  readonly space: Space
  readonly downloads: Downloads
  readonly listings: KeptListings
  readonly turnstile: Turnstile
  readonly accounts: Accounts
  readonly passwords: Passwords
  readonly invitees: Invitees
  readonly devices: Devices
  readonly quotas: Quotas
  readonly sharing: Sharing
  readonly service: ServiceDeps
  /** The address of the service as the client knows it, without a trailing slash. */
  readonly baseUrl: (incoming: Incoming) => string
}

/** One request on its way through a handler. */
export interface Call {
  readonly api: ApiDeps
  readonly incoming: Incoming
  readonly version: Version
  readonly views: Views
}

/** A reply that is at hand as a whole. */
export interface Answer {
  readonly status: number
  readonly json?: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

/** A query parameter or request header that only some versions know. */
export interface ParameterDoc {
  readonly describe: string
  readonly since?: Version
  readonly until?: Version
}

/** What a status means in some versions; both ends are included, as everywhere. */
export interface StatusNote {
  readonly since?: Version
  readonly until?: Version
  readonly means: string
  /** The message of a refusal, as an example. */
  readonly message?: string
  /** Response headers that only these versions send with it. */
  readonly sends?: readonly ResponseHeader[]
}

/** The headers that an answer may be documented to carry. */
export type ResponseHeader =
  | 'ETag'
  | 'Location'
  | 'Upload-ID'
  | 'Range'
  | 'Content-Range'
  | 'Content-Disposition'
  | 'Last-Modified'
  | 'Accept-Ranges'
  | 'Retry-After'
  | 'WWW-Authenticate'

/** A call worth showing: the options that curl needs beyond the token, the method and the address. */
export interface Sample {
  readonly label: string
  readonly options: readonly string[]
}

/** What the documentation says of a route beyond its rule. */
export interface RouteDoc {
  readonly summary: string
  readonly tag: string
  /** Success status and what it carries. */
  readonly success: Readonly<Record<number, string>>
  /** The resource that a success carries. */
  readonly returns?: Resource | 'bytes'
  /** The resource whose writable attributes the body has. */
  readonly accepts?: Resource | 'bytes'
  readonly query?: Readonly<Record<string, string | ParameterDoc>>
  readonly headers?: Readonly<Record<string, string | ParameterDoc>>
  readonly failures: readonly number[]
  /**
   * Statuses that mean something of their own here. A status that has notes exists only in the versions that one of
   * them covers, and the notes take the place of its usual text.
   */
  readonly notes?: Readonly<Record<number, readonly StatusNote[]>>
  /** Response headers by status, beyond those that a status has on every route. */
  readonly sends?: Readonly<Record<number, readonly ResponseHeader[]>>
  /** Calls to show in place of the plain one. */
  readonly samples?: readonly Sample[]
}

/** A row of the API: nothing about a route is said anywhere else. */
export interface Route {
  readonly method: Method
  /** Segments; one that starts with a colon takes any text. */
  readonly path: string
  readonly since: Version
  readonly until?: Version
  /** Required: no row is open by omission. */
  readonly access: 'token'
  readonly rule: Rule<object, Needs>
  readonly doc: RouteDoc
  /** Gives its answer at once where it is known already. */
  readonly serve: (call: Call) => Answer | Promise<void | Answer>
}

/** A row whose handler runs in the transaction of the gate and whose answer is at hand as a whole. */
export function route<Input extends object, const N extends Needs>(row: {
  method: Method
  path: string
  since: Version
  until?: Version
  access: 'token'
  rule: Rule<Input, N>
  doc: RouteDoc
  /** As in the gate: judges what settings decide, and does what must not be done in a transaction. */
  judge?: (call: Call, input: Input) => void
  prepare?: (call: Call, input: Input) => Promise<Input>
  handle: (call: Call, passed: Passed<Input, N>) => Promise<Answer>
}): Route {
  const { handle, judge, prepare, rule, ...rest } = row
  const steps = (call: Call): Steps<Input> => ({
    ...(judge === undefined ? {} : { judge: (input) => judge(call, input) }),
    ...(prepare === undefined ? {} : { prepare: (input) => prepare(call, input) }),
  })
  const hasSteps = judge !== undefined || prepare !== undefined
  return {
    ...rest,
    rule: rule as unknown as Rule<object, Needs>,
    serve: (call) =>
      call.api.gate.run(
        call.incoming,
        call.version,
        rule,
        (passed) => handle(call, passed),
        hasSteps ? steps(call) : undefined,
      ),
  }
}

/** A row whose handler streams and therefore goes through the gate by itself. */
export function streamingRoute<Input extends object, const N extends Needs>(row: {
  method: Method
  path: string
  since: Version
  access: 'token'
  rule: Rule<Input, N>
  doc: RouteDoc
  stream: (call: Call, rule: Rule<Input, N>) => Promise<void | Answer>
}): Route {
  const { stream, rule, ...rest } = row
  return { ...rest, rule: rule as unknown as Rule<object, Needs>, serve: (call) => stream(call, rule) }
}
