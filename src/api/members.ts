import type { MemberRow, ShareGroupRow } from '../gate/grants.js'
import { V1_1 } from '../model/version.js'
import { route, type Route } from './route.js'
import { locationOf, readAnswer, readDoc, toManage, toRead, writeAnswer, writeDoc } from './share-answers.js'
import { listJson, memberJson, shareGroupJson } from './share-views.js'
import {
  bodyAddress,
  granted,
  pathMemberOrGroup,
  pathPerson,
  pathShare,
  type AddressInput,
  type GrantedInput,
  type PersonInput,
  type ShareInput,
} from './sharing-inputs.js'

type NewMember = ShareInput & Partial<AddressInput & GrantedInput>
type ChangedMember = ShareInput & PersonInput & Partial<GrantedInput>

function entryJson(entry: MemberRow | ShareGroupRow): string {
  return 'group_id' in entry ? shareGroupJson(entry) : memberJson(entry)
}

const LAST_OWNER = 'The last one who may manage the shared folder cannot lose that.'

export const MEMBER_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/shares/:share/members',
    since: V1_1,
    access: 'token',
    rule: { effect: 'read', needs: { share: toRead('none') }, input: pathShare },
    doc: { ...readDoc('The direct members by address.'), summary: 'List members', returns: 'SFMemberList' },
    handle: (call, { tx, grants }) =>
      readAnswer(call, grants.share, async () =>
        listJson(await call.api.sharing.members.list(tx, grants.share), memberJson),
      ),
  }),

  route({
    method: 'GET',
    path: '/shares/:share/members/:email',
    since: V1_1,
    access: 'token',
    rule: {
      effect: 'read',
      needs: { share: toRead('memberOrGroup', 'named') },
      input: (incoming) => ({ ...pathShare(incoming), ...pathMemberOrGroup(incoming) }),
    },
    doc: {
      ...readDoc('The member; the group when the last segment is the identifier of one.'),
      summary: 'Read a member',
      returns: 'SFMember',
    },
    handle: (call, { grants }) => readAnswer(call, grants.share, () => entryJson(grants.share.entry)),
  }),

  route({
    method: 'POST',
    path: '/shares/:share/members',
    since: V1_1,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { share: toManage('newcomer', 'email') },
      matches: 'share',
      input: (incoming): NewMember => pathShare(incoming),
      body: (json, input) => ({ ...input, ...bodyAddress(json), ...granted(json) }),
    },
    doc: {
      ...writeDoc(
        { 201: 'The new member, its address in Location.' },
        'The person is a member already.',
        415,
      ),
      summary: 'Add a member without invitation',
      returns: 'SFMember',
      accepts: 'NewSFMember',
    },
    async handle(call, { tx, input, grants }) {
      const member = await call.api.sharing.members.add(tx, grants.share, input.permissions ?? 0)
      const location = locationOf(call, 'shares', input.share, 'members', member.email)
      return writeAnswer(tx, grants.share, { status: 201, json: memberJson(member), location })
    },
  }),

  route({
    method: 'PUT',
    path: '/shares/:share/members/:email',
    since: V1_1,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { share: toManage('member', 'person') },
      matches: 'share',
      input: (incoming): ChangedMember => ({ ...pathShare(incoming), ...pathPerson(incoming) }),
      body: (json, input) => ({ ...input, ...granted(json) }),
    },
    doc: {
      ...writeDoc({ 200: 'The member as it is now.' }, LAST_OWNER, 415),
      summary: 'Change the permissions of a member',
      returns: 'SFMember',
      accepts: 'SFPermissions',
    },
    async handle(call, { tx, input, grants }) {
      const member = await call.api.sharing.members.change(tx, grants.share, input.permissions ?? 0)
      return writeAnswer(tx, grants.share, { status: 200, json: memberJson(member) })
    },
  }),

  route({
    method: 'DELETE',
    path: '/shares/:share/members/:email',
    since: V1_1,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { share: toManage('leaver', 'person') },
      matches: 'share',
      input: (incoming) => ({ ...pathShare(incoming), ...pathPerson(incoming) }),
    },
    doc: {
      ...writeDoc({ 204: 'Removed. Whoever removes themselves has left.' }, LAST_OWNER),
      summary: 'Remove a member, or leave',
      sends: { 204: ['ETag'] },
    },
    async handle(call, { tx, grants }) {
      await call.api.sharing.members.remove(tx, grants.share)
      return writeAnswer(tx, grants.share, { status: 204 })
    },
  }),
]
