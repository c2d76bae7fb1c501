import { isUnmodified, metadataTag } from '../gate/preconditions.js'
import type { Horizon, ObjectRow } from '../gate/grants.js'
import { V1_0, V1_2, versionText } from '../model/version.js'
import { newObject, pathId, placedObject, wantedFields, type NewObject, type PlacedObject } from './inputs.js'
import { childrenJson, pathJson } from './listings.js'
import { route, type Answer, type Call, type Route } from './route.js'
import { objectId, tagOf } from './views.js'

const ON_DEMAND = ['path', 'children'] as const

function folderAnswer(call: Call, status: number, object: ObjectRow, horizon: Horizon): Answer {
  return { status, json: call.views.folder(object, horizon), headers: { ETag: tagOf(object) } }
}

const readChildren = {
  effect: 'read',
  needs: { object: { right: 'read', kind: 'folder', from: 'id' } },
  input: pathId,
} as const

const childrenDoc = {
  tag: 'Folders',
  success: { 200: 'The children in name order.' },
  returns: 'Children',
  failures: [400, 401, 403, 404],
} as const

/** Children by several addresses: with the id, and without it for the root. */
function childrenRoutes(
  paths: readonly string[],
  versions: { since: typeof V1_0; until?: typeof V1_0 },
): Route[] {
  return paths.map((path) =>
    route({
      method: 'GET',
      path,
      ...versions,
      access: 'token',
      rule: readChildren,
      doc: { ...childrenDoc, summary: path.includes(':id') ? 'List a folder' : 'List the root folder' },
      handle: async (call, { tx, grants }) => ({
        status: 200,
        // The address of the first versions tells the folder's own id too.
        json: await childrenJson(call, tx, grants.object, { withParent: path.startsWith('/children') }),
      }),
    }),
  )
}

export const FOLDER_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/folders/:id',
    since: V1_0,
    access: 'token',
    rule: {
      effect: 'read',
      needs: { object: { right: 'read', kind: 'folder', from: 'id' } },
      input: (incoming) => ({ ...pathId(incoming), fields: wantedFields(incoming, ON_DEMAND) }),
    },
    doc: {
      summary: 'Read a folder',
      tag: 'Folders',
      success: { 200: 'The folder.', 304: 'If-None-Match names the current entity tag.' },
      returns: 'Folder',
      sends: { 200: ['ETag'], 304: ['ETag'] },
      query: {
        fields: {
          describe:
            'On-demand fields to include, separated by commas: path, children. An answer with one has no ETag.',
          since: V1_2,
        },
      },
      headers: { 'If-None-Match': 'Entity tags.' },
      failures: [400, 401, 403, 404],
    },
    async handle(call, { tx, input, grants }) {
      const { object, horizon } = grants.object
      const { fields } = input
      if (fields.size === 0) {
        if (isUnmodified(call.incoming.exchange, metadataTag(object)))
          return { status: 304, headers: { ETag: tagOf(object) } }
        return folderAnswer(call, 200, object, horizon)
      }
      const extra: string[] = []
      if (fields.has('path')) extra.push(`"path":${await pathJson(call, tx, grants.object)}`)
      if (fields.has('children')) {
        const listed = await childrenJson(call, tx, grants.object, { withParent: false })
        extra.push(`"children":${listed.toString()}`)
      }
      return { status: 200, json: call.views.folder(object, horizon, extra) }
    },
  }),
  route({
    method: 'GET',
    path: '/folders/:id/path',
    since: V1_2,
    access: 'token',
    rule: { effect: 'read', needs: { object: { right: 'read', kind: 'either', from: 'id' } }, input: pathId },
    doc: {
      summary: 'Read the folders above a folder',
      tag: 'Folders',
      success: { 200: 'The folders from the root down.' },
      returns: 'ParentPath',
      failures: [400, 401, 403, 404],
    },
    handle: async (call, { tx, grants }) => ({ status: 200, json: await pathJson(call, tx, grants.object) }),
  }),
  ...childrenRoutes(['/folders/:id/children', '/folders/children', '/folders//children'], { since: V1_2 }),
  ...childrenRoutes(['/children', '/children/:id'], { since: V1_0, until: V1_2 }),
  route({
    method: 'POST',
    path: '/folders',
    since: V1_0,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { parent: { right: 'insert', from: 'parent' } },
      input: (): Partial<NewObject> => ({}),
      body: (json) => newObject(json),
    },
    doc: {
      summary: 'Make a folder',
      tag: 'Folders',
      success: { 201: 'The new folder, its address in Location.' },
      returns: 'Folder',
      accepts: 'NewObject',
      sends: { 201: ['ETag', 'Location'] },
      failures: [400, 401, 403, 404, 409, 415],
    },
    async handle(call, { tx, input, grants }) {
      const object = await call.api.tree.create(tx, grants.parent, 'folder', input.name ?? '')
      const answer = folderAnswer(call, 201, object, grants.parent.horizon)
      return { ...answer, headers: { ...answer.headers, Location: locationOf(call, 'folders', object) } }
    },
  }),
  route({
    method: 'PUT',
    path: '/folders/:id',
    since: V1_0,
    access: 'token',
    rule: {
      effect: 'write',
      needs: {
        object: { right: 'write', kind: 'folder', from: 'id' },
        parent: { right: 'insert', from: 'parent', optional: true },
      },
      matches: 'metadata',
      input: (incoming): PlacedObject => pathId(incoming),
      body: placedObject,
    },
    doc: {
      summary: 'Rename or move a folder',
      tag: 'Folders',
      success: { 200: 'The folder as it is now.' },
      returns: 'Folder',
      accepts: 'PlaceObject',
      sends: { 200: ['ETag'] },
      headers: { 'If-Match': 'Entity tags, one of which must be current.' },
      failures: [400, 401, 403, 404, 409, 412, 415],
    },
    async handle(call, { tx, input, grants }) {
      const object = await call.api.tree.place(tx, grants.object, { parent: grants.parent, name: input.name })
      return folderAnswer(call, 200, object, grants.object.horizon)
    },
  }),
  route({
    method: 'DELETE',
    path: '/folders/:id',
    since: V1_0,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { object: { right: 'write', kind: 'folder', from: 'id' } },
      matches: 'metadata',
      input: pathId,
    },
    doc: {
      summary: 'Delete a folder and everything in it',
      tag: 'Folders',
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

/** The absolute address of a new object in the version of the request. */
export function locationOf(call: Call, noun: 'folders' | 'files', object: ObjectRow): string {
  return `${call.api.baseUrl(call.incoming)}/api/v${versionText(call.version)}/${noun}/${objectId(object)}`
}
