import type { ScopeName } from '../model/scopes.js'
import type { ShareEntry } from './grants.js'

/** A share that the caller is in, or any share for an admin of the organization. */
export interface ShareNeed<E extends ShareEntry = ShareEntry> {
  readonly right: 'share'
  readonly to: 'read' | 'manage'
  readonly scopes: readonly ['acl.read'] | readonly ['acl.write']
  /** The key of the input that holds the share's id. */
  readonly from: string
  readonly entry: E
  /** The key of the input that names the entry. */
  readonly by?: string
}

/** A share that is still to be made: a token that is limited to other shares cannot. */
export interface NewShareNeed {
  readonly right: 'newShare'
  readonly scopes: readonly ['acl.write']
}

/** An invitation of the caller, or of anybody for an admin of the organization. */
export interface InvitationNeed {
  readonly right: 'invitation'
  readonly scopes: readonly ScopeName[]
  /** The key of the input that holds the share's id, and the one that names the person. */
  readonly from: string
  readonly person: string
}
