import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { setTimeout as sleep } from 'node:timers/promises'
import { commandDeps } from '../../src/cli/installation.js'
import type { Tx } from '../../src/db/db.js'
import { findUserByEmail } from '../../src/db/users.js'
import { accounts } from '../../src/service/accounts.js'
import { invitees } from '../../src/service/invitees.js'
import { COMMAND_LINE } from '../../src/service/journal.js'
import { createStore } from '../../src/service/stores.js'
import { ENGINES } from '../support/engines.js'
import { startServer, type TestServer } from '../support/server.js'

describe.each(ENGINES)('accounts that come and go on %s', (engine) => {
  let server: TestServer

  beforeEach(async () => {
    server = await startServer(engine)
  })

  afterEach(() => server.stop())

  const deps = (): ReturnType<typeof commandDeps> => commandDeps(server.installation, () => undefined)

  /** SQLite has one writer at a time; on PostgreSQL the other one is inside by then. */
  const meanwhile = (): Promise<unknown> => (engine === 'postgres' ? sleep(400) : Promise.resolve())

  it('leave nothing behind that another transaction is just making for them', async () => {
    const { db } = server.installation
    await server.addUser({ admin: true })
    const email = await server.addUser()
    const making = db.write(async (tx) => {
      const user = await findUserByEmail(tx, email)
      if (user === undefined) return
      const nowMs = Date.now()
      const sid = await createStore(tx, { kind: 'share', name: 'Plans' }, nowMs)
      await tx.run('INSERT INTO shares (sid, name, created_ms) VALUES ($1, $2, $3)', sid, 'Plans', nowMs)
      await tx.run(
        `INSERT INTO memberships (user_id, sid, state, direct, effective, name, is_external, created_ms)
         VALUES ($1, $2, 'joined', 3, 3, 'Plans', 1, $3)`,
        user.id,
        sid,
        nowMs,
      )
      await meanwhile()
    })
    await sleep(100)
    await db.write((tx) => accounts(deps()).remove(tx, COMMAND_LINE, email))
    await making
    expect(await db.read((tx) => tx.all('SELECT sid FROM shares'))).toEqual([])
    const check = await server.command('check', '--json')
    expect([check.status, check.stdout]).toEqual([0, '[]\n'])
  })

  it('are never a user and an invitee at once', async () => {
    const { db } = server.installation
    const email = 'new@x.test'
    const add = (tx: Tx): Promise<unknown> =>
      accounts(deps()).add(tx, COMMAND_LINE, {
        email,
        firstName: 'A',
        lastName: 'B',
        isAdmin: false,
        passwordHash: null,
      })
    const invite = (tx: Tx): Promise<unknown> =>
      invitees(deps()).add(tx, COMMAND_LINE, { emailTo: email, emailFrom: '', isExternal: false })
    for (const pair of [
      [add, invite],
      [invite, add],
    ] as const) {
      await Promise.allSettled(
        pair.map(async (step, index) => {
          await sleep(50 * index)
          return db.write(async (tx) => {
            await step(tx)
            await meanwhile()
          })
        }),
      )
      expect(await db.read((tx) => tx.all('SELECT email FROM invitees'))).toEqual([])
      expect((await db.read((tx) => tx.all('SELECT id FROM users WHERE email = $1', email))).length).toBe(1)
      await server.addUser({ admin: true })
      await db.write((tx) => accounts(deps()).remove(tx, COMMAND_LINE, email))
    }
  })

  it('that are made at once for one address are one account and one refusal', async () => {
    const { db } = server.installation
    const results = await Promise.allSettled(
      ['Ann', 'Anna'].map((firstName) =>
        db.write(async (tx) => {
          await accounts(deps()).add(tx, COMMAND_LINE, {
            email: 'ann@x.test',
            firstName,
            lastName: 'B',
            isAdmin: false,
            passwordHash: null,
          })
          await meanwhile()
        }),
      ),
    )
    const refused = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as Error] : [],
    )
    expect(refused.map(({ message }) => message)).toEqual(['ann@x.test is a user already'])
  })
})
