/** Groups in shared folders. */
import { V1_3 } from '../model/version.js'
import { route, type Route } from './route.js'
import { locationOf, readAnswer, readDoc, toManage, toRead, writeAnswer, writeDoc } from './share-answers.js'
import { listJson, shareGroupJson } from './share-views.js'
import {
  bodyGroup,
  granted,
  pathGroup,
  pathShare,
  type GrantedInput,
  type GroupInput,
  type ShareInput,
} from './sharing-inputs.js'

type NewShareGroup = ShareInput & Partial<{ id: string } & GrantedInput>
type ChangedShareGroup = ShareInput & GroupInput & Partial<GrantedInput>

const LAST_OWNER = 'The people of the group are the last who may manage the shared folder.'

export const SHARE_GROUP_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/shares/:share/groups',
    since: V1_3,
    access: 'token',
    rule: { effect: 'read', needs: { share: toRead('none') }, input: pathShare },
    doc: {
      ...readDoc('The groups in the shared folder by identifier.'),
      summary: 'List the groups in a shared folder',
      returns: 'SFGroupMemberList',
    },
    handle: (call, { tx, grants }) =>
      readAnswer(call, grants.share, async () =>
        listJson(await call.api.sharing.shareGroups.list(tx, grants.share), shareGroupJson),
      ),
  }),

  route({
    method: 'GET',
    path: '/shares/:share/groups/:group',
    since: V1_3,
    access: 'token',
    rule: {
      effect: 'read',
      needs: { share: toRead('group', 'group') },
      input: (incoming) => ({ ...pathShare(incoming), ...pathGroup(incoming) }),
    },
    doc: {
      ...readDoc('The group.'),
      summary: 'Read a group in a shared folder',
      returns: 'SFGroupMember',
    },
    handle: (call, { grants }) => readAnswer(call, grants.share, () => shareGroupJson(grants.share.entry)),
  }),

  route({
    method: 'POST',
    path: '/shares/:share/groups',
    since: V1_3,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { share: toManage('newGroup', 'id') },
      matches: 'share',
      input: (incoming): NewShareGroup => pathShare(incoming),
      body: (json, input) => ({ ...input, ...bodyGroup(json), ...granted(json) }),
    },
    doc: {
      ...writeDoc(
        { 201: 'The group, its address in Location. Its people are in at once.' },
        'The group is in the shared folder already.',
        415,
      ),
      summary: 'Add a group to a shared folder',
      returns: 'SFGroupMember',
      accepts: 'NewSFGroupMember',
    },
    async handle(call, { tx, input, grants }) {
      const group = await call.api.sharing.shareGroups.add(tx, grants.share, input.permissions ?? 0)
      const location = locationOf(call, 'shares', input.share, 'groups', group.group_id)
      return writeAnswer(tx, grants.share, { status: 201, json: shareGroupJson(group), location })
    },
  }),

  route({
    method: 'PUT',
    path: '/shares/:share/groups/:group',
    since: V1_3,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { share: toManage('group', 'group') },
      matches: 'share',
      input: (incoming): ChangedShareGroup => ({ ...pathShare(incoming), ...pathGroup(incoming) }),
      body: (json, input) => ({ ...input, ...granted(json) }),
    },
    doc: {
      ...writeDoc({ 200: 'The group as it is now.' }, LAST_OWNER, 415),
      summary: 'Change the permissions of a group',
      returns: 'SFGroupMember',
      accepts: 'SFPermissions',
    },
    async handle(call, { tx, input, grants }) {
      const group = await call.api.sharing.shareGroups.change(tx, grants.share, input.permissions ?? 0)
      return writeAnswer(tx, grants.share, { status: 200, json: shareGroupJson(group) })
    },
  }),

  route({
    method: 'DELETE',
    path: '/shares/:share/groups/:group',
    since: V1_3,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { share: toManage('group', 'group') },
      matches: 'share',
      input: (incoming) => ({ ...pathShare(incoming), ...pathGroup(incoming) }),
    },
    doc: {
      ...writeDoc({ 204: 'Removed; those who were in through it alone are out.' }, LAST_OWNER),
      summary: 'Remove a group from a shared folder',
    },
    async handle(call, { tx, grants }) {
      await call.api.sharing.shareGroups.remove(tx, grants.share)
      return { status: 204 }
    },
  }),
]
