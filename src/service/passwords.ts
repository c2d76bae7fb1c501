import type { Tx } from '../db/db.js'
import { deleteUnusedCodes } from '../db/codes.js'
import { deleteResets } from '../db/resets.js'
import { clearSecondFactor } from '../db/second-factor.js'
import { deleteSessions } from '../db/sessions.js'
import { setUserPassword, type UserRow } from '../db/users.js'
import type { PersonGrant } from '../gate/grants.js'
import { Failure } from '../model/failures.js'
import { checkPassword } from '../model/people.js'
import type { ServiceDeps } from './deps.js'
import { pooledHasher } from './hasher.js'
import { record, type Actor } from './journal.js'

export interface Passwords {
  /** Ends the web sessions of the person; tokens live on. 404 for an account that a directory manages. */
  set(tx: Tx, grant: PersonGrant, passwordHash: string): Promise<void>
  /** Nobody signs in as the person until a password is set again. */
  disable(tx: Tx, grant: PersonGrant): Promise<void>
  /** Sign-in asks for the password alone from now on. */
  removeSecondFactor(tx: Tx, grant: PersonGrant): Promise<void>
}

/** For the command line. It takes its time, so it is done before a transaction begins. */
export async function hashPassword(password: string, lengthMin: number): Promise<string> {
  checkPassword(password, lengthMin)
  return pooledHasher().hash(password)
}

export function passwords(deps: ServiceDeps): Passwords {
  return {
    set: (tx, { caller, person }, passwordHash) => changePassword(tx, deps, caller, person, passwordHash),

    disable: (tx, { caller, person }) => changePassword(tx, deps, caller, person, null),

    async removeSecondFactor(tx, { caller, person }) {
      if (person.second_factor === null) return
      await clearSecondFactor(tx, person.id)
      const atMs = deps.now()
      await record(tx, caller, { atMs, action: 'user.second-factor.off', subject: person.email })
    },
  }
}

/** Sets or disables the password of a person whose row is locked. */
export async function changePassword(
  tx: Tx,
  deps: ServiceDeps,
  actor: Actor,
  person: UserRow,
  passwordHash: string | null,
): Promise<void> {
  if (person.is_external === 1) {
    throw new Failure('notFound', `the password of ${person.email} is not managed here`)
  }
  await setUserPassword(tx, person.id, passwordHash)
  await deleteSessions(tx, person.id)
  await deleteResets(tx, person.id)
  if (passwordHash === null) await deleteUnusedCodes(tx, person.id)
  const action = passwordHash === null ? 'user.password.disable' : 'user.password'
  await record(tx, actor, { atMs: deps.now(), action, subject: person.email })
}
