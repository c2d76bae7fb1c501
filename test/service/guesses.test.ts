import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guesses, networkOf, type GuessKey, type Guesses } from '../../src/service/guesses.js'
import { ENGINES, openTestDb, type TestDb } from '../support/engines.js'

const PEER = { purpose: 'test from', subject: '192.0.2.1' }
const ACCOUNT = { purpose: 'test as', subject: 'ada@x.test' }

describe.each(ENGINES)('counting failures on %s', (engine) => {
  let opened: TestDb
  let nowMs = 1_000_000
  let counts: Guesses

  beforeAll(async () => {
    opened = await openTestDb(engine)
    counts = guesses(opened.db, () => nowMs, { failuresMax: 10, windowMs: 60_000 })
  })
  afterAll(() => opened.close())

  const fail = (...keys: GuessKey[]): Promise<void> => opened.db.write((tx) => counts.count(tx, ...keys))

  test('holds up what has failed ten times, and only that, until the window is over [OAUTH-118]', async () => {
    for (let count = 0; count < 9; count += 1) await fail(PEER, ACCOUNT)
    await counts.check(PEER, ACCOUNT)
    await fail(PEER, ACCOUNT)
    nowMs += 500
    await expect(counts.check(ACCOUNT)).rejects.toMatchObject({
      kind: 'tooManyRequests',
      headers: { 'Retry-After': '60' },
    })
    await expect(counts.check({ ...ACCOUNT, subject: 'bob@x.test' }, PEER)).rejects.toMatchObject({
      kind: 'tooManyRequests',
    })
    await counts.check({ ...ACCOUNT, subject: 'bob@x.test' }, { ...PEER, subject: '192.0.2.2' })
    await counts.check({ ...ACCOUNT, purpose: 'another test as' })
    nowMs += 60_000
    await counts.check(PEER, ACCOUNT)
    await fail(PEER)
    await counts.check(PEER, ACCOUNT)
  })

  test('adds up failures that come at once [OAUTH-120]', async () => {
    const key = { purpose: 'test at once', subject: '' }
    await Promise.all(Array.from({ length: 9 }, () => fail(key, PEER)))
    await counts.check(key)
    await fail(key)
    await expect(counts.check(key)).rejects.toMatchObject({ kind: 'tooManyRequests' })
  })

  test('keeps what was typed as a hash alone [AUTH-12]', async () => {
    const typed = 'my secret password, typed into the wrong field'
    await fail({ purpose: 'test as', subject: typed })
    const rows = await opened.db.read((tx) => tx.all('SELECT * FROM failures'))
    expect(rows.length).toBeGreaterThan(0)
    expect(JSON.stringify(rows)).not.toContain(typed)
  })
})

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:DB8:1:2::6', '2001:db8:1:2'],
  ['2001:0db8:0001:0002::', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
])('counts %s as the network %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})
