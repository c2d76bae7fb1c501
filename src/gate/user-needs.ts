import type { ScopeName } from '../model/scopes.js'

/**
 * A person that the path names. `others` is what a caller gets who is neither that person nor an admin of the
 * organization: `seen` the person like anybody else, `refused` 403 whether or not there is such a person, `hidden` 404
 * likewise.
 */
export interface PersonNeed {
  readonly right: 'person'
  readonly scopes: readonly ScopeName[]
  readonly from: string
  readonly others: 'seen' | 'refused' | 'hidden'
}

/** Nothing but the token and its scopes. */
export interface CallerNeed {
  readonly right: 'caller'
  readonly scopes: readonly ScopeName[]
}

/** A device of the caller's own; an admin of the organization has everybody's, and the nodes. */
export interface DeviceNeed {
  readonly right: 'device'
  readonly scopes: readonly ScopeName[]
  readonly from: string
}

export type UserNeed = PersonNeed | CallerNeed | DeviceNeed
