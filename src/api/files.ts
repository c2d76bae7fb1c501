import type { Tx } from '../gate/grants.js'
import { isUnmodified, metadataTag } from '../gate/preconditions.js'
import { V1_0, V1_2 } from '../model/version.js'
import { pathId, wantedFields } from './inputs.js'
import { pathJson } from './listings.js'
import { objectRoutes, type Seen } from './objects.js'
import { route, type Answer, type Call, type Route } from './route.js'
import { tagOf } from './views.js'

async function fileAnswer(call: Call, tx: Tx, status: number, file: Seen): Promise<Answer> {
  const { object } = file
  const state = await call.api.presence.stateOf(tx, file.caller, object)
  return {
    status,
    json: call.views.file(object, file.viewpoint, state),
    headers: { ETag: tagOf(object, state) },
  }
}

const ON_DEMAND = ['path'] as const

export const FILE_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/files/:id',
    since: V1_0,
    access: 'token',
    rule: {
      effect: 'read',
      needs: { object: { right: 'read', kind: 'file', from: 'id' } },
      input: (incoming) => ({ id: pathId(incoming).id, fields: wantedFields(incoming, ON_DEMAND) }),
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
      const { object, viewpoint } = grants.object
      const state = await call.api.presence.stateOf(tx, caller, object)
      if (input.fields.has('path')) {
        const path = `"path":${await pathJson(call, tx, grants.object)}`
        return { status: 200, json: call.views.file(object, viewpoint, state, [path]) }
      }
      const headers = { ETag: tagOf(object, state) }
      if (isUnmodified(call.incoming.exchange, metadataTag(object, state))) return { status: 304, headers }
      return { status: 200, json: call.views.file(object, viewpoint, state), headers }
    },
  }),
  ...objectRoutes({
    kind: 'file',
    plural: 'files',
    tag: 'Files',
    resource: 'File',
    made: 'Make a file without content',
    deleted: 'Delete a file',
    answer: fileAnswer,
  }),
]
