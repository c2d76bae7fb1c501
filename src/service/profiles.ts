/** What people change about themselves in a browser. */
import type { Tx } from '../db/db.js'
import { findUser } from '../db/users.js'
import type { Person } from '../gate/person.js'
import { Failure } from '../model/failures.js'
import { personName } from '../model/people.js'
import { renamePerson, type Accounts } from './accounts.js'
import type { OpenedSession, Sessions } from './sessions.js'

export interface Profiles {
  rename(tx: Tx, person: Person, names: { firstName: string; lastName: string }): Promise<void>
  /** Ends every other session; this one goes on under the new secret that is returned. */
  setPassword(tx: Tx, person: Person, passwordHash: string, agent: string): Promise<OpenedSession>
}

export function profiles(deps: { now: () => number; accounts: Accounts; sessions: Sessions }): Profiles {
  return {
    async rename(tx, person, names) {
      const firstName = personName(names.firstName, 'first_name')
      const lastName = personName(names.lastName, 'last_name')
      await tx.lock('users', person.userId)
      const user = await findUser(tx, person.userId)
      if (user !== undefined) await renamePerson(tx, deps, person, user, { firstName, lastName })
    },

    async setPassword(tx, person, passwordHash, agent) {
      if (person.isExternal) throw new Failure('notFound', 'your password is not kept here')
      await deps.accounts.setPassword(tx, person, person.email, passwordHash)
      await deps.sessions.endAll(tx, person.userId)
      return deps.sessions.renew(tx, person, agent)
    },
  }
}
