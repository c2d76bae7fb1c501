import type { Tx } from '../db/db.js'
import { renameMembership } from '../db/memberships.js'
import {
  deleteSubtree,
  findChild,
  insertObject,
  insideOf,
  listAncestorIds,
  listMountsInSubtree,
  listStagedInSubtree,
  measureSubtree,
  placeObject,
  type ObjectRow,
} from '../db/objects.js'
import { isSandbox } from '../db/sandboxes.js'
import { addStoreUse, findStore } from '../db/stores.js'
import type { Caller } from '../gate/caller.js'
import type { InsertGrant, WriteGrant } from '../gate/grants.js'
import { Failure } from '../model/failures.js'
import { formatId, ZERO_OID } from '../model/ids.js'
import { APPDATA_NAME, nameKey } from '../model/names.js'
import { randomHex } from '../model/secrets.js'
import type { ServiceDeps } from './deps.js'
import { record } from './journal.js'
import { moveAcross, OID_BYTES } from './moves.js'
import { releaseContents, removeStaged } from './release.js'
import { leaveShares } from './sharing.js'

/** Where an object is to be. */
interface Destination {
  readonly sid: string
  readonly oid: string
  readonly name: string
}

export interface Tree {
  create(tx: Tx, parent: InsertGrant, kind: 'folder' | 'file', name: string): Promise<ObjectRow>
  /**
   * Renames and moves; what is not given stays. The same name and place change nothing. The name of a share, mounted or
   * external, is the caller's own for it.
   */
  place(
    tx: Tx,
    grant: WriteGrant,
    to: { parent?: InsertGrant | undefined; name?: string | undefined },
  ): Promise<ObjectRow>
  /** A share that is deleted is left; so are those that are mounted in a folder that is deleted. */
  remove(tx: Tx, grant: WriteGrant): Promise<void>
}

export function tree(deps: ServiceDeps): Tree {
  async function placeInStore(
    tx: Tx,
    caller: Caller,
    object: ObjectRow,
    to: Destination,
  ): Promise<ObjectRow> {
    await checkWay(tx, caller, object, to)
    await checkNameFree(tx, caller, to, object)
    const placed = await placeObject(tx, object, { parent: to.oid, name: to.name, nameKey: nameKey(to.name) })
    if (object.kind === 'mount' && object.name !== to.name) {
      await renameMembership(tx, caller.userId, object.oid, to.name)
    }
    await record(tx, caller, {
      atMs: deps.now(),
      action: `${object.kind}.place`,
      subject: idOf(object),
      before: placeOf(object),
      after: placeOf(placed),
    })
    return placed
  }

  async function placeAcross(tx: Tx, caller: Caller, object: ObjectRow, to: Destination): Promise<ObjectRow> {
    if (object.kind === 'mount') {
      throw new Failure('badArgs', 'a shared folder cannot be moved into a shared folder')
    }
    await checkNameFree(tx, caller, to)
    const moved = await moveAcross(tx, deps, object, { sid: to.sid, parent: to.oid, name: to.name })
    await record(tx, caller, {
      atMs: deps.now(),
      action: `${object.kind}.move`,
      subject: idOf(moved.object),
      before: { id: idOf(object), ...placeOf(object) },
      after: { ...placeOf(moved.object), objects: moved.objects, bytes: moved.bytes },
    })
    return moved.object
  }

  /** A share that is not mounted has a name for each of its people and no place. */
  async function renameExternal(
    tx: Tx,
    caller: Caller,
    share: ObjectRow,
    to: { parent?: InsertGrant | undefined; name?: string | undefined },
  ): Promise<ObjectRow> {
    if (to.parent !== undefined) {
      throw new Failure('badArgs', 'a shared folder that is external cannot be moved')
    }
    const { name = share.name } = to
    if (name === share.name) return share
    await renameMembership(tx, caller.userId, share.sid, name)
    await record(tx, caller, {
      atMs: deps.now(),
      action: 'mount.place',
      subject: idOf(share),
      before: { name: share.name },
      after: { name },
    })
    return { ...share, name, rev: share.rev + 1 }
  }

  async function removeSubtree(tx: Tx, caller: Caller, object: ObjectRow): Promise<void> {
    const gone = await measureSubtree(tx, object.sid, object.oid)
    if (gone.mounts > 0) await leave(tx, caller, await listMountsInSubtree(tx, object.sid, object.oid))
    const staged = await listStagedInSubtree(tx, object.sid, object.oid)
    await deleteSubtree(tx, object)
    await addStoreUse(tx, object.sid, -gone.bytes)
    await releaseContents(tx, deps, gone.contents)
    await record(tx, caller, {
      atMs: deps.now(),
      action: `${object.kind}.delete`,
      subject: idOf(object),
      before: { ...placeOf(object), objects: gone.objects - gone.mounts, bytes: gone.bytes },
    })
    tx.afterCommit(() => {
      for (const name of staged) removeStaged(deps, name)
      if (gone.contents.length > 0) deps.signal({ sid: object.sid })
    })
  }

  function leave(tx: Tx, caller: Caller, sids: readonly string[]): Promise<void> {
    return leaveShares(tx, deps, caller, caller, sids)
  }

  return {
    async create(tx, grant, kind, name) {
      const { caller } = grant
      const parent = folderOf(grant)
      await checkNameFree(tx, caller, { ...parent, name })
      const nowMs = deps.now()
      const object = await insertObject(tx, {
        sid: parent.sid,
        oid: randomHex(OID_BYTES),
        parent: parent.oid,
        name,
        nameKey: nameKey(name),
        kind,
        nowMs,
      })
      await record(tx, caller, {
        atMs: nowMs,
        action: `${kind}.create`,
        subject: idOf(object),
        after: placeOf(object),
      })
      return object
    },

    async place(tx, { caller, object }, given) {
      if (object.parent === null) {
        if (object.sid !== caller.rootSid) return renameExternal(tx, caller, object, given)
        throw new Failure('badArgs', 'the root folder cannot be renamed or moved')
      }
      const parent =
        given.parent === undefined ? { sid: object.sid, oid: object.parent } : folderOf(given.parent)
      const to = { ...parent, name: given.name ?? object.name }
      if (to.sid === object.sid && to.oid === object.parent && to.name === object.name) return object
      const reserved = await reservation(tx, caller, object)
      if (reserved === 'container') throw cannotBe(APPDATA_NAME, 'renamed or moved')
      if (reserved === 'sandbox') throw cannotBe('the folder of an application', 'renamed or moved')
      return to.sid === object.sid
        ? placeInStore(tx, caller, object, to)
        : placeAcross(tx, caller, object, to)
    },

    async remove(tx, { caller, object }) {
      if (object.kind === 'mount') return leave(tx, caller, [object.oid])
      if (object.parent === null) {
        if (object.sid !== caller.rootSid) return leave(tx, caller, [object.sid])
        throw new Failure('badArgs', 'the root folder cannot be deleted')
      }
      if ((await reservation(tx, caller, object)) === 'container') throw cannotBe(APPDATA_NAME, 'deleted')
      await removeSubtree(tx, caller, object)
    },
  }
}

