/** Content taken from one store to another, each blob at its own place, so that the rows need not change. */
import type { Staging } from '../blob/staging.js'
import {
  BlobMissing,
  type BlobReader,
  type BlobStore,
  type BlobTarget,
  type LocalBlobs,
} from '../blob/store.js'
import { verifyBlob } from '../blob/verify.js'
import type { Db } from '../db/db.js'
import { listPlacedBlobs } from '../db/relocation.js'
import { Failure } from '../model/failures.js'
import { randomHex } from '../model/secrets.js'

const PAGE_ROWS = 100
const BLOBS_AT_ONCE = 4
const READ_BYTES = 1024 * 1024
const STAGED_NAME_BYTES = 32

export interface ContentMove {
  readonly from: BlobStore | LocalBlobs
  readonly to: BlobTarget
  /** Takes what comes from a store that is not a local disk. */
  readonly staging: Staging
}

export interface ContentCount {
  readonly blobs: number
  readonly bytes: number
  /** Those that were not there before. */
  readonly copied: number
}

interface Blob {
  readonly hash: string
  readonly size: number
  readonly place: string
}

/**
 * Sees to it that the target holds all content that the rows of the database name. What is there already, as after a
 * run that was broken off, is read and compared, or, where that has been done, looked at.
 */
export async function copyContent(
  db: Db,
  move: ContentMove,
  look: 'read' | 'length',
  onBlob: (count: ContentCount) => void,
): Promise<ContentCount> {
  let count: ContentCount = { blobs: 0, bytes: 0, copied: 0 }
  let after = ''
  for (;;) {
    const page = await db.read((tx) => listPlacedBlobs(tx, after, PAGE_ROWS))
    await someAtOnce(page, async (blob) => {
      const isNew = await ensureBlob(move, blob, look)
      count = {
        blobs: count.blobs + 1,
        bytes: count.bytes + blob.size,
        copied: count.copied + (isNew ? 1 : 0),
      }
      onBlob(count)
    })
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_ROWS) return count
    after = last.hash
  }
}

/** After a failure nothing new is begun; it is thrown when what was under way has ended. */
async function someAtOnce<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items]
  let failed: { error: unknown } | undefined
  const workers = Array.from({ length: BLOBS_AT_ONCE }, async () => {
    for (let item = waiting.shift(); item !== undefined && failed === undefined; item = waiting.shift()) {
      await work(item).catch((error: unknown) => void (failed ??= { error }))
    }
  })
  await Promise.all(workers)
  if (failed !== undefined) throw failed.error
}

/** Resolves to whether the blob had to be copied. */
async function ensureBlob(move: ContentMove, blob: Blob, look: 'read' | 'length'): Promise<boolean> {
  const found = await inspect(move.to, blob, look)
  if (found === 'ok') return false
  if (found === 'broken') await move.to.remove(blob.place)
  if ('pathOf' in move.from) {
    await requireSound(move.from, blob)
    await move.to.putAt(blob.place, move.from.pathOf(blob.place), blob.size)
  } else await copyThrough(move, move.from, blob)
  if ((await inspect(move.to, blob, 'read')) !== 'ok')
    throw new Error(`the content ${blob.hash} did not arrive in the target as it was sent`)
  return true
}

async function inspect(
  store: BlobStore,
  { hash, size, place }: Blob,
  look: 'read' | 'length',
): Promise<'ok' | 'broken' | 'missing'> {
  let reader: BlobReader | undefined
  try {
    reader = await store.open(place)
    if (look === 'length') return reader.size === size ? 'ok' : 'broken'
    return (await verifyBlob(reader, hash, size)) === 'ok' ? 'ok' : 'broken'
  } catch (error) {
    if (error instanceof BlobMissing) return 'missing'
    throw error
  } finally {
    await reader?.close()
  }
}

async function requireSound(store: BlobStore, blob: Blob): Promise<void> {
  if ((await inspect(store, blob, 'read')) !== 'ok') throw notSound(blob)
}

async function copyThrough({ to, staging }: ContentMove, from: BlobStore, blob: Blob): Promise<void> {
  const name = randomHex(STAGED_NAME_BYTES)
  try {
    await stage(staging, name, from, blob)
    await to.putAt(blob.place, staging.path(name), blob.size)
  } finally {
    await staging.remove(name)
  }
}

async function stage(staging: Staging, name: string, from: BlobStore, blob: Blob): Promise<void> {
  const reader = await from.open(blob.place).catch((error: unknown) => {
    throw error instanceof BlobMissing ? notSound(blob) : error
  })
  const receiver = await staging.receive(name)
  try {
    for (let position = 0; position < reader.size;) {
      const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
      const length = await reader.read(buffer, position, READ_BYTES)
      if (length === 0) break
      await receiver.write(buffer.subarray(0, length))
      position += length
    }
    await receiver.sync()
    if (receiver.length !== blob.size || receiver.digest() !== blob.hash) throw notSound(blob)
  } finally {
    await receiver.close()
    await reader.close()
  }
}

function notSound({ hash }: Blob): Failure {
  return new Failure(
    'conflict',
    `the content ${hash} is missing or damaged where it is now: starling check says more`,
  )
}
