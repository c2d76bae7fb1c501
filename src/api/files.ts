import type { Caller } from '../gate/caller.js'
import type { Horizon, ObjectRow, Tx } from '../gate/grants.js'
import { isUnmodified, metadataTag } from '../gate/preconditions.js'
import { V1_0, V1_2 } from '../model/version.js'
import { locationOf } from './folders.js'
import { newObject, pathId, placedObject, wantedFields, type NewObject, type PlacedObject } from './inputs.js'
import { pathJson } from './listings.js'
import { route, type Answer, type Call, type Route } from './route.js'
import { tagOf } from './views.js'

async function fileAnswer(
  call: Call,
  tx: Tx,
  status: number,
  file: { caller: Caller; object: ObjectRow; horizon: Horizon },
): Promise<Answer> {
  const state = await call.api.presence.stateOf(tx, file.caller, file.object)
  return {
    status,
    json: call.views.file(file.object, file.horizon, state),
    headers: { ETag: tagOf(file.object, state) },
  }
}

export const FILE_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/files/:id',
    since: V1_0,
    access: 'token',
    rule: {
      effect: 'read',
      needs: { object: { right: 'read', kind: 'file', from: 'id' } },
      input: (incoming) => ({ ...pathId(incoming), fields: wantedFields(incoming, ['path']) }),
    },
    doc: {
      summary: 'Read the metadata of a file',
      tag: 'Files',
      success: { 200: 'The file.', 304: 'If-None-Match names the current entity tag.' },
      returns: 'File',
      sends: { 200: ['ETag'], 304: ['ETag'] },
      query: {
        fields: {
          describe: 'On-demand fields to include, separated by commas: path. An answer with one has no ETag.',
          since: V1_2,
        },
      },
      headers: { 'If-None-Match': 'Entity tags.' },
      failures: [400, 401, 403, 404],
    },
    async handle(call, { tx, caller, input, grants }) {
      const { object, horizon } = grants.object
      const state = await call.api.presence.stateOf(tx, caller, object)
      if (input.fields.has('path')) {
        const path = `"path":${await pathJson(call, tx, grants.object)}`
        return { status: 200, json: call.views.file(object, horizon, state, [path]) }
      }
      const headers = { ETag: tagOf(object, state) }
      if (isUnmodified(call.incoming.exchange, metadataTag(object, state))) return { status: 304, headers }
      return { status: 200, json: call.views.file(object, horizon, state), headers }
    },
  }),
  route({
    method: 'GET',
    path: '/files/:id/path',
    since: V1_2,
    access: 'token',
    rule: { effect: 'read', needs: { object: { right: 'read', kind: 'either', from: 'id' } }, input: pathId },
    doc: {
      summary: 'Read the folders above a file',
      tag: 'Files',
      success: { 200: 'The folders from the root down.' },
      returns: 'ParentPath',
      failures: [400, 401, 403, 404],
    },
    handle: async (call, { tx, grants }) => ({ status: 200, json: await pathJson(call, tx, grants.object) }),
  }),
  route({
    method: 'POST',
    path: '/files',
    since: V1_0,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { parent: { right: 'insert', from: 'parent' } },
      input: (): Partial<NewObject> => ({}),
      body: (json) => newObject(json),
    },
    doc: {
      summary: 'Make a file without content',
      tag: 'Files',
      success: { 201: 'The new file, its address in Location.' },
      returns: 'File',
      accepts: 'NewObject',
      sends: { 201: ['ETag', 'Location'] },
      failures: [400, 401, 403, 404, 409, 415],
    },
    async handle(call, { tx, caller, input, grants }) {
      const object = await call.api.tree.create(tx, grants.parent, 'file', input.name ?? '')
      const answer = await fileAnswer(call, tx, 201, { caller, object, horizon: grants.parent.horizon })
      return { ...answer, headers: { ...answer.headers, Location: locationOf(call, 'files', object) } }
    },
  }),
  route({
    method: 'PUT',
    path: '/files/:id',
    since: V1_0,
    access: 'token',
    rule: {
      effect: 'write',
      needs: {
        object: { right: 'write', kind: 'file', from: 'id' },
        parent: { right: 'insert', from: 'parent', optional: true },
      },
      matches: 'metadata',
      input: (incoming): PlacedObject => pathId(incoming),
      body: placedObject,
    },
    doc: {
      summary: 'Rename or move a file',
      tag: 'Files',
      success: { 200: 'The file as it is now.' },
      returns: 'File',
      accepts: 'PlaceObject',
      sends: { 200: ['ETag'] },
      headers: { 'If-Match': 'Entity tags, one of which must be current.' },
      failures: [400, 401, 403, 404, 409, 412, 415],
    },
    async handle(call, { tx, caller, input, grants }) {
      const object = await call.api.tree.place(tx, grants.object, { parent: grants.parent, name: input.name })
      return fileAnswer(call, tx, 200, { caller, object, horizon: grants.object.horizon })
    },
  }),
  route({
    method: 'DELETE',
    path: '/files/:id',
    since: V1_0,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { object: { right: 'write', kind: 'file', from: 'id' } },
      matches: 'metadata',
      input: pathId,
    },
    doc: {
      summary: 'Delete a file',
      tag: 'Files',
      success: { 204: 'Deleted.' },
      headers: { 'If-Match': 'Entity tags, one of which must be current.' },
      failures: [400, 401, 403, 404, 412],
    },
    async handle(call, { tx, grants }) {
      await call.api.tree.remove(tx, grants.object)
      return { status: 204 }
    },
  }),
]
