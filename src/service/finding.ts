import type { Replica } from '../blob/replica.js'
import type { BlobStore } from '../blob/store.js'
import type { Staging } from '../blob/staging.js'
import type { Db, Tx } from '../db/db.js'

/** What must always hold, by the name under which its breach is reported. */
export type Invariant =
  | 'object-store'
  | 'object-content'
  | 'object-size'
  | 'parent-missing'
  | 'parent-not-folder'
  | 'folder-cycle'
  | 'unreachable'
  | 'name-rules'
  | 'name-key'
  | 'name-duplicate'
  | 'store-root'
  | 'root-parent'
  | 'store-user'
  | 'store-used'
  | 'store-appdata'
  | 'mount-stray'
  | 'mount-name'
  | 'mount-missing'
  | 'mount-place'
  | 'share-store'
  | 'share-empty'
  | 'share-owner'
  | 'membership-effective'
  | 'membership-basis'
  | 'membership-left'
  | 'membership-missing'
  | 'invitation-member'
  | 'permission-bits'
  | 'group-id'
  | 'user-store'
  | 'sandbox-store'
  | 'token-scopes'
  | 'invitee-user'
  | 'blob-missing'
  | 'blob-length'
  | 'blob-hash'
  | 'blob-unreadable'
  | 'blob-orphan'
  | 'blob-leftover'
  | 'node-used'
  | 'replica-missing'
  | 'replica-length'
  | 'replica-hash'
  | 'replica-unreadable'
  | 'replica-leftover'
  | 'replica-held'
  | 'upload-missing'
  | 'upload-short'
  | 'upload-blocks'
  | 'staged-leftover'

export interface Finding {
  readonly invariant: Invariant
  /** What it is about: the id of an object, a store or a person, the hash or the place of content, ... */
  readonly subject: string
  /** One sentence for the operator. */
  readonly detail: string
}

export interface CheckParts {
  readonly db: Db
  readonly blobs: BlobStore
  readonly staging: Staging
  /** This node's own copy of content, where it keeps one. */
  readonly replica?: Replica | undefined
  readonly nodeId: string
  readonly now: () => number
}

export function finding(invariant: Invariant, subject: string, detail: string): Finding {
  return { invariant, subject, detail }
}

/** All rows of a query by key, a page at a time; no transaction is open while a row is looked at. */
export async function* pages<Row>(
  db: Db,
  rowsMax: number,
  page: (tx: Tx, last: Row | undefined, rowsMax: number) => Promise<Row[]>,
): AsyncGenerator<Row> {
  let last: Row | undefined
  for (;;) {
    const rows = await db.read((tx) => page(tx, last, rowsMax))
    yield* rows
    if (rows.length < rowsMax) return
    last = rows.at(-1)
  }
}
