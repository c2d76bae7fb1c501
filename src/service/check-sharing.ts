/** The part of the check that is about shared folders, the people in them and groups. */
import {
  listBrokenMemberships,
  listForgottenPeople,
  listGroupIds,
  listInvitedMembers,
  listSharesWithoutStore,
  listStoresWithoutShare,
  listUnknownPermissions,
  listUnownedShares,
  type CheckedMembership,
} from '../db/check-sharing.js'
import type { Db } from '../db/db.js'
import { isGroupId } from '../model/groups.js'
import { finding, pages, type Finding } from './finding.js'

const PAGE_ROWS = 1000

export async function* checkSharing(db: Db): AsyncGenerator<Finding> {
  yield* checkShares(db)
  yield* checkMemberships(db)
  for (const { sid, email } of await db.read(listInvitedMembers)) {
    yield finding('invitation-member', sid, `${email} is invited and a direct member already.`)
  }
  for (const { subject, permissions } of await db.read(listUnknownPermissions)) {
    yield finding('permission-bits', subject, `The permissions ${permissions} hold more than is known.`)
  }
  const groups = pages<{ id: string }>(db, PAGE_ROWS, (tx, last, rowsMax) =>
    listGroupIds(tx, last?.id ?? '', rowsMax),
  )
  for await (const { id } of groups) {
    if (!isGroupId(id)) yield finding('group-id', id, 'The group has an identifier that no request can name.')
  }
}

async function* checkShares(db: Db): AsyncGenerator<Finding> {
  for (const { sid, kind } of await db.read(listSharesWithoutStore)) {
    const what = kind === null ? 'does not exist' : `is of the kind ${kind}`
    yield finding('share-store', sid, `The store of this share ${what}.`)
  }
  for (const { sid } of await db.read(listStoresWithoutShare)) {
    yield finding('share-store', sid, 'The store is that of a share, and there is none.')
  }
  for (const { sid, people } of await db.read(listUnownedShares)) {
    if (people === 0) yield finding('share-empty', sid, 'Nobody is in this share.')
    else yield finding('share-owner', sid, `Of the people in this share (${people}) none may manage it.`)
  }
}

async function* checkMemberships(db: Db): AsyncGenerator<Finding> {
  for (const membership of await db.read(listBrokenMemberships)) yield membershipFinding(membership)
  for (const { user_id, sid, group_id } of await db.read(listForgottenPeople)) {
    const detail = `The group ${group_id} is in the share and the user in the group, but not in the share.`
    yield finding('membership-missing', `${sid} ${user_id}`, detail)
  }
}

function membershipFinding({ user_id, sid, state, direct, effective, given }: CheckedMembership): Finding {
  const subject = `${sid} ${user_id}`
  if (state === 'left') {
    return finding('membership-left', subject, 'The user has left the share and still has permissions in it.')
  }
  if (direct === null && given === null) {
    return finding('membership-basis', subject, 'Neither a grant nor a group lets the user into the share.')
  }
  const detail = `The permissions ${effective} are not those of the grant (${direct ?? 'none'}) and of the groups (${given ?? 'none'}).`
  return finding('membership-effective', subject, detail)
}
