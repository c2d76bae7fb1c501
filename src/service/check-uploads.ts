/** The part of the check that is about uploads in progress and the files that hold what they have received. */
import { setTimeout as delay } from 'node:timers/promises'
import { BLOCK_BYTES } from '../blob/hashing.js'
import type { Staging } from '../blob/staging.js'
import { listCheckedUploads, type CheckedUpload } from '../db/check.js'
import type { Db } from '../db/db.js'
import { findUpload, listStagedNames, type UploadRow } from '../db/uploads.js'
import { SETTLE_MS } from './check-content.js'
import { finding, pages, type CheckParts, type Finding } from './finding.js'
import { SWEEP_GRACE_MS } from './sweep.js'

const PAGE_ROWS = 1000
const BLOCK_HASH_BYTES = 32

/** An upload that moves on each time it is looked at is at work. */
const LOOKS_MAX = 5

type Progress = Pick<UploadRow, 'id' | 'staged' | 'received' | 'used_ms'>

export async function* checkUploads(parts: CheckParts): AsyncGenerator<Finding> {
  const { db, staging, nodeId } = parts
  const sizes = await stagedSizes(staging)
  const suspects: string[] = []
  const uploads = pages<CheckedUpload>(db, PAGE_ROWS, (tx, last, rowsMax) =>
    listCheckedUploads(tx, { blockBytes: BLOCK_BYTES, hashBytes: BLOCK_HASH_BYTES }, last?.id ?? '', rowsMax),
  )
  for await (const upload of uploads) {
    const blocks = Math.floor(upload.received / BLOCK_BYTES)
    if (upload.blocks !== blocks || upload.good_blocks !== blocks) {
      const detail = `${upload.received} bytes were received, and ${upload.good_blocks} of ${upload.blocks} block hashes fit where ${blocks} must.`
      yield finding('upload-blocks', upload.id, detail)
    }
    // The staged files of other nodes are on their own disks.
    if (upload.node_id === nodeId && fileFinding(upload, sizes) !== undefined) suspects.push(upload.id)
  }
  yield* confirmed(db, staging, suspects)
  yield* checkLeftovers(parts)
}

/** Nothing needs to be there before the first byte; bytes behind the received ones do not count yet. */
function fileFinding(upload: Progress, sizes: ReadonlyMap<string, number>): Finding | undefined {
  if (upload.received === 0) return undefined
  const size = sizes.get(upload.staged)
  if (size === undefined) {
    return finding('upload-missing', upload.id, `The staged file ${upload.staged} does not exist.`)
  }
  if (size >= upload.received) return undefined
  const detail = `The staged file ${upload.staged} has ${size} bytes where ${upload.received} were received.`
  return finding('upload-short', upload.id, detail)
}

/** The file is judged by a row that was the same before and after the look at the file. */
async function* confirmed(db: Db, staging: Staging, ids: readonly string[]): AsyncGenerator<Finding> {
  let open = ids
  for (let looks = 0; open.length > 0 && looks < LOOKS_MAX; looks += 1) {
    const before = await progressOf(db, open)
    const sizes = await stagedSizes(staging)
    const after = new Map((await progressOf(db, open)).map((upload) => [upload.id, upload]))
    const moving: string[] = []
    for (const upload of before) {
      const later = after.get(upload.id)
      if (later === undefined) continue
      const broken = fileFinding(upload, sizes)
      const isSame = later.received === upload.received && later.used_ms === upload.used_ms
      if (!isSame) moving.push(upload.id)
      else if (broken !== undefined) yield broken
    }
    open = moving
  }
}

/** Those of the uploads that are still there. */
function progressOf(db: Db, ids: readonly string[]): Promise<Progress[]> {
  return db.read(async (tx) => {
    const found: Progress[] = []
    for (const id of ids) {
      const upload = await findUpload(tx, id)
      if (upload !== undefined) found.push(upload)
    }
    return found
  })
}

async function stagedSizes(staging: Staging): Promise<Map<string, number>> {
  return new Map((await staging.list()).map(({ name, size }) => [name, size]))
}

async function* checkLeftovers({ db, staging, nodeId, now }: CheckParts): AsyncGenerator<Finding> {
  const beforeMs = now() - SWEEP_GRACE_MS
  async function unnamed(): Promise<string[]> {
    const files = await staging.list()
    const named = await db.read((tx) => listStagedNames(tx, nodeId))
    return files
      .filter(({ name, modifiedMs }) => modifiedMs <= beforeMs && !named.has(name))
      .map(({ name }) => name)
  }
  const suspects = new Set(await unnamed())
  if (suspects.size === 0) return
  await delay(SETTLE_MS)
  for (const name of await unnamed()) {
    if (!suspects.has(name)) continue
    yield finding(
      'staged-leftover',
      name,
      'No upload names this staged file, and no request can still need it.',
    )
  }
}
