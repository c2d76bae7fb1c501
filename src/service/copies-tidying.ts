/** Keeps a node's own copies and the rows about them in step with each other and with what the node is set to hold. */
import { BlobMissing, hashOfPlace, type BlobReader } from '../blob/store.js'
import type { Replica } from '../blob/replica.js'
import type { Db } from '../db/db.js'
import {
  deleteHeldAt,
  deleteStaleFailures,
  isHeldAt,
  listHeld,
  listUnwanted,
  listUnwantedAmong,
  type HeldBlob,
  type UnwantedBlob,
} from '../db/replicas.js'
import type { ServiceDeps } from './deps.js'
import { pages } from './finding.js'
import { releaseCopies } from './release.js'

const PAGE_ROWS = 100

export interface Tidying {
  /** Lets go of copies of content that is gone or deselected. Resolves to the number of them. */
  releaseUnwanted(): Promise<number>
  /** Strikes copies out whose file is not there, and removes files from before that time that no row names. */
  audit(beforeMs: number): Promise<number>
}

export function copiesTidying(deps: ServiceDeps, db: Db, replica: Replica, isOver: () => boolean): Tidying {
  /** A copy in a deselected folder goes only when it is not the only one. */
  async function isElsewhere({ stored, size, hash }: UnwantedBlob): Promise<boolean> {
    if (stored === null) return true
    try {
      const reader = await deps.blobs.open(stored)
      await reader.close()
      if (reader.size === size) return true
    } catch (error) {
      if (!(error instanceof BlobMissing)) throw error
    }
    deps.complain('a local copy stays: the content store does not have its content', new Error(hash))
    return false
  }

  async function release(rows: readonly UnwantedBlob[]): Promise<number> {
    const hashes: string[] = []
    for (const row of rows) {
      if (isOver()) break
      if (await isElsewhere(row)) hashes.push(row.hash)
    }
    return db.write(async (tx) => {
      // Somebody may have put the content into another folder meanwhile.
      const unwanted = await listUnwantedAmong(tx, deps.nodeId, hashes)
      await releaseCopies(tx, deps, unwanted)
      return unwanted.length
    })
  }

  async function isThere({ place, size }: HeldBlob): Promise<boolean> {
    let reader: BlobReader | undefined
    try {
      reader = await replica.open(place)
      return reader.size === size
    } catch (error) {
      if (error instanceof BlobMissing) return false
      throw error
    } finally {
      await reader?.close()
    }
  }

  async function strikeOutLost(): Promise<number> {
    let lost = 0
    const rows = pages<HeldBlob>(db, PAGE_ROWS, (tx, last, rowsMax) =>
      listHeld(tx, deps.nodeId, last?.hash ?? '', rowsMax),
    )
    for await (const row of rows) {
      if (isOver()) break
      if (await isThere(row)) continue
      if (!(await db.write((tx) => deleteHeldAt(tx, deps.nodeId, row.hash, row.place)))) continue
      await replica.remove(row.place)
      lost += 1
    }
    return lost
  }

  async function removeLeftovers(beforeMs: number): Promise<void> {
    for await (const { place, modifiedMs } of replica.list()) {
      if (isOver()) break
      if (modifiedMs >= beforeMs) continue
      const isNamed = await db.read((tx) => isHeldAt(tx, deps.nodeId, hashOfPlace(place), place))
      if (!isNamed) await replica.remove(place)
    }
    await replica.removeUnfinished(beforeMs)
  }

  return {
    async releaseUnwanted() {
      let released = 0
      let rows: UnwantedBlob[]
      let after = ''
      do {
        rows = await db.read((tx) => listUnwanted(tx, deps.nodeId, after, PAGE_ROWS))
        if (rows.length > 0) released += await release(rows)
        after = rows.at(-1)?.hash ?? after
      } while (rows.length === PAGE_ROWS && !isOver())
      return released
    },

    async audit(beforeMs) {
      const lost = await strikeOutLost()
      await removeLeftovers(beforeMs)
      await db.write((tx) => deleteStaleFailures(tx, deps.nodeId))
      return lost
    },
  }
}
