/** Moves across the boundary of a store: into a share, out of it, from one to another. */
import type { Tx } from '../db/db.js'
import { insertSubtree, listDeselectionsIn, listSubtree } from '../db/moves.js'
import { deselect } from '../db/nodes.js'
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
  const [top, ...below] = await listSubtree(tx, object.sid, object.oid)
  if (top === undefined) throw new Error(`the object ${object.oid} is not where it was`)
  const all = [top, ...below]
  // Nested shares do not exist, and taking people out of a share without a word would lose their data.
  if (all.some(({ kind }) => kind === 'mount')) {
    throw new Failure('badArgs', 'a folder that holds shared folders cannot be moved into a shared folder')
  }
  const staged = await listStagedInSubtree(tx, object.sid, object.oid)
  const newOids = new Map(all.map(({ oid }) => [oid, randomHex(OID_BYTES)]))
  const renewed = (oid: string): string => newOids.get(oid) ?? to.parent
  const { parent, name } = to
  await insertSubtree(tx, to.sid, [
    { ...top, oid: renewed(top.oid), parent, name, name_key: nameKey(name), rev: top.rev + 1 },
    ...below.map((row) => ({ ...row, oid: renewed(row.oid), parent: renewed(row.parent) })),
  ])
  for (const { node_id: nodeId, oid } of await listDeselectionsIn(tx, object.sid)) {
    const newOid = newOids.get(oid)
    if (newOid !== undefined) await deselect(tx, nodeId, to.sid, newOid)
  }
  await deleteSubtree(tx, object)
  const bytes = all.reduce((sum, { size }) => sum + (size ?? 0), 0)
  await addStoreUse(tx, object.sid, -bytes)
  await addStoreUse(tx, to.sid, bytes)
  tx.afterCommit(() => {
    for (const stagedName of staged) removeStaged(deps, stagedName)
    deps.signal({ sid: object.sid })
  })
  const moved = { ...object, sid: to.sid, oid: renewed(top.oid), parent, name, rev: top.rev + 1 }
  return { object: moved, objects: all.length, bytes }
}
