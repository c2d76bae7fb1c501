import type { ScopeName } from '../model/scopes.js'
import type {
  CallerGrant,
  DeviceGrant,
  GroupEntry,
  GroupGrant,
  InsertGrant,
  InvitationGrant,
  Kind,
  NewShareGrant,
  PersonGrant,
  ReadGrant,
  ShareEntry,
  ShareGrant,
  WriteGrant,
} from './grants.js'
import type { GroupNeed } from './group-needs.js'
import type { InvitationNeed, NewShareNeed, ShareNeed } from './share-needs.js'
import type { CallerNeed, DeviceNeed, PersonNeed, UserNeed } from './user-needs.js'

/**
 * A folder or file. An optional need whose key is absent gives no grant. What `ends` is deleted, and the shares that are
 * mounted there are left with it.
 */
export type ObjectNeed =
  | { readonly right: 'read'; readonly kind: Kind; readonly from: string }
  | {
      readonly right: 'write'
      readonly kind: 'folder' | 'file'
      readonly from: string
      readonly ends?: boolean
    }
  | { readonly right: 'insert'; readonly from: string; readonly optional?: boolean }

/**
 * What a route must be granted before its verb runs, as data: `from` names the key of the request's input that
 * holds the identifier.
 */
export type Need = ObjectNeed | UserNeed | ShareNeed | NewShareNeed | InvitationNeed | GroupNeed

export type Needs = Readonly<Record<string, Need>>

type ObjectGrantOf<N extends ObjectNeed> = N extends { right: 'read'; kind: infer K extends Kind }
  ? ReadGrant<K>
  : N extends { right: 'write'; kind: infer K extends Kind }
    ? WriteGrant<K>
    : N extends { optional: true }
      ? InsertGrant | undefined
      : InsertGrant

type SharingGrantOf<N extends Need> =
  N extends ShareNeed<infer E extends ShareEntry>
    ? ShareGrant<E>
    : N extends NewShareNeed
      ? NewShareGrant
      : N extends InvitationNeed
        ? InvitationGrant
        : N extends GroupNeed<infer E extends GroupEntry>
          ? GroupGrant<E>
          : never

export type GrantOf<N extends Need> = N extends PersonNeed
  ? PersonGrant
  : N extends CallerNeed
    ? CallerGrant
    : N extends DeviceNeed
      ? DeviceGrant
      : N extends ObjectNeed
        ? ObjectGrantOf<N>
        : SharingGrantOf<N>

export type GrantsOf<N extends Needs> = { readonly [Name in keyof N]: GrantOf<N[Name]> }

/** The scopes that a need is about: the token must hold every one of them. */
export function scopesOf(need: Need): readonly ScopeName[] {
  return isObjectNeed(need) ? [objectScopeOf(need)] : need.scopes
}

export function objectScopeOf(need: ObjectNeed): 'files.read' | 'files.write' {
  return need.right === 'read' ? 'files.read' : 'files.write'
}

export function isObjectNeed(need: Need): need is ObjectNeed {
  return need.right === 'read' || need.right === 'write' || need.right === 'insert'
}
