import type { GroupRow, ShareGroupRow } from '../db/groups.js'
import type { InvitationRow, PendingRow } from '../db/invitations.js'
import type { MemberRow, MembershipRow } from '../db/memberships.js'
import type { ShareRow } from '../db/shares.js'
import type { UserRow } from '../db/users.js'
import type { ScopeName } from '../model/scopes.js'
import type { Caller } from './caller.js'

export type { ShareGroupRow } from '../db/groups.js'
export type { InvitationRow, PendingRow } from '../db/invitations.js'
export type { MemberRow, MembershipRow } from '../db/memberships.js'
export type { ShareRow } from '../db/shares.js'

/**
 * What a request names inside a share besides the share itself. Those that the path names are looked up before the
 * privilege is checked; those that a body names (`newcomer`, `newGroup`, `address`) after it.
 */
export interface ShareEntries {
  readonly none: undefined
  /** A direct member. */
  readonly member: MemberRow
  /** A direct member, or a group in the share. */
  readonly memberOrGroup: MemberRow | ShareGroupRow
  /** A direct member, or the caller however they are in; the caller needs no privilege to go. */
  readonly leaver: { readonly userId: string; readonly email: string; readonly isSelf: boolean }
  readonly pending: PendingRow
  readonly group: ShareGroupRow
  readonly newcomer: UserRow
  readonly newGroup: GroupRow
  /** An address with or without an account. */
  readonly address: { readonly email: string; readonly user: UserRow | undefined }
}

export type ShareEntry = keyof ShareEntries

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

declare const proof: unique symbol

/** May read the share, or manage it where the route asks for that. */
export interface ShareGrant<E extends ShareEntry = ShareEntry> {
  readonly [proof]: 'share'
  readonly caller: Caller
  readonly share: ShareRow
  /** Absent: an admin of the organization who is not in the share. */
  readonly membership: MembershipRow | undefined
  readonly entry: ShareEntries[E]
}

/** May make a share. */
export interface NewShareGrant {
  readonly [proof]: 'newShare'
  readonly caller: Caller
}

/** May answer the invitation. */
export interface InvitationGrant {
  readonly [proof]: 'invitation'
  readonly caller: Caller
  readonly person: UserRow
  readonly invitation: InvitationRow
}
