/** The part of the check that is about this node's own copy of content. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Replica } from '../blob/replica.js'
import { BlobMissing, hashOfPlace, type BlobReader } from '../blob/store.js'
import { verifyBlob } from '../blob/verify.js'
import { findHeld, isHeldAt, listHeld, sumHeld, type HeldBlob } from '../db/replicas.js'
import { SETTLE_MS } from './check-content.js'
import { finding, pages, type CheckParts, type Finding } from './finding.js'
import { SWEEP_GRACE_MS } from './sweep.js'

const PAGE_ROWS = 100

export async function* checkReplica(parts: CheckParts, content: boolean): AsyncGenerator<Finding> {
  const { db, nodeId, replica } = parts
  const sums = await db.read((tx) => sumHeld(tx, nodeId))
  if (sums.counted !== sums.held) {
    const detail = `The node counts ${sums.counted} bytes of local copies where they have ${sums.held}.`
    yield finding('replica-held', nodeId, detail)
  }
  if (replica === undefined) return
  const rows = pages<HeldBlob>(db, PAGE_ROWS, (tx, last, rowsMax) =>
    listHeld(tx, nodeId, last?.hash ?? '', rowsMax),
  )
  for await (const row of rows) {
    const broken = await checkCopy(replica, row, content)
    if (broken === undefined) continue
    // A copy may be let go of or replaced while it is looked at.
    const again = await db.read((tx) => findHeld(tx, nodeId, row.hash))
    if (again?.place === row.place) yield broken
  }
  yield* checkLeftovers(parts, replica)
}

async function checkCopy(
  replica: Replica,
  { hash, size, place }: HeldBlob,
  content: boolean,
): Promise<Finding | undefined> {
  let reader: BlobReader | undefined
  try {
    reader = await replica.open(place)
    if (reader.size !== size) {
      return finding(
        'replica-length',
        hash,
        `The local copy ${place} has ${reader.size} bytes instead of ${size}.`,
      )
    }
    if (!content || (await verifyBlob(reader, hash, size)) === 'ok') return undefined
    return finding(
      'replica-hash',
      hash,
      `The bytes in the local copy ${place} are not those of this content.`,
    )
  } catch (error) {
    if (error instanceof BlobMissing) {
      return finding('replica-missing', hash, `The local copy ${place} does not exist.`)
    }
    const reason = error instanceof Error ? error.message : String(error)
    return finding('replica-unreadable', hash, `The local copy ${place} cannot be read: ${reason}.`)
  } finally {
    await reader?.close()
  }
}

async function* checkLeftovers(parts: CheckParts, replica: Replica): AsyncGenerator<Finding> {
  const beforeMs = parts.now() - SWEEP_GRACE_MS
  const isNamed = (place: string): Promise<boolean> =>
    parts.db.read((tx) => isHeldAt(tx, parts.nodeId, hashOfPlace(place), place))
  for await (const { place, modifiedMs } of replica.list()) {
    if (modifiedMs > beforeMs || (await isNamed(place))) continue
    await delay(SETTLE_MS)
    if ((await isNamed(place)) || !(await isThere(replica, place))) continue
    yield finding(
      'replica-leftover',
      place,
      'No row names this local copy, and nothing under way can need it.',
    )
  }
}

async function isThere(replica: Replica, place: string): Promise<boolean> {
  try {
    await (await replica.open(place)).close()
    return true
  } catch (error) {
    return !(error instanceof BlobMissing)
  }
}
