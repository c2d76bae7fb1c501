import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { setTimeout as sleep } from 'node:timers/promises'
import { commandDeps } from '../../src/cli/installation.js'
import { countAdmins } from '../../src/db/users.js'
import { accounts } from '../../src/service/accounts.js'
import { COMMAND_LINE } from '../../src/service/journal.js'
import { ENGINES } from '../support/engines.js'
import { startServer, type TestServer } from '../support/server.js'

describe.each(ENGINES)('the last admins of an organization on %s', (engine) => {
  let server: TestServer

  beforeEach(async () => {
    server = await startServer(engine)
  })

  afterEach(() => server.stop())

  it.each(['demoted', 'removed'])('are never all %s, not even by two who do it at once', async (what) => {
    const { db } = server.installation
    const people = accounts(commandDeps(server.installation, () => undefined))
    const admins = [await server.addUser({ admin: true }), await server.addUser({ admin: true })]
    const results = await Promise.allSettled(
      admins.map((email) =>
        db.write(async (tx) => {
          if (what === 'demoted') await people.setAdmin(tx, COMMAND_LINE, email, false)
          else await people.remove(tx, COMMAND_LINE, email)
          // SQLite has one writer at a time; on PostgreSQL both are inside by now.
          if (engine === 'postgres') await sleep(200)
        }),
      ),
    )
    expect(results.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await db.read(countAdmins)).toBe(1)
  })
})
