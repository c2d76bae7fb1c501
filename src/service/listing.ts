import type { Tx } from '../db/db.js'
import { listAncestors, listChildren, type ObjectRow } from '../db/objects.js'
import type { ReadGrant } from '../gate/grants.js'
import { formatId } from '../model/ids.js'
import { compareNames } from '../model/names.js'

/** The live children of a folder in name order, folders and files apart. */
export async function children(
  tx: Tx,
  grant: ReadGrant<'folder'>,
): Promise<{ folders: ObjectRow[]; files: ObjectRow[] }> {
  const rows = await listChildren(tx, grant.object.sid, grant.object.oid)
  rows.sort((a, b) => compareNames(a.name, b.name))
  const folders: ObjectRow[] = []
  const files: ObjectRow[] = []
  for (const row of rows) (row.kind === 'file' ? files : folders).push(row)
  return { folders, files }
}

/** The folders above an object from the top down, starting at the topmost one that exists for the token. */
export async function parentPath(tx: Tx, grant: ReadGrant): Promise<ObjectRow[]> {
  const { object, horizon } = grant
  const chain = (await listAncestors(tx, object.sid, object.oid)).reverse()
  if (horizon.tops.length === 0) return chain.slice(0, -1)
  const top = chain.findIndex((folder) => horizon.tops.includes(formatId(folder.sid, folder.oid)))
  return chain.slice(top < 0 ? chain.length : top, -1)
}
