import type { Tx } from '../db/db.js'
import { findObject, insideOf, listAncestors, listChildren, type ObjectRow } from '../db/objects.js'
import type { ReadGrant } from '../gate/grants.js'
import { Failure } from '../model/failures.js'
import { formatId, ZERO_OID } from '../model/ids.js'
import { compareNames } from '../model/names.js'

/** The folder whose children a listing shows: that of a mount is the top of its share. */
export async function listedFolder(tx: Tx, { object }: ReadGrant<'folder'>): Promise<ObjectRow> {
  if (object.kind !== 'mount') return object
  const { sid, oid } = insideOf(object)
  const top = await findObject(tx, sid, oid)
  if (top === undefined) throw new Failure('notFound', 'there is no such folder or file')
  return top
}

/** The live children of a folder in name order, folders and files apart. */
export async function children(
  tx: Tx,
  folder: ObjectRow,
): Promise<{ folders: ObjectRow[]; files: ObjectRow[] }> {
  const rows = await listChildren(tx, folder.sid, folder.oid)
  rows.sort((a, b) => compareNames(a.name, b.name))
  const folders: ObjectRow[] = []
  const files: ObjectRow[] = []
  for (const row of rows) (row.kind === 'file' ? files : folders).push(row)
  return { folders, files }
}

/** The folders above an object from the top down, starting at the topmost one that exists for the token. */
export async function parentPath(tx: Tx, grant: ReadGrant): Promise<ObjectRow[]> {
  const { tops } = grant.viewpoint
  const chain = await wayDown(tx, grant)
  if (tops.length === 0) return chain.slice(0, -1)
  const top = chain.findIndex((folder) => idsOf(folder).some((id) => tops.includes(id)))
  return chain.slice(top < 0 ? chain.length : top, -1)
}

/** From the top of the caller's tree, or of a share that is not in it, down to the object itself. */
async function wayDown(tx: Tx, { object, viewpoint }: ReadGrant): Promise<ObjectRow[]> {
  const inStore = (await listAncestors(tx, object.sid, object.oid)).reverse()
  if (object.sid === viewpoint.rootSid) return inStore
  const [share, ...below] = inStore
  if (share === undefined) return []
  if (viewpoint.isMounted) {
    const toMount = await listAncestors(tx, viewpoint.rootSid, share.sid)
    return [...toMount.reverse(), ...below]
  }
  return [{ ...share, name: viewpoint.shareName ?? share.name }, ...below]
}

/** A mounted share has two ids, that of its mount and that of its own store. */
function idsOf({ sid, oid, kind }: ObjectRow): string[] {
  const id = formatId(sid, oid)
  return kind === 'mount' ? [id, formatId(oid, ZERO_OID)] : [id]
}
