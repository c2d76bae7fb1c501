import { Agent } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bytesOf, part } from '../api/content/support.js'
import { BALANCERS, startBalancer, type Balancer, type BalancerKind } from '../support/balancer.js'
import { client, type Answer, type Client } from '../support/client.js'
import { pinnedTo, routeOf, startTrio, strictlyAt, type Trio } from '../support/trio.js'

const SMALL = bytesOf(3_000, 3)
const LARGE = bytesOf(200_000, 4)
const CHUNKS = 4
/** The machine has other things to do. */
const PAUSE_MS = 20
/** The balancer looks every second and needs two looks; a machine under load needs more. */
const DRAIN_MS = 5_000

type Kind = 'reads' | 'downloads' | 'writes' | 'uploads in chunks'

interface Load {
  /** What did not go as it should. */
  readonly failures: readonly string[]
  readonly done: ReadonlyMap<Kind, number>
  stop(): Promise<void>
}

describe('nodes that are started anew one after another, under load', () => {
  let trio: Trio
  const balancers = new Map<BalancerKind, Balancer>()

  beforeAll(async () => {
    trio = await startTrio({ args: ['--drain-ms', String(DRAIN_MS)] })
    for (const kind of BALANCERS) balancers.set(kind, await startBalancer(kind, trio.nodes))
  })
  afterAll(async () => {
    for (const balancer of balancers.values()) await balancer.stop()
    await trio.stop()
  })

  function apiOf(kind: BalancerKind, agent: Agent): Client {
    const balancer = balancers.get(kind)
    if (balancer === undefined) throw new Error(`${kind} does not run`)
    return client({ ...balancer, agent, token: trio.token, version: '1.3' })
  }

  async function startLoad(kind: BalancerKind): Promise<Load> {
    const agent = new Agent({ keepAlive: true, maxSockets: 32 })
    const api = apiOf(kind, agent)
    const failures: string[] = []
    const done = new Map<Kind, number>()
    let isOver = false
    const folder = await api.folder(`load of ${kind}`)
    const read = await api.file('read', folder, LARGE)

    async function expectAnswer(what: string, asked: Promise<Answer>, status: number): Promise<Answer> {
      const answer = await asked
      if (answer.status !== status || answer.isCut) {
        throw new Error(`${what}: ${answer.status}${answer.isCut ? ' cut' : ''} ${answer.text.slice(0, 200)}`)
      }
      return answer
    }

    async function expectContent(file: string, content: Buffer, headers = {}): Promise<Answer> {
      const answer = await expectAnswer('read', api.get(`/files/${file}/content`, headers), 200)
      if (!answer.body.equals(content)) throw new Error('other bytes than were written')
      return answer
    }

    let cookie: Record<string, string> = {}
    let writes = 0
    let uploads = 0
    const tasks: Record<Kind, () => Promise<unknown>> = {
      reads: () => expectAnswer('folder', api.get(`/folders/${folder}`), 200),
      // This client keeps its cookie.
      async downloads() {
        const answer = await expectContent(read, LARGE, cookie)
        cookie = pinnedTo(routeOf(answer) ?? '')
      },
      async writes() {
        const name = `written ${(writes += 1)}`
        const made = await expectAnswer('create', api.post('/files', { name, parent: folder }), 201)
        await expectAnswer('upload', api.upload(made.json.id, SMALL), 204)
        await expectContent(made.json.id, SMALL)
        const renamed = api.put(`/files/${made.json.id}`, { name: `${name}, renamed` })
        await expectAnswer('rename', renamed, 200)
        if (writes % 2 === 0) await expectAnswer('delete', api.delete(`/files/${made.json.id}`), 204)
      },
      async 'uploads in chunks'() {
        const file = await api.file(`chunked ${(uploads += 1)}`, folder)
        const bytes = LARGE.length / CHUNKS
        let headers: Record<string, string> = {}
        for (let chunk = 0; chunk < CHUNKS; chunk += 1) {
          const [start, end] = [chunk * bytes, (chunk + 1) * bytes]
          const range = part(start, end - 1, chunk === CHUNKS - 1 ? LARGE.length : '*')
          const sent = api.upload(file, LARGE.subarray(start, end), { ...headers, ...range })
          const answer = await expectAnswer(`chunk ${chunk}`, sent, 204)
          if (chunk > 0) continue
          headers = { 'Upload-ID': String(answer.headers['upload-id']), ...pinnedTo(routeOf(answer) ?? '') }
        }
        await expectContent(file, LARGE)
      },
    }
    // Only HAProxy can make an upload in progress wait for its node.
    const kinds = (Object.keys(tasks) as Kind[]).filter(
      (name) => kind === 'haproxy' || name !== 'uploads in chunks',
    )
    const running = kinds.map(async (name) => {
      for (; !isOver; await delay(PAUSE_MS)) {
        try {
          await tasks[name]()
          done.set(name, (done.get(name) ?? 0) + 1)
        } catch (error) {
          failures.push(`${kind}, ${name}: ${error instanceof Error ? error.message : String(error)}`)
        }
      }
    })
    return {
      failures,
      done,
      async stop() {
        isOver = true
        await Promise.all(running)
        agent.destroy()
      },
    }
  }

  /** 0: nobody answers any more. */
  const readiness = async (index: number): Promise<number> => {
    const agent = new Agent({ keepAlive: false })
    const { host, port, ca } = trio.node(index)
    const api = client({ host, port, ca, agent, token: undefined, version: '1.3' })
    return api.call('GET', '/readyz', { absolute: true }).then(
      ({ status }) => status,
      () => 0,
    )
  }

  it('fail no request, whatever the balancer [NODE-11]', async () => {
    const loads = await Promise.all(BALANCERS.map(startLoad))
    const agent = new Agent({ keepAlive: false })
    const throughHaproxy = apiOf('haproxy', agent)
    for (const index of [0, 1, 2]) {
      const before = loads.map(({ done }) => new Map(done))
      expect(await readiness(index)).toBe(200)
      const ended = trio.node(index).terminate()
      await expect.poll(() => readiness(index), { timeout: 60_000 }).not.toBe(200)
      expect(await ended).toBe(0)
      await trio.node(index).restart()
      expect(await readiness(index)).toBe(200)
      await expect
        .poll(
          async () => {
            const answer = await throughHaproxy.get('/folders/root', strictlyAt(trio.idOf(index)))
            return [answer.status, routeOf(answer)]
          },
          { timeout: 60_000 },
        )
        .toEqual([200, trio.idOf(index)])
      // All kinds went on meanwhile.
      await expect
        .poll(
          () =>
            loads.every(({ done }, at) =>
              [...done].every(([kind, count]) => count > (before[at]?.get(kind) ?? 0)),
            ),
          { timeout: 60_000 },
        )
        .toBe(true)
    }
    for (const load of loads) await load.stop()
    expect(loads.flatMap(({ failures }) => failures)).toEqual([])
    expect(loads.map(({ done }) => [...done.keys()].sort())).toEqual([
      ['downloads', 'reads', 'uploads in chunks', 'writes'],
      ['downloads', 'reads', 'writes'],
    ])
    expect((await trio.node(0).command('check')).stdout).toBe('no broken invariant\n')
  })
})
