/** Requests whose framing is right and whose meaning is not: several of them share a connection. */
import type { Random } from '../crash/random.js'
import {
  anyBytes,
  anyId,
  anyNumber,
  authorizationText,
  contentRangeText,
  cookieText,
  formBody,
  headerText,
  hexDigits,
  jsonBody,
  pathText,
  rangeText,
  tagText,
  type Known,
} from './values.js'

export interface FuzzRequest {
  method: string
  path: string
  bytes: Buffer
}

const API_PATHS = [
  ...[
    '/folders',
    '/folders/:id',
    '/folders/:id/children',
    '/folders/:id/path',
    '/files',
    '/files/:id',
    '/files/:id/path',
    '/files/:id/content',
  ],
  ...[
    '/children',
    '/children/:id',
    '/users',
    '/users/:id',
    '/users/me',
    '/users/me/shares',
    '/users/:id/password',
    '/users/:id/two_factor',
  ],
  ...[
    '/shares',
    '/shares/:id',
    '/shares/:id/members',
    '/shares/:id/members/:id',
    '/shares/:id/groups/:id',
    '/shares/:id/pending',
    '/invitees',
    '/invitees/:id',
  ],
  ...['/groups', '/groups/:id', '/devices/:id', '/users/me/invitations/:id', '', '/', '/nothing/:id'],
]
const OTHER_PATHS = [
  '/',
  '/authorize',
  '/auth/token',
  '/auth/token/:id',
  '/auth/tokeninfo',
  '/api',
  '/api/',
  '/favicon.ico',
  '/:id',
  '//',
  '/./',
  '/../',
  '/api/../auth/token',
]
const VERSIONS = [
  'v1.3',
  'v1.3',
  'v1.3',
  'v1.0',
  'v1.4',
  'v1.1',
  'v1.10',
  'v2.0',
  'v1',
  '1.3',
  'V1.3',
  'v01.3',
  'v1.3.0',
  'v1.',
  'v9999999999999999999.1',
]
const METHODS = [
  'GET',
  'GET',
  'PUT',
  'POST',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'PROPFIND',
  'SEARCH',
  'TRACE',
  'PURGE',
]
const CONTENT_TYPES = [
  'application/json',
  'application/json; charset=utf-16',
  'application/octet-stream',
  'text/plain',
  'multipart/form-data; boundary=',
  'application/x-www-form-urlencoded',
  'json',
  '/',
  ';',
  'application/json, text/html',
]

