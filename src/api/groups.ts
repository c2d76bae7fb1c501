/** Groups of the organization. */
import type { GroupEntry } from '../gate/grants.js'
import type { GroupNeed } from '../gate/group-needs.js'
import { V1_3 } from '../model/version.js'
import { listGroupPage, listGroupsOf, showGroup } from '../service/groups.js'
import { listSharesOfGroup } from '../service/shares.js'
import { route, type Route, type RouteDoc } from './route.js'
import { locationOf } from './share-answers.js'
import { groupJson, groupMemberJson, listJson, sharedFolderJson } from './share-views.js'
import {
  bodyAddress,
  newGroup,
  pathGroup,
  pathPerson,
  queryGroups,
  type AddressInput,
  type GroupInput,
} from './sharing-inputs.js'

function toRead<E extends GroupEntry>(entry: E, by?: string): GroupNeed<E> {
  const base = { right: 'group', to: 'read', scopes: ['groups.read'], from: 'group', entry } as const
  return by === undefined ? base : { ...base, by }
}

function toChange<E extends GroupEntry>(entry: E, by?: string): GroupNeed<E> {
  const base = { right: 'group', to: 'change', scopes: ['organization.admin'], from: 'group', entry } as const
  return by === undefined ? base : { ...base, by }
}

const DOC: Pick<RouteDoc, 'tag' | 'failures' | 'notes'> = {
  tag: 'Groups',
  failures: [400, 401, 403, 404],
  notes: {
    404: [{ means: 'There is no such group, or nobody of that address.', message: 'there is no such group' }],
  },
}

function docWith(
  failures: readonly number[],
  conflict: string,
): Pick<RouteDoc, 'tag' | 'failures' | 'notes'> {
  return {
    ...DOC,
    failures: [...DOC.failures, ...failures],
    notes: { ...DOC.notes, 409: [{ means: conflict }] },
  }
}

const LAST_OWNER = 'A shared folder would have people in it and nobody who may manage them.'

const readRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/groups',
    since: V1_3,
    access: 'token',
    rule: {
      effect: 'read',
      needs: { caller: { right: 'caller', scopes: ['groups.read'] } },
      input: queryGroups,
    },
    doc: {
      summary: 'List the groups of the organization',
      tag: 'Groups',
      success: { 200: 'Groups by name.' },
      returns: 'GroupList',
      query: {
        offset: 'How many groups to pass over; 0 by default.',
        results: 'How many groups at most; 10 by default, 1000 at most.',
      },
      failures: [400, 401, 403],
    },
    handle: async (_, { tx, input, grants }) => ({
      status: 200,
      json: listJson(await listGroupPage(tx, grants.caller, input), groupJson),
    }),
  }),

  route({
    method: 'GET',
    path: '/groups/:group',
    since: V1_3,
    access: 'token',
    rule: { effect: 'read', needs: { group: toRead('none') }, input: pathGroup },
    doc: { ...DOC, summary: 'Read a group', success: { 200: 'The group.' }, returns: 'Group' },
    handle: async (_, { tx, grants }) => ({
      status: 200,
      json: groupJson(await showGroup(tx, grants.group)),
    }),
  }),

  route({
    method: 'GET',
    path: '/groups/:group/members',
    since: V1_3,
    access: 'token',
    rule: { effect: 'read', needs: { group: toRead('none') }, input: pathGroup },
    doc: {
      ...DOC,
      summary: 'List the people of a group',
      success: { 200: 'The people by address.' },
      returns: 'GroupMemberList',
    },
    handle: async (_, { tx, grants }) => ({
      status: 200,
      json: listJson((await showGroup(tx, grants.group)).members, groupMemberJson),
    }),
  }),

  route({
    method: 'GET',
    path: '/groups/:group/members/:email',
    since: V1_3,
    access: 'token',
    rule: {
      effect: 'read',
      needs: { group: toRead('member', 'person') },
      input: (incoming) => ({ ...pathGroup(incoming), ...pathPerson(incoming) }),
    },
    doc: {
      ...DOC,
      summary: 'Read a person of a group',
      success: { 200: 'The person.' },
      returns: 'GroupMember',
    },
    handle: (_, { grants }) => Promise.resolve({ status: 200, json: groupMemberJson(grants.group.entry) }),
  }),

  route({
    method: 'GET',
    path: '/groups/:group/shares',
    since: V1_3,
    access: 'token',
    rule: { effect: 'read', needs: { group: toRead('none') }, input: pathGroup },
    doc: {
      ...DOC,
      summary: 'List the shared folders of a group',
      success: { 200: 'Those that the caller may read, by name; none without the scope acl.read.' },
      returns: 'SharedFolderList',
    },
    handle: async (_, { tx, caller, grants }) => ({
      status: 200,
      json: listJson(await listSharesOfGroup(tx, caller, grants.group), sharedFolderJson),
    }),
  }),

  route({
    method: 'GET',
    path: '/users/:email/groups',
    since: V1_3,
    access: 'token',
    rule: {
      effect: 'read',
      needs: {
        person: {
          right: 'person',
          scopes: ['user.read', 'groups.read'],
          from: 'person',
          others: 'hidden',
        },
      },
      input: pathPerson,
    },
    doc: {
      summary: 'List the groups of a person',
      tag: 'Groups',
      success: { 200: 'The groups by name.' },
      returns: 'GroupList',
      failures: [400, 401, 403, 404],
    },
    handle: async (_, { tx, grants }) => ({
      status: 200,
      json: listJson(await listGroupsOf(tx, grants.person), groupJson),
    }),
  }),
]

const writeRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/groups',
    since: V1_3,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { caller: { right: 'caller', scopes: ['organization.admin'] } },
      input: (): { name?: string } => ({}),
      body: newGroup,
    },
    doc: {
      summary: 'Create a group',
      tag: 'Groups',
      success: { 201: 'The new group, its address in Location.' },
      returns: 'Group',
      accepts: 'NewGroup',
      sends: { 201: ['Location'] },
      failures: [400, 401, 403, 415],
    },
    async handle(call, { tx, input, grants }) {
      const made = await call.api.sharing.groups.create(tx, grants.caller.caller, input.name ?? '')
      return {
        status: 201,
        json: groupJson(made),
        headers: { Location: locationOf(call, 'groups', made.id) },
      }
    },
  }),

  route({
    method: 'DELETE',
    path: '/groups/:group',
    since: V1_3,
    access: 'token',
    rule: { effect: 'write', needs: { group: toChange('none') }, input: pathGroup },
    doc: {
      ...docWith([409], LAST_OWNER),
      summary: 'Delete a group',
      success: { 204: 'Deleted, and out of every shared folder.' },
    },
    async handle(call, { tx, grants }) {
      await call.api.sharing.groups.remove(tx, grants.group)
      return { status: 204 }
    },
  }),

  route({
    method: 'POST',
    path: '/groups/:group/members',
    since: V1_3,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { group: toChange('newcomer', 'email') },
      input: (incoming): GroupInput & Partial<AddressInput> => pathGroup(incoming),
      body: (json, input) => ({ ...input, ...bodyAddress(json) }),
    },
    doc: {
      ...docWith([409, 415], 'The person is in the group already.'),
      summary: 'Add a person to a group',
      success: {
        201: 'The person, with its address in Location. The shared folders of the group are open at once.',
      },
      returns: 'GroupMember',
      accepts: 'NewGroupMember',
      sends: { 201: ['Location'] },
    },
    async handle(call, { tx, input, grants }) {
      const member = await call.api.sharing.groups.addMember(tx, grants.group)
      const location = locationOf(call, 'groups', input.group, 'members', member.email)
      return { status: 201, json: groupMemberJson(member), headers: { Location: location } }
    },
  }),

  route({
    method: 'DELETE',
    path: '/groups/:group/members/:email',
    since: V1_3,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { group: toChange('member', 'person') },
      input: (incoming) => ({ ...pathGroup(incoming), ...pathPerson(incoming) }),
    },
    doc: {
      ...docWith([409], LAST_OWNER),
      summary: 'Take a person out of a group',
      success: { 204: 'The person is out, also of what was open through the group alone.' },
    },
    async handle(call, { tx, grants }) {
      await call.api.sharing.groups.removeMember(tx, grants.group)
      return { status: 204 }
    },
  }),
]

export const GROUP_ROUTES: readonly Route[] = [...readRoutes, ...writeRoutes]
