import { normalAddress, type PersonId } from '../model/addresses.js'
import { V1_3 } from '../model/version.js'
import type { Caller } from '../gate/caller.js'
import { inviteeJson } from './account-views.js'
import { bodyObject, bodyValue, pathPerson } from './inputs-people.js'
import { locationOf } from './locations.js'
import { route, type Route } from './route.js'

interface InviteeInput {
  readonly emailTo?: string
  readonly isExternal?: boolean
}

const adminOnly = { caller: { right: 'caller', scopes: ['organization.admin'] } } as const

/** Like every address in a path; an invitee with the caller's own can only have been left out. */
function addressOf(id: PersonId, caller: Caller): string {
  return 'alias' in id ? caller.email : id.email
}

export const INVITEE_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/invitees',
    since: V1_3,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { caller: { right: 'caller', scopes: [] } },
      input: (): InviteeInput => ({}),
      body: (json): InviteeInput => ({
        emailTo: normalAddress(bodyValue(bodyObject(json), 'email_to'), 'email_to'),
      }),
    },
    doc: {
      summary: 'Invite somebody to become a user',
      tag: 'Invitees',
      success: { 201: 'The invitee, its address in Location. A mail with the code is on its way.' },
      returns: 'Invitee',
      accepts: 'NewInvitee',
      sends: { 201: ['Location'] },
      failures: [400, 401, 403, 409, 415, 503],
      notes: {
        403: [
          {
            means: 'The sign-up policy lets administrators invite alone.',
            message: 'only an admin of the organization may invite people',
          },
        ],
        409: [
          { means: 'The address is a user or invited already.', message: 'zoe@x.test is invited already' },
        ],
        503: [
          { means: 'The directory of people cannot be reached.', message: 'the directory cannot be reached' },
        ],
      },
    },
    async prepare(call, input) {
      const entry = await call.api.service.directory?.find(input.emailTo ?? '')
      return { ...input, isExternal: entry !== undefined }
    },
    async handle(call, { tx, input, grants }) {
      const { emailTo = '', isExternal = false } = input
      const invitee = await call.api.invitees.invite(tx, grants.caller, { emailTo, isExternal })
      return {
        status: 201,
        json: inviteeJson(invitee),
        headers: { Location: locationOf(call, 'invitees', invitee.email) },
      }
    },
  }),

  route({
    method: 'GET',
    path: '/invitees/:email',
    since: V1_3,
    access: 'token',
    rule: { effect: 'read', needs: adminOnly, input: pathPerson },
    doc: {
      summary: 'Read an invitee',
      tag: 'Invitees',
      success: { 200: 'The invitee with its code.' },
      returns: 'Invitee',
      failures: [400, 401, 403, 404],
    },
    async handle(call, { tx, caller, input }) {
      const invitee = await call.api.invitees.find(tx, addressOf(input.email, caller))
      return { status: 200, json: inviteeJson(invitee) }
    },
  }),

  route({
    method: 'DELETE',
    path: '/invitees/:email',
    since: V1_3,
    access: 'token',
    rule: { effect: 'write', needs: adminOnly, input: pathPerson },
    doc: {
      summary: 'Take an invitation back',
      tag: 'Invitees',
      success: { 204: 'The code is worthless.' },
      failures: [400, 401, 403, 404],
    },
    async handle(call, { tx, caller, input }) {
      await call.api.invitees.remove(tx, caller, addressOf(input.email, caller))
      return { status: 204 }
    },
  }),
]
