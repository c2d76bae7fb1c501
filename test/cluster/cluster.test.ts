import { mkdtemp, rm } from 'node:fs/promises'
import { Agent } from 'node:https'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureCertificate } from '../../src/http/tls.js'
import {
  bytesOf,
  eventually,
  expectBytes,
  expectRefused,
  expectStored,
  part,
  received,
} from '../api/content/support.js'
import { BALANCERS, startBalancer, type Balancer } from '../support/balancer.js'
import { client, type Answer, type Client } from '../support/client.js'
import { steadyPort } from '../support/postgres.js'
import { openRaw, requestHead } from '../support/raw.js'
import { onlooker } from '../support/s3-client.js'
import { startServer, type TestServer } from '../support/server.js'
import { startSwift, type Swift } from '../support/swift.js'

const MIB = 1024 * 1024
const CONTENT = bytesOf(200_000, 1)
const LARGE = bytesOf(33 * MIB, 2)

describe('three nodes over one PostgreSQL and one S3 store', () => {
  let swift: Swift
  let certificates: string
  const nodes: TestServer[] = []
  let email: string
  let token: string

  beforeAll(async () => {
    swift = await startSwift()
    const bucket = swift.bucketName()
    await onlooker(swift).createBucket(bucket)
    certificates = await mkdtemp(join(tmpdir(), 'starling-cluster-'))
    await ensureCertificate(certificates, hostname())
    const tls = { cert: join(certificates, 'cert.pem'), key: join(certificates, 'key.pem') }
    const content = { address: swift.content(bucket), credentials: swift.credentialsFile }
    for (let count = 0; count < 3; count += 1) {
      const [first] = nodes
      const shared = first?.databaseUrl === undefined ? {} : { databaseUrl: first.databaseUrl }
      // A node that is started again must be found where it was.
      const args = ['--port', String(await steadyPort())]
      nodes.push(await startServer('postgres', { content, tls, args, ...shared }))
    }
    email = await node(0).addUser()
    token = await node(0).addToken(email)
  })
  afterAll(async () => {
    for (const server of [...nodes].reverse()) await server.stop()
    await swift.stop()
    await rm(certificates, { recursive: true, force: true })
  })

  function node(index: number): TestServer {
    const found = nodes[index]
    if (found === undefined) throw new Error(`there is no node ${index}`)
    return found
  }

  const idOf = (index: number): string => node(index).installation.nodeId
  const at = (index: number, withToken = token): Client => node(index).client(withToken)
  const everywhere = (withToken = token): Client[] => nodes.map((server) => server.client(withToken))
  const routeOf = (answer: Answer): string | undefined =>
    /^route=([0-9a-f]{32});/.exec(answer.headers['set-cookie']?.[0] ?? '')?.[1]

  it('have ids of their own and know each other', async () => {
    expect(new Set(nodes.map((server) => server.installation.nodeId)).size).toBe(3)
    const { stdout } = await node(1).command('node', 'list', '--json')
    const listed = JSON.parse(stdout) as { id: string; state: string }[]
    expect(listed.map(({ id, state }) => [id, state])).toEqual(
      [0, 1, 2].map((index) => [idOf(index), 'alive']),
    )
  })

  it('see at once what was written through any of them [NODE-9]', async () => {
    for (const [index, writer] of everywhere().entries()) {
      const folder = await writer.folder(`written by ${index}`)
      for (const reader of everywhere()) {
        expect((await reader.get(`/folders/${folder}`)).json['name']).toBe(`written by ${index}`)
      }
      expect((await writer.put(`/folders/${folder}`, { name: `renamed by ${index}` })).status).toBe(200)
      for (const reader of everywhere()) {
        expect((await reader.get(`/folders/${folder}`)).json['name']).toBe(`renamed by ${index}`)
      }
    }
  })

  it('have content that was uploaded through any of them, with the same tags [STATE-15] [NODE-27] [ETAG-6]', async () => {
    for (const [index, writer] of everywhere().entries()) {
      const body = bytesOf(150_000, index + 10)
      const file = await writer.file(`content of ${index}`, 'root', body)
      const answers = await Promise.all(everywhere().map((reader) => reader.get(`/files/${file}/content`)))
      const facts = await Promise.all(everywhere().map((reader) => reader.get(`/files/${file}`)))
      for (const answer of answers) expectBytes(answer.body, body)
      expect(new Set(answers.map((answer) => answer.headers.etag)).size).toBe(1)
      for (const { json } of facts) expect(json['content_state']).toBe('AVAILABLE')
      expect(new Set(facts.map(({ json }) => json.etag)).size).toBe(1)
    }
  })

  it('each say what is true of themselves when one deselects a folder [STATE-14] [NODE-23]', async () => {
    const folder = await at(0).folder('not everywhere')
    const file = await at(0).file('here.bin', folder, CONTENT)
    expect((await node(1).command('node', 'deselect', folder)).status).toBe(0)
    const states = await Promise.all(everywhere().map((reader) => reader.get(`/files/${file}`)))
    expect(states.map(({ json }) => json['content_state'])).toEqual(['AVAILABLE', 'DESELECTED', 'AVAILABLE'])
    expect((await at(1).get(`/files/${file}/content`)).status).toBe(404)
    for (const index of [0, 2]) expectBytes((await at(index).get(`/files/${file}/content`)).body, CONTENT)
    expect((await node(1).command('node', 'select', folder)).status).toBe(0)
    expectBytes((await at(1).get(`/files/${file}/content`)).body, CONTENT)
  })

  it('refuse a token, a user and an application that another one has just removed', async () => {
    const passing = await node(0).addUser({ email: 'passing@x.test' })
    const first = await node(0).addToken(passing)
    const second = await node(0).addToken(passing)
    const app = await node(0).addApp()
    const third = await node(0).addToken(passing, undefined, { app: app.id })
    for (const [given, removal] of [
      [first, () => node(1).revoke(first)],
      [third, () => node(2).command('app', 'remove', app.id)],
      [second, () => node(1).command('user', 'remove', passing)],
    ] as const) {
      for (const reader of everywhere(given)) expect((await reader.get('/folders/root')).status).toBe(200)
      await removal()
      for (const reader of everywhere(given)) expect((await reader.get('/folders/root')).status).toBe(401)
    }
  })

  it('end a download of what is replaced through another one, by a signal or without', async () => {
    const url = node(0).databaseUrl ?? ''
    for (const name of ['signalled', 'unheard']) {
      const file = await at(0).file(name, 'root', LARGE)
      const raw = await openRaw(node(0))
      raw.send(requestHead('GET', `/api/v1.3/files/${file}/content`, token))
      await raw.receive(10_000)
      raw.pause()
      const ear = new pg.Client({ connectionString: url })
      await ear.connect()
      const heard: string[] = []
      ear.on('notification', ({ payload }) => void heard.push(payload ?? ''))
      await ear.query('LISTEN starling')
      if (name === 'unheard') {
        await ear.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE application_name = 'starling signals' AND datname = current_database()`)
      }
      expectStored(await at(1).upload(file, CONTENT))
      if (name === 'signalled') {
        await expect.poll(() => heard, { timeout: 20_000 }).toEqual([`${idOf(1)} ${file.slice(0, 32)}`])
      }
      await ear.end()
      raw.resume()
      const answer = await raw.answer()
      raw.drop()
      expect(answer.isWhole).toBe(false)
      expectBytes(answer.body, LARGE.subarray(0, answer.body.length))
      expectBytes((await at(2).get(`/files/${file}/content`)).body, CONTENT)
    }
  })

  describe.each(BALANCERS)('behind %s', (kind) => {
    let balancer: Balancer
    let api: Client
    const agent = new Agent({ keepAlive: false })

    beforeAll(async () => {
      balancer = await startBalancer(kind, nodes)
      api = client({ ...balancer, agent, token, version: '1.3' })
      // The balancer has looked at all of them.
      await eventually(async () => {
        const served = await Promise.all([0, 1, 2].map((index) => servedBy(pinned(index))))
        expect(served).toEqual([0, 1, 2].map(idOf))
      })
    })
    afterAll(async () => {
      agent.destroy()
      await balancer.stop()
    })

    const pinned = (index: number): Record<string, string> => ({ Cookie: `route=${idOf(index)}` })
    const strictly = (index: number): Record<string, string> => ({
      ...pinned(index),
      'Endpoint-Consistency': 'strict',
    })

    async function servedBy(headers: Record<string, string>): Promise<string | undefined> {
      const answer = await api.get('/folders/root', headers)
      return answer.status === 200 ? routeOf(answer) : undefined
    }

    it('a client with its cookie stays with its node, and one without gets any [NODE-9]', async () => {
      for (const index of [0, 1, 2, 0, 1, 2]) {
        expect(await servedBy(pinned(index))).toBe(idOf(index))
        expect(await servedBy(strictly(index))).toBe(idOf(index))
      }
      const any = await Promise.all(Array.from({ length: 12 }, () => servedBy({})))
      for (const id of any) expect([0, 1, 2].map(idOf)).toContain(id)
      expect(new Set(any).size).toBeGreaterThan(1)
    })

    it('an upload goes on at the node that began it, and is unknown at another [NODE-12] [NODE-13] [UP-90]', async () => {
      const file = await api.file(`chunked behind ${kind}`)
      const begun = await api.upload(file, CONTENT.subarray(0, 100_000), {
        ...strictly(1),
        ...part(0, 99_999),
      })
      expect([begun.status, routeOf(begun)]).toEqual([204, idOf(1)])
      const uploadId = String(begun.headers['upload-id'])
      const last = { 'Upload-ID': uploadId, ...part(100_000, 199_999, 200_000) }
      const rest = CONTENT.subarray(100_000)
      expectRefused(await at(2).upload(file, rest, last), 400, 'BAD_ARGS')
      expectRefused(await at(2).upload(file, rest, { ...last, ...strictly(1) }), 503, 'INTERNAL_ERROR')
      expect((await api.get(`/files/${file}`)).json['content_state']).toBe('SYNCING')
      expect(await received(at(1), file, uploadId)).toBe(100_000)
      const done = await api.upload(file, rest, { ...last, ...strictly(1) })
      expect([done.status, routeOf(done)]).toEqual([204, idOf(1)])
      for (const reader of everywhere()) {
        expectBytes((await reader.get(`/files/${file}/content`)).body, CONTENT)
      }
    })

    it('a large body passes in both directions', async () => {
      const file = await api.file(`large behind ${kind}`, 'root', LARGE)
      expectBytes((await api.get(`/files/${file}/content`)).body, LARGE)
    })

    it('another node takes over from one that is killed, but never for a strict client [NODE-35] [NODE-4] [NODE-5] [NODE-6] [UP-90]', async () => {
      const file = await api.file(`survivor of ${kind}`, 'root', CONTENT)
      await node(1).kill()
      const moved = await api.get(`/files/${file}/content`, pinned(1))
      expect(moved.status).toBe(200)
      expectBytes(moved.body, CONTENT)
      expect([idOf(0), idOf(2)]).toContain(routeOf(moved))
      await api.folder(`made without the one that ${kind} lost`)
      for (let count = 0; count < 3; count += 1) {
        for (const answer of [
          await api.get('/folders/root', strictly(1)),
          await api.post('/folders', { name: 'x', parent: 'root' }, strictly(1)),
          await api.upload(file, 'x', { ...strictly(1), ...part(0, 0) }),
        ]) {
          expect([answer.status, answer.json.type]).toEqual([503, 'INTERNAL_ERROR'])
          expect(answer.headers['set-cookie']).toBeUndefined()
        }
      }
      await node(1).restart()
      await expect.poll(() => servedBy(strictly(1)), { timeout: 60_000 }).toBe(idOf(1))
    })

    it('the balancer speaks like a node when none is there', async () => {
      await Promise.all(nodes.map((server) => server.kill()))
      const answer = await api.get('/folders/root')
      expect([answer.status, answer.headers['content-type'], answer.json.type]).toEqual([
        503,
        'application/json',
        'INTERNAL_ERROR',
      ])
      await Promise.all(nodes.map((server) => server.restart()))
      await expect
        .poll(() => Promise.all([0, 1, 2].map((index) => servedBy(strictly(index)))), { timeout: 60_000 })
        .toEqual([0, 1, 2].map(idOf))
    })
  })

  it('leave nothing broken behind', async () => {
    for (const server of nodes) expect((await server.command('check')).stdout).toBe('no broken invariant\n')
  })
})
