import type { BlobReader } from '../blob/store.js'
import { verifiedReader } from '../blob/verified-reader.js'
import type { Db } from '../db/db.js'
import { deleteHeldAt, type HeldBlob } from '../db/replicas.js'
import type { ServiceDeps } from './deps.js'
import { removeCopy } from './release.js'

export interface LocalCopies {
  /**
   * Opens the node's own copy. What is wrong with it is noticed, never sent: the reader goes on with the content store,
   * and so it is undefined when there is no copy to begin with.
   */
  open(held: HeldBlob, readThrough: () => Promise<BlobReader>): Promise<BlobReader | undefined>
  /** The copy is not what it should be: it no longer counts and is brought again. */
  lose(held: Pick<HeldBlob, 'hash' | 'place'>, reason: unknown): Promise<void>
}

export function localCopies(
  deps: Pick<ServiceDeps, 'nodeId' | 'replica' | 'askFor' | 'complain'>,
  db: Db,
): LocalCopies {
  async function lose({ hash, place }: Pick<HeldBlob, 'hash' | 'place'>, reason: unknown): Promise<void> {
    const wasHeld = await db.write((tx) => deleteHeldAt(tx, deps.nodeId, hash, place))
    if (!wasHeld) return
    deps.complain('a local copy is missing or wrong and is brought again', reason)
    removeCopy(deps, place)
    deps.askFor(hash)
  }

  /** The client of the download does not wait for the books. */
  function loseSoon(held: HeldBlob, reason: unknown): void {
    lose(held, reason).catch((error: unknown) => deps.complain('a lost copy could not be noted', error))
  }

  return {
    lose,
    async open(held, readThrough) {
      let local: BlobReader | undefined
      try {
        local = await deps.replica?.open(held.place)
      } catch (error) {
        loseSoon(held, error)
      }
      if (local === undefined) return undefined
      if (local.size !== held.size) {
        await local.close()
        loseSoon(held, new Error(`a local copy has ${local.size} bytes instead of ${held.size}`))
        return undefined
      }
      return verifiedReader(local, held, (reason) => {
        loseSoon(held, reason)
        return readThrough()
      })
    },
  }
}
