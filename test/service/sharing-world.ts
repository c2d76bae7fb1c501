/** Shared folders and groups without a server: changed through the gate and the verbs, looked at in the tables. */
import type { Tx, Value } from '../../src/db/db.js'
import { toManage } from '../../src/api/share-answers.js'
import type { UserRow } from '../../src/db/users.js'
import { authorize } from '../../src/gate/authorize.js'
import type { Caller } from '../../src/gate/caller.js'
import type { GroupEntry } from '../../src/gate/grants.js'
import type { GroupNeed } from '../../src/gate/group-needs.js'
import type { GrantsOf, Needs } from '../../src/gate/needs.js'
import { OWNER } from '../../src/model/permissions.js'
import { parseScopes } from '../../src/model/scopes.js'
import { V1_3 } from '../../src/model/version.js'
import { accounts } from '../../src/service/accounts.js'
import type { ServiceDeps } from '../../src/service/deps.js'
import { COMMAND_LINE } from '../../src/service/journal.js'
import { sharing } from '../../src/service/sharing-verbs.js'
import type { Engine } from '../support/engines.js'
import { NODE, openWorld } from './check-world.js'
import { passwordQueue } from '../../src/service/password-queue.js'

export type SharingWorld = Awaited<ReturnType<typeof openSharingWorld>>

export async function openSharingWorld(engine: Engine) {
  const world = await openWorld(engine)
  const { db } = world
  const deps: ServiceDeps = {
    nodeId: NODE,
    now: Date.now,
    blobs: world.blobs,
    staging: world.staging,
    turnstile: { isFull: false, enter: () => Promise.resolve({ leave: () => undefined }) },
    replica: undefined,
    askFor: () => undefined,
    signal: () => undefined,
    diskFreeBytes: () => Number.MAX_SAFE_INTEGER,
    uploadLifetimeMs: 1000,
    quotaBytes: null,
    signUpPolicy: 'invited',
    passwordLengthMin: 8,
    hashing: passwordQueue(),
    directory: undefined,
    publicUrl: undefined,
    complain: (message, error) => {
      throw new Error(message, { cause: error })
    },
  }
  const verbs = sharing(deps)

  /** Gives the number of statements that the transaction took, too. */
  async function act<N extends Needs, T>(
    user: UserRow,
    needs: N,
    input: Readonly<Record<string, unknown>>,
    verb: (tx: Tx, grants: GrantsOf<N>) => Promise<T>,
  ): Promise<{ result: T; statements: number }> {
    let statements = 0
    const result = await db.write(async (plain) => {
      const tx = counting(plain, () => (statements += 1))
      const mode = { canWrite: true, nowMs: Date.now() }
      return verb(tx, await authorize(tx, callerOf(user), needs, input, mode))
    })
    return { result, statements }
  }

  function toChange<E extends GroupEntry>(entry: E): GroupNeed<E> {
    return { right: 'group', to: 'change', scopes: ['organization.admin'], from: 'group', entry, by: 'email' }
  }

  return {
    ...world,
    db,
    deps,
    verbs,

    addPeople(count: number, prefix: string): Promise<UserRow[]> {
      return db.write(async (tx) => {
        const people: UserRow[] = []
        for (let number = 0; number < count; number += 1) {
          const email = `${prefix}${number}@x.test`
          const person = { email, firstName: 'A', lastName: 'B', isAdmin: false, passwordHash: null }
          people.push(await accounts(deps).add(tx, COMMAND_LINE, person))
        }
        return people
      })
    },

    async newShare(owner: UserRow, name: string): Promise<string> {
      const needs = { share: { right: 'newShare', scopes: ['acl.write'] } } as const
      const { result } = await act(owner, needs, {}, (tx, grants) =>
        verbs.shares.create(tx, grants.share, { name, isExternal: false }),
      )
      return result.sid
    },

    async newGroup(name: string, people: readonly UserRow[]): Promise<string> {
      const made = await db.write((tx) => verbs.groups.create(tx, COMMAND_LINE, name))
      await db.write(async (tx) => {
        for (const person of people) {
          await tx.run('INSERT INTO group_members (group_id, user_id) VALUES ($1, $2)', made.id, person.id)
        }
      })
      return made.id
    },

    addGroup: (owner: UserRow, sid: string, id: string, permissions: number) =>
      act(owner, { share: toManage('newGroup', 'id') }, { share: sid, id }, (tx, grants) =>
        verbs.shareGroups.add(tx, grants.share, permissions),
      ),

    removeGroup: (owner: UserRow, sid: string, id: string) =>
      act(owner, { share: toManage('group', 'id') }, { share: sid, id }, (tx, grants) =>
        verbs.shareGroups.remove(tx, grants.share),
      ),

    addMember: (owner: UserRow, sid: string, email: string, permissions = OWNER) =>
      act(owner, { share: toManage('newcomer', 'email') }, { share: sid, email }, (tx, grants) =>
        verbs.members.add(tx, grants.share, permissions),
      ),

    leave: (person: UserRow, sid: string) =>
      act(
        person,
        { share: toManage('leaver', 'person') },
        { share: sid, person: { alias: 'me' } },
        (tx, grants) => verbs.members.remove(tx, grants.share),
      ),

    addToGroup: (admin: UserRow, id: string, email: string) =>
      act(admin, { group: toChange('newcomer') }, { group: id, email }, (tx, grants) =>
        verbs.groups.addMember(tx, grants.group),
      ),

    removeFromGroup: (admin: UserRow, id: string, email: string) =>
      act(admin, { group: toChange('member') }, { group: id, email: { email } }, (tx, grants) =>
        verbs.groups.removeMember(tx, grants.group),
      ),

    all: <T>(sql: string, ...values: Value[]): Promise<T[]> => db.read((tx) => tx.all<T>(sql, ...values)),
  }
}

/** Passes everything on and counts what reaches the database. */
function counting(tx: Tx, count: () => void): Tx {
  return {
    get: (sql, ...values) => (count(), tx.get(sql, ...values)),
    recall: (sql, ...values) => (count(), tx.recall(sql, ...values)),
    all: (sql, ...values) => (count(), tx.all(sql, ...values)),
    lists: (sql, ...values) => (count(), tx.lists(sql, ...values)),
    run: (sql, ...values) => (count(), tx.run(sql, ...values)),
    lock: (table, ...keys) => (count(), tx.lock(table, ...keys)),
    afterCommit: (effect) => tx.afterCommit(effect),
  }
}

function callerOf(user: UserRow): Caller {
  return {
    userId: user.id,
    email: user.email,
    rootSid: user.root_sid,
    quotaBytes: null,
    appId: '',
    deviceId: '',
    scopes: parseScopes('acl.read,acl.write,organization.admin'),
    isAdmin: user.is_admin === 1,
    nodeDeselects: false,
    expiresMs: null,
    usedMs: null,
    version: V1_3,
    origin: 'test',
  }
}
