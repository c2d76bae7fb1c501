import type { ScopeName } from '../model/scopes.js'
import type { GroupEntry } from './grants.js'

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
