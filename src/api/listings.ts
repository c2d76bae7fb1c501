import type { ReadGrant, Tx } from '../gate/grants.js'
import { versionText } from '../model/version.js'
import { children, listedFolder, parentPath } from '../service/listing.js'
import type { Call } from './route.js'
import { objectId } from './views.js'

/**
 * Children as JSON. It may be megabytes, so it is turned into bytes piece by piece, and kept: the row of the folder
 * tells whether its list is still the same.
 */
export async function childrenJson(
  call: Call,
  tx: Tx,
  grant: ReadGrant<'folder'>,
  shape: { withParent: boolean },
): Promise<Buffer> {
  const { object, viewpoint } = grant
  const folder = await listedFolder(tx, grant)
  const here = await call.api.presence.inFolder(tx, grant.caller, folder)
  // A folder's id is that of the viewpoint, and so is what its children say of their parent.
  const key = `${versionText(call.version)} ${shape.withParent} ${objectId(object)}`
  const state = `${folder.listing} ${here.state}`
  const kept = call.api.listings.get(key, state)
  if (kept !== undefined) return kept
  const states = await call.api.presence.statesIn(tx, folder, here)
  const { folders, files } = await children(tx, folder)
  const text = textInPieces()
  text.add(shape.withParent ? `{"parent":"${objectId(object)}","folders":[` : '{"folders":[')
  folders.forEach((folder, index) =>
    text.add((index === 0 ? '' : ',') + call.views.folder(folder, viewpoint)),
  )
  text.add('],"files":[')
  files.forEach((file, index) =>
    text.add((index === 0 ? '' : ',') + call.views.file(file, viewpoint, states.of(file))),
  )
  text.add(']}')
  const bytes = text.bytes()
  if (!states.isPassing) call.api.listings.keep(key, state, bytes)
  return bytes
}

/** Short enough to be put together while it is still cheap to throw away. */
const PIECE_LENGTH = 32 * 1024

function textInPieces(): { add(text: string): void; bytes(): Buffer } {
  const pieces: Buffer[] = []
  let gathered = ''
  return {
    add(text) {
      gathered += text
      if (gathered.length < PIECE_LENGTH) return
      pieces.push(Buffer.from(gathered))
      gathered = ''
    },
    bytes: () => Buffer.concat([...pieces, Buffer.from(gathered)]),
  }
}

/** The JSON text of ParentPath. */
export async function pathJson(call: Call, tx: Tx, grant: ReadGrant): Promise<string> {
  const folders = await parentPath(tx, grant)
  return `{"folders":[${folders.map((folder) => call.views.folder(folder, grant.viewpoint)).join(',')}]}`
}
