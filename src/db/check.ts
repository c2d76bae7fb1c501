/**
 * What `starling check` asks the tables. Everything is read in pages by key, so that a large store is never in memory
 * at once. Each page is one snapshot, and writers commit whole transactions, so what is broken within one page is
 * broken in truth and not half written.
 */
import type { Tx } from './db.js'

export interface CheckedObject {
  sid: string
  oid: string
  parent: string | null
  name: string
  name_key: string
  kind: 'folder' | 'file' | 'mount'
  content: string | null
  size: number | null
  /** Null when there is no such row. */
  blob_size: number | null
  parent_kind: string | null
  store_kind: string | null
}

export function listCheckedObjects(
  tx: Tx,
  after: { sid: string; oid: string },
  rowsMax: number,
): Promise<CheckedObject[]> {
  return tx.all<CheckedObject>(
    `SELECT o.sid, o.oid, o.parent, o.name, o.name_key, o.kind, o.content, o.size,
       b.size AS blob_size, p.kind AS parent_kind, s.kind AS store_kind
     FROM objects o
     LEFT JOIN blobs b ON b.hash = o.content
     LEFT JOIN objects p ON p.sid = o.sid AND p.oid = o.parent
     LEFT JOIN stores s ON s.sid = o.sid
     WHERE (o.sid, o.oid) > ($1, $2) ORDER BY o.sid, o.oid LIMIT $3`,
    after.sid,
    after.oid,
    rowsMax,
  )
}

/** The siblings that hold the same key, the object itself left out. */
export function listNamesakes(
  tx: Tx,
  object: { sid: string; oid: string; parent: string },
  nameKey: string,
): Promise<{ oid: string }[]> {
  return tx.all<{ oid: string }>(
    'SELECT oid FROM objects WHERE sid = $1 AND parent = $2 AND name_key = $3 AND oid <> $4 ORDER BY oid',
    object.sid,
    object.parent,
    nameKey,
    object.oid,
  )
}

/** Keys that several siblings share, which the unique index forbids as long as it is whole. */
export function listSharedKeys(
  tx: Tx,
): Promise<{ sid: string; parent: string; name_key: string; count: number }[]> {
  return tx.all(
    `SELECT sid, parent, name_key, COUNT(*) AS count FROM objects WHERE parent IS NOT NULL
     GROUP BY sid, parent, name_key HAVING COUNT(*) > 1 ORDER BY sid, parent, name_key`,
  )
}

export interface CheckedStore {
  sid: string
  kind: 'root' | 'share'
  used: number
  appdata: string | null
  root_kind: string | null
  root_parent: string | null
  user_id: string | null
  appdata_kind: string | null
  appdata_parent: string | null
  /** The sum of the sizes of its files. */
  bytes: number
}

export function listCheckedStores(
  tx: Tx,
  rootOid: string,
  after: string,
  rowsMax: number,
): Promise<CheckedStore[]> {
  return tx.all<CheckedStore>(
    `SELECT s.sid, s.kind, s.used, s.appdata, r.kind AS root_kind, r.parent AS root_parent, u.id AS user_id,
       a.kind AS appdata_kind, a.parent AS appdata_parent,
       CAST(COALESCE((SELECT SUM(o.size) FROM objects o WHERE o.sid = s.sid), 0) AS BIGINT) AS bytes
     FROM stores s
     LEFT JOIN objects r ON r.sid = s.sid AND r.oid = $1
     LEFT JOIN users u ON u.root_sid = s.sid
     LEFT JOIN objects a ON a.sid = s.sid AND a.oid = s.appdata
     WHERE s.sid > $2 ORDER BY s.sid LIMIT $3`,
    rootOid,
    after,
    rowsMax,
  )
}

/** The stores that have a root row. */
export function listRootedStores(
  tx: Tx,
  rootOid: string,
  after: string,
  rowsMax: number,
): Promise<{ sid: string }[]> {
  return tx.all<{ sid: string }>(
    `SELECT s.sid FROM stores s JOIN objects r ON r.sid = s.sid AND r.oid = $1
     WHERE s.sid > $2 ORDER BY s.sid LIMIT $3`,
    rootOid,
    after,
    rowsMax,
  )
}

/**
 * The objects of a store to which no way leads from its root. UNION ends the walk where a folder comes up again; the
 * store goes along with it because SQLite would otherwise scan the whole store at each step.
 * Objects whose parent has no row are left out: they are found, and named, one by one.
 */
export function listUnreachable(
  tx: Tx,
  store: { sid: string; rootOid: string },
  after: string,
  rowsMax: number,
): Promise<{ oid: string }[]> {
  return tx.all<{ oid: string }>(
    `WITH RECURSIVE reachable (sid, oid) AS (
       SELECT sid, oid FROM objects WHERE sid = $1 AND oid = $2
       UNION
       SELECT o.sid, o.oid FROM reachable r JOIN objects o ON o.sid = r.sid AND o.parent = r.oid
     ),
     lost (sid, oid) AS (
       SELECT sid, oid FROM objects WHERE sid = $1
       EXCEPT
       SELECT sid, oid FROM reachable
     )
     SELECT l.oid FROM lost l
     JOIN objects o ON o.sid = l.sid AND o.oid = l.oid
     JOIN objects p ON p.sid = o.sid AND p.oid = o.parent
     WHERE l.oid > $3 ORDER BY l.oid LIMIT $4`,
    store.sid,
    store.rootOid,
    after,
    rowsMax,
  )
}

