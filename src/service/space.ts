import type { Tx } from '../db/db.js'
import { sumUseOfPerson } from '../db/stores.js'
import { findNode, listNodeIds, type NodeRow } from '../db/nodes.js'
import { sumStagedBytes, sumStagedBytesOfUser } from '../db/uploads.js'
import { findUser } from '../db/users.js'
import type { Caller } from '../gate/caller.js'
import type { WriteGrant } from '../gate/grants.js'
import { Failure } from '../model/failures.js'
import type { ServiceDeps } from './deps.js'

/** What unfinished uploads of one person may hold together where the quota is less: those given up count for a day. */
export const UNFINISHED_BYTES_MIN = 256 * 1024 * 1024

export interface Space {
  /** Bytes that the node's capacity leaves; until the end of the transaction nobody else takes them. */
  claimable(tx: Tx): Promise<number>
  /** The same of what capacity and disk leave. */
  claimableOnDisk(tx: Tx): Promise<number>
  /** Bytes that the node can still take: its capacity and its disk. */
  freeOnNode(tx: Tx): Promise<number>
  /** The same, with a number that changes with what the node holds in its own copy. */
  look(tx: Tx): Promise<{ freeBytes: number; heldRev: number }>
  /**
   * Bytes that new content of the file may have before the quota of the one who uploads is spent. What an admin puts into
   * a share of others counts for its members and not for the admin.
   */
  freeForUser(tx: Tx, grant: WriteGrant<'file'>): Promise<number>
  /**
   * Bytes that an upload may hold while it is unfinished. They are no use of the quota, so without a bound of their own a
   * person with a small quota could fill the node with uploads that never end. Until the end of a write nobody else of
   * the same person takes them.
   */
  unfinished(tx: Tx, upload: { userId: string; id: string }, canWrite: boolean): Promise<number>
}

export function space(deps: ServiceDeps): Space {
  /** Whatever the disk has; never less than zero. */
  async function capacityLeft(tx: Tx, node: NodeRow | undefined): Promise<number> {
    if (node === undefined || node.capacity === null) return Number.MAX_SAFE_INTEGER
    const used = deps.replica === undefined ? node.used : node.held
    return Math.max(0, node.capacity - used - (await sumStagedBytes(tx, deps.nodeId)))
  }

  /** What capacity leaves, where the disk leaves as much. */
  function onDisk(capacityBytes: number): number {
    return Math.min(capacityBytes, Math.max(0, deps.diskFreeBytes()))
  }

  async function look(tx: Tx): Promise<{ freeBytes: number; heldRev: number }> {
    const node = await findNode(tx, deps.nodeId)
    return { freeBytes: onDisk(await capacityLeft(tx, node)), heldRev: node?.held_rev ?? 0 }
  }

  async function claimable(tx: Tx): Promise<number> {
    const node = await findNode(tx, deps.nodeId)
    if (node === undefined || node.capacity === null) return Number.MAX_SAFE_INTEGER
    // What a local copy holds is the node's own; content that is read through is that of all nodes.
    await tx.lock('nodes', ...(deps.replica === undefined ? await listNodeIds(tx) : [deps.nodeId]))
    return capacityLeft(tx, await findNode(tx, deps.nodeId))
  }

  return {
    claimable,

    claimableOnDisk: async (tx) => onDisk(await claimable(tx)),

    look,

    async freeOnNode(tx) {
      return (await look(tx)).freeBytes
    },

    async freeForUser(tx, grant) {
      const quota = quotaOf(deps, grant.caller)
      if (quota === null || !grant.viewpoint.isMember) return Number.MAX_SAFE_INTEGER
      const used = await sumUseOfPerson(tx, grant.caller)
      // Who is over the quota may still make a file smaller.
      return Math.max(0, quota - used) + (grant.object.size ?? 0)
    },

    async unfinished(tx, { userId, id }, canWrite) {
      const user = await findUser(tx, userId)
      const quota = user?.quota ?? deps.quotaBytes
      // What an admin puts into a share of others is bound by no quota.
      if (user === undefined || quota === null || user.is_admin === 1) return Number.MAX_SAFE_INTEGER
      if (canWrite) await tx.lock('stores', user.root_sid)
      const held = await sumStagedBytesOfUser(tx, userId, id)
      return Math.max(0, Math.max(quota, UNFINISHED_BYTES_MIN) - held)
    },
  }
}

function quotaOf(deps: ServiceDeps, caller: Caller): number | null {
  return caller.quotaBytes ?? deps.quotaBytes
}

export function outOfSpace(): Failure {
  return new Failure('insufficientStorage', 'there is not enough storage space for this content')
}
