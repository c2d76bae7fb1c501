import type { Tx } from '../db/db.js'
import { listAncestorIds, type ObjectRow } from '../db/objects.js'
import { listDeselections } from '../db/nodes.js'
import { findMissingSize, listMissingInFolder } from '../db/replicas.js'
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
  /** The states themselves: on a node with a local copy by one look at the content of all files, on others by none. */
  statesIn(tx: Tx, folder: ObjectRow, here: FolderPresence): Promise<FileStates>
}

export interface FolderPresence {
  /** The node is set not to hold the content of the folder. */
  readonly deselected: boolean
  /** Bytes that the node has for content that is not here yet. */
  readonly freeBytes: number
  /** What a list of the folder's files, all of whose content is here, depends on beside the folder itself. */
  readonly state: string
}

export interface FileStates {
  of(file: ObjectRow): ContentState
  /** Content is on its way to the node: what is said now may not hold for long. */
  readonly isPassing: boolean
}

export function presence(deps: ServiceDeps, space: Space): Presence {
  async function isDeselected(tx: Tx, caller: Caller, sid: string, oid: string): Promise<boolean> {
    if (!caller.nodeDeselects) return false
    const chain = new Set(await listAncestorIds(tx, sid, oid))
    return (await listDeselections(tx, deps.nodeId)).some(
      (folder) => folder.sid === sid && chain.has(folder.oid),
    )
  }

  /** Bytes of the file's content that the node lacks; undefined when it has all that there is. */
  async function missingBytes(tx: Tx, { content }: ObjectRow): Promise<number | undefined> {
    if (content === null) return 0
    return deps.replica === undefined ? undefined : findMissingSize(tx, deps.nodeId, content)
  }

  return {
    isDeselected,

    async stateOf(tx, caller, file) {
      if (await isDeselected(tx, caller, file.sid, file.parent ?? ZERO_OID)) return 'DESELECTED'
      const bytes = await missingBytes(tx, file)
      if (bytes === undefined) return 'AVAILABLE'
      return contentState({
        deselected: false,
        isHere: false,
        spent: isSpent(await space.freeOnNode(tx), bytes),
      })
    },

    async inFolder(tx, caller, folder) {
      const deselected = await isDeselected(tx, caller, folder.sid, folder.oid)
      const { freeBytes, heldRev } = deselected ? { freeBytes: 0, heldRev: 0 } : await space.look(tx)
      const ownCopy = deps.replica === undefined ? '' : ` ${heldRev}`
      return { deselected, freeBytes, state: `${deselected} ${freeBytes === 0}${ownCopy}` }
    },

    async statesIn(tx, folder, { deselected, freeBytes }) {
      const missing =
        deselected || deps.replica === undefined
          ? NOTHING
          : await listMissingInFolder(tx, deps.nodeId, folder)
      return {
        isPassing: missing.size > 0,
        of({ content, size }) {
          const isHere = content !== null && !missing.has(content)
          return contentState({ deselected, isHere, spent: isSpent(freeBytes, size ?? 0) })
        },
      }
    },
  }
}

const NOTHING: ReadonlySet<string> = new Set()

/** Content that does not fit will not come, however much room there is for other content. */
function isSpent(freeBytes: number, bytes: number): boolean {
  return freeBytes === 0 || bytes > freeBytes
}
