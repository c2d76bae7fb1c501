import type { DeviceRow } from '../db/devices.js'
import type { GroupMemberRow, GroupRow, ShareGroupRow } from '../db/groups.js'
import type { InvitationRow, PendingRow } from '../db/invitations.js'
import type { MemberRow, MembershipRow } from '../db/memberships.js'
import type { ObjectRow } from '../db/objects.js'
import type { ShareRow } from '../db/shares.js'
import type { UserRow } from '../db/users.js'
import type { Caller } from './caller.js'

export type { DeviceRow } from '../db/devices.js'
export type { GroupMemberRow, GroupRow, ShareGroupRow } from '../db/groups.js'
export type { InvitationRow, PendingRow } from '../db/invitations.js'
export type { MemberRow } from '../db/memberships.js'
export type { ObjectRow } from '../db/objects.js'
export type { UserRow } from '../db/users.js'
export type { Tx } from '../db/db.js'

declare const proof: unique symbol

/** Only `authorize.ts` makes values of these types: a verb that takes one cannot be called unchecked. */
interface Grant<Right extends string> {
  readonly [proof]: Right
  readonly caller: Caller
  readonly object: ObjectRow
  readonly viewpoint: Viewpoint
}

/** From where a token looks at the tree: what exists for it, and under which ids. */
export interface Viewpoint {
  /** The topmost folders that exist for the token, none when it sees everything: what is above is neither named nor reached. */
  readonly tops: readonly string[]
  /** The token sees its own application's folder and nothing else. */
  readonly sandboxed: boolean
  readonly rootSid: string
  /** The share in sight lies in the caller's root, at its mount; else it stands for itself. */
  readonly isMounted: boolean
  /** What is in sight is the caller's own or in a share they are in; else an admin looks at the share of others. */
  readonly isMember: boolean
  /** What the caller calls an external share in sight. */
  readonly shareName?: string | undefined
}

export type Kind = 'folder' | 'file' | 'either'

/** May read the object: metadata, path, children, content. */
export type ReadGrant<K extends Kind = Kind> = Grant<`read ${K}`>

/** May rename, move and delete the object and replace its content. */
export type WriteGrant<K extends Kind = Kind> = Grant<`write ${K}`>

/** May put objects into the folder. */
export type InsertGrant = Grant<'insert'>

/** The token holds the scopes. */
export interface CallerGrant {
  readonly [proof]: 'caller'
  readonly caller: Caller
}

/** May do to the person what the route is about. */
export interface PersonGrant {
  readonly [proof]: 'person'
  readonly caller: Caller
  readonly person: UserRow
  readonly isSelf: boolean
}

/** May read the device, and rename it where the route asks for that. */
export interface DeviceGrant {
  readonly [proof]: 'device'
  readonly caller: Caller
  readonly device: DeviceRow
}

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

/** What a request names besides the group itself; `newcomer` is named by a body. */
export interface GroupEntries {
  readonly none: undefined
  readonly member: GroupMemberRow
  readonly newcomer: UserRow
}

export type GroupEntry = keyof GroupEntries

/** May read the group, or change it where the route asks for that. */
export interface GroupGrant<E extends GroupEntry = GroupEntry> {
  readonly [proof]: 'group'
  /** Who acts: a caller of the API, or the operator at the command line. */
  readonly actor: Pick<Caller, 'userId' | 'deviceId' | 'origin'>
  readonly group: GroupRow
  readonly entry: GroupEntries[E]
}
