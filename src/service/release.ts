import { deleteUnnamedBlobs } from '../db/blobs.js'
import type { Tx } from '../db/db.js'
import { addNodeUse } from '../db/nodes.js'
import { deleteHeld } from '../db/replicas.js'
import type { ServiceDeps } from './deps.js'

/** A folder may hold any number of files: one by one, a hundred thousand would take longer than a transaction may. */
const RELEASED_AT_ONCE = 256

/**
 * Lets go of content that an object no longer names. The row goes in this transaction if nobody else names it, the
 * file after it; a crash in between leaves a file that no row names, which the sweep removes.
 */
export async function releaseContents(tx: Tx, deps: ServiceDeps, hashes: readonly string[]): Promise<void> {
  let freedBytes = 0
  const goneHashes: string[] = []
  const sorted = [...hashes].sort()
  for (let at = 0; at < sorted.length;) {
    // Two sizes make two statements; any number of sizes would push others out of the prepared ones.
    const some = sorted.slice(at, at + (sorted.length - at < RELEASED_AT_ONCE ? 1 : RELEASED_AT_ONCE))
    at += some.length
    // Of two who let go of the last two names at once, the second must see that the first is gone.
    await tx.lock('blobs', ...some)
    for (const { hash, size, place } of await deleteUnnamedBlobs(tx, some)) {
      freedBytes += size
      if (place === null) continue
      goneHashes.push(hash)
      tx.afterCommit(() => removeBlob(deps, place))
    }
  }
  await releaseCopies(tx, deps, goneHashes)
  await addNodeUse(tx, deps.nodeId, -freedBytes)
}

/** Lets go of this node's own copies; the other nodes let go of theirs when they come to know. */
export async function releaseCopies(tx: Tx, deps: ServiceDeps, hashes: readonly string[]): Promise<void> {
  if (deps.replica === undefined) return
  for (const place of await deleteHeld(tx, deps.nodeId, hashes)) {
    tx.afterCommit(() => removeCopy(deps, place))
  }
}

export function removeCopy(deps: Pick<ServiceDeps, 'replica' | 'complain'>, place: string): void {
  deps.replica
    ?.remove(place)
    .catch((error: unknown) => deps.complain('a local copy could not be removed', error))
}

export function removeBlob(deps: ServiceDeps, place: string): void {
  deps.blobs.remove(place).catch((error: unknown) => deps.complain('content could not be removed', error))
}

export function removeStaged(deps: ServiceDeps, name: string): void {
  deps.staging
    .remove(name)
    .catch((error: unknown) => deps.complain('a staged file could not be removed', error))
}
