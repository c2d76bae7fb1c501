import { deleteUnnamedBlobs } from '../db/blobs.js'
import type { Tx } from '../db/db.js'
import { addNodeUse } from '../db/nodes.js'
import type { ServiceDeps } from './deps.js'

/** A folder may hold any number of files: one by one, a hundred thousand would take longer than a transaction may. */
const RELEASED_AT_ONCE = 256

/**
 * Lets go of content that an object no longer names. The row goes in this transaction if nobody else names it, the
 * file after it; a crash in between leaves a file that no row names, which the sweep removes.
 */
export async function releaseContents(tx: Tx, deps: ServiceDeps, hashes: readonly string[]): Promise<void> {
  let freedBytes = 0
  const sorted = [...hashes].sort()
  for (let at = 0; at < sorted.length;) {
    // Two sizes make two statements; any number of sizes would push others out of the prepared ones.
    const some = sorted.slice(at, at + (sorted.length - at < RELEASED_AT_ONCE ? 1 : RELEASED_AT_ONCE))
    at += some.length
    // Of two who let go of the last two names at once, the second must see that the first is gone.
    await tx.lock('blobs', ...some)
    for (const { size, place } of await deleteUnnamedBlobs(tx, some)) {
      freedBytes += size
      if (place !== null) tx.afterCommit(() => removeBlob(deps, place))
    }
  }
  await addNodeUse(tx, deps.nodeId, -freedBytes)
}

export function removeBlob(deps: ServiceDeps, place: string): void {
  deps.blobs.remove(place).catch((error: unknown) => deps.complain('content could not be removed', error))
}

export function removeStaged(deps: ServiceDeps, name: string): void {
  deps.staging
    .remove(name)
    .catch((error: unknown) => deps.complain('a staged file could not be removed', error))
}
