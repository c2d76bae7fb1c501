/** The part of the check that is about people, their stores, their tokens and the folders of applications. */
import {
  listCheckedStores,
  listInvitedUsers,
  listStraySandboxes,
  listTokenScopes,
  listUsersWithoutStore,
  type CheckedStore,
} from '../db/check.js'
import type { Db } from '../db/db.js'
import { Failure } from '../model/failures.js'
import { formatId, ZERO_OID } from '../model/ids.js'
import { parseScopes } from '../model/scopes.js'
import { finding, pages, type Finding } from './finding.js'

const PAGE_ROWS = 1000

export async function* checkPeople(db: Db): AsyncGenerator<Finding> {
  yield* checkStores(db)
  for (const user of await db.read(listUsersWithoutStore)) {
    const what = user.kind === null ? 'does not exist' : `is of the kind ${user.kind}`
    yield finding(
      'user-store',
      user.id,
      `The root of this user is the store ${user.root_sid}, which ${what}.`,
    )
  }
  for (const sandbox of await db.read(listStraySandboxes)) {
    const object = formatId(sandbox.sid, sandbox.oid)
    const whose = `of application ${sandbox.app_id} for user ${sandbox.user_id}`
    yield finding('sandbox-store', object, `The folder ${whose} is no folder in the root of that user.`)
  }
  yield* checkTokens(db)
  for (const { email } of await db.read(listInvitedUsers)) {
    yield finding('invitee-user', email, 'The address is a user and still has a code to become one.')
  }
}

async function* checkStores(db: Db): AsyncGenerator<Finding> {
  const stores = pages<CheckedStore>(db, PAGE_ROWS, (tx, last, rowsMax) =>
    listCheckedStores(tx, ZERO_OID, last?.sid ?? '', rowsMax),
  )
  for await (const store of stores) yield* checkStore(store)
}

function* checkStore(store: CheckedStore): Generator<Finding> {
  const { sid } = store
  if (store.root_kind === null) yield finding('store-root', sid, 'The store has no root folder.')
  else if (store.root_kind !== 'folder') yield finding('store-root', sid, `The root is a ${store.root_kind}.`)
  if (store.root_parent !== null) {
    const subject = formatId(sid, ZERO_OID)
    yield finding('root-parent', subject, `The root folder has a parent, ${store.root_parent}.`)
  }
  if (store.kind === 'root' && store.user_id === null) {
    yield finding('store-user', sid, 'The store is the root of no user.')
  }
  if (store.used !== store.bytes) {
    const detail = `The store counts ${store.used} bytes where its files have ${store.bytes}.`
    yield finding('store-used', sid, detail)
  }
  const isInRoot = store.appdata_kind === 'folder' && store.appdata_parent === ZERO_OID
  if (store.appdata !== null && !isInRoot) {
    const detail = `The folder of applications, ${store.appdata}, is no folder directly in the root.`
    yield finding('store-appdata', sid, detail)
  }
}

async function* checkTokens(db: Db): AsyncGenerator<Finding> {
  const tokens = pages<{ device_id: string; scopes: string }>(db, PAGE_ROWS, (tx, last, rowsMax) =>
    listTokenScopes(tx, last?.device_id ?? '', rowsMax),
  )
  for await (const { device_id, scopes } of tokens) {
    const refusal = refusalOf(() => parseScopes(scopes))
    if (refusal !== undefined)
      yield finding('token-scopes', device_id, `The token cannot be used: ${refusal}.`)
  }
}

/** The words in which a rule refuses, or undefined. */
export function refusalOf(rule: () => unknown): string | undefined {
  try {
    rule()
    return undefined
  } catch (error) {
    if (error instanceof Failure) return error.message
    throw error
  }
}
