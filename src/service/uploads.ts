import { BLOCK_BYTES } from '../blob/hashing.js'
import { StagedFileMissing, type Receiver } from '../blob/staging.js'
import { OutcomeUnknown, type Db, type Tx } from '../db/db.js'
import {
  advanceUpload,
  deleteUpload,
  findUpload,
  insertUpload,
  listUploadBlocks,
  touchUpload,
  type UploadRow,
} from '../db/uploads.js'
import type { WriteGrant } from '../gate/grants.js'
import { Failure } from '../model/failures.js'
import { isHex } from '../model/ids.js'
import { hashSecret, randomHex } from '../model/secrets.js'
import type { KnownUpload, UploadPlan } from '../model/upload-plan.js'
import type { Arrived, Contents } from './contents.js'
import type { ServiceDeps } from './deps.js'
import {
  bounded,
  discard,
  type Feed,
  inline,
  INLINE_BYTES_MAX,
  intoStore,
  newStagedName,
  receiveWhole,
} from './receive.js'
import { removeStaged } from './release.js'
import { outOfSpace, space } from './space.js'

const UPLOAD_ID_BYTES = 32

/** While a chunk comes in, its upload is touched this often in a lifetime. */
const KEEP_ALIVE_PARTS = 3
/** A timer cannot wait for weeks, and a lifetime may be months. */
const KEEP_ALIVE_MAX_MS = 60 * 60 * 1000

/** An upload in progress with the identifier that its client knows. */
export interface Session {
  readonly id: string
  readonly row: UploadRow
}

export type Outcome =
  | { readonly kind: 'stored'; readonly hash: string }
  | { readonly kind: 'progress'; readonly id: string; readonly received: number }
  | { readonly kind: 'lost' }

/** Runs a write with the caller checked anew: token, rights and conditions may have changed while bytes came in. */
export type Authorized = <T>(body: (tx: Tx, grant: WriteGrant<'file'>) => Promise<T>) => Promise<T>

type Chunk = Extract<UploadPlan, { kind: 'chunk' }>

export interface Uploads {
  /** The upload that an identifier names for this file and person on this node, if it is still to be used. */
  find(tx: Tx, id: string, grant: WriteGrant<'file'>): Promise<Session | undefined>
  /** Makes the identifier live on. */
  touch(session: Session): Promise<void>
  begin(authorized: Authorized): Promise<Outcome>
  whole(
    authorized: Authorized,
    feed: Feed,
    bounds: { exactBytes: number | undefined; roomBytes: number },
  ): Promise<Outcome>
  /** Whole content that is at hand and fits into the database. Nothing else has been asked about it. */
  small(tx: Tx, grant: WriteGrant<'file'>, arrived: Arrived): Promise<Outcome>
  firstChunk(authorized: Authorized, feed: Feed, plan: Chunk, roomBytes: number): Promise<Outcome>
  nextChunk(
    authorized: Authorized,
    feed: Feed,
    plan: Chunk,
    session: Session,
    body: { lengthIsKnown: boolean; roomBytes: number },
  ): Promise<Outcome>
  complete(authorized: Authorized, session: Session): Promise<Outcome>
}

export function known(id: string, session: Session | undefined): KnownUpload {
  return session === undefined ? { unknown: id } : { id, received: session.row.received }
}

