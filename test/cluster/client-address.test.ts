import { mkdtemp, rm } from 'node:fs/promises'
import { Agent } from 'node:https'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureCertificate } from '../../src/http/tls.js'
import { BALANCERS, startBalancer, type Balancer } from '../support/balancer.js'
import { client, type Answer } from '../support/client.js'
import { startServer, type TestServer } from '../support/server.js'

const FAILURES_MAX = 3
const ARGS = [
  ...['--trusted-proxies', '127.0.0.1'],
  ...['--failures-max', String(FAILURES_MAX), '--failures-window', '3600'],
]

describe.each(BALANCERS)('behind %s, as deploy has it', (kind) => {
  let folder: string
  let balancer: Balancer
  const nodes: TestServer[] = []

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'starling-client-address-'))
    await ensureCertificate(folder, hostname())
    const tls = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
    for (let count = 0; count < 3; count += 1) nodes.push(await startServer('sqlite', { tls, args: ARGS }))
    balancer = await startBalancer(kind, nodes)
  })
  afterAll(async () => {
    await balancer?.stop()
    for (const node of nodes) await node.stop()
    await rm(folder, { recursive: true, force: true })
  })

  async function call(
    method: string,
    path: string,
    from: string,
    headers: Record<string, string> = {},
    body = '',
  ): Promise<Answer> {
    const agent = new Agent({ localAddress: from })
    const { host, port, ca } = balancer
    const api = client({ host, port, ca, agent, token: undefined, version: '1.3' })
    try {
      const cookie = `route=${nodes[0]?.installation.nodeId ?? ''}`
      return await api.call(method, path, { absolute: true, headers: { Cookie: cookie, ...headers }, body })
    } finally {
      agent.destroy()
    }
  }

  /** The status for an application that nobody knows. */
  async function guess(from: string, headers: Record<string, string> = {}): Promise<number> {
    const form = { 'Content-Type': 'application/x-www-form-urlencoded', ...headers }
    const body = 'grant_type=authorization_code&client_id=nobody&client_secret=nothing&code=none'
    return (await call('POST', '/auth/token', from, form, body)).status
  }

  it('one client who fails holds up nobody else, whatever it says of itself', async () => {
    await expect
      .poll(async () => (await call('GET', '/healthz', '127.0.50.9')).status, { timeout: 60_000 })
      .toBe(200)
    for (let tries = 0; tries < FAILURES_MAX; tries += 1) {
      expect(await guess('127.0.50.1', { 'X-Forwarded-For': `203.0.113.${tries}` })).toBe(401)
    }
    expect(await guess('127.0.50.1')).toBe(429)
    expect(await guess('127.0.50.1', { 'X-Forwarded-For': '203.0.113.9' })).toBe(429)
    expect(await guess('127.0.50.2')).toBe(401)
    // The way of uploads in progress is no way around.
    const upload = { 'Upload-ID': '0'.repeat(64) }
    for (let tries = 0; tries < FAILURES_MAX; tries += 1) {
      expect(await guess('127.0.50.4', { ...upload, 'X-Forwarded-For': `203.0.113.${tries}` })).toBe(401)
    }
    expect(await guess('127.0.50.4', { ...upload, 'X-Forwarded-For': '203.0.113.9' })).toBe(429)
  })

  it('nobody sees the metrics without a token', async () => {
    for (const headers of [{}, { 'Upload-ID': '0'.repeat(64) }, { 'X-Forwarded-For': '127.0.0.1' }]) {
      expect((await call('GET', '/metrics', '127.0.50.3', headers)).status).toBe(401)
    }
    expect((await call('GET', '/healthz', '127.0.50.3')).status).toBe(200)
  })
})
