import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bytesOf, holdUpload } from '../api/content/support.js'
import { client, type Answer } from '../support/client.js'
import { dropDatabase, ENGINES, freshDatabaseUrl } from '../support/engines.js'
import { startMiddleman } from '../support/middleman.js'
import { startServer, type StartOptions, type TestServer } from '../support/server.js'

const PROGRAM = fileURLToPath(new URL('../../bin/starling', import.meta.url))

describe.each(ENGINES)('the health of a node on %s', (engine) => {
  async function started(options: StartOptions): Promise<TestServer> {
    const server = await startServer(engine, options)
    onTestFinished(() => server.stop())
    return server
  }

  /** Over a new connection, as somebody who looks from outside. */
  async function ask(server: TestServer, path: string, method = 'GET', token?: string): Promise<Answer> {
    const agent = new Agent({ keepAlive: true })
    try {
      const { host, port, ca } = server
      return await client({ host, port, ca, agent, token, version: '1.3' }).call(method, path, {
        absolute: true,
      })
    } finally {
      agent.destroy()
    }
  }

  it('stops in order from the moment it says that it listens', async () => {
    const server = await started({ args: ['--drain-ms', '200'] })
    expect(await server.terminate()).toBe(0)
    expect(server.log()).toContain('"stopping"')
  })

  it('tells life from readiness [HTTP-38]', async () => {
    const server = await started({})
    for (const path of ['/healthz', '/readyz']) {
      const answer = await ask(server, path)
      expect([answer.status, answer.text, answer.headers['cache-control']]).toEqual([
        200,
        '{"status":"ok"}',
        'no-store',
      ])
      expect((await ask(server, path, 'HEAD')).status).toBe(200)
      expect((await ask(server, path, 'POST')).status).toBe(405)
      const options = await ask(server, path, 'OPTIONS')
      expect([options.status, options.headers.allow]).toEqual([204, 'GET, HEAD, OPTIONS'])
    }
  })

  it.each([1, 2])(
    'is not ready once it is told to stop, and serves on for its time (workers: %i)',
    async (workers) => {
      const server = await started({ workers, args: ['--drain-ms', '600000'] })
      const { token } = await server.person()
      process.kill(server.pid, 'SIGTERM')
      const statuses = async (): Promise<number[]> => {
        const answers = await Promise.all(Array.from({ length: 6 }, () => ask(server, '/readyz')))
        return [...new Set(answers.map(({ status }) => status))]
      }
      // All processes of the node have heard of it.
      await expect.poll(statuses, { timeout: 30_000 }).toEqual([503])
      const unready = await ask(server, '/readyz')
      expect([unready.json.type, unready.headers.connection]).toEqual(['INTERNAL_ERROR', 'close'])
      for (const path of ['/healthz', '/api/v1.3/folders/root']) {
        const answer = await ask(server, path, 'GET', token)
        expect([path, answer.status, answer.headers.connection]).toEqual([path, 200, 'close'])
      }
    },
  )

  it.each([1, 2])(
    'finishes what is under way when its time is over, and ends with 0 (workers: %i)',
    async (workers) => {
      const server = await started({ workers, args: ['--drain-ms', '500', '--stop-ms', '60000'] })
      const { token, api } = await server.person()
      const file = await api.file('under way')
      const held = await holdUpload(server, { token, id: file, body: bytesOf(100_000), sent: 50_000 })
      process.kill(server.pid, 'SIGTERM')
      await expect
        .poll(
          () =>
            ask(server, '/healthz').then(
              () => 'served',
              () => 'refused',
            ),
          { timeout: 30_000 },
        )
        .toBe('refused')
      expect((await held.finish()).status).toBe(204)
      expect(await server.ended()).toBe(0)
    },
  )
})

describe('a node whose PostgreSQL is silent', () => {
  it('can be told to stop while it starts, and while it runs', async () => {
    const address = new URL((await freshDatabaseUrl('postgres')) ?? '')
    onTestFinished(() => dropDatabase(address.href))
    const middleman = await startMiddleman({ host: '127.0.0.1', port: Number(address.port) })
    onTestFinished(() => middleman.stop())
    const far = new URL(address)
    far.port = String(middleman.port)

    const server = await startServer('postgres', { databaseUrl: far.href })
    onTestFinished(() => server.stop())
    middleman.hush()
    const agent = new Agent({ keepAlive: false })
    const { host, port, ca } = server
    const api = client({ host, port, ca, agent, token: undefined, version: '1.3' })
    await expect
      .poll(async () => (await api.call('GET', '/readyz', { absolute: true })).status, { timeout: 30_000 })
      .toBe(503)
    expect((await api.call('GET', '/healthz', { absolute: true })).status).toBe(200)
    expect(await server.terminate()).toBe(0)

    const folder = await mkdtemp(join(tmpdir(), 'starling-starting-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const before = middleman.connections
    const args = [PROGRAM, 'serve', '--data', folder, '--port', '0', '--database', far.href]
    const child = spawn(process.execPath, args, { stdio: 'ignore' })
    const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve([code, signal])))
    await expect.poll(() => middleman.connections, { timeout: 30_000 }).toBeGreaterThan(before)
    child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
    middleman.heal()
  })
})
