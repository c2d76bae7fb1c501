import type { Tx } from '../db/db.js'
import {
  deleteSubtree,
  findChild,
  insertObject,
  listAncestorIds,
  listStagedInSubtree,
  measureSubtree,
  placeObject,
  type ObjectRow,
} from '../db/objects.js'
import { isSandbox } from '../db/sandboxes.js'
import { addStoreUse, findStore } from '../db/stores.js'
import type { InsertGrant, WriteGrant } from '../gate/grants.js'
import { Failure } from '../model/failures.js'
import { formatId, ZERO_OID } from '../model/ids.js'
import { APPDATA_NAME, nameKey } from '../model/names.js'
import { randomHex } from '../model/secrets.js'
import type { ServiceDeps } from './deps.js'
import { record } from './journal.js'
import { releaseContents, removeStaged } from './release.js'

const OID_BYTES = 16

export interface Tree {
  create(tx: Tx, parent: InsertGrant, kind: 'folder' | 'file', name: string): Promise<ObjectRow>
  /** Renames and moves; what is not given stays. The same name and place change nothing. */
  place(
    tx: Tx,
    grant: WriteGrant,
    to: { parent?: InsertGrant | undefined; name?: string | undefined },
  ): Promise<ObjectRow>
  remove(tx: Tx, grant: WriteGrant): Promise<void>
}

export function tree(deps: ServiceDeps): Tree {
  return {
    async create(tx, grant, kind, name) {
      const parent = folderOf(grant)
      await checkNameFree(tx, parent, name)
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
      await record(tx, grant.caller, {
        atMs: nowMs,
        action: `${kind}.create`,
        subject: idOf(object),
        after: placeOf(object),
      })
      return object
    },

    async place(tx, grant, to) {
      const { object } = grant
      if (object.parent === null) throw new Failure('badArgs', 'the root folder cannot be renamed or moved')
      const parent = to.parent === undefined ? { sid: object.sid, oid: object.parent } : folderOf(to.parent)
      const name = to.name ?? object.name
      if (parent.sid === object.sid && parent.oid === object.parent && name === object.name) return object
      const reserved = await reservation(tx, object)
      if (reserved === 'container') throw cannotBe(APPDATA_NAME, 'renamed or moved')
      if (reserved === 'sandbox') throw cannotBe('the folder of an application', 'renamed or moved')
      if (parent.sid !== object.sid) throw new Error('moves between stores need shared folders')
      await checkNotBelowItself(tx, object, parent.oid)
      await checkNameFree(tx, parent, name, object)
      const placed = await placeObject(tx, object, { parent: parent.oid, name, nameKey: nameKey(name) })
      await record(tx, grant.caller, {
        atMs: deps.now(),
        action: `${object.kind}.place`,
        subject: idOf(object),
        before: placeOf(object),
        after: placeOf(placed),
      })
      return placed
    },

    async remove(tx, grant) {
      const { object } = grant
      if (object.parent === null) throw new Failure('badArgs', 'the root folder cannot be deleted')
      if ((await reservation(tx, object)) === 'container') throw cannotBe(APPDATA_NAME, 'deleted')
      const gone = await measureSubtree(tx, object.sid, object.oid)
      const staged = await listStagedInSubtree(tx, object.sid, object.oid)
      await deleteSubtree(tx, object)
      await addStoreUse(tx, object.sid, -gone.bytes)
      await releaseContents(tx, deps, gone.contents)
      await record(tx, grant.caller, {
        atMs: deps.now(),
        action: `${object.kind}.delete`,
        subject: idOf(object),
        before: { ...placeOf(object), objects: gone.objects, bytes: gone.bytes },
      })
      tx.afterCommit(() => {
        for (const name of staged) removeStaged(deps, name)
        if (gone.contents.length > 0) deps.signal({ sid: object.sid })
      })
    },
  }
}

function idOf(object: ObjectRow): string {
  return formatId(object.sid, object.oid)
}

function placeOf(object: ObjectRow): { parent: string; name: string } {
  return { parent: formatId(object.sid, object.parent ?? ZERO_OID), name: object.name }
}

function folderOf(grant: InsertGrant): ObjectRow {
  if (grant.object.kind === 'file') throw new Failure('badArgs', 'parent is a file')
  return grant.object
}

/** The folder of applications stays where it is; an application's folder may only be deleted. */
async function reservation(tx: Tx, object: ObjectRow): Promise<'container' | 'sandbox' | undefined> {
  if (object.kind !== 'folder') return undefined
  if (object.parent === ZERO_OID && object.name === APPDATA_NAME) {
    return (await findStore(tx, object.sid))?.appdata === object.oid ? 'container' : undefined
  }
  return (await isSandbox(tx, object.sid, object.oid)) ? 'sandbox' : undefined
}

function cannotBe(what: string, done: string): Failure {
  return new Failure('badArgs', `${what} cannot be ${done}`)
}

async function checkNotBelowItself(tx: Tx, object: ObjectRow, parent: string): Promise<void> {
  if (object.kind === 'file' || parent === object.parent) return
  const chain = await listAncestorIds(tx, object.sid, parent)
  if (chain.includes(object.oid)) throw new Failure('badArgs', 'parent is the folder itself or lies below it')
}

async function checkNameFree(
  tx: Tx,
  parent: { sid: string; oid: string },
  name: string,
  except?: ObjectRow,
): Promise<void> {
  if (parent.oid === ZERO_OID && nameKey(name) === APPDATA_NAME) {
    throw new Failure('conflict', `the name ${APPDATA_NAME} is reserved in the root folder`)
  }
  const taken = await findChild(tx, parent.sid, parent.oid, nameKey(name))
  if (taken === undefined || taken.oid === except?.oid) return
  throw new Failure('conflict', 'a folder or file of that name exists there already')
}
