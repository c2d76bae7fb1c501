/** The part of the check that is about folders and files: their names, their parents, the content they name. */
import {
  isAboveItself,
  listCheckedObjects,
  listNamesakes,
  listRootedStores,
  listSharedKeys,
  listUnreachable,
  type CheckedObject,
} from '../db/check.js'
import type { Db } from '../db/db.js'
import { listMountsAmongApplications, listStrayMounts, listUnmounted } from '../db/check-mounts.js'
import { formatId, ZERO_OID } from '../model/ids.js'
import { checkName, nameKey } from '../model/names.js'
import { refusalOf } from './check-people.js'
import { finding, pages, type Finding } from './finding.js'

const PAGE_ROWS = 1000

/** The walk from the root is made anew for each page, so these are larger. */
const UNREACHABLE_PAGE_ROWS = 20_000

export async function* checkTree(db: Db): AsyncGenerator<Finding> {
  const objects = pages<CheckedObject>(db, PAGE_ROWS, (tx, last, rowsMax) =>
    listCheckedObjects(tx, last ?? { sid: '', oid: '' }, rowsMax),
  )
  for await (const object of objects) {
    yield* checkParent(object)
    yield* checkNamedContent(object)
    yield* checkNames(db, object)
  }
  for (const shared of await db.read(listSharedKeys)) {
    const detail = `${shared.count} objects in this folder have the name ${JSON.stringify(shared.name_key)}.`
    yield finding('name-duplicate', formatId(shared.sid, shared.parent), detail)
  }
  yield* checkReachability(db)
  yield* checkMounts(db)
}

function* checkParent(object: CheckedObject): Generator<Finding> {
  const subject = formatId(object.sid, object.oid)
  if (object.store_kind === null) yield finding('object-store', subject, `There is no store ${object.sid}.`)
  if (object.oid === ZERO_OID) return
  if (object.parent === null) {
    yield finding('parent-missing', subject, `The ${object.kind} is no root and has no parent.`)
  } else if (object.parent_kind === null) {
    yield finding(
      'parent-missing',
      subject,
      `The parent of the ${object.kind}, ${object.parent}, does not exist.`,
    )
  } else if (object.parent_kind !== 'folder') {
    const detail = `The parent of the ${object.kind}, ${object.parent}, is a ${object.parent_kind}.`
    yield finding('parent-not-folder', subject, detail)
  }
}

function* checkNamedContent(object: CheckedObject): Generator<Finding> {
  const { content, size, blob_size: blobSize } = object
  const subject = formatId(object.sid, object.oid)
  if (content === null) return
  if (object.kind !== 'file')
    yield finding('object-content', subject, `A ${object.kind} has content, ${content}.`)
  if (blobSize === null) {
    yield finding('object-content', subject, `The content of the ${object.kind}, ${content}, has no row.`)
  } else if (blobSize !== size) {
    yield finding('object-size', subject, `The file says ${size} bytes, its content ${blobSize}.`)
  }
}

async function* checkNames(db: Db, object: CheckedObject): AsyncGenerator<Finding> {
  const { sid, oid, parent } = object
  const subject = formatId(sid, oid)
  const refusal = refusalOf(() => checkName(object.name, 'its name'))
  if (refusal !== undefined)
    yield finding('name-rules', subject, `The ${object.kind} breaks a rule: ${refusal}.`)
  const key = nameKey(object.name)
  if (key === object.name_key) return
  const detail = `The name ${JSON.stringify(object.name)} is filed under ${JSON.stringify(object.name_key)}.`
  yield finding('name-key', subject, detail)
  if (parent === null) return
  // The unique index cannot see that this one shares its name with a sibling.
  for (const other of await db.read((tx) => listNamesakes(tx, { sid, oid, parent }, key))) {
    yield finding(
      'name-duplicate',
      subject,
      `Its sibling ${other.oid} has the same name, ${JSON.stringify(key)}.`,
    )
  }
}

/** In a store without a root nothing is reachable, and the missing root says so already. */
async function* checkReachability(db: Db): AsyncGenerator<Finding> {
  const stores = pages<{ sid: string }>(db, PAGE_ROWS, (tx, last, rowsMax) =>
    listRootedStores(tx, ZERO_OID, last?.sid ?? '', rowsMax),
  )
  for await (const { sid } of stores) {
    const unreachable = pages<{ oid: string; isCycle: boolean }>(
      db,
      UNREACHABLE_PAGE_ROWS,
      async (tx, last, rowsMax) => {
        const rows = await listUnreachable(tx, { sid, rootOid: ZERO_OID }, last?.oid ?? '', rowsMax)
        const found: { oid: string; isCycle: boolean }[] = []
        for (const { oid } of rows) found.push({ oid, isCycle: await isAboveItself(tx, sid, oid) })
        return found
      },
    )
    for await (const { oid, isCycle } of unreachable) {
      const subject = formatId(sid, oid)
      if (isCycle) yield finding('folder-cycle', subject, 'The folder lies below itself.')
      else yield finding('unreachable', subject, 'No way leads from the root of its store to this object.')
    }
  }
}

/** A share is in the root of exactly those people who are in it and want it there, under the name they gave it. */
async function* checkMounts(db: Db): AsyncGenerator<Finding> {
  for (const mount of await db.read(listStrayMounts)) {
    const subject = formatId(mount.sid, mount.oid)
    if (mount.personal_name === null) {
      yield finding('mount-stray', subject, 'The person whose root this is has no share to be mounted here.')
    } else {
      const detail = `The share is called ${JSON.stringify(mount.name)} in the tree and ${JSON.stringify(mount.personal_name)} among the shares.`
      yield finding('mount-name', subject, detail)
    }
  }
  for (const { root_sid: rootSid, sid } of await db.read(listUnmounted)) {
    yield finding(
      'mount-missing',
      formatId(rootSid, sid),
      'The share is not in the root of somebody who is in it.',
    )
  }
  for (const { sid, oid } of await db.read(listMountsAmongApplications)) {
    yield finding('mount-place', formatId(sid, oid), 'The share lies among the folders of applications.')
  }
}
