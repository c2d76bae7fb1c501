import { hashOf } from '../blob/hashing.js'
import type { Receiver } from '../blob/staging.js'
import { Failure } from '../model/failures.js'
import { randomHex } from '../model/secrets.js'
import type { Arrived } from './contents.js'
import type { ServiceDeps } from './deps.js'
import { removeBlob, removeCopy, removeStaged } from './release.js'
import { outOfSpace } from './space.js'

/** Content up to this size lives in the database beside the metadata. */
export const INLINE_BYTES_MAX = 64 * 1024

const STAGED_NAME_BYTES = 16

/** Hands over a request's body; `lost` when the client went away before its end. */
export type Feed = (sink: Sink) => Promise<'complete' | 'lost'>

export type Sink = (chunk: Buffer) => Promise<void> | undefined

/** How much a body must and may have. */
export interface BodyBounds {
  /** The length that the request states, where it states one. */
  readonly exactBytes: number | undefined
  readonly roomBytes: number
}

export function newStagedName(): string {
  return randomHex(STAGED_NAME_BYTES)
}

/** Wraps a sink so that no byte beyond the bounds reaches it; `finish` says whether anything is missing. */
export function bounded(bounds: BodyBounds, sink: Sink): { sink: Sink; finish(): void } {
  let length = 0
  return {
    sink(chunk) {
      length += chunk.length
      if (bounds.exactBytes !== undefined && length > bounds.exactBytes) throw wrongLength()
      if (length > bounds.roomBytes) throw outOfSpace()
      return sink(chunk)
    },
    finish() {
      if (bounds.exactBytes !== undefined && length !== bounds.exactBytes) throw wrongLength()
    },
  }
}

export function wrongLength(): Failure {
  return new Failure('badArgs', 'Content-Range is inconsistent with the length of the body')
}

/**
 * Receives a body that is the whole content: small content in memory, larger content into a staged file that becomes
 * a blob. Nothing stays of a body that is refused or lost.
 */
export async function receiveWhole(
  deps: ServiceDeps,
  feed: Feed,
  bounds: BodyBounds,
): Promise<Arrived | 'lost'> {
  const small: Buffer[] = []
  let smallBytes = 0
  let receiver: Receiver | undefined
  const staged = newStagedName()

  async function spill(): Promise<void> {
    receiver = await deps.staging.receive(staged)
    for (const chunk of small) await receiver.write(chunk)
  }

  const body = bounded(bounds, (chunk) => {
    if (receiver !== undefined) return receiver.write(chunk)
    small.push(chunk)
    smallBytes += chunk.length
    return smallBytes > INLINE_BYTES_MAX ? spill() : undefined
  })

  try {
    if ((await feed(body.sink)) === 'lost') return 'lost'
    body.finish()
    if (receiver === undefined) return inline(Buffer.concat(small))
    await receiver.sync()
    return await intoStore(deps, staged, receiver)
  } finally {
    if (receiver !== undefined) {
      await receiver.close()
      removeStaged(deps, staged)
    }
  }
}

export function inline(data: Buffer): Arrived {
  return { hash: hashOf(data), size: data.length, place: null, data }
}

export async function intoStore(deps: ServiceDeps, staged: string, receiver: Receiver): Promise<Arrived> {
  const content = { hash: receiver.digest(), size: receiver.length }
  const place = await deps.blobs.put(deps.staging.path(staged), content.hash, content.size)
  if (deps.replica === undefined) return { ...content, place, data: null }
  try {
    const copy = await deps.replica.keep(deps.staging.path(staged), content.hash, content.size)
    const blocks = Buffer.concat(receiver.blocks)
    return { ...content, place, data: null, copy: { place: copy, blocks } }
  } catch (error) {
    if (error instanceof Failure) {
      removeBlob(deps, place)
      throw error
    }
    // The store has it. A local disk that is broken is no reason to refuse it: it is brought when the disk is well.
    deps.complain('a local copy could not be kept', error)
    return { ...content, place, data: null }
  }
}

/** Lets go of content that arrived and was then refused. */
export function discard(deps: ServiceDeps, arrived: Arrived): void {
  if (arrived.place === null) return
  removeBlob(deps, arrived.place)
  if (arrived.copy !== undefined) removeCopy(deps, arrived.copy.place)
}
