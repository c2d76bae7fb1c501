/** Requests that break two rules at once, and the status of the earlier one. */
import type { CallOptions } from '../support/client.js'

export type Who = 'nobody' | 'garbage' | 'owner' | 'reader' | 'scopeless' | 'stranger' | 'limited'

export interface Case {
  readonly title: string
  readonly who: Who
  readonly method: string
  /** FILE, FOLDER, BELOW and UNKNOWN stand for identifiers. */
  readonly path: string
  readonly version?: string
  readonly options?: CallOptions
  readonly status: number
  readonly ids: string
}

const BROKEN = { body: '{"name":', headers: { 'Content-Type': 'application/json' } }
const XML = { body: '<a/>', headers: { 'Content-Type': 'application/xml' } }
const STALE = { 'If-Match': '"stale"' }
const OTHER_NODE = { 'Endpoint-Consistency': 'strict', Cookie: `route=${'ab'.repeat(16)}` }

export const CASES: readonly Case[] = [
  row(
    'an unknown path, version and method without a token',
    'nobody',
    'PATCH /nope',
    404,
    '[HTTP-66]',
    {},
    '9.9',
  ),
  row('an unknown path and a wrong method', 'nobody', 'DELETE /nope', 404, '[HTTP-66]'),
  row('an unsupported version without a token', 'nobody', 'GET /folders/root', 404, '[HTTP-67]', {}, '1.7'),
  row('a wrong method without a token', 'nobody', 'PATCH /folders/root', 405, '[HTTP-68]'),
  row('a wrong method with a garbage token', 'garbage', 'DELETE /folders', 405, '[HTTP-68]'),
  row('no token and a malformed id', 'nobody', 'GET /folders/bla', 401, '[HTTP-69]'),
  row('no token and a broken parameter', 'nobody', 'GET /folders/root?fields=%zz', 401, '[HTTP-69]'),
  row('no token and a malformed Content-Range', 'nobody', 'PUT /files/FILE/content', 401, '[HTTP-69]', {
    headers: { 'Content-Range': 'bytes x' },
  }),
  row('no token and a wrong content type', 'nobody', 'POST /folders', 401, '[HTTP-69]', XML),
  row('no token and a broken body', 'garbage', 'POST /folders', 401, '[HTTP-69]', BROKEN),
  row('a malformed id and a wrong content type', 'owner', 'PUT /folders/bla', 400, '[HTTP-70]', XML),
  row('a wrong content type and a broken body', 'owner', 'POST /folders', 415, '[HTTP-71]', XML),
  row('a wrong content type and a missing scope', 'scopeless', 'PUT /folders/FOLDER', 415, '[HTTP-71]', XML),
  row('a broken body and a missing scope', 'reader', 'POST /folders', 400, '[HTTP-72]', BROKEN),
  row('a missing key and a missing scope', 'reader', 'POST /files', 400, '[HTTP-72]', {
    json: { name: 'x' },
  }),
  row('an invalid name and a missing scope', 'scopeless', 'PUT /files/FILE', 400, '[HTTP-72]', {
    json: { name: 'a/b' },
  }),
  row('an empty body and a missing scope', 'reader', 'PUT /folders/FOLDER', 400, '[HTTP-72]', { json: {} }),
  row(
    'a broken parameter and a missing scope',
    'scopeless',
    'GET /folders/root?fields=%zz',
    400,
    '[HTTP-73]',
  ),
  row(
    'a malformed Content-Range and a missing scope',
    'reader',
    'PUT /files/FILE/content',
    400,
    '[HTTP-73]',
    {
      headers: { 'Content-Range': 'bytes x' },
    },
  ),
  row('a missing scope and an unknown object', 'scopeless', 'GET /folders/UNKNOWN', 403, '[HTTP-74]'),
  row(
    'a missing scope and an object of somebody else',
    'scopeless',
    'GET /files/FOREIGN/content',
    403,
    '[HTTP-74]',
  ),
  row(
    'a missing scope for a write and an unknown object',
    'reader',
    'DELETE /files/UNKNOWN',
    403,
    '[HTTP-74]',
  ),
  row(
    'a missing scope for an upload and an unknown object',
    'reader',
    'PUT /files/UNKNOWN/content',
    403,
    '[HTTP-74]',
  ),
  row('an invisible object and no right to write it', 'stranger', 'DELETE /files/FILE', 404, '[HTTP-75]'),
  row('an invisible folder and no right to write into it', 'stranger', 'POST /files', 404, '[HTTP-75]', {
    json: { name: 'x', parent: 'FOLDER' },
  }),
  row(
    'a token that does not reach the object and a stale If-Match',
    'limited',
    'DELETE /files/FILE',
    403,
    '[HTTP-76]',
    {
      headers: STALE,
    },
  ),
  row('an unknown object and a stale If-Match', 'owner', 'DELETE /folders/UNKNOWN', 404, '[HTTP-77]', {
    headers: STALE,
  }),
  row(
    'an unknown file and a stale If-Match on its content',
    'owner',
    'PUT /files/UNKNOWN/content',
    404,
    '[HTTP-77]',
    {
      headers: STALE,
    },
  ),
  row('a stale If-Match and a taken name', 'owner', 'PUT /folders/FOLDER', 412, '[HTTP-78]', {
    headers: STALE,
    json: { name: 'file.txt' },
  }),
  row('a stale If-Match and a move into itself', 'owner', 'PUT /folders/FOLDER', 412, '[HTTP-78]', {
    headers: STALE,
    json: { parent: 'BELOW' },
  }),
  row('a stale If-Match and the deletion of the root', 'owner', 'DELETE /folders/root', 412, '[HTTP-78]', {
    headers: STALE,
  }),
  row('an unknown object and an unknown parent', 'owner', 'PUT /files/UNKNOWN', 404, '[HTTP-79]', {
    json: { parent: 'UNKNOWN' },
    headers: STALE,
  }),
  row('an unknown parent and a stale If-Match', 'owner', 'PUT /files/FILE', 404, '[HTTP-79]', {
    json: { parent: 'UNKNOWN' },
    headers: STALE,
  }),
  row('an object out of reach and an unknown parent', 'limited', 'PUT /files/FILE', 403, '[HTTP-79]', {
    json: { parent: 'UNKNOWN' },
  }),
  row(
    'a writable object, a parent out of reach and a stale If-Match',
    'limited',
    'PUT /folders/BELOW',
    403,
    '[HTTP-79]',
    {
      json: { parent: 'root' },
      headers: STALE,
    },
  ),
  row('another node and no token', 'nobody', 'GET /folders/root', 401, '[HTTP-81]', { headers: OTHER_NODE }),
  row('another node and a garbage token', 'garbage', 'GET /folders/root', 401, '[HTTP-81]', {
    headers: OTHER_NODE,
  }),
  row('another node and a malformed id', 'owner', 'GET /folders/bla', 503, '[HTTP-81]', {
    headers: OTHER_NODE,
  }),
  row('another node and a broken parameter', 'owner', 'GET /folders/root?fields=%zz', 503, '[HTTP-81]', {
    headers: OTHER_NODE,
  }),
  row('another node and a missing scope', 'scopeless', 'GET /folders/root', 503, '[HTTP-81]', {
    headers: OTHER_NODE,
  }),
  row('another node and an unknown object', 'owner', 'DELETE /files/UNKNOWN', 503, '[HTTP-81]', {
    headers: OTHER_NODE,
  }),
  row('another node and a malformed Content-Range', 'owner', 'PUT /files/FILE/content', 503, '[HTTP-81]', {
    headers: { ...OTHER_NODE, 'Content-Range': 'x' },
  }),
  row('another node and a broken body', 'owner', 'POST /folders', 503, '[HTTP-81]', {
    ...BROKEN,
    headers: { ...BROKEN.headers, ...OTHER_NODE },
  }),
]

function row(
  title: string,
  who: Who,
  line: string,
  status: number,
  ids: string,
  options: CallOptions = {},
  version = '1.3',
): Case {
  const [method = '', path = ''] = line.split(' ')
  return { title, who, method, path, version, options, status, ids }
}

export const UPLOAD_CASES: readonly [
  title: string,
  who: Who,
  id: string,
  headers: Record<string, string>,
  status: number,
][] = [
  ['a missing scope', 'reader', 'FILE', {}, 403],
  ['an invisible file', 'stranger', 'FILE', {}, 404],
  ['an unknown file', 'owner', 'UNKNOWN', {}, 404],
  ['a file out of reach', 'limited', 'FILE', {}, 403],
  ['a stale If-Match', 'owner', 'FILE', STALE, 412],
  [
    'an unknown Upload-ID',
    'owner',
    'FILE',
    { 'Upload-ID': 'ab'.repeat(32), 'Content-Range': 'bytes 0-1999/*' },
    400,
  ],
]

/** Those that change something and come with a token that is good. */
export const CHANGES = CASES.filter(
  ({ who, method }) => who !== 'nobody' && who !== 'garbage' && ['POST', 'PUT', 'DELETE'].includes(method),
)
