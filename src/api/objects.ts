/** What folders and files have in common: their place in the tree, and how they come, move and go. */
import type { Caller } from '../gate/caller.js'
import type { Viewpoint, ObjectRow, Tx } from '../gate/grants.js'
import { V1_0, V1_2, versionText } from '../model/version.js'
import { newObject, pathId, placedObject, type NewObject, type PlacedObject } from './inputs.js'
import { pathJson } from './listings.js'
import { route, type Answer, type Call, type Route } from './route.js'
import { objectId } from './views.js'

/** An object as one caller sees it. */
export interface Seen {
  readonly caller: Caller
  readonly object: ObjectRow
  readonly viewpoint: Viewpoint
}

/** One of the two kinds of objects, and how an answer shows it. */
export interface ObjectNoun {
  readonly kind: 'folder' | 'file'
  readonly plural: 'folders' | 'files'
  readonly tag: 'Folders' | 'Files'
  readonly resource: 'Folder' | 'File'
  readonly made: string
  readonly deleted: string
  readonly answer: (call: Call, tx: Tx, status: number, seen: Seen) => Promise<Answer>
}

export function objectRoutes(noun: ObjectNoun): Route[] {
  return [pathRoute(noun), createRoute(noun), placeRoute(noun), deleteRoute(noun)]
}

function pathRoute({ kind, plural, tag }: ObjectNoun): Route {
  return route({
    method: 'GET',
    path: `/${plural}/:id/path`,
    since: V1_2,
    access: 'token',
    rule: { effect: 'read', needs: { object: { right: 'read', kind: 'either', from: 'id' } }, input: pathId },
    doc: {
      summary: `Read the folders above a ${kind}`,
      tag,
      success: { 200: 'The folders from the root down.' },
      returns: 'ParentPath',
      failures: [400, 401, 403, 404],
    },
    handle: async (call, { tx, grants }) => ({ status: 200, json: await pathJson(call, tx, grants.object) }),
  })
}

function createRoute({ kind, plural, tag, resource, made, answer }: ObjectNoun): Route {
  return route({
    method: 'POST',
    path: `/${plural}`,
    since: V1_0,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { parent: { right: 'insert', from: 'parent' } },
      input: (): Partial<NewObject> => ({}),
      body: (json) => newObject(json),
    },
    doc: {
      summary: made,
      tag,
      success: { 201: `The new ${kind}, its address in Location.` },
      returns: resource,
      accepts: 'NewObject',
      sends: { 201: ['ETag', 'Location'] },
      failures: [400, 401, 403, 404, 409, 415],
    },
    async handle(call, { tx, caller, input, grants }) {
      const object = await call.api.tree.create(tx, grants.parent, kind, input.name ?? '')
      const shown = await answer(call, tx, 201, { caller, object, viewpoint: grants.parent.viewpoint })
      return { ...shown, headers: { ...shown.headers, Location: locationOf(call, plural, object) } }
    },
  })
}

function placeRoute({ kind, plural, tag, resource, answer }: ObjectNoun): Route {
  return route({
    method: 'PUT',
    path: `/${plural}/:id`,
    since: V1_0,
    access: 'token',
    rule: {
      effect: 'write',
      needs: {
        object: { right: 'write', kind, from: 'id' },
        parent: { right: 'insert', from: 'parent', optional: true },
      },
      matches: 'metadata',
      input: (incoming): PlacedObject => pathId(incoming),
      body: placedObject,
    },
    doc: {
      summary: `Rename or move a ${kind}`,
      tag,
      success: { 200: `The ${kind} as it is now.` },
      returns: resource,
      accepts: 'PlaceObject',
      sends: { 200: ['ETag'] },
      headers: { 'If-Match': 'Entity tags, one of which must be current.' },
      failures: [400, 401, 403, 404, 409, 412, 415],
    },
    async handle(call, { tx, caller, input, grants }) {
      const object = await call.api.tree.place(tx, grants.object, { parent: grants.parent, name: input.name })
      // An object that went into another store is seen from there.
      const { viewpoint } = grants.parent ?? grants.object
      return answer(call, tx, 200, { caller, object, viewpoint })
    },
  })
}

function deleteRoute({ kind, plural, tag, deleted }: ObjectNoun): Route {
  return route({
    method: 'DELETE',
    path: `/${plural}/:id`,
    since: V1_0,
    access: 'token',
    rule: {
      effect: 'write',
      needs: { object: { right: 'write', kind, from: 'id', ends: true } },
      matches: 'metadata',
      input: pathId,
    },
    doc: {
      summary: deleted,
      tag,
      success: { 204: 'Deleted.' },
      headers: { 'If-Match': 'Entity tags, one of which must be current.' },
      failures: kind === 'folder' ? [400, 401, 403, 404, 409, 412] : [400, 401, 403, 404, 412],
      ...(kind === 'folder' ? { notes: { 409: [LAST_OWNER] } } : {}),
    },
    async handle(call, { tx, grants }) {
      await call.api.tree.remove(tx, grants.object)
      return { status: 204 }
    },
  })
}

/** Deleting the mount of a share is leaving it. */
const LAST_OWNER = {
  means: 'A shared folder in it has other members, and the caller is the last who may manage them.',
  message: 'the shared folder would have people in it and nobody who may manage them',
}

/** The absolute address of a new object in the version of the request. */
function locationOf(call: Call, plural: 'folders' | 'files', object: ObjectRow): string {
  return `${call.api.baseUrl(call.incoming)}/api/v${versionText(call.version)}/${plural}/${objectId(object)}`
}
