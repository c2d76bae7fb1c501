/** Moves across the boundary of a store: into a share, out of it, from one to another. */
import type { Tx } from '../db/db.js'
import { copyBelow, copyDeselections, copyTop, listSubtree, type Renewed } from '../db/moves.js'
import { deleteSubtree, listStagedInSubtree, type ObjectRow } from '../db/objects.js'
import { addStoreUse } from '../db/stores.js'
import { Failure } from '../model/failures.js'
import { nameKey } from '../model/names.js'
import { randomHex } from '../model/secrets.js'
import type { ServiceDeps } from './deps.js'
import { removeStaged } from './release.js'

export const OID_BYTES = 16

export interface Crossed {
  readonly object: ObjectRow
  readonly objects: number
  readonly bytes: number
}

/**
 * Takes an object and everything below it into a folder of another store. Ids begin with the store's, so each object
 * gets a new one, and its second half is new as well: moved back it is not the object of before. What was being uploaded
 * is given up with the old ids; content stays where it is.
 */
export async function moveAcross(
  tx: Tx,
  deps: ServiceDeps,
  object: ObjectRow,
  to: { sid: string; parent: string; name: string },
): Promise<Crossed> {
  const subtree = await listSubtree(tx, object.sid, object.oid)
  // Nested shares do not exist, and taking people out of a share without a word would lose their data.
  if (subtree.some(({ kind }) => kind === 'mount')) {
    throw new Failure('badArgs', 'a folder that holds shared folders cannot be moved into a shared folder')
  }
  const staged = await listStagedInSubtree(tx, object.sid, object.oid)
  const newOids = new Map(subtree.map(({ oid }) => [oid, randomHex(OID_BYTES)]))
  const moved = await copyTop(tx, object, {
    ...to,
    oid: renewed(newOids, object.oid),
    nameKey: nameKey(to.name),
  })
  const below: Renewed[] = subtree.slice(1).map(({ oid, parent }) => {
    return { oid, newOid: renewed(newOids, oid), newParent: renewed(newOids, parent) }
  })
  await copyBelow(tx, object.sid, to.sid, below)
  await copyDeselections(tx, object.sid, to.sid, [{ oid: object.oid, newOid: moved.oid }, ...below])
  await deleteSubtree(tx, object)
  const bytes = subtree.reduce((sum, { size }) => sum + (size ?? 0), 0)
  await addStoreUse(tx, object.sid, -bytes)
  await addStoreUse(tx, to.sid, bytes)
  tx.afterCommit(() => {
    for (const name of staged) removeStaged(deps, name)
    deps.signal({ sid: object.sid })
  })
  return { object: moved, objects: subtree.length, bytes }
}

function renewed(newOids: ReadonlyMap<string, string>, oid: string): string {
  const newOid = newOids.get(oid)
  if (newOid === undefined) throw new Error(`the object ${oid} is not in the subtree that moves`)
  return newOid
}
