import type { ScopeList } from '../model/scopes.js'
import type { Version } from '../model/version.js'

/** Who makes a request and with what token: the outcome of authentication. */
export interface Caller {
  readonly userId: string
  readonly email: string
  readonly rootSid: string
  readonly quotaBytes: number | null
  readonly appId: string
  readonly deviceId: string
  readonly scopes: ScopeList
  /** The token says `organization.admin` and the person is an admin at this moment. */
  readonly isAdmin: boolean
  /** This node has deselected something, so content states need a look at the folders above. */
  readonly nodeDeselects: boolean
  /** When the token ends; null: never. */
  readonly expiresMs: number | null
  /** The last use of the token that was written down. */
  readonly usedMs: number | null
  readonly version: Version
  /** The peer's address, for the change log. */
  readonly origin: string
}