export function framedRequest(random: Random, known: Known): FuzzRequest {
  const method = random.pick(METHODS)
  const path = random.chance(0.5) ? likelyPath(random, known) : anyPath(random, known)
  const headers = [
    `Host: ${random.chance(0.95) ? 'localhost' : random.pick(['localhost:1', '127.0.0.1:99999', '[::1]', 'a.b.c'])}`,
    ...anyHeaders(random, known),
  ]
  const hasBody = method === 'PUT' || method === 'POST' || method === 'PATCH' || random.chance(0.1)
  const body = hasBody ? anyBody(random, known, path) : Buffer.alloc(0)
  const isChunked = hasBody && random.chance(0.3)
  if (isChunked) headers.push(`Transfer-Encoding: ${random.pick(['chunked', 'Chunked', 'CHUNKED'])}`)
  else if (hasBody) headers.push(`Content-Length: ${body.length}`)
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`, 'latin1')
  return { method, path, bytes: Buffer.concat([head, isChunked ? chunked(random, body) : body]) }
}

/** A route that exists, mostly with an id that exists, so that the rest of the request is looked at. */
function likelyPath(random: Random, known: Known): string {
  const file = random.chance(0.8) ? known.file : anyId(random, known)
  const folder = random.pick(['root', known.folder, known.folder, anyId(random, known)])
  const path = random.pick([
    `/files/${file}`,
    `/files/${file}/content`,
    `/files/${file}/content`,
    `/files/${file}/path`,
    `/folders/${folder}`,
    `/folders/${folder}/children`,
    '/folders',
    '/files',
  ])
  const version = path.includes('/path') || random.chance(0.7) ? 'v1.3' : random.pick(['v1.0', 'v1.4'])
  return `/api/${version}${path}${random.pick(['', '', '', '?fields=path,children', '?x=%', '/'])}`.replaceAll(
    /[^\x21-\x7e]/g,
    '+',
  )
}

function anyPath(random: Random, known: Known): string {
  const template = random.chance(0.8)
    ? `/api/${random.pick(VERSIONS)}${random.pick(API_PATHS)}`
    : random.pick(OTHER_PATHS)
  const path = template.replaceAll(':id', () => anyId(random, known))
  const query = random.pick([
    () => '',
    () => '',
    () => `?${pathText(random)}`,
    () => `?fields=${random.pick(['children', 'path', 'path,children', ',', '', 'x', pathText(random)])}`,
    () => `?limit=${encodeURIComponent(anyNumber(random))}&after=${pathText(random)}&before=%`,
    () => `?token=${random.pick([known.token, pathText(random)])}`,
    () =>
      `?response_type=code&client_id=${pathText(random)}&redirect_uri=${pathText(random)}&scope=${pathText(random)}&state=${pathText(random)}`,
    () => `?${'a=b&'.repeat(random.between(1, 800))}`,
    () => '?=&&=?&#x',
  ])()
  return Buffer.from(path + query, 'utf8')
    .toString('latin1')
    .replaceAll(/[\x00-\x20\x7f]/g, '+')
}

function anyHeaders(random: Random, known: Known): string[] {
  const headers = random.chance(0.7)
    ? [`Authorization: Bearer ${known.token}`]
    : [`Authorization: ${authorizationText(random, known)}`]
  const more: (() => string)[] = [
    () => `Range: ${rangeText(random)}`,
    () => `If-Match: ${tagText(random)}`,
    () => `If-None-Match: ${tagText(random)}`,
    () => `If-Range: ${tagText(random)}`,
    () => `Content-Range: ${contentRangeText(random)}`,
    () =>
      `Upload-ID: ${random.pick(['', 'x', hexDigits(random, 64), hexDigits(random, 63), headerText(random)])}`,
    () => `Cookie: ${cookieText(random)}`,
    () => `Content-Type: ${random.pick(CONTENT_TYPES)}`,
    () => `Endpoint-Consistency: ${random.pick(['strict', 'STRICT', '', headerText(random)])}`,
    () => `Origin: ${random.pick(['null', 'https://x', headerText(random)])}`,
    () => `Access-Control-Request-Method: ${random.pick(['PUT', '', headerText(random)])}`,
    () => `Access-Control-Request-Headers: ${random.pick(['a, b', headerText(random)])}`,
    () => `Accept: ${headerText(random)}`,
    () => `X-Forwarded-Proto: ${headerText(random)}`,
    () => `Authorization: ${authorizationText(random, known)}`,
    () => `Accept-Encoding: ${random.pick(['gzip', '*', headerText(random)])}`,
    () => `X-${hexDigits(random, 6)}: ${headerText(random)}`,
    () => `Date: ${headerText(random)}`,
    () => `If-Modified-Since: ${headerText(random)}`,
  ]
  for (let count = random.between(0, 5); count > 0; count -= 1) headers.push(random.pick(more)().trimEnd())
  return headers
}

function anyBody(random: Random, known: Known, path: string): Buffer {
  if (path.includes('/content')) return anyBytes(random, random.pick([0, 1, 5, 10, 1000, 70_000]))
  if (path.includes('/auth/')) return formBody(random)
  return random.pick([
    () => jsonBody(random, known),
    () => jsonBody(random, known),
    () => anyBytes(random, random.between(0, 200)),
    () => formBody(random),
  ])()
}

function chunked(random: Random, body: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < body.length;) {
    const size = Math.min(body.length - at, random.between(1, Math.max(1, Math.ceil(body.length / 3))))
    const extension = random.pick(['', '', ';x', ';x="y"'])
    parts.push(
      Buffer.from(`${size.toString(16)}${extension}\r\n`),
      body.subarray(at, at + size),
      Buffer.from('\r\n'),
    )
    at += size
  }
  return Buffer.concat([
    ...parts,
    Buffer.from(random.pick(['0\r\n\r\n', '0\r\n\r\n', '0\r\nX-Trailer: 1\r\n\r\n', '000\r\n\r\n'])),
  ])
}
