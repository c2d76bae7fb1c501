import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureCertificate } from '../../src/http/tls.js'
import { bytesOf, eventually, expectBytes, expectRefused, part } from '../api/content/support.js'
import { printedJson } from '../cli/support.js'
import { client, type Answer, type Client } from '../support/client.js'
import { dropDatabase, emptyDatabaseUrl } from '../support/engines.js'
import { steadyPort } from '../support/postgres.js'
import { onlooker } from '../support/s3-client.js'
import { runCommand, start, type Running } from '../support/server.js'
import { startSwift, type Swift } from '../support/swift.js'
import { pinnedTo, routeOf, strictlyAt } from '../support/trio.js'

const LARGE = bytesOf(200_000, 1)
const NODES = [0, 1, 2]
const TURNS = 12

/** Takes one node after another and knows nothing of cookies. */
const balancerText = (port: number, certificate: string, nodes: readonly Running[]): string => `
defaults
    mode http
    timeout connect 5s
    timeout client 1m
    timeout server 1m
    retries 3
    option redispatch

frontend clients
    bind 127.0.0.1:${port} ssl crt ${certificate}
    default_backend nodes

backend nodes
    balance roundrobin
${nodes.map((node, index) => `    server node${index} 127.0.0.1:${node.port} ssl verify none`).join('\n')}
`

