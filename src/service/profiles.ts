/** What people change about themselves in a browser. */
import type { Tx } from '../db/db.js'
import { setNames } from '../db/profiles.js'
import type { Person } from '../gate/person.js'
import { Failure } from '../model/failures.js'
import type { Accounts } from './accounts.js'
import { record } from './journal.js'
import type { OpenedSession, Sessions } from './sessions.js'

const NAME_LENGTH_MAX = 255

export interface Profiles {
  rename(tx: Tx, person: Person, names: { firstName: string; lastName: string }): Promise<void>
  /** Ends every other session; this one goes on under the new secret that is returned. */
  setPassword(tx: Tx, person: Person, passwordHash: string, agent: string): Promise<OpenedSession>
}

export function profiles(deps: { now: () => number; accounts: Accounts; sessions: Sessions }): Profiles {
  return {
    async rename(tx, person, names) {
      const firstName = checkedName(names.firstName, 'the first name')
      const lastName = checkedName(names.lastName, 'the last name')
      await setNames(tx, person.userId, firstName, lastName)
      await record(tx, person, {
        atMs: deps.now(),
        action: 'user.rename',
        subject: person.email,
        before: { firstName: person.firstName, lastName: person.lastName },
        after: { firstName, lastName },
      })
    },

    async setPassword(tx, person, passwordHash, agent) {
      if (person.isExternal) throw new Failure('notFound', 'your password is not kept here')
      await deps.accounts.setPassword(tx, person, person.email, passwordHash)
      await deps.sessions.endAll(tx, person.userId)
      return deps.sessions.renew(tx, person, passwordHash, agent)
    },
  }
}

function checkedName(text: string, what: string): string {
  const name = text.trim()
  if (name === '' || name.length > NAME_LENGTH_MAX || /\p{Cc}/u.test(name)) {
    throw new Failure('badArgs', `${what} must have 1 to ${NAME_LENGTH_MAX} characters`)
  }
  return name
}
