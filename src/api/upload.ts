import { bodyAtHand, bodyLength, ConnectionLost, readBody, receiveBody, startBody } from '../http/body.js'
import type { Exchange } from '../http/exchange.js'
import type { Tx, WriteGrant } from '../gate/grants.js'
import type { Admitted, Incoming, Passed, Rule } from '../gate/pipeline.js'
import { checkContentCondition } from '../gate/preconditions.js'
import { parseContentRange, type ContentRange } from '../model/content-range.js'
import { Failure } from '../model/failures.js'
import { ZERO_OID, type ParsedId } from '../model/ids.js'
import { strongTag } from '../model/tags.js'
import { planUpload, progressHeaders, type UploadPlan } from '../model/upload-plan.js'
import { at, V1_0, V1_2, V1_3 } from '../model/version.js'
import type { Passage } from '../service/deps.js'
import { inline, INLINE_BYTES_MAX, wrongLength, type Feed } from '../service/receive.js'
import { outOfSpace } from '../service/space.js'
import { known, type Authorized, type Outcome, type Session } from '../service/uploads.js'
import { pathId } from './inputs.js'
import { streamingRoute, type Answer, type Call, type Route } from './route.js'

const NEEDS = { object: { right: 'write', kind: 'file', from: 'id' } } as const

interface UploadInput {
  readonly id: ParsedId
  readonly range: ContentRange | undefined
  readonly uploadId: string | undefined
}

type UploadRule = Rule<UploadInput, typeof NEEDS>

/** What the checks before the body found out. */
interface Planned {
  readonly plan: UploadPlan
  readonly session: Session | undefined
  readonly nodeFreeBytes: number
  readonly userFreeBytes: number
  /** What the upload may hold until it is complete. */
  readonly unfinishedBytes: number
}

export const UPLOAD_ROUTES: readonly Route[] = [
  streamingRoute({
    method: 'PUT',
    path: '/files/:id/content',
    since: V1_0,
    access: 'token',
    rule: { effect: 'write', needs: NEEDS, input: uploadInput },
    doc: {
      summary: 'Upload the content of a file, whole or in chunks',
      tag: 'Content',
      success: {
        200: 'The state of an upload in progress; in 1.0 every success.',
        204: 'Stored, or received so far.',
      },
      accepts: 'bytes',
      headers: {
        'If-Match': 'Entity tags, one of which must be current.',
        'Upload-ID': 'The upload that a chunk belongs to.',
        'Content-Range':
          'The part of the content that the body is, or bytes */* with an empty body for the state.',
        'Endpoint-Consistency': 'With strict, all chunks of an upload reach the same node.',
      },
      sends: {
        200: ['Upload-ID', 'Range'],
        204: ['ETag', 'Upload-ID', 'Range'],
        400: ['Upload-ID'],
        416: ['Upload-ID', 'Range'],
      },
      failures: [400, 401, 403, 404, 409, 412, 416, 429, 500, 503, 507],
      notes: {
        200: [
          { until: V1_2, means: 'Stored, or received so far, or the state of an upload.', sends: ['ETag'] },
          { since: V1_3, means: 'The state of an upload in progress.' },
        ],
        204: [{ since: V1_3, means: 'Stored, or received so far.' }],
        400: [
          {
            means:
              'Upload-ID or Content-Range is not valid, or the body has another length than Content-Range says.',
            message: 'Upload-ID is not valid for this file',
          },
        ],
        404: [
          { means: 'There is no such file.' },
          { since: V1_3, means: 'Or the node that answers is set not to hold its content (DESELECTED).' },
        ],
        409: [
          {
            means: 'Another request of the same upload is under way.',
            message: 'another request of this upload is under way',
          },
        ],
        416: [{ means: 'The chunk starts after the last received byte. The body is empty.' }],
        429: [{ means: 'The node that answers has as many uploads under way as it takes.' }],
        500: [
          { until: V1_2, means: 'There is not enough space, or the node is set not to hold the content.' },
        ],
        507: [{ since: V1_3, means: 'There is not enough space for the content.' }],
      },
      samples: [
        { label: 'The whole content', options: ['-T photo.jpg'] },
        { label: 'Begin an upload in chunks', options: ["-H 'Content-Range: bytes */*'", '-i'] },
        {
          label: 'Send a chunk',
          options: [
            '-H "Upload-ID: $UPLOAD"',
            "-H 'Content-Range: bytes 0-1048575/*'",
            '--data-binary @chunk',
          ],
        },
        {
          label: 'Ask how far it is',
          options: ['-H "Upload-ID: $UPLOAD"', "-H 'Content-Range: bytes */*'", '-i'],
        },
      ],
    },
    stream: upload,
  }),
]

