import type { Tx } from '../db/db.js'
import { deleteInvitee } from '../db/invitees.js'
import { listStagedOfUser } from '../db/removal.js'
import { deleteUser as deleteUserRow, findUser, sealUser, type UserRow } from '../db/users.js'
import { Failure } from '../model/failures.js'
import type { ServiceDeps } from './deps.js'
import { record, type Actor } from './journal.js'
import { removeStaged } from './release.js'
import { removePerson } from './sharing.js'
import { destroyStore } from './stores.js'

/**
 * A person goes with everything that is theirs alone: root, tokens, sessions, codes, uploads, invitations received,
 * places in groups and shared folders. A shared folder that would be left without an owner goes to the heir; one that
 * needs an heir where there is none refuses the whole. Invitations that the person sent stay.
 */
export async function deleteUser(
  tx: Tx,
  deps: ServiceDeps,
  actor: Actor,
  person: UserRow,
  heir: UserRow | undefined,
): Promise<void> {
  const nowMs = deps.now()
  await sealUser(tx, person.id)
  const staged = await listStagedOfUser(tx, person.id)
  await removePerson(tx, deps, actor, person, await heldHeir(tx, heir))
  await deleteInvitee(tx, person.email)
  await deleteUserRow(tx, person.id)
  const gone = await destroyStore(tx, deps, person.root_sid)
  await record(tx, actor, {
    atMs: nowMs,
    action: 'user.delete',
    subject: person.email,
    before: { id: person.id, root: person.root_sid, ...gone },
  })
  tx.afterCommit(() => {
    for (const name of staged) removeStaged(deps, name)
  })
}

/** The heir must still be there, and be an admin, when the shares change hands. */
async function heldHeir(tx: Tx, heir: UserRow | undefined): Promise<UserRow | undefined> {
  if (heir === undefined) return undefined
  await tx.lock('users', heir.id)
  const held = await findUser(tx, heir.id)
  if (held === undefined || held.is_admin !== 1) {
    throw new Failure('conflict', 'the admin who would take over is gone; try again')
  }
  return held
}
