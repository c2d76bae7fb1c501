/** The part of the check that is about content: that it is there, that it is what it claims, that somebody names it. */
import { setTimeout as delay } from 'node:timers/promises'
import { hashOf } from '../blob/hashing.js'
import { BlobMissing, isPlace, type BlobReader, type BlobStore } from '../blob/store.js'
import { verifyBlob } from '../blob/verify.js'
import { placeIsNamed } from '../db/blobs.js'
import { findCheckedBlob, listCheckedBlobs, sumUse, type CheckedBlob } from '../db/check.js'
import type { Db } from '../db/db.js'
import { Failure } from '../model/failures.js'
import { finding, pages, type CheckParts, type Finding } from './finding.js'
import { SWEEP_GRACE_MS } from './sweep.js'

/** Small content comes with its row, up to 64 KiB each. */
const PAGE_ROWS = 100
const PLACES_MAX = 1000

/** A file goes shortly after the transaction that took its row. What is still there by then is left over. */
export const SETTLE_MS = 1000

export async function* checkContent(parts: CheckParts, content: boolean): AsyncGenerator<Finding> {
  const { db, blobs, nodeId } = parts
  const rows = pages<CheckedBlob>(db, PAGE_ROWS, (tx, last, rowsMax) =>
    listCheckedBlobs(tx, last?.hash ?? '', rowsMax, content),
  )
  for await (const blob of rows) {
    if (blob.named === 0) yield finding('blob-orphan', blob.hash, 'No object names this content.')
    const broken = await checkBlob(db, blobs, blob, content)
    if (broken !== undefined) yield broken
  }
  const use = await db.read(sumUse)
  if (use.counted !== use.held) {
    const detail = `The node counts ${use.counted} bytes where all content has ${use.held}.`
    yield finding('node-used', nodeId, detail)
  }
  yield* checkLeftovers(parts)
}

/** Content may be replaced or released while it is looked at; only what its row still says counts. */
async function checkBlob(
  db: Db,
  blobs: BlobStore,
  blob: CheckedBlob,
  content: boolean,
): Promise<Finding | undefined> {
  for (let row: CheckedBlob | undefined = blob; row !== undefined;) {
    const broken: Finding | undefined =
      row.data_bytes === null ? await checkFile(blobs, row, content) : checkInline(row, row.data_bytes)
    if (broken === undefined) return undefined
    const again: CheckedBlob | undefined = await db.read((tx) => findCheckedBlob(tx, blob.hash, content))
    if (again !== undefined && again.place === row.place && again.size === row.size) return broken
    row = again
  }
  return undefined
}

function checkInline({ hash, size, data }: CheckedBlob, dataBytes: number): Finding | undefined {
  if (dataBytes !== size) {
    return finding('blob-length', hash, `The row says ${size} bytes and holds ${dataBytes}.`)
  }
  if (data === null || hashOf(data) === hash) return undefined
  return finding('blob-hash', hash, 'The bytes in the row are not those of this content.')
}

async function checkFile(
  blobs: BlobStore,
  { hash, size, place }: CheckedBlob,
  content: boolean,
): Promise<Finding | undefined> {
  if (place === null) return finding('blob-missing', hash, 'The row has neither bytes nor a place.')
  if (!isPlace(place)) return finding('blob-missing', hash, 'What the row names is not the place of a file.')
  let reader: BlobReader | undefined
  try {
    reader = await blobs.open(place)
    if (reader.size !== size) {
      return finding('blob-length', hash, `The file ${place} has ${reader.size} bytes instead of ${size}.`)
    }
    if (!content || (await verifyBlob(reader, hash, size)) === 'ok') return undefined
    return finding('blob-hash', hash, `The bytes in the file ${place} are not those of this content.`)
  } catch (error) {
    if (error instanceof BlobMissing)
      return finding('blob-missing', hash, `The file ${place} does not exist.`)
    // A store that is away says nothing about what it keeps.
    if (error instanceof Failure) throw error
    const reason = error instanceof Error ? error.message : String(error)
    return finding('blob-unreadable', hash, `The file ${place} cannot be read: ${reason}.`)
  } finally {
    await reader?.close()
  }
}

async function* checkLeftovers({ db, blobs, now }: CheckParts): AsyncGenerator<Finding> {
  const beforeMs = now() - SWEEP_GRACE_MS
  let places: string[] = []
  for await (const { place, modifiedMs } of blobs.list()) {
    if (modifiedMs <= beforeMs) places.push(place)
    if (places.length < PLACES_MAX) continue
    yield* leftoversAmong(db, blobs, places)
    places = []
  }
  yield* leftoversAmong(db, blobs, places)
}

async function* leftoversAmong(db: Db, blobs: BlobStore, places: readonly string[]): AsyncGenerator<Finding> {
  const suspects = await unnamedAmong(db, places)
  if (suspects.length === 0) return
  await delay(SETTLE_MS)
  for (const place of await unnamedAmong(db, suspects)) {
    if (!(await isThere(blobs, place))) continue
    yield finding('blob-leftover', place, 'No row names this file, and nothing under way can still need it.')
  }
}

function unnamedAmong(db: Db, places: readonly string[]): Promise<string[]> {
  return db.read(async (tx) => {
    const unnamed: string[] = []
    for (const place of places) if (!(await placeIsNamed(tx, place))) unnamed.push(place)
    return unnamed
  })
}

async function isThere(blobs: BlobStore, place: string): Promise<boolean> {
  try {
    await (await blobs.open(place)).close()
    return true
  } catch (error) {
    if (error instanceof Failure) throw error
    // A file that cannot be opened is there nevertheless.
    return !(error instanceof BlobMissing)
  }
}