/** Nodes that are started by flags and environment alone, behind a balancer that leaves all the picking to them. */
describe('three nodes that are started at once on an empty database and an empty bucket', () => {
  let swift: Swift
  let database: string
  let folder: string
  let nodes: Running[]
  let ids: string[]
  let front: ReturnType<typeof spawn>
  let api: Client
  let direct: Client[]
  const agent = new Agent({ keepAlive: false })
  const keepers = new Agent({ keepAlive: true })

  const dataOf = (index: number): string => join(folder, `data-${index}`)
  /** The data folder is all that a command is told. */
  const command = (index: number, ...args: string[]): ReturnType<typeof runCommand> =>
    runCommand([...args, '--data', dataOf(index)])

  beforeAll(async () => {
    swift = await startSwift()
    const bucket = swift.bucketName()
    await onlooker(swift).createBucket(bucket)
    database = (await emptyDatabaseUrl('postgres')) ?? ''
    folder = await mkdtemp(join(tmpdir(), 'starling-contract-'))
    nodes = await Promise.all(
      NODES.map((index) => {
        const stores = ['--database', database, '--content', swift.content(bucket)]
        return start(
          ['serve', '--data', dataOf(index), '--port', '0', '--workers', '2', ...stores],
          swift.env,
        )
      }),
    )
    const shown = await Promise.all(NODES.map((index) => command(index, 'node', 'show', '--json')))
    ids = shown.map((result) => printedJson<{ id: string }>(result).id)
    const email = 'ada@x.test'
    const names = ['--first-name', 'Ada', '--last-name', 'Byron']
    expect((await command(0, 'user', 'add', email, ...names)).status).toBe(0)
    const scope = ['--user', email, '--scope', 'files.read,files.write', '--json']
    const issued = printedJson<{ access_token: string }>(await command(1, 'token', 'add', ...scope))
    await ensureCertificate(folder, hostname())
    const ca = await readFile(join(folder, 'cert.pem'), 'utf8')
    const key = await readFile(join(folder, 'key.pem'), 'utf8')
    await writeFile(join(folder, 'both.pem'), `${ca}\n${key}`)
    const port = await steadyPort()
    await writeFile(join(folder, 'haproxy.cfg'), balancerText(port, join(folder, 'both.pem'), nodes))
    front = spawn('/usr/sbin/haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    const common = { token: issued.access_token, version: '1.3' }
    api = client({ ...common, host: '127.0.0.1', port, ca, agent })
    direct = await Promise.all(
      nodes.map(async (node, index) => {
        const own = await readFile(join(dataOf(index), 'tls', 'cert.pem'), 'utf8')
        return client({ ...common, host: node.host, port: node.port, ca: own, agent: keepers })
      }),
    )
    await eventually(async () => expect((await api.get('/folders/root')).status).toBe(200))
  })
  afterAll(async () => {
    agent.destroy()
    keepers.destroy()
    front?.kill('SIGKILL')
    for (const node of nodes ?? []) {
      if (node.process.exitCode !== null || node.process.signalCode !== null) continue
      process.kill(-(node.process.pid ?? 0), 'SIGKILL')
      await node.ended
    }
    await dropDatabase(database)
    await swift.stop()
    await rm(folder, { recursive: true, force: true })
  })

  /** The answers to the same request, asked again and again. */
  async function turns(ask: () => Promise<Answer>): Promise<Answer[]> {
    const answers: Answer[] = []
    while (answers.length < TURNS) answers.push(await ask())
    return answers
  }

  const at = (index: number): Client => {
    const found = direct[index]
    if (found === undefined) throw new Error(`there is no node ${index}`)
    return found
  }

  it('are one installation with three ids, and any of them serves who has no cookie [NODE-9]', async () => {
    expect(new Set(ids).size).toBe(3)
    const served = await turns(() => api.get('/folders/root'))
    expect(new Set(served.map(routeOf))).toEqual(new Set(ids))
    expect(new Set(served.map(({ json }) => json.id)).size).toBe(1)
    const file = await api.file('large.bin', 'root', LARGE)
    for (const index of NODES) expectBytes((await at(index).get(`/files/${file}/content`)).body, LARGE)
  })

  it('serve a session of another node and take it over, unless it is strict [NODE-4] [NODE-5] [NODE-6]', async () => {
    const [first = ''] = ids
    for (const answer of await turns(() => api.get('/folders/root', pinnedTo(first)))) {
      expect([answer.status, ids]).toEqual([200, expect.arrayContaining([routeOf(answer)])])
    }
    const strict = await turns(() => api.get('/folders/root', strictlyAt(first)))
    for (const answer of strict) {
      if (answer.status === 200) expect(routeOf(answer)).toBe(first)
      else {
        expectRefused(answer, 503, 'INTERNAL_ERROR')
        expect(answer.headers['set-cookie']).toBeUndefined()
      }
    }
    expect(new Set(strict.map(({ status }) => status))).toEqual(new Set([200, 503]))
  })

  it('know the uploads that they began themselves, and no others [NODE-12] [NODE-13]', async () => {
    const file = await api.file('chunked.bin')
    const begun = await api.upload(file, LARGE.subarray(0, 100_000), part(0, 99_999))
    expect(begun.status).toBe(204)
    const owner = routeOf(begun) ?? ''
    const last = { 'Upload-ID': String(begun.headers['upload-id']), ...part(100_000, 199_999, 200_000) }
    for (const index of NODES.filter((one) => ids[one] !== owner)) {
      expectRefused(await at(index).upload(file, LARGE.subarray(100_000), last), 400, 'BAD_ARGS')
    }
    let statuses: number[] = []
    await eventually(async () => {
      const answer = await api.upload(file, LARGE.subarray(100_000), { ...last, ...strictlyAt(owner) })
      statuses = [...statuses, answer.status]
      expect([answer.status, routeOf(answer)]).toEqual([204, owner])
    })
    expect(statuses.filter((status) => status !== 204 && status !== 503)).toEqual([])
    for (const index of NODES) expectBytes((await at(index).get(`/files/${file}/content`)).body, LARGE)
  })

  it('heed commands that name a data folder and nothing else [NODE-20] [NODE-23] [NODE-28] [NODE-36]', async () => {
    const parent = await api.folder('folder')
    const file = await api.file('here.bin', parent, LARGE)
    const states = (): Promise<unknown[]> =>
      Promise.all(NODES.map(async (index) => (await at(index).get(`/files/${file}`)).json['content_state']))
    expect((await command(1, 'node', 'deselect', parent)).status).toBe(0)
    expect(await states()).toEqual(['AVAILABLE', 'DESELECTED', 'AVAILABLE'])
    expectRefused(await at(1).upload(file, 'x'), 404, 'NOT_FOUND')
    expect(printedJson(await command(1, 'node', 'show', '--json'))).toMatchObject({
      id: ids[1],
      capacity: null,
      deselected: [parent],
    })
    expect((await command(1, 'node', 'select', parent)).status).toBe(0)
    expect(await states()).toEqual(['AVAILABLE', 'AVAILABLE', 'AVAILABLE'])
    expect((await command(2, 'node', 'capacity', '1')).status).toBe(0)
    expectRefused(await at(2).upload(file, bytesOf(100_000, 2)), 507, 'INSUFFICIENT_STORAGE')
    expect(printedJson(await command(2, 'node', 'show', '--json'))).toMatchObject({ capacity: 1 })
    expect((await at(0).upload(file, bytesOf(100_000, 2))).status).toBe(204)
    const check = await runCommand(['check', '--data', dataOf(0)], { env: swift.env })
    expect(check.stdout).toBe('no broken invariant\n')
  })
})
