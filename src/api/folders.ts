import { isUnmodified, metadataTag } from '../gate/preconditions.js'
import type { Viewpoint, ObjectRow } from '../gate/grants.js'
import { V1_0, V1_2 } from '../model/version.js'
import { pathId, wantedFields } from './inputs.js'
import { childrenJson, pathJson } from './listings.js'
import { objectRoutes } from './objects.js'
import { route, type Answer, type Call, type Route } from './route.js'
import { tagOf } from './views.js'

const ON_DEMAND = ['path', 'children'] as const

function folderAnswer(call: Call, status: number, object: ObjectRow, viewpoint: Viewpoint): Answer {
  return { status, json: call.views.folder(object, viewpoint), headers: { ETag: tagOf(object) } }
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
      recalls: true,
      input: (incoming) => ({ id: pathId(incoming).id, fields: wantedFields(incoming, ON_DEMAND) }),
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
      const { object, viewpoint } = grants.object
      const { fields } = input
      if (fields.size === 0) {
        if (isUnmodified(call.incoming.exchange, metadataTag(object)))
          return { status: 304, headers: { ETag: tagOf(object) } }
        return folderAnswer(call, 200, object, viewpoint)
      }
      const extra: string[] = []
      if (fields.has('path')) extra.push(`"path":${await pathJson(call, tx, grants.object)}`)
      if (fields.has('children')) {
        const listed = await childrenJson(call, tx, grants.object, { withParent: false })
        extra.push(`"children":${listed.toString()}`)
      }
      return { status: 200, json: call.views.folder(object, viewpoint, extra) }
    },
  }),
  ...childrenRoutes(['/folders/:id/children', '/folders/children', '/folders//children'], { since: V1_2 }),
  ...childrenRoutes(['/children', '/children/:id'], { since: V1_0, until: V1_2 }),
  ...objectRoutes({
    kind: 'folder',
    plural: 'folders',
    tag: 'Folders',
    resource: 'Folder',
    made: 'Make a folder',
    deleted: 'Delete a folder and everything in it',
    answer: (call, _tx, status, { object, viewpoint }) =>
      Promise.resolve(folderAnswer(call, status, object, viewpoint)),
  }),
]
