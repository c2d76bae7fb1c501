/** Shared folders in a person's own tree: a mount is an object of the root whose id is the share's. */
import type { Tx } from '../db/db.js'
import { deleteObject, findChild, findObject, insertObject } from '../db/objects.js'
import { ZERO_OID } from '../model/ids.js'
import { APPDATA_NAME, nameKey, numberedName } from '../model/names.js'

/**
 * Puts the share at the top of the root and gives the name that it has there: the wanted one, or where that is taken
 * the first free one with a number.
 */
export async function mountShare(
  tx: Tx,
  root: { readonly rootSid: string },
  share: { readonly sid: string; readonly name: string },
  nowMs: number,
): Promise<string> {
  const { rootSid } = root
  await tx.lock('stores', rootSid)
  const name = await freeName(tx, rootSid, share.name)
  await insertObject(tx, {
    sid: rootSid,
    oid: share.sid,
    parent: ZERO_OID,
    name,
    nameKey: nameKey(name),
    kind: 'mount',
    nowMs,
    // The id is the same whenever the person joins; an entity tag of an earlier stay must not come back.
    rev: nowMs,
  })
  return name
}

/** Takes the share out of the root, wherever the person has moved it; nothing happens when it is not there. */
export async function unmountShare(tx: Tx, rootSid: string, sid: string): Promise<void> {
  await tx.lock('stores', rootSid)
  const mount = await findObject(tx, rootSid, sid)
  if (mount?.kind === 'mount') await deleteObject(tx, mount)
}

async function freeName(tx: Tx, rootSid: string, wanted: string): Promise<string> {
  let name = wanted
  for (let number = 2; await isTaken(tx, rootSid, name); number += 1) name = numberedName(wanted, number)
  return name
}

async function isTaken(tx: Tx, rootSid: string, name: string): Promise<boolean> {
  const key = nameKey(name)
  return key === APPDATA_NAME || (await findChild(tx, rootSid, ZERO_OID, key)) !== undefined
}
