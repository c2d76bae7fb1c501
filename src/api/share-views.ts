/** How shared folders, their people and groups are written; the documentation is made from the same tables. */
import type { Caller } from '../gate/caller.js'
import type {
  GroupMemberRow,
  InvitationRow,
  MemberRow,
  PendingRow,
  ShareGroupRow,
  Tx,
} from '../gate/grants.js'
import { permissionNames } from '../model/permissions.js'
import { V1_1, V1_3, V1_4, type Version } from '../model/version.js'
import type { Group } from '../service/groups.js'
import { listInvitations } from '../service/invitations.js'
import { listShares, type SharedFolder } from '../service/shares.js'
import { compileView, type Field, type Schema } from './fields.js'

const TEXT: Schema = { type: 'string' }
const ADDRESS: Schema = { type: 'string', maxLength: 320 }
const SHARE_ID: Schema = { type: 'string', pattern: '^[0-9a-f]{32}$' }
const GROUP_ID: Schema = { type: 'string', pattern: '^[1-9][0-9]*$' }
const FLAG: Schema = { type: 'boolean' }
const LIST: Schema = { type: 'array' }
const PERMISSIONS: Schema = { type: 'array', items: { type: 'string', enum: ['WRITE', 'MANAGE'] } }

function field<Facts>(
  key: string,
  schema: Schema,
  describe: string,
  json: (facts: Facts) => string | undefined,
  since: Version = V1_1,
): Field<Facts> {
  return { key, since, schema, describe, json }
}

function permissionsField<Facts>(bits: (facts: Facts) => number, since?: Version): Field<Facts> {
  const describe = 'What was granted: [] reads, WRITE changes files, MANAGE decides who is in.'
  return field('permissions', PERMISSIONS, describe, (facts) => permissionsJson(bits(facts)), since)
}

interface Named {
  readonly first_name: string | null
  readonly last_name: string | null
}

/** Left out while an address has no account. */
function nameFields<Facts extends Named>(since?: Version): Field<Facts>[] {
  return [
    field('first_name', TEXT, 'First name.', ({ first_name }) => optional(first_name), since),
    field('last_name', TEXT, 'Last name.', ({ last_name }) => optional(last_name), since),
  ]
}

function optional(text: string | null): string | undefined {
  return text === null ? undefined : JSON.stringify(text)
}

export const MEMBER_FIELDS: readonly Field<MemberRow>[] = [
  field('email', ADDRESS, 'Address of the member.', ({ email }) => JSON.stringify(email)),
  ...nameFields<MemberRow>(),
  permissionsField(({ direct }) => direct),
]

export const PENDING_FIELDS: readonly Field<PendingRow>[] = [
  field('email', ADDRESS, 'Address of the invited person.', ({ email }) => JSON.stringify(email)),
  ...nameFields<PendingRow>(),
  field('invited_by', ADDRESS, 'Address of the inviter.', ({ invited_by }) => JSON.stringify(invited_by)),
  permissionsField(({ permissions }) => permissions),
]

export const SHARE_GROUP_FIELDS: readonly Field<ShareGroupRow>[] = [
  field('id', GROUP_ID, 'Group identifier.', ({ group_id }) => JSON.stringify(group_id)),
  field('name', TEXT, 'Name of the group.', ({ name }) => JSON.stringify(name)),
  permissionsField(({ permissions }) => permissions),
]

export const SHARED_FOLDER_FIELDS: readonly Field<SharedFolder>[] = [
  field('id', SHARE_ID, 'Shared folder identifier.', ({ sid }) => JSON.stringify(sid)),
  field('name', TEXT, 'Name for the calling person alone.', ({ name }) => JSON.stringify(name)),
  field('members', LIST, 'Direct members by address.', ({ members }) => listJson(members, memberJson)),
  field('groups', LIST, 'Groups by identifier.', ({ groups }) => listJson(groups, shareGroupJson)),
  field('pending', LIST, 'Invited people by address.', ({ pending }) => listJson(pending, pendingJson)),
  field('is_external', FLAG, "Whether it lies outside the caller's root.", ({ isExternal }) =>
    String(isExternal),
  ),
  field('external', FLAG, 'The same.', ({ isExternal }) => String(isExternal)),
  field(
    'caller_effective_permissions',
    PERMISSIONS,
    'What the calling person may do, directly and through groups.',
    ({ permissions }) => permissionsJson(permissions),
  ),
]

export const INVITATION_FIELDS: readonly Field<InvitationRow>[] = [
  field('share_id', SHARE_ID, 'Shared folder identifier.', ({ sid }) => JSON.stringify(sid)),
  field('share_name', TEXT, 'The name given at creation.', ({ share_name }) => JSON.stringify(share_name)),
  field('invited_by', ADDRESS, 'Address of the inviter.', ({ invited_by }) => JSON.stringify(invited_by)),
  permissionsField(({ permissions }) => permissions),
]

export const GROUP_MEMBER_FIELDS: readonly Field<GroupMemberRow>[] = [
  field('email', ADDRESS, 'Address.', ({ email }) => JSON.stringify(email), V1_3),
  ...nameFields<GroupMemberRow>(V1_3),
]

export const GROUP_FIELDS: readonly Field<Group>[] = [
  field('id', GROUP_ID, 'Group identifier.', ({ id }) => JSON.stringify(id), V1_3),
  field('name', TEXT, 'Name; it need not be unique.', ({ name }) => JSON.stringify(name), V1_3),
  field('members', LIST, 'By address.', ({ members }) => listJson(members, groupMemberJson), V1_3),
]

// Every version that has these resources writes them alike.
export const memberJson = compileView(MEMBER_FIELDS, V1_4)
export const pendingJson = compileView(PENDING_FIELDS, V1_4)
export const shareGroupJson = compileView(SHARE_GROUP_FIELDS, V1_4)
export const sharedFolderJson = compileView(SHARED_FOLDER_FIELDS, V1_4)
export const invitationJson = compileView(INVITATION_FIELDS, V1_4)
export const groupMemberJson = compileView(GROUP_MEMBER_FIELDS, V1_4)
export const groupJson = compileView(GROUP_FIELDS, V1_4)

export function listJson<Facts>(list: readonly Facts[], json: (facts: Facts) => string): string {
  return `[${list.map((facts) => json(facts)).join(',')}]`
}

/** The shares of a person as far as the caller's token reaches. */
export async function sharesJson(tx: Tx, caller: Caller, userId: string): Promise<string> {
  return listJson(await listShares(tx, caller, userId), sharedFolderJson)
}

export async function invitationsJson(tx: Tx, caller: Caller, email: string): Promise<string> {
  return listJson(await listInvitations(tx, caller, email), invitationJson)
}

function permissionsJson(bits: number): string {
  return JSON.stringify(permissionNames(bits))
}
