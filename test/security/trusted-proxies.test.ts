import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { believes } from '../../src/http/proxies.js'
import { openWorld, type World } from '../oauth/support.js'
import { ENGINES } from '../support/engines.js'
import { runCommand } from '../support/server.js'

const PROXY = '127.0.99.7'
const STRANGER = '127.0.98.7'
const FAILURES_MAX = 3

describe.each(ENGINES)('a node to which a proxy speaks TLS (%s)', (engine) => {
  let world: World

  beforeAll(async () => {
    world = await openWorld(engine, {
      args: ['--trusted-proxies', '::1, 127.0.99.0/24', '--failures-max', String(FAILURES_MAX)],
    })
  })
  afterAll(() => world?.stop())

  /** The status for an application that nobody knows. */
  async function guess(from: string, forwarded: string): Promise<number> {
    const answer = await world.call('POST', '/auth/token', {
      from,
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'X-Forwarded-For': forwarded },
      body: 'grant_type=authorization_code&client_id=nobody&client_secret=nothing&code=none',
    })
    return answer.status
  }

  it('counts failures for the client that the proxy names, so that one client does not hold up the others', async () => {
    for (let tries = 0; tries < FAILURES_MAX; tries += 1) {
      expect(await guess(PROXY, '203.0.113.1')).toBe(401)
    }
    expect(await guess(PROXY, '203.0.113.1')).toBe(429)
    expect(await guess(PROXY, '198.51.100.1, 203.0.113.1')).toBe(429)
    expect(await guess(PROXY, '203.0.113.2')).toBe(401)
  })

  it('believes nobody else', async () => {
    for (let tries = 0; tries < FAILURES_MAX; tries += 1) {
      expect(await guess(STRANGER, `203.0.113.${100 + tries}`)).toBe(401)
    }
    expect(await guess(STRANGER, '203.0.113.200')).toBe(429)
  })

  it('gives its metrics without a token to this machine, and not to whom a proxy on it speaks for', async () => {
    const status = async (from: string, headers: Record<string, string>): Promise<number> =>
      (await world.call('GET', '/metrics', { from, headers })).status
    expect(await status(STRANGER, {})).toBe(200)
    for (const from of [PROXY, STRANGER]) {
      expect(await status(from, { 'X-Forwarded-For': '203.0.113.9' })).toBe(401)
      expect(await status(from, { 'X-Forwarded-For': '127.0.0.1' })).toBe(401)
      expect(await status(from, { Forwarded: 'for=127.0.0.1' })).toBe(401)
    }
  })
})

describe('--trusted-proxies', () => {
  it('takes addresses and networks of both kinds', () => {
    const isBelieved = believes(['10.1.2.0/24', '192.0.2.7', '2001:db8::/32', '::1'])
    for (const peer of ['10.1.2.255', '::ffff:10.1.2.3', '192.0.2.7', '2001:db8:1::5', '::1']) {
      expect(isBelieved(peer), peer).toBe(true)
    }
    for (const peer of ['10.1.3.0', '::ffff:10.1.3.0', '192.0.2.8', '2001:db9::1', '::2', '', 'localhost']) {
      expect(isBelieved(peer), peer).toBe(false)
    }
    expect(believes([])('127.0.0.1')).toBe(false)
  })

  it('refuses everything else at the start', async () => {
    for (const text of [
      'balancer',
      '10.0.0.0/33',
      '10.0.0.0/8/8',
      '10.0.0.0/x',
      '10.0.0.1,',
      '*',
      '::1/129',
    ]) {
      const { status, stderr } = await runCommand(['serve', '--data', '/nowhere', '--trusted-proxies', text])
      expect(status, text).toBe(2)
      expect(stderr, text).toContain('--trusted-proxies')
    }
  })
})
