import { isUnmodified } from '../gate/preconditions.js'
import { hashSecret } from '../model/secrets.js'
import { weakTag } from '../model/tags.js'
import { V1_1 } from '../model/version.js'
import { listShares, showShare } from '../service/shares.js'
import { route, type Route } from './route.js'
import { locationOf, readAnswer, readDoc, toRead } from './share-answers.js'
import { listJson, sharedFolderJson } from './share-views.js'
import { newShare, pathPerson, pathShare, type NewShareInput } from './sharing-inputs.js'

export const SHARE_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/shares/:share',
    since: V1_1,
    access: 'token',
    rule: { effect: 'read', needs: { share: toRead('none') }, input: pathShare },
    doc: { ...readDoc('The shared folder.'), summary: 'Read a shared folder', returns: 'SharedFolder' },
    handle: (call, { tx, grants }) =>
      readAnswer(call, grants.share, async () => sharedFolderJson(await showShare(tx, grants.share))),
  }),

  route({
    method: 'POST',
    path: '/shares',
    since: V1_1,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { share: { right: 'newShare', scopes: ['acl.write'] } },
      input: (): Partial<NewShareInput> => ({}),
      body: newShare,
    },
    doc: {
      summary: 'Create a shared folder',
      tag: 'Shared folders',
      success: { 201: 'The new shared folder, its address in Location. The caller is its only member.' },
      returns: 'SharedFolder',
      accepts: 'NewSharedFolder',
      sends: { 201: ['ETag', 'Location'] },
      failures: [400, 401, 403, 415],
    },
    async handle(call, { tx, input, grants }) {
      const { name = '', isExternal = false } = input
      const made = await call.api.sharing.shares.create(tx, grants.share, { name, isExternal })
      const headers = { ETag: weakTag(made.tag), Location: locationOf(call, 'shares', made.sid) }
      return { status: 201, json: sharedFolderJson(made), headers }
    },
  }),

  route({
    method: 'GET',
    path: '/users/:email/shares',
    since: V1_1,
    access: 'token',
    rule: {
      effect: 'read',
      needs: { person: { right: 'person', scopes: ['acl.read'], from: 'person', others: 'hidden' } },
      input: pathPerson,
    },
    doc: {
      summary: 'List the shared folders of a person',
      tag: 'Shared folders',
      success: {
        200: 'The shared folders that the person is in, by name.',
        304: 'If-None-Match names the current entity tag.',
      },
      returns: 'SharedFolderList',
      sends: { 200: ['ETag'], 304: ['ETag'] },
      headers: { 'If-None-Match': 'Entity tags.' },
      failures: [400, 401, 403, 404],
    },
    async handle(call, { tx, caller, grants }) {
      const found = await listShares(tx, caller, grants.person.person.id)
      // Each tag stands for all that is shown of its share.
      const tag = hashSecret(found.map((share) => share.tag).join(' ')).slice(0, TAG_DIGITS)
      const headers = { ETag: weakTag(tag) }
      if (isUnmodified(call.incoming.exchange, tag)) return { status: 304, headers }
      return { status: 200, json: listJson(found, sharedFolderJson), headers }
    },
  }),
]

const TAG_DIGITS = 32
