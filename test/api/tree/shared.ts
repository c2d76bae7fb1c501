/** Shared folders made beside the running server, for tests of the tree that are not about how people come into them. */
import { insertShare } from '../../../src/db/shares.js'
import { findUserByEmail, type UserRow } from '../../../src/db/users.js'
import { admit, leaveShares } from '../../../src/service/sharing.js'
import { commandDeps } from '../../../src/cli/installation.js'
import { COMMAND_LINE } from '../../../src/service/journal.js'
import { createStore } from '../../../src/service/stores.js'
import type { Client } from '../../support/client.js'
import { RW, type TestServer } from '../../support/server.js'

export const VIEWER = 0
export const EDITOR = 1
export const MANAGER = 2
export const OWNER = 3

export interface Sharer {
  readonly email: string
  readonly token: string
  readonly api: Client
  readonly rootSid: string
  /** The same person with other scopes or another version. */
  with(scope: string, version?: string): Promise<Client>
}

export async function sharer(
  server: TestServer,
  options: { scope?: string; admin?: boolean; quotaBytes?: number } = {},
): Promise<Sharer> {
  const { scope = RW, ...account } = options
  const email = await server.addUser(account)
  const token = await server.addToken(email, scope)
  const { root_sid: rootSid } = await userOf(server, email)
  return {
    email,
    token,
    api: server.client(token),
    rootSid,
    with: async (other, version) => server.client(await server.addToken(email, other), version),
  }
}

export type Place = 'mounted' | 'external'

/** Gives the share's id. */
export async function makeShare(
  server: TestServer,
  name: string,
  ...people: [person: Sharer, permissions: number, place?: Place][]
): Promise<string> {
  const sid = await server.installation.db.write(async (tx) => {
    const nowMs = Date.now()
    const made = await createStore(tx, { kind: 'share', name }, nowMs)
    await insertShare(tx, { sid: made, name }, nowMs)
    return made
  })
  for (const [person, permissions, place] of people) await join(server, sid, person, permissions, place)
  return sid
}

export async function join(
  server: TestServer,
  sid: string,
  person: Sharer,
  permissions: number,
  place: Place = 'mounted',
): Promise<void> {
  const { id: userId, root_sid: rootSid } = await userOf(server, person.email)
  await server.installation.db.write(async (tx) => {
    const share = await tx.get<{ name: string }>('SELECT name FROM shares WHERE sid = $1', sid)
    const isExternal = place === 'external'
    const newcomer = { userId, rootSid, sid, shareName: share?.name ?? '', direct: permissions, isExternal }
    await admit(tx, [newcomer], Date.now())
  })
}

export async function leave(server: TestServer, sid: string, person: Sharer): Promise<void> {
  const user = await userOf(server, person.email)
  const leaver = { userId: user.id, rootSid: user.root_sid, email: user.email }
  const deps = commandDeps(server.installation, () => undefined)
  await server.installation.db.write((tx) => leaveShares(tx, deps, COMMAND_LINE, leaver, [sid]))
}

export async function permit(
  server: TestServer,
  sid: string,
  person: Sharer,
  permissions: number,
): Promise<void> {
  const { id } = await userOf(server, person.email)
  await server.installation.db.write((tx) =>
    tx.run(
      'UPDATE memberships SET direct = $3, effective = $3, rev = rev + 1 WHERE user_id = $1 AND sid = $2',
      id,
      sid,
      permissions,
    ),
  )
}

export async function userOf(server: TestServer, email: string): Promise<UserRow> {
  const user = await server.installation.db.read((tx) => findUserByEmail(tx, email))
  if (user === undefined) throw new Error(`there is no user ${email}`)
  return user
}
