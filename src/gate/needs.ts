import type { InsertGrant, Kind, ReadGrant, WriteGrant } from './grants.js'

/**
 * What a route must be granted before its verb runs, as data: `from` names the key of the request's input that
 * holds the identifier. An optional need whose key is absent gives no grant.
 */
export type Need =
  | { readonly right: 'read'; readonly kind: Kind; readonly from: string }
  | { readonly right: 'write'; readonly kind: 'folder' | 'file'; readonly from: string }
  | { readonly right: 'insert'; readonly from: string; readonly optional?: boolean }

export type Needs = Readonly<Record<string, Need>>

export type GrantOf<N extends Need> = N extends { right: 'read'; kind: infer K extends Kind }
  ? ReadGrant<K>
  : N extends { right: 'write'; kind: infer K extends Kind }
    ? WriteGrant<K>
    : N extends { optional: true }
      ? InsertGrant | undefined
      : InsertGrant

export type GrantsOf<N extends Needs> = { readonly [Name in keyof N]: GrantOf<N[Name]> }

/** The scope that a need is about. */
export function scopeOf(need: Need): 'files.read' | 'files.write' {
  return need.right === 'read' ? 'files.read' : 'files.write'
}
