import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../../src/gate/person.js'
import { commandDeps, openInstallation, type Installation } from '../../src/cli/installation.js'
import { accounts } from '../../src/service/accounts.js'
import { COMMAND_LINE } from '../../src/service/journal.js'
import { secondFactor } from '../../src/service/second-factor.js'
import { ENGINES, openTestDb, type TestDb } from '../support/engines.js'

const STEP_MS = 30_000

describe.each(ENGINES)('the second factor on %s', (engine) => {
  let opened: TestDb
  let installation: Installation
  let person: Person
  let nowMs = 1_800_000_000_000
  const factor = secondFactor({ now: () => nowMs })
  const { secret } = factor.propose('ada@x.test')
  const codeAt = (ms: number): string =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: ms })
  const accept = (code: string): Promise<boolean> =>
    installation.db.write((tx) => factor.accept(tx, { id: person.userId, secret }, code))

  beforeAll(async () => {
    opened = await openTestDb(engine)
    installation = await openInstallation({ dataDir: opened.dataDir, database: opened.url }, () => undefined)
    const deps = commandDeps(installation, () => undefined)
    const user = await installation.db.write((tx) =>
      accounts(deps).add(tx, COMMAND_LINE, {
        email: 'ada@x.test',
        firstName: 'Ada',
        lastName: 'Byron',
        isAdmin: false,
        passwordHash: null,
      }),
    )
    person = { userId: user.id, email: user.email, deviceId: '', origin: '' } as Person
  })
  afterAll(async () => {
    await installation.close()
    await opened.close()
  })

  test('is turned on by a code that fits, and gives ten recovery codes', async () => {
    const wrong = codeAt(nowMs + 10 * STEP_MS)
    expect(await installation.db.write((tx) => factor.enrol(tx, person, secret, wrong))).toBeUndefined()
    const codes = await installation.db.write((tx) => factor.enrol(tx, person, secret, codeAt(nowMs)))
    expect(new Set(codes).size).toBe(10)
    const stored = await installation.db.read((tx) => tx.all('SELECT hash FROM recovery_codes'))
    expect(stored).toHaveLength(10)
    for (const code of codes ?? []) expect(JSON.stringify(stored)).not.toContain(code.replaceAll('-', ''))
    expect(await accept(codes?.[0]?.toUpperCase() ?? '')).toBe(true)
    expect(await accept(codes?.[0] ?? '')).toBe(false)
    expect(await accept(` ${codes?.[1]?.replaceAll('-', ' ')} `)).toBe(true)
  })

  test('takes each code once, of this step and of the ones beside it [OAUTH-36]', async () => {
    expect(await accept(codeAt(nowMs))).toBe(false)
    nowMs += 3 * STEP_MS
    expect(await accept(codeAt(nowMs - 2 * STEP_MS))).toBe(false)
    expect(await accept(codeAt(nowMs - STEP_MS))).toBe(true)
    expect(await accept(codeAt(nowMs - STEP_MS))).toBe(false)
    expect(await accept(codeAt(nowMs + STEP_MS))).toBe(true)
    // A later code was used: those before it are over.
    expect(await accept(codeAt(nowMs))).toBe(false)
  })

  test('lets one of two win who come with the same code at once [OAUTH-36]', async () => {
    nowMs += 10 * STEP_MS
    const results = await Promise.all(Array.from({ length: 5 }, () => accept(codeAt(nowMs))))
    expect(results.filter((isAccepted) => isAccepted)).toHaveLength(1)
  })
})
