/** The resources of shared folders and groups as the documentation shows them, made from the tables of their views. */
import type { GroupMemberRow, InvitationRow, MemberRow, PendingRow, ShareGroupRow } from '../gate/grants.js'
import { OWNER, WRITE } from '../model/permissions.js'
import { V1_1, V1_3, within, type Version } from '../model/version.js'
import type { Group } from '../service/groups.js'
import type { SharedFolder } from '../service/shares.js'
import { compileView, type Field, type Schema } from './fields.js'
import { object, schemaReference, type ResourceDoc } from './openapi-schemas.js'
import type { Resource, SharingResource } from './resources.js'
import {
  GROUP_FIELDS,
  GROUP_MEMBER_FIELDS,
  INVITATION_FIELDS,
  MEMBER_FIELDS,
  PENDING_FIELDS,
  SHARED_FOLDER_FIELDS,
  SHARE_GROUP_FIELDS,
} from './share-views.js'

type Docs = Partial<Record<SharingResource, ResourceDoc>>

const SID = '3f2a9c1e77b00a4d8e11223344556677'
const GROUP_ID = '2875640021'
const ANN = { user_id: '', email: 'ann@x.test', first_name: 'Ann', last_name: 'Avery' }

const MEMBER: MemberRow = { ...ANN, sid: SID, direct: OWNER }
const PENDING: PendingRow = {
  sid: SID,
  email: 'zoe@x.test',
  first_name: null,
  last_name: null,
  invited_by: ANN.email,
  permissions: 0,
}
const SHARE_GROUP: ShareGroupRow = { sid: SID, group_id: GROUP_ID, name: 'Design', permissions: WRITE }
const INVITATION: InvitationRow = {
  sid: SID,
  share_name: 'Plans',
  invited_by: ANN.email,
  permissions: WRITE,
}
const GROUP_MEMBER: GroupMemberRow = { ...ANN, group_id: GROUP_ID }
const GROUP: Group = { id: GROUP_ID, name: 'Design', members: [GROUP_MEMBER] }
const SHARE: SharedFolder = {
  sid: SID,
  name: 'Plans',
  isExternal: false,
  permissions: OWNER,
  isMember: true,
  members: [MEMBER],
  groups: [SHARE_GROUP],
  pending: [PENDING],
  tag: '',
}

const ADDRESS: Schema = { type: 'string', maxLength: 320, description: 'E-mail address.' }
const NAME: Schema = { type: 'string', minLength: 1, maxLength: 255 }
const PERMISSIONS: Schema = {
  type: 'array',
  items: { type: 'string', enum: ['WRITE', 'MANAGE'] },
  description: 'In any order; [] may read.',
}

/** Those of the version; the rows that carry them begin with it. */
export function sharingResources(version: Version): Readonly<Docs> {
  return {
    ...(within(version, V1_1) ? { ...shareResources(version), ...SHARE_INPUTS } : {}),
    ...(within(version, V1_3) ? { ...groupResources(version), ...GROUP_INPUTS } : {}),
  }
}

function shareResources(version: Version): Docs {
  const show = <Facts>(fields: readonly Field<Facts>[], facts: Facts, lists = {}): ResourceDoc =>
    shown(fields, version, facts, lists)
  return {
    ...withList('SFMember', version, show(MEMBER_FIELDS, MEMBER)),
    ...withList('SFPendingMember', version, show(PENDING_FIELDS, PENDING)),
    ...withList('SFGroupMember', version, show(SHARE_GROUP_FIELDS, SHARE_GROUP)),
    ...withList('Invitation', version, show(INVITATION_FIELDS, INVITATION)),
    ...withList(
      'SharedFolder',
      version,
      show(SHARED_FOLDER_FIELDS, SHARE, {
        members: 'SFMember',
        groups: 'SFGroupMember',
        pending: 'SFPendingMember',
      }),
    ),
  }
}

function groupResources(version: Version): Docs {
  return {
    ...withList('GroupMember', version, shown(GROUP_MEMBER_FIELDS, version, GROUP_MEMBER, {})),
    ...withList('Group', version, shown(GROUP_FIELDS, version, GROUP, { members: 'GroupMember' })),
  }
}

const SHARE_INPUTS: Docs = {
  NewSharedFolder: input(
    {
      name: { ...NAME, description: 'Need not be unique.' },
      is_external: { type: 'boolean', description: 'Whether it lies outside the root; false by default.' },
    },
    ['name'],
    { name: 'Plans' },
  ),
  NewSFMember: input({ email: ADDRESS, permissions: PERMISSIONS }, ['email', 'permissions'], {
    email: 'bob@x.test',
    permissions: ['WRITE'],
  }),
  NewSFPendingMember: input(
    {
      email: ADDRESS,
      permissions: PERMISSIONS,
      note: { type: 'string', description: 'Goes into the mail and nowhere else.' },
    },
    ['email', 'permissions'],
    { email: 'zoe@x.test', permissions: ['WRITE'], note: 'Here are the plans.' },
  ),
  SFPermissions: input({ permissions: PERMISSIONS }, ['permissions'], { permissions: ['WRITE', 'MANAGE'] }),
}

const GROUP_INPUTS: Docs = {
  NewSFGroupMember: input(
    { id: { type: 'string', pattern: '^[1-9][0-9]*$', description: 'A group.' }, permissions: PERMISSIONS },
    ['id', 'permissions'],
    { id: GROUP_ID, permissions: ['WRITE'] },
  ),
  NewGroup: input({ name: NAME }, ['name'], { name: 'Design' }),
  NewGroupMember: input({ email: ADDRESS }, ['email'], { email: 'bob@x.test' }),
}

/** `lists` says which resource the elements of a list are. */
function shown<Facts>(
  fields: readonly Field<Facts>[],
  version: Version,
  facts: Facts,
  lists: Readonly<Record<string, Resource>>,
): ResourceDoc {
  const example = JSON.parse(compileView(fields, version)(facts)) as Record<string, unknown>
  const properties: Record<string, Schema> = {}
  for (const { key, schema, describe } of fields) {
    const element = lists[key]
    const items = element === undefined ? {} : { items: schemaReference(element, version) }
    properties[key] = { ...schema, ...items, description: describe }
  }
  return { schema: object(properties, Object.keys(example)), example }
}

function withList<
  Name extends
    | 'SFMember'
    | 'SFPendingMember'
    | 'SFGroupMember'
    | 'Invitation'
    | 'SharedFolder'
    | 'GroupMember'
    | 'Group',
>(name: Name, version: Version, doc: ResourceDoc): Docs {
  return {
    [name]: doc,
    [`${name}List`]: {
      schema: { type: 'array', items: schemaReference(name, version) },
      example: [doc.example],
    },
  }
}

function input(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[],
  example: unknown,
): ResourceDoc {
  return { schema: object(properties, required), example }
}
