import type { ObjectRow } from '../db/objects.js'
import type { Caller } from './caller.js'

export type { ObjectRow } from '../db/objects.js'
export type { Tx } from '../db/db.js'

declare const proof: unique symbol

/** Only `authorize.ts` makes values of these types: a verb that takes one cannot be called unchecked. */
interface Grant<Right extends string> {
  readonly [proof]: Right
  readonly caller: Caller
  readonly object: ObjectRow
  readonly horizon: Horizon
}

/** The topmost folder that exists for a token: what is above it is neither named nor reached. */
export interface Horizon {
  readonly tops: readonly string[]
  /** The token sees its own application's folder and nothing else. */
  readonly sandboxed: boolean
}

export type Kind = 'folder' | 'file' | 'either'

/** May read the object: metadata, path, children, content. */
export type ReadGrant<K extends Kind = Kind> = Grant<`read ${K}`>

/** May rename, move and delete the object and replace its content. */
export type WriteGrant<K extends Kind = Kind> = Grant<`write ${K}`>

/** May put objects into the folder. */
export type InsertGrant = Grant<'insert'>
