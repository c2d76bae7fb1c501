import { V1_1 } from '../model/version.js'
import { route, type Route } from './route.js'
import { locationOf, readAnswer, readDoc, toManage, toRead, writeAnswer, writeDoc } from './share-answers.js'
import { listJson, pendingJson } from './share-views.js'
import {
  bodyAddress,
  bodyNote,
  granted,
  pathPerson,
  pathShare,
  type AddressInput,
  type GrantedInput,
  type NoteInput,
  type ShareInput,
} from './sharing-inputs.js'

type NewPending = ShareInput & Partial<AddressInput & GrantedInput & NoteInput>

export const PENDING_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/shares/:share/pending',
    since: V1_1,
    access: 'token',
    rule: { effect: 'read', needs: { share: toRead('none') }, input: pathShare },
    doc: {
      ...readDoc('The invited people who have not answered, by address.'),
      summary: 'List invited people',
      returns: 'SFPendingMemberList',
    },
    handle: (call, { tx, grants }) =>
      readAnswer(call, grants.share, async () =>
        listJson(await call.api.sharing.pending.list(tx, grants.share), pendingJson),
      ),
  }),

  route({
    method: 'GET',
    path: '/shares/:share/pending/:email',
    since: V1_1,
    access: 'token',
    rule: {
      effect: 'read',
      needs: { share: toRead('pending', 'person') },
      input: (incoming) => ({ ...pathShare(incoming), ...pathPerson(incoming) }),
    },
    doc: {
      ...readDoc('The invited person.'),
      summary: 'Read an invited person',
      returns: 'SFPendingMember',
    },
    handle: (call, { grants }) => readAnswer(call, grants.share, () => pendingJson(grants.share.entry)),
  }),

  route({
    method: 'POST',
    path: '/shares/:share/pending',
    since: V1_1,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { share: toManage('address', 'email') },
      matches: 'share',
      input: (incoming): NewPending => pathShare(incoming),
      body: (json, input) => ({ ...input, ...bodyAddress(json), ...granted(json), ...bodyNote(json) }),
    },
    doc: {
      ...writeDoc(
        { 201: 'The invited person, its address in Location. An earlier invitation is replaced.' },
        'The person is a member already.',
        415,
      ),
      summary: 'Invite a person',
      returns: 'SFPendingMember',
      accepts: 'NewSFPendingMember',
    },
    async handle(call, { tx, input, grants }) {
      const { permissions = 0, note } = input
      const invited = await call.api.sharing.pending.invite(tx, grants.share, { permissions, note })
      const location = locationOf(call, 'shares', input.share, 'pending', invited.email)
      return writeAnswer(tx, grants.share, { status: 201, json: pendingJson(invited), location })
    },
  }),

  route({
    method: 'DELETE',
    path: '/shares/:share/pending/:email',
    since: V1_1,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { share: toManage('pending', 'person') },
      matches: 'share',
      input: (incoming) => ({ ...pathShare(incoming), ...pathPerson(incoming) }),
    },
    doc: { ...writeDoc({ 204: 'The invitation is gone.' }), summary: 'Revoke an invitation' },
    async handle(call, { tx, grants }) {
      await call.api.sharing.pending.revoke(tx, grants.share)
      return { status: 204 }
    },
  }),
]
