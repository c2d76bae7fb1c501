import type { InvitationNeed } from '../gate/share-needs.js'
import { V1_1 } from '../model/version.js'
import { showAccepted } from '../service/shares.js'
import { route, type Route, type RouteDoc } from './route.js'
import { locationOf } from './share-answers.js'
import { invitationJson, invitationsJson, sharedFolderJson } from './share-views.js'
import { pathPerson, pathShare, queryExternal } from './sharing-inputs.js'

const INVITATION: InvitationNeed = {
  right: 'invitation',
  scopes: ['acl.invitations'],
  from: 'share',
  person: 'person',
}

const DOC: Pick<RouteDoc, 'tag' | 'failures' | 'notes'> = {
  tag: 'Invitations',
  failures: [400, 401, 403, 404],
  notes: {
    404: [
      {
        means: 'There is no such invitation, or it is that of another person.',
        message: 'there is no such invitation',
      },
    ],
  },
}

export const INVITATION_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/users/:email/invitations',
    since: V1_1,
    access: 'token',
    rule: {
      effect: 'read',
      needs: { person: { right: 'person', scopes: ['acl.invitations'], from: 'person', others: 'hidden' } },
      input: pathPerson,
    },
    doc: {
      ...DOC,
      summary: 'List the invitations of a person',
      success: { 200: 'What the person has not answered, by the name of the shared folder.' },
      returns: 'InvitationList',
    },
    handle: async (_, { tx, caller, grants }) => ({
      status: 200,
      json: await invitationsJson(tx, caller, grants.person.person.email),
    }),
  }),

  route({
    method: 'GET',
    path: '/users/:email/invitations/:share',
    since: V1_1,
    access: 'token',
    rule: {
      effect: 'read',
      needs: { invitation: INVITATION },
      input: (incoming) => ({ ...pathPerson(incoming), ...pathShare(incoming) }),
    },
    doc: {
      ...DOC,
      summary: 'Read an invitation',
      success: { 200: 'The invitation.' },
      returns: 'Invitation',
    },
    handle: (_, { grants }) =>
      Promise.resolve({ status: 200, json: invitationJson(grants.invitation.invitation) }),
  }),

  route({
    method: 'POST',
    path: '/users/:email/invitations/:share',
    since: V1_1,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { invitation: INVITATION },
      input: (incoming) => ({ ...pathPerson(incoming), ...pathShare(incoming), ...queryExternal(incoming) }),
    },
    doc: {
      ...DOC,
      summary: 'Accept an invitation',
      success: { 201: 'The shared folder, its address in Location.' },
      returns: 'SharedFolder',
      sends: { 201: ['Location'] },
      query: { external: '1: the shared folder lies outside the root; 0, the default: at the top of it.' },
    },
    async handle(call, { tx, input, grants }) {
      await call.api.sharing.invitations.accept(tx, grants.invitation, input.isExternal)
      const share = await showAccepted(tx, grants.invitation)
      const headers = { Location: locationOf(call, 'shares', share.sid) }
      return { status: 201, json: sharedFolderJson(share), headers }
    },
  }),

  route({
    method: 'DELETE',
    path: '/users/:email/invitations/:share',
    since: V1_1,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { invitation: INVITATION },
      input: (incoming) => ({ ...pathPerson(incoming), ...pathShare(incoming) }),
    },
    doc: { ...DOC, summary: 'Ignore an invitation', success: { 204: 'The invitation is gone.' } },
    async handle(call, { tx, grants }) {
      await call.api.sharing.invitations.ignore(tx, grants.invitation)
      return { status: 204 }
    },
  }),
]