export function uploads(deps: ServiceDeps, db: Db, contents: Contents): Uploads {
  /** Makes arrived content the file's; content that is refused at the last moment goes again. */
  async function store(
    authorized: Authorized,
    arrived: Arrived,
    session: Session | undefined,
  ): Promise<Outcome> {
    try {
      await authorized(async (tx, grant) => {
        if (session !== undefined) {
          if ((await deleteUpload(tx, session.row.id)) === undefined) throw gone()
          tx.afterCommit(() => removeStaged(deps, session.row.staged))
        }
        return contents.replace(tx, grant, arrived)
      })
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) discard(deps, arrived)
      throw error
    }
    return { kind: 'stored', hash: arrived.hash }
  }

  async function createSession(
    authorized: Authorized,
    staged: string,
    received: Receiver | undefined,
  ): Promise<Outcome> {
    const id = randomHex(UPLOAD_ID_BYTES)
    await authorized(async (tx, grant) => {
      const row: UploadRow = {
        id: hashSecret(id),
        node_id: deps.nodeId,
        user_id: grant.caller.userId,
        sid: grant.object.sid,
        oid: grant.object.oid,
        staged,
        received: 0,
        used_ms: deps.now(),
      }
      await insertUpload(tx, row)
      if (received !== undefined) await saveProgress(tx, row, received, 0)
    })
    return { kind: 'progress', id, received: received?.length ?? 0 }
  }

  /** Others may have taken the room since the body began, so the last look at it is here. */
  async function saveProgress(tx: Tx, row: UploadRow, receiver: Receiver, from: number): Promise<boolean> {
    const { unfinished, claimable } = space(deps)
    const { id, user_id: userId } = row
    if (receiver.length > (await unfinished(tx, { userId, id }, true))) throw outOfSpace()
    if (receiver.length - from > (await claimable(tx))) throw outOfSpace()
    const keep = Math.floor(from / BLOCK_BYTES)
    return advanceUpload(tx, row.id, {
      received: receiver.length,
      keep,
      blocks: receiver.blocks.slice(keep),
      nowMs: deps.now(),
    })
  }

  /** Takes back what was received from a position on, before anything is written over it. */
  async function rewind(session: Session, first: number): Promise<void> {
    if (first >= session.row.received) return
    const blocks: Buffer[] = []
    const progress = { received: first, keep: Math.floor(first / BLOCK_BYTES), blocks, nowMs: deps.now() }
    if (!(await db.write((tx) => advanceUpload(tx, session.row.id, progress)))) throw gone()
  }

  /** An upload whose bytes are not there, as after a restored backup, is at its end: its client must begin anew. */
  async function continueAt(session: Session, length: number): Promise<Receiver> {
    const blocks = await db.read((tx) => listUploadBlocks(tx, session.row.id))
    try {
      return await deps.staging.receive(session.row.staged, { length, blocks })
    } catch (error) {
      if (!(error instanceof StagedFileMissing)) throw error
      deps.complain('the received bytes of an upload are missing', error)
      await db.write((tx) => deleteUpload(tx, session.row.id))
      throw gone()
    }
  }

  /** Keeps an identifier from expiring while a body comes in. */
  function keepAlive(session: Session): () => void {
    const timer = setInterval(
      () => {
        db.write((tx) => touchUpload(tx, session.row.id, deps.now())).catch((error: unknown) =>
          deps.complain('an upload could not be kept alive', error),
        )
      },
      Math.min(deps.uploadLifetimeMs / KEEP_ALIVE_PARTS, KEEP_ALIVE_MAX_MS),
    )
    return () => clearInterval(timer)
  }

  /**
   * Puts a body behind what was received before `first`. What arrived stays, so that the upload can go on from there, when
   * the connection was lost or when `settle`, which makes the rest of a whole body, is refused.
   */
  async function append(
    session: Session,
    feed: Feed,
    plan: Chunk,
    roomBytes: number,
    settle: (receiver: Receiver) => Promise<Outcome>,
  ): Promise<Outcome> {
    const { first } = plan
    await rewind(session, first)
    const receiver = await continueAt(session, first)
    const body = bounded({ exactBytes: plan.bytes, roomBytes }, (chunk) => receiver.write(chunk))
    let isKept = false
    try {
      const end = await feed(body.sink)
      if (end === 'complete') body.finish()
      await receiver.sync()
      const outcome = end === 'complete' ? await orRefusal(settle(receiver)) : LOST
      if ('kind' in outcome && outcome !== LOST) return outcome
      if (!(await db.write((tx) => saveProgress(tx, session.row, receiver, first)))) throw gone()
      isKept = true
      if ('refusal' in outcome) throw outcome.refusal
      return outcome
    } catch (error) {
      if (!isKept && !(error instanceof OutcomeUnknown)) await receiver.abandon(first)
      throw error
    } finally {
      await receiver.close()
    }
  }

  /** Records a chunk that does not complete its upload. */
  async function recordChunk(
    authorized: Authorized,
    session: Session,
    receiver: Receiver,
    first: number,
  ): Promise<Outcome> {
    const isThere = await authorized((tx) => saveProgress(tx, session.row, receiver, first))
    if (!isThere) throw gone()
    return { kind: 'progress', id: session.id, received: receiver.length }
  }

  /**
   * A body of unknown length that would overwrite received bytes may turn out to be refused, and then those bytes
   * must still be there: it is kept aside until its length is right.
   */
  async function setAside(feed: Feed, plan: Chunk, roomBytes: number): Promise<{ feed: Feed; drop(): void }> {
    const staged = newStagedName()
    const receiver = await deps.staging.receive(staged)
    const body = bounded({ exactBytes: plan.bytes, roomBytes }, (chunk) => receiver.write(chunk))
    const drop = (): void => removeStaged(deps, staged)
    try {
      const end = await feed(body.sink)
      if (end === 'complete') body.finish()
      await receiver.sync()
      await receiver.close()
      return { drop, feed: replay(staged, end) }
    } catch (error) {
      await receiver.close()
      drop()
      throw error
    }
  }

  /** Feeds bytes that were kept aside, and ends as the connection ended that they came over. */
  function replay(staged: string, end: 'complete' | 'lost'): Feed {
    return async (sink) => {
      await deps.staging.read(staged, sink)
      return end
    }
  }

  async function readSmall(staged: string, length: number): Promise<Buffer> {
    const chunks: Buffer[] = []
    if (length > 0) await deps.staging.read(staged, (chunk) => void chunks.push(chunk))
    return Buffer.concat(chunks)
  }

  async function finish(authorized: Authorized, session: Session, receiver: Receiver): Promise<Outcome> {
    const arrived = await arrivedFrom(session.row.staged, receiver)
    return store(authorized, arrived, session)
  }

  async function arrivedFrom(staged: string, receiver: Receiver): Promise<Arrived> {
    if (receiver.length <= INLINE_BYTES_MAX) return inline(await readSmall(staged, receiver.length))
    return intoStore(deps, staged, receiver)
  }

  return {
    async find(tx, id, grant) {
      if (!isHex(id, UPLOAD_ID_BYTES * 2)) return undefined
      const row = await findUpload(tx, hashSecret(id))
      if (row === undefined || row.node_id !== deps.nodeId || row.user_id !== grant.caller.userId)
        return undefined
      if (row.sid !== grant.object.sid || row.oid !== grant.object.oid) return undefined
      return row.used_ms + deps.uploadLifetimeMs < deps.now() ? undefined : { id, row }
    },

    async touch(session) {
      await db.write((tx) => touchUpload(tx, session.row.id, deps.now()))
    },

    begin: (authorized) => createSession(authorized, newStagedName(), undefined),

    async whole(authorized, feed, bounds) {
      const arrived = await receiveWhole(deps, feed, bounds)
      return arrived === 'lost' ? { kind: 'lost' } : store(authorized, arrived, undefined)
    },

    async small(tx, grant, arrived) {
      await contents.accept(tx, grant, arrived)
      return { kind: 'stored', hash: arrived.hash }
    },

    async firstChunk(authorized, feed, plan, roomBytes) {
      const staged = newStagedName()
      const receiver = await deps.staging.receive(staged)
      try {
        const body = bounded({ exactBytes: plan.bytes, roomBytes }, (chunk) => receiver.write(chunk))
        if ((await feed(body.sink)) === 'lost') throw new Lost()
        body.finish()
        await receiver.sync()
        return await createSession(authorized, staged, receiver)
      } catch (error) {
        if (!(error instanceof OutcomeUnknown)) removeStaged(deps, staged)
        if (error instanceof Lost) return { kind: 'lost' }
        throw error
      } finally {
        await receiver.close()
      }
    },

    async nextChunk(authorized, feed, plan, session, body) {
      const overwritesBlindly = !body.lengthIsKnown && plan.first < session.row.received
      const stopTouching = keepAlive(session)
      let aside: Awaited<ReturnType<typeof setAside>> | undefined
      try {
        if (overwritesBlindly) aside = await setAside(feed, plan, body.roomBytes)
        return await append(session, aside?.feed ?? feed, plan, body.roomBytes, (receiver) =>
          plan.completes
            ? finish(authorized, session, receiver)
            : recordChunk(authorized, session, receiver, plan.first),
        )
      } finally {
        stopTouching()
        aside?.drop()
      }
    },

    async complete(authorized, session) {
      const receiver = await continueAt(session, session.row.received)
      try {
        return await finish(authorized, session, receiver)
      } finally {
        await receiver.close()
      }
    },
  }
}

const LOST = { kind: 'lost' } as const

class Lost extends Error {}

/** What was made of a body, or why it was refused; only what nobody can tell is thrown. */
async function orRefusal(settled: Promise<Outcome>): Promise<Outcome | { refusal: unknown }> {
  try {
    return await settled
  } catch (error) {
    if (error instanceof OutcomeUnknown) throw error
    return { refusal: error }
  }
}

function gone(): Failure {
  return new Failure('badArgs', 'Upload-ID is not valid for this file')
}