function uploadInput(incoming: Incoming): UploadInput {
  const { headers } = incoming.exchange.req
  const { id } = pathId(incoming)
  const range = parseContentRange(headers['content-range'])
  const given = headers['upload-id']
  const uploadId = typeof given === 'string' && given.trim() !== '' ? given.trim() : undefined
  const length = bodyLength(incoming.exchange)
  if (range?.first !== undefined && range.last !== undefined && length !== undefined) {
    if (length !== range.last - range.first + 1) throw wrongLength()
  }
  return { id, range, uploadId: range === undefined ? undefined : uploadId }
}

async function upload(call: Call, rule: UploadRule): Promise<void | Answer> {
  const { incoming, api } = call
  const { exchange } = incoming
  const small = await smallAtHand(call)
  if (small !== undefined) return storeAtOnce(call, rule, small)
  const opened = await api.gate.opening(incoming, call.version, rule, (passed) => planNow(call, passed))
  const { admitted, input, result: planned } = opened
  checkLength(exchange, planned.plan)
  const authorized: Authorized = (body) =>
    api.gate.writing(admitted, rule, input, async ({ tx, grants }) => {
      await checkTarget(call, tx, grants.object)
      return body(tx, grants.object)
    })
  const passage = await enter(call, planned)
  try {
    // Whoever held the upload until now may have moved it on. A status query holds nothing and stays what it is.
    const isHeld = planned.session !== undefined && planned.plan.kind !== 'status'
    const current = isHeld
      ? await api.gate.reading(admitted, rule, input, (passed) => planNow(call, passed))
      : planned
    const outcome = await perform(call, current, authorized, passage)
    return answerOf(call, current.plan, outcome)
  } finally {
    passage?.leave()
  }
}

/** A small body that came together with its head: neither its slot nor its length is in question. */
async function smallAtHand(call: Call): Promise<{ admitted: Admitted; content: Buffer } | undefined> {
  const { api, incoming } = call
  const { exchange } = incoming
  if (exchange.req.headers['content-range'] !== undefined || api.turnstile.isFull) return undefined
  const length = bodyLength(exchange)
  if (length === undefined || length > INLINE_BYTES_MAX) return undefined
  const admitted = api.gate.trusted(exchange, call.version)
  if (admitted === undefined) return undefined
  const content = await bodyAtHand(exchange, INLINE_BYTES_MAX)
  return content && { admitted, content }
}

async function storeAtOnce(
  call: Call,
  rule: UploadRule,
  { admitted, content }: { admitted: Admitted; content: Buffer },
): Promise<void | Answer> {
  const { api, incoming } = call
  const arrived = inline(content)
  const input = (): UploadInput => uploadInput(incoming)
  const outcome = await api.gate.atOnce(admitted, rule, input, async ({ tx, grants }) => {
    await checkTarget(call, tx, grants.object)
    return api.uploads.small(tx, grants.object, arrived)
  })
  return answerOf(call, { kind: 'whole', bytes: undefined }, outcome)
}

/** Everything that can be said before the body: who, what, on which condition, and what to do. */
async function planNow(call: Call, passed: Passed<UploadInput, typeof NEEDS>): Promise<Planned> {
  const { api } = call
  const { tx, grants } = passed
  const { uploadId, range } = passed.input
  await checkTarget(call, tx, grants.object)
  const session = uploadId === undefined ? undefined : await api.uploads.find(tx, uploadId, grants.object)
  const plan = planUpload(range, uploadId === undefined ? 'none' : known(uploadId, session))
  const upload = { userId: grants.object.caller.userId, id: session?.row.id ?? '' }
  return {
    plan,
    session,
    nodeFreeBytes: await api.space.freeOnNode(tx),
    userFreeBytes: await api.space.freeForUser(tx, grants.object),
    unfinishedBytes:
      plan.kind === 'chunk' ? await api.space.unfinished(tx, upload, false) : Number.MAX_SAFE_INTEGER,
  }
}

/** Content of a folder that the node does not hold cannot be uploaded here, whatever the condition says. */
async function checkTarget(call: Call, tx: Tx, grant: WriteGrant<'file'>): Promise<void> {
  const { object, caller } = grant
  if (await call.api.presence.isDeselected(tx, caller, object.sid, object.parent ?? ZERO_OID)) {
    const kind = at(call.version, [[V1_0, 'internal'] as const, [V1_3, 'notFound'] as const])
    throw new Failure(kind, 'this node is set not to hold the content of this file')
  }
  checkContentCondition(call.incoming.exchange, object)
}

function checkLength(exchange: Exchange, plan: UploadPlan): void {
  const length = bodyLength(exchange)
  if (plan.bytes !== undefined && length !== undefined && length !== plan.bytes) throw wrongLength()
}

/** One request at a time for an upload, and a bounded number of bodies for the node. */
async function enter(call: Call, planned: Planned): Promise<Passage | undefined> {
  const { plan, session } = planned
  const lock = session !== undefined && plan.kind !== 'status' ? session.row.id : undefined
  const slot = takesSlot(call, plan)
  if (!slot && lock === undefined) return undefined
  const passage = await call.api.turnstile.enter({ slot, lock })
  if (passage === 'busy') throw new Failure('conflict', 'another request of this upload is under way')
  if (passage === 'full') throw tooManyUploads()
  return passage
}

