import type { Db } from '../db/db.js'
import { placeIsNamed } from '../db/blobs.js'
import { takeLease } from '../db/nodes.js'
import { deleteUnusedUpload, listUploadsUnusedSince, stagedIsNamed } from '../db/uploads.js'
import type { ServiceDeps } from './deps.js'

/** A file that no row names may belong to a request under way; only after this time is it a leftover. */
export const SWEEP_GRACE_MS = 60 * 60 * 1000

/**
 * While one node sweeps the content store, the others need not. It is no more than that: two at once do no harm, since
 * both leave alone what is named or young, and removing twice is removing.
 */
const SWEEP_LEASE_MS = 25 * 60 * 1000

export interface Sweep {
  /** Ends uploads that were not used for their lifetime and removes what they received. */
  expireUploads(): Promise<number>
  /** Removes files that a crash left behind: blobs and staged files that no row names. */
  removeLeftovers(): Promise<number>
}

export function sweep(deps: ServiceDeps, db: Db, leaseMs = SWEEP_LEASE_MS): Sweep {
  function isOurTurn(): Promise<boolean> {
    const nowMs = deps.now()
    const lease = { holderId: deps.nodeId, nowMs, untilMs: nowMs + leaseMs }
    return db.write((tx) => takeLease(tx, 'sweep', lease))
  }

  return {
    async expireUploads() {
      const beforeMs = deps.now() - deps.uploadLifetimeMs
      const expired = await db.read((tx) => listUploadsUnusedSince(tx, deps.nodeId, beforeMs))
      for (const upload of expired) {
        const passage = await deps.turnstile.enter({ slot: false, lock: upload.id })
        if (passage === 'busy' || passage === 'full') continue
        try {
          // Whoever held it until now may have used it.
          if (await db.write((tx) => deleteUnusedUpload(tx, upload.id, beforeMs))) {
            await deps.staging.remove(upload.staged)
          }
        } finally {
          passage.leave()
        }
      }
      return expired.length
    },

    async removeLeftovers() {
      const beforeMs = deps.now() - SWEEP_GRACE_MS
      let removed = 0
      for (const file of await deps.staging.list()) {
        if (file.modifiedMs > beforeMs || (await db.read((tx) => stagedIsNamed(tx, file.name)))) continue
        await deps.staging.remove(file.name)
        removed += 1
      }
      if (!(await isOurTurn())) return removed
      for await (const blob of deps.blobs.list()) {
        if (blob.modifiedMs > beforeMs || (await db.read((tx) => placeIsNamed(tx, blob.place)))) continue
        await deps.blobs.remove(blob.place)
        removed += 1
      }
      return removed + (await deps.blobs.endUnfinished(beforeMs))
    },
  }
}
