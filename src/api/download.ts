import { sendContent } from '../http/content.js'
import { isUnmodified } from '../gate/preconditions.js'
import type { ReadGrant } from '../gate/grants.js'
import type { Rule } from '../gate/pipeline.js'
import { Failure } from '../model/failures.js'
import type { ParsedId } from '../model/ids.js'
import { contentDisposition, mimeType } from '../model/media.js'
import { parseRange, type RangeRequest } from '../model/ranges.js'
import { parseTag, strongTag } from '../model/tags.js'
import { httpDate } from '../model/times.js'
import { V1_0 } from '../model/version.js'
import { ContentGone, type FoundContent } from '../service/downloads.js'
import { pathId } from './inputs.js'
import { streamingRoute, type Answer, type Call, type Route } from './route.js'

const NEEDS = { object: { right: 'read', kind: 'file', from: 'id' } } as const

type ReadRule = Rule<{ id: ParsedId }, typeof NEEDS>

export const DOWNLOAD_ROUTES: readonly Route[] = [
  streamingRoute({
    method: 'GET',
    path: '/files/:id/content',
    since: V1_0,
    access: 'token',
    rule: { effect: 'read', needs: NEEDS, queryToken: true, input: pathId },
    doc: {
      summary: 'Download the content of a file',
      tag: 'Content',
      success: {
        200: 'The content.',
        206: 'The ranges asked for.',
        304: 'If-None-Match names the current entity tag.',
      },
      returns: 'bytes',
      sends: {
        200: ['ETag', 'Last-Modified', 'Accept-Ranges', 'Content-Disposition'],
        206: ['ETag', 'Last-Modified', 'Accept-Ranges', 'Content-Range'],
        304: ['ETag'],
        416: ['Content-Range'],
      },
      headers: { Range: 'Byte ranges.', 'If-Range': 'An entity tag.', 'If-None-Match': 'Entity tags.' },
      failures: [400, 401, 403, 404, 416],
      notes: {
        404: [
          {
            means: 'There is no such file, or it has no content on the node that answers.',
            message: 'the file has no content here',
          },
        ],
        416: [{ means: 'No range overlaps the content. The body is empty.' }],
      },
      samples: [
        { label: 'The whole content', options: ['-o content'] },
        { label: 'The first kilobyte', options: ["-H 'Range: bytes=0-1023'", '-o content'] },
      ],
    },
    stream: download,
  }),
]

/** Content may be replaced between the look-up and its first byte: then the new content is served. */
const OPEN_TRIES_MAX = 10

async function download(call: Call, rule: ReadRule): Promise<void | Answer> {
  let missing: FoundContent | undefined
  for (let tries = 1; tries <= OPEN_TRIES_MAX; tries += 1) {
    const found = await call.api.gate.run(
      call.incoming,
      call.version,
      rule,
      async ({ tx, caller, grants }) => {
        const state = await call.api.presence.stateOf(tx, caller, grants.object.object)
        const content = state === 'AVAILABLE' ? await call.api.downloads.find(tx, grants.object) : undefined
        return { grant: grants.object, state, content }
      },
    )
    if (found.content === undefined) {
      if (found.state === 'SYNCING') call.api.downloads.hasten(found.grant)
      break
    }
    // Content that is not there although nobody has replaced it will not come.
    if (isSame(found.content, missing)) break
    const answer = await send(call, found.grant, found.content)
    if (answer !== 'missing') return answer
    missing = found.content
  }
  throw new Failure('notFound', 'the file has no content here')
}

function isSame(one: FoundContent, other: FoundContent | undefined): boolean {
  return one.hash === other?.hash && one.place === other.place
}

async function send(
  call: Call,
  grant: ReadGrant<'file'>,
  content: FoundContent,
): Promise<void | Answer | 'missing'> {
  const { exchange } = call.incoming
  const { object } = grant
  const { hash, size } = content
  const headers: Record<string, string> = { ETag: strongTag(hash) }
  if (isUnmodified(exchange, hash)) return { status: 304, headers }
  const range = wantedRange(call, hash, size)
  if (range.kind === 'unsatisfiable') {
    throw new Failure('rangeNotSatisfiable', 'Range overlaps no part of the content', {
      'Content-Range': `bytes */${size}`,
    })
  }
  const source = await call.api.downloads.open(content)
  if (source === undefined) return 'missing'
  headers['Last-Modified'] = httpDate(object.modified_ms ?? 0)
  headers['Accept-Ranges'] = 'bytes'
  headers['X-Content-Type-Options'] = 'nosniff'
  if (range.kind === 'none') headers['Content-Disposition'] = contentDisposition(object.name)
  const watched = { sid: object.sid, oid: object.oid, hash, reader: grant.caller }
  let unwatch = (): void => undefined
  try {
    const outcome = await sendContent(exchange, {
      source,
      size,
      ranges: range.kind === 'none' ? undefined : range.ranges,
      headers,
      contentType: range.kind === 'none' ? mimeType(object.name) : 'application/octet-stream',
      // Content that fits into one write has left before it could change.
      isCurrent: () =>
        content.place === null ? Promise.resolve(true) : call.api.downloads.isCurrent(watched),
      onAbort: (cut) => {
        if (content.place !== null) unwatch = call.api.downloads.watch({ ...watched, cut })
      },
    })
    if (outcome === 'stale') return 'missing'
  } catch (error) {
    if (!(error instanceof ContentGone)) throw error
    if (!exchange.res.headersSent) return 'missing'
  } finally {
    unwatch()
  }
}

function wantedRange(call: Call, hash: string, size: number): RangeRequest {
  const { range, 'if-range': ifRange } = call.incoming.exchange.req.headers
  const condition = String(ifRange ?? '').trim()
  if (condition !== '' && parseTag(condition) !== hash) return { kind: 'none' }
  return parseRange(range, size)
}
