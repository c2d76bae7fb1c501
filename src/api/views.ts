import type { Horizon, ObjectRow } from '../gate/grants.js'
import { metadataTag } from '../gate/preconditions.js'
import type { ContentState } from '../model/content-state.js'
import { formatId, ZERO_OID } from '../model/ids.js'
import { mimeType } from '../model/media.js'
import { minuteTime } from '../model/times.js'
import { weakTag } from '../model/tags.js'
import { V1_0, V1_3, type Version } from '../model/version.js'
import { compileView, type Field } from './fields.js'

interface FolderFacts {
  readonly object: ObjectRow
  readonly horizon: Horizon
}

interface FileFacts extends FolderFacts {
  readonly state: ContentState
}

const ID = { type: 'string', pattern: '^[0-9a-f]{64}$' }

/** What every object says of itself. */
function identityFields(what: 'Folder' | 'File'): readonly Field<FolderFacts>[] {
  return [
    {
      key: 'id',
      since: V1_0,
      schema: ID,
      describe: `${what} identifier.`,
      json: ({ object }) => quoteHex(idOf(object)),
    },
    {
      key: 'name',
      since: V1_0,
      schema: { type: 'string' },
      describe: 'Base name.',
      json: ({ object }) => JSON.stringify(object.name),
    },
    {
      key: 'parent',
      since: V1_3,
      schema: ID,
      describe: 'Identifier of the parent folder.',
      json: parentJson,
    },
  ]
}

export const FOLDER_FIELDS: readonly Field<FolderFacts>[] = [
  ...identityFields('Folder'),
  {
    key: 'is_shared',
    since: V1_0,
    schema: { type: 'boolean' },
    describe: 'Whether the folder is a shared folder.',
    json: ({ object }) => (object.kind === 'mount' ? 'true' : 'false'),
  },
  {
    key: 'sid',
    since: V1_3,
    schema: { type: 'string', pattern: '^[0-9a-f]{32}$' },
    describe: 'Shared folder identifier, present if is_shared is true.',
    json: ({ object }) => (object.kind === 'mount' ? quoteHex(object.oid) : undefined),
  },
]

export const FILE_FIELDS: readonly Field<FileFacts>[] = [
  ...identityFields('File'),
  {
    key: 'last_modified',
    since: V1_0,
    schema: { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\dZ$' },
    describe: 'When the content last changed, UTC; missing while content_state is not AVAILABLE.',
    json: ({ object, state }) =>
      state === 'AVAILABLE' && object.modified_ms !== null
        ? `"${minuteTime(object.modified_ms)}"`
        : undefined,
  },
  {
    key: 'size',
    since: V1_0,
    schema: { type: 'integer', format: 'int64' },
    describe: 'Bytes of the content; missing while content_state is not AVAILABLE.',
    json: ({ object, state }) =>
      state === 'AVAILABLE' && object.size !== null ? String(object.size) : undefined,
  },
  {
    key: 'mime_type',
    since: V1_0,
    schema: { type: 'string' },
    describe: 'Type by the extension of the name.',
    json: ({ object }) => `"${mimeType(object.name)}"`,
  },
  {
    key: 'etag',
    since: V1_3,
    schema: { type: 'string' },
    describe: 'Entity tag of the content, without quotes.',
    json: ({ object }) => (object.content === null ? undefined : quoteHex(object.content)),
  },
  {
    key: 'content_state',
    since: V1_3,
    schema: { type: 'string', enum: ['AVAILABLE', 'SYNCING', 'DESELECTED', 'INSUFFICIENT_STORAGE'] },
    describe: 'State of the content on the node that answers.',
    json: ({ state }) => `"${state}"`,
  },
]

/** Hex digits need no escaping. */
function quoteHex(text: string): string {
  return `"${text}"`
}

function idOf(object: ObjectRow): string {
  return formatId(object.sid, object.oid)
}

/** A root is its own parent, and so is the top of a sandbox: nothing above it exists for the token. */
function parentJson({ object, horizon }: FolderFacts): string {
  const id = idOf(object)
  const isTop = object.parent === null || (horizon.sandboxed && horizon.tops.includes(id))
  return quoteHex(isTop ? id : formatId(object.sid, object.parent ?? ZERO_OID))
}

/** The resources of the tree as one version writes them. */
export interface Views {
  folder(object: ObjectRow, horizon: Horizon, extra?: readonly string[]): string
  file(object: ObjectRow, horizon: Horizon, state: ContentState, extra?: readonly string[]): string
}

export function compileViews(version: Version): Views {
  const folder = compileView(FOLDER_FIELDS, version)
  const file = compileView(FILE_FIELDS, version)
  return {
    folder: (object, horizon, extra) => folder({ object, horizon }, extra),
    file: (object, horizon, state, extra) => file({ object, horizon, state }, extra),
  }
}

export function objectId(object: ObjectRow): string {
  return idOf(object)
}

export function tagOf(object: ObjectRow, state?: ContentState): string {
  return weakTag(metadataTag(object, state))
}
