import { deleteUnnamedBlob } from '../db/blobs.js'
import type { Tx } from '../db/db.js'
import { addNodeUse } from '../db/nodes.js'
import type { ServiceDeps } from './deps.js'

/**
 * Lets go of content that an object no longer names. The row goes in this transaction if nobody else names it, the
 * file after it; a crash in between leaves a file that no row names, which the sweep removes.
 */
export async function releaseContents(tx: Tx, deps: ServiceDeps, hashes: readonly string[]): Promise<void> {
  let freedBytes = 0
  for (const hash of [...hashes].sort()) {
    // Of two who let go of the last two names at once, the second must see that the first is gone.
    await tx.lock('blobs', hash)
    const gone = await deleteUnnamedBlob(tx, hash)
    if (gone === undefined) continue
    freedBytes += gone.size
    const { place } = gone
    if (place !== null) tx.afterCommit(() => removeBlob(deps, place))
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
