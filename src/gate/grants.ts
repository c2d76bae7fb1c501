import type { DeviceRow } from '../db/devices.js'
import type { ObjectRow } from '../db/objects.js'
import type { UserRow } from '../db/users.js'
import type { Caller } from './caller.js'

export type { DeviceRow } from '../db/devices.js'
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