function idOf(object: ObjectRow): string {
  return formatId(object.sid, object.oid)
}

function placeOf(object: ObjectRow): { parent: string; name: string } {
  return { parent: formatId(object.sid, object.parent ?? ZERO_OID), name: object.name }
}

/** Where that is put which goes into the folder. */
function folderOf({ object }: InsertGrant): { sid: string; oid: string } {
  if (object.kind === 'file') throw new Failure('badArgs', 'parent is a file')
  return insideOf(object)
}

/** The folder of applications stays where it is; an application's folder may only be deleted. */
async function reservation(
  tx: Tx,
  caller: Caller,
  object: ObjectRow,
): Promise<'container' | 'sandbox' | undefined> {
  if (object.kind !== 'folder' || object.sid !== caller.rootSid) return undefined
  if (object.parent === ZERO_OID && object.name === APPDATA_NAME) {
    return (await findStore(tx, object.sid))?.appdata === object.oid ? 'container' : undefined
  }
  return (await isSandbox(tx, object.sid, object.oid)) ? 'sandbox' : undefined
}

function cannotBe(what: string, done: string): Failure {
  return new Failure('badArgs', `${what} cannot be ${done}`)
}

/** No folder goes below itself, and no share into the folders of applications, which keep to themselves. */
async function checkWay(tx: Tx, caller: Caller, object: ObjectRow, to: Destination): Promise<void> {
  if (object.kind === 'file' || to.oid === object.parent) return
  const chain = await listAncestorIds(tx, to.sid, to.oid)
  if (chain.includes(object.oid)) throw new Failure('badArgs', 'parent is the folder itself or lies below it')
  if (to.sid !== caller.rootSid || to.oid === ZERO_OID) return
  const container = (await findStore(tx, to.sid))?.appdata ?? null
  if (container === null || !chain.includes(container)) return
  if ((await listMountsInSubtree(tx, object.sid, object.oid)).length > 0) {
    throw new Failure('badArgs', `a shared folder cannot be moved into ${APPDATA_NAME}`)
  }
}

async function checkNameFree(tx: Tx, caller: Caller, to: Destination, except?: ObjectRow): Promise<void> {
  const key = nameKey(to.name)
  if (to.sid === caller.rootSid && to.oid === ZERO_OID && key === APPDATA_NAME) {
    throw new Failure('conflict', `the name ${APPDATA_NAME} is reserved in the root folder`)
  }
  const taken = await findChild(tx, to.sid, to.oid, key)
  if (taken === undefined || taken.oid === except?.oid) return
  throw new Failure('conflict', 'a folder or file of that name exists there already')
}
