import type { ObjectRow } from '../gate/grants.js'
import { FAILURES } from '../http/failures.js'
import { formatId, ZERO_OID } from '../model/ids.js'
import { at, V1_0, V1_1, V1_2, V1_3, within, type Version } from '../model/version.js'
import { compileView, type Field, type Schema } from './fields.js'
import { accountResources } from './openapi-accounts.js'
import { sharingResources } from './openapi-sharing.js'
import { object, schemaReference, type ResourceDoc } from './openapi-schemas.js'
import type { ObjectResource, Resource } from './resources.js'
import { FILE_FIELDS, FOLDER_FIELDS } from './views.js'

export { resourceDoc, schemaName, schemaReference, type ResourceDoc } from './openapi-schemas.js'

/** Attributes that are sent only when the query parameter `fields` names them. */
export const ON_DEMAND: Readonly<
  Record<'Folder' | 'File', readonly { key: string; since: Version; resource: Resource; describe: string }[]>
> = {
  Folder: [
    {
      key: 'path',
      since: V1_2,
      resource: 'ParentPath',
      describe: 'The folders above it, from the root down.',
    },
    { key: 'children', since: V1_2, resource: 'Children', describe: 'What is in it.' },
  ],
  File: [
    {
      key: 'path',
      since: V1_2,
      resource: 'ParentPath',
      describe: 'The folders above it, from the root down.',
    },
  ],
}

/** What an identifier may look like where a folder is meant. */
export function folderIdSchema(version: Version): Schema {
  const aliases = at(version, [[V1_0, 'root'] as const, [V1_3, 'root|appdata'] as const])
  return { type: 'string', pattern: `^(${aliases}|[0-9a-f]{32}|[0-9a-f]{64})$` }
}

export const FILE_ID: Schema = { type: 'string', pattern: '^[0-9a-f]{64}$' }

const SID = '6f1d0c5be2a94b7f8a3c9d2e41b7a650'
const ROOT = sample({ oid: ZERO_OID, parent: null, name: 'Starling', kind: 'folder' })
const PHOTOS = sample({ oid: '0a4be87d21f3459c9d6e5f708192a3b4', name: 'Photos', kind: 'folder' })
const BARE_FILE = sample({ oid: 'c3d94e5f60718293a4b5c6d7e8f90a1b', name: 'photo.jpg', kind: 'file' })
const PHOTO: ObjectRow = {
  ...BARE_FILE,
  content: '9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab',
  size: 1048576,
  modified_ms: Date.UTC(2024, 4, 17, 9, 30),
}

/** The identifier that the examples use for a file. */
export const EXAMPLE_FILE_ID = formatId(PHOTO.sid, PHOTO.oid)
export const EXAMPLE_FOLDER_ID = formatId(PHOTOS.sid, PHOTOS.oid)

/** Every resource of a version by its name. */
export function resourcesOf(version: Version): Readonly<Partial<Record<Resource, ResourceDoc>>> {
  return { ...objectResources(version), ...accountResources(version), ...sharingResources(version) }
}

function objectResources(version: Version): Readonly<Record<ObjectResource | 'Error', ResourceDoc>> {
  const viewpoint = { tops: [], sandboxed: false, rootSid: ROOT.sid, isMounted: true, isMember: true }
  const folder = exampleOf(FOLDER_FIELDS, version, { object: PHOTOS, viewpoint })
  const file = exampleOf(FILE_FIELDS, version, { object: PHOTO, viewpoint, state: 'AVAILABLE' })
  const bareFile = exampleOf(FILE_FIELDS, version, { object: BARE_FILE, viewpoint, state: 'SYNCING' })
  const root = exampleOf(FOLDER_FIELDS, version, { object: ROOT, viewpoint })
  const hasParent = within(version, V1_0, V1_2)
  return {
    Folder: { schema: viewSchema('Folder', FOLDER_FIELDS, version, folder), example: folder },
    File: { schema: viewSchema('File', FILE_FIELDS, version, bareFile), example: file },
    Children: {
      schema: object(
        {
          ...(hasParent
            ? { parent: { ...FILE_ID, description: 'Identifier of the folder; sent by /children alone.' } }
            : {}),
          folders: listOf('Folder', version, 'In name order.'),
          files: listOf('File', version, 'In name order.'),
        },
        ['folders', 'files'],
      ),
      example: {
        ...(within(version, V1_0, V1_1) ? { parent: root['id'] } : {}),
        folders: [folder],
        files: [file],
      },
    },
    ParentPath: {
      schema: object(
        { folders: listOf('Folder', version, 'From the root down, without the object itself.') },
        ['folders'],
      ),
      example: { folders: [root] },
    },
    NewObject: {
      schema: object(writable(version), ['name', 'parent']),
      example: { name: 'Photos', parent: 'root' },
    },
    PlaceObject: {
      schema: { ...object(writable(version), []), anyOf: [{ required: ['name'] }, { required: ['parent'] }] },
      example: { name: 'Holidays' },
    },
    Error: {
      schema: object(
        {
          type: { type: 'string', enum: errorTypes(version), description: 'Machine-readable error code.' },
          message: { type: 'string', description: 'Says what was wrong, for people.' },
        },
        ['type', 'message'],
      ),
      example: { type: 'NOT_FOUND', message: 'there is no such folder or file' },
    },
  }
}

/** Only what is sent of the barest object there is, is required. */
function viewSchema<Facts>(
  resource: 'Folder' | 'File',
  fields: readonly Field<Facts>[],
  version: Version,
  barest: Readonly<Record<string, unknown>>,
): Schema {
  const properties: Record<string, Schema> = {}
  for (const { key, since, until, schema, describe } of fields) {
    if (within(version, since, until)) properties[key] = { ...schema, description: describe }
  }
  for (const { key, since, resource: target, describe } of ON_DEMAND[resource]) {
    if (!within(version, since)) continue
    properties[key] = {
      ...schemaReference(target, version),
      description: `${describe} On demand: sent when the query parameter fields names it.`,
    }
  }
  return object(properties, Object.keys(barest))
}

function exampleOf<Facts>(
  fields: readonly Field<Facts>[],
  version: Version,
  facts: Facts,
): Record<string, unknown> {
  return JSON.parse(compileView(fields, version)(facts)) as Record<string, unknown>
}

function writable(version: Version): Record<string, Schema> {
  return {
    name: { type: 'string', minLength: 1, maxLength: 255, description: 'Base name, without a slash.' },
    parent: { ...folderIdSchema(version), description: 'Identifier of the parent folder.' },
  }
}

function errorTypes(version: Version): string[] {
  const types = new Set<string>(Object.values(FAILURES).map(([, type]) => type))
  if (!within(version, V1_3)) types.delete('INSUFFICIENT_STORAGE')
  return [...types]
}

function listOf(resource: Resource, version: Version, description: string): Schema {
  return { type: 'array', items: schemaReference(resource, version), description }
}

function sample(given: Pick<ObjectRow, 'oid' | 'name' | 'kind'> & { parent?: null }): ObjectRow {
  return {
    sid: SID,
    parent: ZERO_OID,
    rev: 1,
    listing: 0,
    content: null,
    size: null,
    modified_ms: null,
    ...given,
  }
}
