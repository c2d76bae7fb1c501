/** What the routes below a shared folder have in common: one entity tag, conditions, addresses of what was made. */
import { isUnmodified } from '../gate/preconditions.js'
import type { ShareEntry, ShareGrant, Tx } from '../gate/grants.js'
import type { ShareNeed } from '../gate/share-needs.js'
import { newShareTag, shareTagOf } from '../gate/share-tags.js'
import { weakTag } from '../model/tags.js'
import { versionText } from '../model/version.js'
import type { Answer, Call, RouteDoc } from './route.js'

/** The need of a route that reads. */
export function toRead<E extends ShareEntry>(entry: E, by?: string): ShareNeed<E> {
  return need('read', entry, by)
}

/** The need of a route that changes who is in the share. */
export function toManage<E extends ShareEntry>(entry: E, by?: string): ShareNeed<E> {
  return need('manage', entry, by)
}

function need<E extends ShareEntry>(to: 'read' | 'manage', entry: E, by: string | undefined): ShareNeed<E> {
  const scopes = to === 'read' ? (['acl.read'] as const) : (['acl.write'] as const)
  return { right: 'share', to, scopes, from: 'share', entry, ...(by === undefined ? {} : { by }) }
}

/** 304 for a reader who has it already. */
export async function readAnswer(
  call: Call,
  grant: ShareGrant,
  json: () => string | Promise<string>,
): Promise<Answer> {
  const tag = shareTagOf(grant)
  const headers = { ETag: weakTag(tag) }
  if (isUnmodified(call.incoming.exchange, tag)) return { status: 304, headers }
  return { status: 200, json: await json(), headers }
}

/** With the tag that a GET gives after the write. */
export async function writeAnswer(
  tx: Tx,
  grant: ShareGrant,
  answer: { status: number; json?: string; location?: string },
): Promise<Answer> {
  const { status, json, location } = answer
  const headers = {
    ETag: weakTag(await newShareTag(tx, grant)),
    ...(location === undefined ? {} : { Location: location }),
  }
  return { status, headers, ...(json === undefined ? {} : { json }) }
}

/** The absolute address of a thing in the version of the request. */
export function locationOf(call: Call, ...segments: readonly string[]): string {
  const path = segments.map(encodeURIComponent).join('/')
  return `${call.api.baseUrl(call.incoming)}/api/v${versionText(call.version)}/${path}`
}

export const IF_MATCH = { 'If-Match': 'Entity tags, one of which must be current.' } as const

type Documented = Pick<RouteDoc, 'tag' | 'success' | 'sends' | 'headers' | 'failures' | 'notes'>

/** The documentation of a route that reads below a share. */
export function readDoc(what: string): Documented {
  return {
    tag: 'Shared folders',
    success: { 200: what, 304: 'If-None-Match names the current entity tag.' },
    sends: { 200: ['ETag'], 304: ['ETag'] },
    headers: { 'If-None-Match': 'Entity tags.' },
    failures: [400, 401, 403, 404],
    notes: { 404: [NOT_FOUND] },
  }
}

/** The documentation of a route that writes below a share; `conflict` says what a 409 means. */
export function writeDoc(
  success: Readonly<Record<number, string>>,
  conflict?: string,
  ...more: readonly number[]
): Documented {
  const isNew = success[201] !== undefined
  return {
    tag: 'Shared folders',
    success,
    sends: isNew ? { 201: ['ETag', 'Location'] } : { 200: ['ETag'] },
    headers: IF_MATCH,
    failures: [400, 401, 403, 404, ...(conflict === undefined ? [] : [409]), 412, ...more],
    notes: {
      404: [NOT_FOUND],
      ...(conflict === undefined ? {} : { 409: [{ means: conflict, message: CONFLICT }] }),
    },
  }
}

const NOT_FOUND = {
  means:
    'There is no such shared folder, or the caller is not in it, or it does not have what the path names.',
  message: 'there is no such shared folder',
} as const

const CONFLICT = 'the shared folder does not allow that now'