function tooManyUploads(): Failure {
  return new Failure('tooManyRequests', 'too many uploads are under way on this node', { 'Retry-After': '1' })
}

/** A small body is looked at first: one that is here already is not being received any more. */
function takesSlot(call: Call, plan: UploadPlan): boolean {
  const { exchange } = call.incoming
  if (plan.kind !== 'whole' && plan.kind !== 'chunk') return false
  const length = bodyLength(exchange)
  if (length === 0) return false
  const isSmall = plan.kind === 'whole' && length !== undefined && length <= INLINE_BYTES_MAX
  return !isSmall || exchange.expectsContinue || call.api.turnstile.isFull
}

async function perform(
  call: Call,
  planned: Planned,
  authorized: Authorized,
  passage: Passage | undefined,
): Promise<Outcome> {
  const { exchange } = call.incoming
  const { uploads } = call.api
  const { plan, session } = planned
  const length = bodyLength(exchange)
  const feed: Feed = (sink) => receiveBody(exchange, sink)
  switch (plan.kind) {
    case 'whole': {
      const roomBytes = Math.min(planned.nodeFreeBytes, planned.userFreeBytes)
      if ((plan.bytes ?? length ?? 0) > roomBytes) throw outOfSpace()
      const bounds = { exactBytes: plan.bytes ?? length, roomBytes }
      if (length === 0) return uploads.whole(authorized, emptyFeed, bounds)
      startBody(exchange)
      const isUncounted = passage === undefined && length !== undefined
      return uploads.whole(authorized, isUncounted ? await smallFeed(call, length) : feed, bounds)
    }
    case 'begin':
      await expectNoBody(exchange, feed)
      return uploads.begin(authorized)
    case 'status':
      await expectNoBody(exchange, feed)
      if (session === undefined) throw new Error('a status query without its upload')
      await uploads.touch(session)
      return { kind: 'progress', id: session.id, received: session.row.received }
    case 'complete':
      await expectNoBody(exchange, feed)
      if (session === undefined) throw new Error('a completion without its upload')
      return uploads.complete(authorized, session)
    case 'chunk': {
      const roomBytes = roomForChunk(planned, plan)
      startBody(exchange)
      const chunkFeed = length === 0 ? emptyFeed : feed
      if (session === undefined) return uploads.firstChunk(authorized, chunkFeed, plan, roomBytes)
      return uploads.nextChunk(authorized, chunkFeed, plan, session, {
        lengthIsKnown: length !== undefined,
        roomBytes,
      })
    }
  }
}

/** 507 when the chunk, or the total that the request declares, cannot fit; bytes received before count already. */
function roomForChunk(planned: Planned, plan: Extract<UploadPlan, { kind: 'chunk' }>): number {
  const received = planned.session?.row.received ?? 0
  const wholeBytes = plan.total ?? plan.first + plan.bytes
  if (wholeBytes > planned.userFreeBytes || wholeBytes - received > planned.nodeFreeBytes) throw outOfSpace()
  if (plan.first + plan.bytes > planned.unfinishedBytes) throw outOfSpace()
  return Math.min(planned.nodeFreeBytes + received, planned.userFreeBytes)
}

const emptyFeed: Feed = () => Promise.resolve('complete')

async function expectNoBody(exchange: Exchange, feed: Feed): Promise<void> {
  if (bodyLength(exchange) === 0) return
  startBody(exchange)
  await feed(() => {
    throw wrongLength()
  })
}

/** Waits a moment for a small body; one that is still on its way then needs a slot like any other. */
async function smallFeed(call: Call, length: number): Promise<Feed> {
  const { exchange } = call.incoming
  let isHere = false
  const body = readBody(exchange, length).finally(() => {
    isHere = true
  })
  body.catch(() => undefined)
  await new Promise(setImmediate)
  if (isHere) return feedOf(body)
  const passage = await call.api.turnstile.enter({ slot: true, lock: undefined })
  if (passage === 'full' || passage === 'busy') throw tooManyUploads()
  body.then(passage.leave, passage.leave)
  return feedOf(body)
}

function feedOf(body: Promise<Buffer>): Feed {
  return async (sink) => {
    try {
      await sink(await body)
      return 'complete'
    } catch (error) {
      if (error instanceof ConnectionLost) return 'lost'
      throw error
    }
  }
}

function answerOf(call: Call, plan: UploadPlan, outcome: Outcome): void | Answer {
  if (outcome.kind === 'lost') {
    call.incoming.exchange.res.destroy()
    return
  }
  const ok = at(call.version, [[V1_0, 200] as const, [V1_3, 204] as const])
  if (outcome.kind === 'stored') return { status: ok, headers: { ETag: strongTag(outcome.hash) } }
  return { status: plan.kind === 'status' ? 200 : ok, headers: progressHeaders(outcome.id, outcome.received) }
}
