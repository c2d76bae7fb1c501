import type { Tx } from '../db/db.js'
import { insertObject, measureSubtree } from '../db/objects.js'
import { deleteStoreObjects, listStagedInStore } from '../db/removal.js'
import { deleteStore, insertStore } from '../db/stores.js'
import { ZERO_OID } from '../model/ids.js'
import { nameKey } from '../model/names.js'
import { randomHex } from '../model/secrets.js'
import type { ServiceDeps } from './deps.js'
import { releaseContents, removeStaged } from './release.js'

const SID_BYTES = 16

/** An empty store with its root folder; gives its id. */
export async function createStore(
  tx: Tx,
  store: { readonly kind: 'root' | 'share'; readonly name: string },
  nowMs: number,
): Promise<string> {
  const sid = randomHex(SID_BYTES)
  await insertStore(tx, sid, store.kind, nowMs)
  await insertObject(tx, {
    sid,
    oid: ZERO_OID,
    parent: null,
    name: store.name,
    nameKey: nameKey(store.name),
    kind: 'folder',
    nowMs,
  })
  return sid
}

/**
 * Everything in a store goes, and the store with it. What refers to the store itself (the person or the share, the mounts
 * of a share) must be gone before; gives what was in it, for the change log.
 */
export async function destroyStore(
  tx: Tx,
  deps: ServiceDeps,
  sid: string,
): Promise<{ objects: number; bytes: number }> {
  await tx.lock('stores', sid)
  const gone = await measureSubtree(tx, sid, ZERO_OID)
  const staged = await listStagedInStore(tx, sid)
  await deleteStoreObjects(tx, sid)
  await releaseContents(tx, deps, gone.contents)
  await deleteStore(tx, sid)
  tx.afterCommit(() => {
    for (const name of staged) removeStaged(deps, name)
    deps.signal({ sid })
  })
  return { objects: gone.objects, bytes: gone.bytes }
}
