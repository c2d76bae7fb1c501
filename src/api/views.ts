import type { ObjectRow, Viewpoint } from '../gate/grants.js'
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
  readonly viewpoint: Viewpoint
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
    json: (facts) => (shareOf(facts) === undefined ? 'false' : 'true'),
  },
  {
    key: 'sid',
    since: V1_3,
    schema: { type: 'string', pattern: '^[0-9a-f]{32}$' },
    describe: 'Shared folder identifier, present if is_shared is true.',
    json: (facts) => {
      const sid = shareOf(facts)
      return sid === undefined ? undefined : quoteHex(sid)
    },
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

/** The share that a folder is: mounted in the caller's root, or standing for itself. */
function shareOf({ object, viewpoint }: FolderFacts): string | undefined {
  if (object.kind === 'mount') return object.oid
  return object.parent === null && object.sid !== viewpoint.rootSid ? object.sid : undefined
}

/**
 * A root is its own parent, and so is the top of a sandbox: nothing above it exists for the token. What is directly in a
 * mounted share has the mount as its parent.
 */
function parentJson({ object, viewpoint }: FolderFacts): string {
  const { sid, parent } = object
  const id = idOf(object)
  if (parent === null || (viewpoint.sandboxed && viewpoint.tops.includes(id))) return quoteHex(id)
  const isInMount = parent === ZERO_OID && sid !== viewpoint.rootSid && viewpoint.isMounted
  return quoteHex(isInMount ? formatId(viewpoint.rootSid, sid) : formatId(sid, parent))
}

/** The resources of the tree as one version writes them. */
export interface Views {
  folder(object: ObjectRow, viewpoint: Viewpoint, extra?: readonly string[]): string
  file(object: ObjectRow, viewpoint: Viewpoint, state: ContentState, extra?: readonly string[]): string
}

export function compileViews(version: Version): Views {
  const folder = compileView(FOLDER_FIELDS, version)
  const file = compileView(FILE_FIELDS, version)
  return {
    folder: (object, viewpoint, extra) => folder({ object, viewpoint }, extra),
    file: (object, viewpoint, state, extra) => file({ object, viewpoint, state }, extra),
  }
}

export function objectId(object: ObjectRow): string {
  return idOf(object)
}

export function tagOf(object: ObjectRow, state?: ContentState): string {
  return weakTag(metadataTag(object, state))
}
