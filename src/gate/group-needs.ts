import type { GroupMemberRow, GroupRow } from '../db/groups.js'
import type { UserRow } from '../db/users.js'
import type { ScopeName } from '../model/scopes.js'
import type { Caller } from './caller.js'

export type { GroupMemberRow, GroupRow } from '../db/groups.js'

/** What a request names besides the group itself; `newcomer` is named by a body. */
export interface GroupEntries {
  readonly none: undefined
  readonly member: GroupMemberRow
  readonly newcomer: UserRow
}

export type GroupEntry = keyof GroupEntries

/** A group of the organization. Who may change it is a matter of scopes alone. */
export interface GroupNeed<E extends GroupEntry = GroupEntry> {
  readonly right: 'group'
  readonly to: 'read' | 'change'
  readonly scopes: readonly ScopeName[]
  /** The key of the input that holds the group's id. */
  readonly from: string
  readonly entry: E
  /** The key of the input that names the entry. */
  readonly by?: string
}

declare const proof: unique symbol

export interface GroupGrant<E extends GroupEntry = GroupEntry> {
  readonly [proof]: 'group'
  /** Who acts: a caller of the API, or the operator at the command line. */
  readonly actor: Pick<Caller, 'userId' | 'deviceId' | 'origin'>
  readonly group: GroupRow
  readonly entry: GroupEntries[E]
}
