import type { ReadGrant, Tx } from '../gate/grants.js'
import { V1_0, V1_2, within } from '../model/version.js'
import { children, parentPath } from '../service/listing.js'
import type { Call } from './route.js'
import { objectId } from './views.js'

/** The JSON text of Children. */
export async function childrenJson(call: Call, tx: Tx, grant: ReadGrant<'folder'>): Promise<string> {
  const { folders, files } = await children(tx, grant)
  const stateOf = await call.api.presence.statesIn(tx, grant.caller, grant.object, files)
  const { horizon } = grant
  const folderList = folders.map((folder) => call.views.folder(folder, horizon)).join(',')
  const fileList = files.map((file) => call.views.file(file, horizon, stateOf(file))).join(',')
  return `{"folders":[${folderList}],"files":[${fileList}]}`
}

/** Children as the first versions send it, with the folder's own id. */
export async function childrenWithParentJson(
  call: Call,
  tx: Tx,
  grant: ReadGrant<'folder'>,
): Promise<string> {
  const json = await childrenJson(call, tx, grant)
  if (!within(call.version, V1_0, V1_2)) return json
  return `{"parent":"${objectId(grant.object)}",${json.slice(1)}`
}

/** The JSON text of ParentPath. */
export async function pathJson(call: Call, tx: Tx, grant: ReadGrant): Promise<string> {
  const folders = await parentPath(tx, grant)
  return `{"folders":[${folders.map((folder) => call.views.folder(folder, grant.horizon)).join(',')}]}`
}
