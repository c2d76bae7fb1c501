import { scopesOf, type Needs } from '../gate/needs.js'
import { FAILURES } from '../http/failures.js'
import type { FailureKind } from '../model/failures.js'
import { V1_0, within, type Version } from '../model/version.js'
import type { Schema } from './fields.js'
import { resourceDoc, schemaReference, type ResourceDoc } from './openapi-resources.js'
import type { Resource } from './resources.js'
import type { ResponseHeader, Route, RouteDoc, StatusNote } from './route.js'

/** What each kind of failure means on any route, and a message as it may come. */
const MEANINGS: Readonly<Record<FailureKind, readonly [means: string, message: string]>> = {
  badArgs: [
    'The path, a parameter, a header or the body is not valid.',
    'the identifier in the path is malformed',
  ],
  unauthorized: ['The access token is missing or not valid.', 'the access token is missing'],
  forbidden: ['The access token or the person lacks the right.', 'the access token lacks a scope'],
  notFound: ['There is no such object, or the caller may not see it.', 'there is no such folder or file'],
  methodNotAllowed: ['The path does not have the method.', 'the method PATCH is not served here'],
  requestTimeout: ['The request took too long to arrive.', 'the request took too long'],
  conflict: ['A folder or file of that name exists.', 'the name is taken'],
  preconditionFailed: ['If-Match names no current entity tag.', 'If-Match names no current entity tag'],
  bodyTooLarge: ['The body is too large.', 'the body is too large'],
  uriTooLong: ['The address is too long.', 'the address is too long'],
  unsupportedMediaType: ['The body is not JSON.', 'Content-Type must be application/json'],
  rangeNotSatisfiable: ['The range cannot be served. The body is empty.', ''],
  expectationFailed: ['Expect asks for something unknown.', 'Expect must be 100-continue'],
  tooManyRequests: [
    'The server is under load; try again later.',
    'too many uploads are under way on this node',
  ],
  headersTooLarge: ['The headers are too large.', 'the headers are too large'],
  internal: ['The server failed.', 'the server could not complete the request'],
  notImplemented: ['The server does not know how.', 'the server could not complete the request'],
  unavailable: [
    'The node asked for cannot answer now.',
    'the node that the session belongs to cannot be reached',
  ],
  httpVersion: ['The request is not HTTP/1.1.', 'HTTP/1.1 is needed'],
  insufficientStorage: ['There is not enough space.', 'there is not enough space'],
}

const HEADERS: Readonly<Record<ResponseHeader, string>> = {
  ETag: 'The current entity tag.',
  Location: 'The address of the new object.',
  'Upload-ID': 'The identifier of an upload in chunks; absent when the content is complete.',
  Range:
    'The bytes received so far, such as bytes=0-1048575; absent when there are none or the content is complete.',
  'Content-Range': 'The part that the body is, or bytes */ and the size when nothing overlaps.',
  'Content-Disposition': 'The name of the file.',
  'Last-Modified': 'When the content last changed.',
  'Accept-Ranges': 'Always bytes.',
  'Retry-After': 'Seconds to wait.',
  'WWW-Authenticate': 'The scheme that is asked for.',
}

/** Headers that a status has on every route. */
const ALWAYS_SENT: Readonly<Record<number, readonly ResponseHeader[]>> = {
  401: ['WWW-Authenticate'],
  412: ['ETag'],
  429: ['Retry-After'],
}

export function headerComponents(): Record<string, object> {
  return Object.fromEntries(
    Object.entries(HEADERS).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  )
}

/** Whether a row answers with the status in a version: one that has notes needs one for the version. */
function hasStatus(doc: RouteDoc, status: number, version: Version): boolean {
  const notes = notesOf(doc, status, version)
  return notes === undefined || notes.length > 0
}

/** All answers of a row in one version, by status. */
export function answersOf(
  { doc, rule }: Route,
  version: Version,
  resources: Readonly<Partial<Record<Resource, ResourceDoc>>>,
): Record<string, object> {
  const answers: Record<string, object> = {}
  for (const [status, text] of Object.entries(doc.success)) {
    if (hasStatus(doc, Number(status), version)) {
      answers[status] = answer(
        doc,
        Number(status),
        version,
        text,
        successContent(doc, Number(status), version, resources),
      )
    }
  }
  for (const status of doc.failures) {
    if (!hasStatus(doc, status, version)) continue
    const { type, means, message: usual } = failureOf(status)
    const own = notesOf(doc, status, version)?.find((note) => note.message !== undefined)
    const message = own?.message ?? (status === 403 ? missingScope(rule.needs) : usual)
    const content = status === 416 ? undefined : errorContent(version, { type, message })
    answers[status] = answer(doc, status, version, means, content)
  }
  answers['default'] = {
    description: `Any other refusal: ${undeclared(answers).join(', ')}.`,
    content: errorContent(version, resourceDoc(resources, 'Error').example),
  }
  return answers
}

function answer(
  doc: RouteDoc,
  status: number,
  version: Version,
  usual: string,
  content: object | undefined,
): object {
  const notes = notesOf(doc, status, version)
  const names = new Set([
    ...(ALWAYS_SENT[status] ?? []),
    ...(doc.sends?.[status] ?? []),
    ...(notes ?? []).flatMap((note) => note.sends ?? []),
  ])
  const headers = Object.fromEntries(
    [...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  )
  return {
    description: notes === undefined ? usual : notes.map((note) => note.means).join(' '),
    ...(names.size === 0 ? {} : { headers }),
    ...(content === undefined ? {} : { content }),
  }
}

/** 204 and 304 have no body, whatever the row returns. */
function successContent(
  doc: RouteDoc,
  status: number,
  version: Version,
  resources: Readonly<Partial<Record<Resource, ResourceDoc>>>,
): object | undefined {
  const { returns } = doc
  if (returns === undefined || status === 204 || status === 304) return undefined
  if (returns !== 'bytes') {
    return {
      'application/json': {
        schema: schemaReference(returns, version),
        example: resourceDoc(resources, returns).example,
      },
    }
  }
  return status === 206 ? { '*/*': {}, 'multipart/byteranges': {} } : { '*/*': {} }
}

function missingScope(needs: Needs): string {
  const [scope = ''] = Object.values(needs).flatMap(scopesOf)
  return `the access token lacks the scope ${scope}`
}

function errorContent(version: Version, example: unknown): Schema {
  return { 'application/json': { schema: schemaReference('Error', version), example } }
}

function failureOf(status: number): { type: string; means: string; message: string } {
  for (const [kind, [means, message]] of Object.entries(MEANINGS)) {
    const [known, type] = FAILURES[kind as FailureKind]
    if (known === status) return { type, means, message }
  }
  throw new Error(`no failure has the status ${status}`)
}

/** Refusals that any request may meet, whatever its route. */
const ANYWHERE: readonly FailureKind[] = [
  'methodNotAllowed',
  'requestTimeout',
  'bodyTooLarge',
  'uriTooLong',
  'expectationFailed',
  'headersTooLarge',
  'internal',
  'unavailable',
  'httpVersion',
]

function undeclared(declared: Readonly<Record<string, object>>): number[] {
  return ANYWHERE.map((kind) => FAILURES[kind][0]).filter((status) => declared[status] === undefined)
}

/** Undefined when the status has its usual meaning. */
function notesOf(doc: RouteDoc, status: number, version: Version): readonly StatusNote[] | undefined {
  return doc.notes?.[status]?.filter((note) => within(version, note.since ?? V1_0, note.until))
}