/** Whether the way up from an object comes back to it. */
export async function isAboveItself(tx: Tx, sid: string, oid: string): Promise<boolean> {
  const row = await tx.get(
    `WITH RECURSIVE above (sid, oid) AS (
       SELECT sid, parent FROM objects WHERE sid = $1 AND oid = $2
       UNION
       SELECT o.sid, o.parent FROM above a JOIN objects o ON o.sid = a.sid AND o.oid = a.oid
     )
     SELECT 1 AS one FROM above WHERE oid = $2`,
    sid,
    oid,
  )
  return row !== undefined
}

/** People whose root is no store of that kind; `kind` is null when there is no such store at all. */
export function listUsersWithoutStore(
  tx: Tx,
): Promise<{ id: string; root_sid: string; kind: string | null }[]> {
  return tx.all(
    `SELECT u.id, u.root_sid, s.kind FROM users u LEFT JOIN stores s ON s.sid = u.root_sid
     WHERE s.sid IS NULL OR s.kind <> 'root' ORDER BY u.id`,
  )
}

/** Folders of applications that are not folders in the root of their person. */
export function listStraySandboxes(
  tx: Tx,
): Promise<{ user_id: string; app_id: string; sid: string; oid: string; root_sid: string | null }[]> {
  return tx.all(
    `SELECT x.user_id, x.app_id, x.sid, x.oid, u.root_sid FROM sandboxes x
     LEFT JOIN users u ON u.id = x.user_id
     LEFT JOIN objects o ON o.sid = x.sid AND o.oid = x.oid
     WHERE u.id IS NULL OR u.root_sid <> x.sid OR o.oid IS NULL OR o.kind <> 'folder'
     ORDER BY x.user_id, x.app_id`,
  )
}

export function listTokenScopes(
  tx: Tx,
  after: string,
  rowsMax: number,
): Promise<{ device_id: string; scopes: string }[]> {
  return tx.all(
    'SELECT device_id, scopes FROM tokens WHERE device_id > $1 ORDER BY device_id LIMIT $2',
    after,
    rowsMax,
  )
}

/** Addresses that are invited although they are users. */
export function listInvitedUsers(tx: Tx): Promise<{ email: string }[]> {
  return tx.all('SELECT i.email FROM invitees i JOIN users u ON u.email = i.email ORDER BY i.email')
}

export interface CheckedBlob {
  hash: string
  size: number
  place: string | null
  /** The length of small content; null for content that is a file. */
  data_bytes: number | null
  /** Small content itself, where it was asked for. */
  data: Buffer | null
  /** 1 when an object names it. */
  named: number
}

const CHECKED_BLOB = `b.hash, b.size, b.place, LENGTH(b.data) AS data_bytes,
  CASE WHEN EXISTS (SELECT 1 FROM objects o WHERE o.content = b.hash) THEN 1 ELSE 0 END AS named`

export function listCheckedBlobs(
  tx: Tx,
  after: string,
  rowsMax: number,
  content: boolean,
): Promise<CheckedBlob[]> {
  return tx.all<CheckedBlob>(
    `SELECT ${CHECKED_BLOB}, ${content ? 'b.data' : 'NULL AS data'} FROM blobs b
     WHERE b.hash > $1 ORDER BY b.hash LIMIT $2`,
    after,
    rowsMax,
  )
}

export function findCheckedBlob(tx: Tx, hash: string, content: boolean): Promise<CheckedBlob | undefined> {
  return tx.get<CheckedBlob>(
    `SELECT ${CHECKED_BLOB}, ${content ? 'b.data' : 'NULL AS data'} FROM blobs b WHERE b.hash = $1`,
    hash,
  )
}

/** What all nodes say they hold, and what all content comes to. */
export async function sumUse(tx: Tx): Promise<{ counted: number; held: number }> {
  const row = await tx.get<{ counted: number; held: number }>(
    `SELECT CAST(COALESCE((SELECT SUM(used) FROM nodes), 0) AS BIGINT) AS counted,
       CAST(COALESCE((SELECT SUM(size) FROM blobs), 0) AS BIGINT) AS held`,
  )
  return row ?? { counted: 0, held: 0 }
}

export interface CheckedUpload {
  id: string
  node_id: string
  staged: string
  received: number
  used_ms: number
  /** Block hashes in all, and those among them that are in their place and of the right length. */
  blocks: number
  good_blocks: number
}

export function listCheckedUploads(
  tx: Tx,
  block: { blockBytes: number; hashBytes: number },
  after: string,
  rowsMax: number,
): Promise<CheckedUpload[]> {
  return tx.all<CheckedUpload>(
    `SELECT u.id, u.node_id, u.staged, u.received, u.used_ms,
       (SELECT COUNT(*) FROM upload_blocks b WHERE b.upload = u.id) AS blocks,
       (SELECT COUNT(*) FROM upload_blocks b WHERE b.upload = u.id AND b.position >= 0
          AND (b.position + 1) * $1 <= u.received AND LENGTH(b.hash) = $2) AS good_blocks
     FROM uploads u WHERE u.id > $3 ORDER BY u.id LIMIT $4`,
    block.blockBytes,
    block.hashBytes,
    after,
    rowsMax,
  )
}
