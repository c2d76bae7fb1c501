import type { Tx } from '../db/db.js'
import { listAncestorIds, type ObjectRow } from '../db/objects.js'
import { listDeselections } from '../db/nodes.js'
import type { Caller } from '../gate/caller.js'
import { contentState, type ContentState } from '../model/content-state.js'
import { ZERO_OID } from '../model/ids.js'
import type { ServiceDeps } from './deps.js'
import type { Space } from './space.js'

/** What this node has of files: the truth about content states. */
export interface Presence {
  /** Whether the node is set not to hold what is in the folder, given by its place. */
  isDeselected(tx: Tx, caller: Caller, sid: string, oid: string): Promise<boolean>
  stateOf(tx: Tx, caller: Caller, file: ObjectRow): Promise<ContentState>
  /** What decides the states of the files of one folder, by one look at the folders above. */
  inFolder(tx: Tx, caller: Caller, folder: ObjectRow): Promise<FolderPresence>
}

export interface FolderPresence {
  /** The node is set not to hold the content of the folder. */
  readonly deselected: boolean
  /** The node has no room for content that is not here yet. */
  readonly spent: boolean
}

export function stateIn({ deselected, spent }: FolderPresence, file: ObjectRow): ContentState {
  return contentState({ deselected, hasContent: file.content !== null, spent })
}

export function presence(deps: ServiceDeps, space: Space): Presence {
  async function isDeselected(tx: Tx, caller: Caller, sid: string, oid: string): Promise<boolean> {
    if (!caller.nodeDeselects) return false
    const chain = new Set(await listAncestorIds(tx, sid, oid))
    return (await listDeselections(tx, deps.nodeId)).some(
      (folder) => folder.sid === sid && chain.has(folder.oid),
    )
  }

  async function isSpent(tx: Tx): Promise<boolean> {
    return (await space.freeOnNode(tx)) === 0
  }

  return {
    isDeselected,

    async stateOf(tx, caller, file) {
      const deselected = await isDeselected(tx, caller, file.sid, file.parent ?? ZERO_OID)
      const spent = file.content === null && !deselected && (await isSpent(tx))
      return stateIn({ deselected, spent }, file)
    },

    async inFolder(tx, caller, folder) {
      const deselected = await isDeselected(tx, caller, folder.sid, folder.oid)
      return { deselected, spent: !deselected && (await isSpent(tx)) }
    },
  }
}
