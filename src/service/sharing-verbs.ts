import type { ServiceDeps } from './deps.js'
import { groups, type Groups } from './groups.js'
import { invitations, type Invitations } from './invitations.js'
import { members, type Members } from './members.js'
import { pending, type Pending } from './pending.js'
import { shareGroups, type ShareGroups } from './share-groups.js'
import { shares, type Shares } from './shares.js'

/** Everything that can be done to shared folders, the people in them and groups. */
export interface Sharing {
  readonly shares: Shares
  readonly members: Members
  readonly pending: Pending
  readonly invitations: Invitations
  readonly shareGroups: ShareGroups
  readonly groups: Groups
}

export function sharing(deps: ServiceDeps): Sharing {
  return {
    shares: shares(deps),
    members: members(deps),
    pending: pending(deps),
    invitations: invitations(deps),
    shareGroups: shareGroups(deps),
    groups: groups(deps),
  }
}
