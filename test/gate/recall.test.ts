import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { commandDeps, openInstallation, type Installation } from '../../src/cli/installation.js'
import { authenticator } from '../../src/gate/authenticate.js'
import { gate, type Gate, type Rule } from '../../src/gate/pipeline.js'
import type { Exchange } from '../../src/http/exchange.js'
import { V1_3 } from '../../src/model/version.js'
import { accounts } from '../../src/service/accounts.js'
import { COMMAND_LINE } from '../../src/service/journal.js'
import { tokens } from '../../src/service/tokens.js'
import { dropDatabase, ENGINES, freshDatabaseUrl } from '../support/engines.js'

const EMAIL = 'somebody@x.test'
const MINUTE_MS = 60_000
const needs = { object: { right: 'read', kind: 'folder', from: 'id' } } as const

describe.each(ENGINES)('a request that was made before on %s', (engine) => {
  let dataDir: string
  let url: string | undefined
  /** The node that answers, and another that changes things. */
  let here: Installation
  let other: Installation
  let nowMs: number
  let uses: number[]
  let runs: number
  let door: Gate

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'starling-gate-'))
    url = await freshDatabaseUrl(engine)
    here = await openInstallation({ dataDir, database: url }, () => undefined)
    other = await openInstallation({ dataDir, database: url }, () => undefined)
    const deps = commandDeps(other, () => undefined)
    const person = { email: EMAIL, firstName: 'Some', lastName: 'Body', isAdmin: false, passwordHash: null }
    await other.db.write((tx) => accounts(deps).add(tx, COMMAND_LINE, person))
    nowMs = Date.now()
    uses = []
    runs = 0
    const { nodeId, db } = here
    const auth = authenticator(
      nodeId,
      () => nowMs,
      (_device, usedMs) => uses.push(usedMs),
    )
    door = gate({ db, auth, nodeId, now: () => nowMs, stateOf: () => Promise.resolve('AVAILABLE') })
  })

  afterEach(async () => {
    await Promise.all([here.close(), other.close()])
    await dropDatabase(url)
    await rm(dataDir, { recursive: true, force: true })
  })

  async function issue(lifetimeSeconds = 0): Promise<string> {
    const asked = { email: EMAIL, scope: 'files.read', appId: undefined, lifetimeSeconds }
    const issued = await other.db.write((tx) =>
      tokens(commandDeps(other, () => undefined)).issue(tx, COMMAND_LINE, asked),
    )
    return issued.access_token
  }

  const rule = (recalls: boolean): Rule<{ id: { alias: 'root' } }, typeof needs> => ({
    ...{ effect: 'read', needs, recalls },
    input: () => ({ id: { alias: 'root' } }),
  })

  interface Asked {
    method?: string
    path?: string
    rawQuery?: string
    headers?: Record<string, string>
    recalls?: boolean
  }

  /** What the gate reads of a request. */
  function ask(token: string, asked: Asked = {}): Promise<string> {
    const {
      method = 'GET',
      path = '/api/v1.3/folders/root',
      rawQuery = '',
      headers = {},
      recalls = true,
    } = asked
    const req = {
      ...{ headers, rawHeaders: ['Authorization', `Bearer ${token}`] },
      headersDistinct: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    }
    const exchange = { method, path, rawQuery, req, client: '127.0.0.1', extraHeaders: {} }
    const incoming = { exchange: exchange as unknown as Exchange, version: V1_3, params: {} }
    return Promise.resolve().then(() =>
      door.run(incoming, V1_3, rule(recalls), ({ caller, grants }) => {
        runs += 1
        return Promise.resolve(`${caller.email} ${path} ${grants.object.object.listing}`)
      }),
    )
  }

  it('has the same result, without another look where the engine keeps results', async () => {
    const token = await issue()
    for (let round = 0; round < 5; round += 1) {
      expect(await ask(token)).toBe(`${EMAIL} /api/v1.3/folders/root 0`)
    }
    expect(runs).toBe(engine === 'sqlite' ? 1 : 5)
  })

  it('is run again for another path, another token, a query, a condition, another method or a strict wish', async () => {
    const token = await issue()
    const others: [string, Asked][] = [
      [token, { path: '/api/v1.0/folders/root' }],
      [await issue(), {}],
      [token, { rawQuery: 'fields=path' }],
      [token, { headers: { 'if-none-match': '"x"' } }],
      [token, { method: 'HEAD' }],
      [token, { headers: { 'endpoint-consistency': 'strict' } }],
      [token, { recalls: false }],
    ]
    await ask(token)
    for (const [by, asked] of others) {
      const before = runs
      await ask(by, asked)
      expect(runs, JSON.stringify(asked)).toBe(before + 1)
      await ask(token)
    }
  })

  it('is refused from the moment at which its token ends, though nothing was written', async () => {
    const token = await issue(60)
    const row = await other.db.read((tx) => tx.get<{ expires_ms: number }>('SELECT expires_ms FROM tokens'))
    const endMs = row?.expires_ms ?? 0
    await ask(token)
    nowMs = endMs - 1
    await ask(token)
    nowMs = endMs
    await expect(ask(token)).rejects.toMatchObject({ kind: 'unauthorized' })
    await expect(ask(token)).rejects.toMatchObject({ kind: 'unauthorized' })
  })

  it('is a use of its token like any other', async () => {
    const token = await issue()
    await ask(token)
    const first = nowMs
    nowMs += MINUTE_MS
    await ask(token)
    await ask(token)
    expect(uses).toEqual([first, nowMs, nowMs])
  })

  it('is refused as soon as its token is revoked, and sees what others changed', async () => {
    const token = await issue()
    await ask(token)
    await other.db.write((tx) => tx.run('UPDATE objects SET listing = listing + 1'))
    expect(await ask(token)).toMatch(/ 1$/)
    await other.db.write((tx) => tx.run('DELETE FROM tokens'))
    await expect(ask(token)).rejects.toMatchObject({ kind: 'unauthorized' })
  })
})
