import type { Copy } from '../blob/replica.js'
import { blobExists, insertBlob, moveBlob } from '../db/blobs.js'
import type { Tx } from '../db/db.js'
import { addNodeUse } from '../db/nodes.js'
import { setContent, type ObjectRow } from '../db/objects.js'
import { findHeld, insertHeld } from '../db/replicas.js'
import { addStoreUse } from '../db/stores.js'
import type { WriteGrant } from '../gate/grants.js'
import { formatId } from '../model/ids.js'
import type { ServiceDeps } from './deps.js'
import { record } from './journal.js'
import { releaseContents, removeBlob, removeCopy } from './release.js'
import { outOfSpace, type Space } from './space.js'

/** Content that has arrived whole and is durable, but that no object names yet. */
export type Arrived = { readonly hash: string; readonly size: number } & (
  | { readonly place: string; readonly data: null; readonly copy?: Copy }
  | { readonly place: null; readonly data: Buffer }
)

export interface Contents {
  /** Makes the arrived content the content of the file: the one step that a reader can see. */
  replace(tx: Tx, grant: WriteGrant<'file'>, arrived: Arrived): Promise<ObjectRow>
  /** The same for content for which nobody has looked for room yet. */
  accept(tx: Tx, grant: WriteGrant<'file'>, arrived: Arrived): Promise<ObjectRow>
}

export function contents(deps: ServiceDeps, space: Space): Contents {
  async function put(tx: Tx, grant: WriteGrant<'file'>, arrived: Arrived): Promise<ObjectRow> {
    const { object } = grant
    const nowMs = deps.now()
    if (await insertBlob(tx, arrived, nowMs)) await addNodeUse(tx, deps.nodeId, arrived.size)
    else if (arrived.place !== null) await takeNewCopy(tx, deps, arrived.hash, arrived.place)
    if (arrived.place !== null) await holdCopy(tx, deps, arrived, arrived.copy)
    const changed = await setContent(tx, object, {
      hash: arrived.hash,
      size: arrived.size,
      modifiedMs: nowMs,
    })
    await addStoreUse(tx, object.sid, arrived.size - (object.size ?? 0))
    if (object.content !== null && object.content !== arrived.hash) {
      await releaseContents(tx, deps, [object.content])
      tx.afterCommit(() => deps.signal({ sid: object.sid }))
    }
    await record(tx, grant.caller, {
      atMs: nowMs,
      action: 'file.content',
      subject: formatId(object.sid, object.oid),
      before: { content: object.content, size: object.size },
      after: { content: arrived.hash, size: arrived.size },
    })
    return changed
  }

  return {
    async replace(tx, grant, arrived) {
      if (arrived.size > (await space.freeForUser(tx, grant))) throw outOfSpace()
      const left = await space.claimable(tx)
      if (arrived.size > left && !(await isHere(tx, deps, arrived))) throw outOfSpace()
      return put(tx, grant, arrived)
    },

    async accept(tx, grant, arrived) {
      if (arrived.size > (await space.freeForUser(tx, grant))) throw outOfSpace()
      if (arrived.size > (await space.claimableOnDisk(tx))) throw outOfSpace()
      return put(tx, grant, arrived)
    },
  }
}

/** Whether the content takes no more room than it has already. */
async function isHere(tx: Tx, deps: ServiceDeps, { hash, place }: Arrived): Promise<boolean> {
  if (deps.replica === undefined || place === null) return blobExists(tx, hash)
  return (await findHeld(tx, deps.nodeId, hash)) !== undefined
}

/** The node that received content need not bring it. */
async function holdCopy(
  tx: Tx,
  deps: ServiceDeps,
  { hash, size }: Arrived,
  copy: Copy | undefined,
): Promise<void> {
  if (copy === undefined) return
  const before = await insertHeld(tx, deps.nodeId, { hash, size, ...copy })
  if (before !== undefined) tx.afterCommit(() => removeCopy(deps, before))
}

/** The same bytes are kept already. The copy that just came is the one that is sure to be there, so it takes over. */
async function takeNewCopy(tx: Tx, deps: ServiceDeps, hash: string, place: string): Promise<void> {
  const before = await moveBlob(tx, hash, place)
  if (before !== null) tx.afterCommit(() => removeBlob(deps, before))
}
