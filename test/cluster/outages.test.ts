import { Agent } from 'node:https'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  begin,
  bytesOf,
  expectBytes,
  expectRefused,
  expectStored,
  holdUpload,
  part,
  received,
} from '../api/content/support.js'
import {
  addGroup,
  addMember,
  addShareGroup,
  makePeople,
  makeShare,
  remove,
  takeOut,
  VIEWER,
} from '../api/people/cast.js'
import { startBalancer, type Balancer } from '../support/balancer.js'
import { client, type Answer, type Client } from '../support/client.js'
import { startMiddleman, type Middleman } from '../support/middleman.js'
import { CAREFUL, findBinaries, startCluster, type Cluster } from '../support/postgres.js'
import { openRaw, requestHead } from '../support/raw.js'
import { pinnedTo, routeOf, startTrio, strictlyAt, type Trio } from '../support/trio.js'
import { startWriters } from './writers.js'

/** More than all buffers between a node and a client that does not read. */
const LARGE = bytesOf(20 * 1024 * 1024, 2)
const CONTENT = bytesOf(200_000, 1)
const OUTAGE = ['204', '503 INTERNAL_ERROR']

/** Long beyond all limits of a node: what takes longer hangs. */
const ANSWER_MAX_MS = 90_000

describe('three nodes, each of whose neighbours may fail', () => {
  let postgres: Cluster
  /** The way of the second node to PostgreSQL, and that of the others. */
  let lonely: Middleman
  let road: Middleman
  let trio: Trio
  let balancer: Balancer
  let through: Client
  const agent = new Agent({ keepAlive: false })

  beforeAll(async () => {
    postgres = await startCluster(await findBinaries(), CAREFUL)
    road = await startMiddleman(place())
    lonely = await startMiddleman(place())
    const [others, second] = [road, lonely].map(
      ({ port }) => `postgres://postgres@127.0.0.1:${port}/postgres`,
    )
    trio = await startTrio({ databaseUrls: [others ?? '', second ?? '', others ?? ''] })
    balancer = await startBalancer('haproxy', trio.nodes)
    through = client({ ...balancer, agent, token: trio.token, version: '1.3' })
  })
  afterAll(async () => {
    agent.destroy()
    await balancer.stop()
    await trio.stop()
    await lonely.stop()
    await road.stop()
    await postgres.stop()
  })

  function place(): { host: string; port: number } {
    return { host: '127.0.0.1', port: Number(new URL(postgres.url).port) }
  }

  async function inTime<T>(work: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error('no answer')), ANSWER_MAX_MS)
    })
    return Promise.race([work, late]).finally(() => clearTimeout(timer))
  }

  const expectAway = (answer: Answer): void => expectRefused(answer, 503, 'INTERNAL_ERROR')

  async function expectSound(): Promise<void> {
    expect((await trio.node(0).command('check')).stdout).toBe('no broken invariant\n')
  }

  /** A node that fell silent is known as gone after three of its beats, one that beats again as alive at once. */
  async function expectMembers(...states: string[]): Promise<void> {
    await expect
      .poll(
        async () => {
          const { stdout } = await trio.node(0).command('node', 'list', '--json')
          return (JSON.parse(stdout) as { state: string }[]).map(({ state }) => state)
        },
        { timeout: 90_000 },
      )
      .toEqual(states)
  }

  const servedThrough = async (headers: Record<string, string>): Promise<string | undefined> => {
    const answer = await through.get('/folders/root', headers)
    return answer.status === 200 ? routeOf(answer) : undefined
  }

  const readiness = async (index: number, path = '/readyz'): Promise<number> =>
    (await inTime(trio.node(index).client().call('GET', path, { absolute: true }))).status

  const expectReady = (index: number): Promise<void> =>
    expect.poll(() => readiness(index), { timeout: 60_000 }).toBe(200)

  it('a node that is killed in the middle of uploads and downloads loses nothing that it acknowledged [NODE-16] [NODE-35]', async () => {
    const { token } = trio
    const api = trio.at(1)
    const read = await api.file('being read', 'root', LARGE)
    const replaced = await api.file('being replaced', 'root', CONTENT)
    const fresh = await api.file('being filled')
    const chunked = await api.file('being filled in chunks')
    const uploadId = await begin(api, chunked)
    const half = { 'Upload-ID': uploadId, ...part(0, 99_999) }
    expect((await api.upload(chunked, CONTENT.subarray(0, 100_000), half)).status).toBe(204)
    const writers = await startWriters('while a node is killed', trio.everywhere())
    await writers.stored(1)

    const held = await Promise.all([
      holdUpload(trio.node(1), { token, id: replaced, body: LARGE, sent: 10_000_000 }),
      holdUpload(trio.node(1), { token, id: fresh, body: LARGE, sent: 1_000_000 }),
      holdUpload(trio.node(1), {
        token,
        id: chunked,
        body: CONTENT.subarray(100_000),
        sent: 50_000,
        headers: { 'Upload-ID': uploadId, ...part(100_000, 199_999, 200_000) },
      }),
    ])
    const download = await openRaw(trio.node(1))
    download.send(requestHead('GET', `/api/v1.3/files/${read}/content`, token))
    await download.receive(1_000_000)
    await trio.node(1).kill()
    await Promise.all([...held.map(({ raw }) => raw.closed), download.closed])
    const cut = await download.answer()
    expect(cut.isWhole).toBe(false)
    expectBytes(cut.body, LARGE.subarray(0, cut.body.length))

    for (const index of [0, 2]) {
      expectBytes((await trio.at(index).get(`/files/${replaced}/content`)).body, CONTENT)
      expectBytes((await trio.at(index).get(`/files/${read}/content`)).body, LARGE)
      for (const file of [fresh, chunked]) {
        expect((await trio.at(index).get(`/files/${file}/content`)).status).toBe(404)
      }
    }
    await writers.stored(2)
    await expectMembers('alive', 'gone', 'alive')
    await trio.node(1).restart()
    await expectMembers('alive', 'alive', 'alive')
    const there = await received(api, chunked, uploadId)
    expect(there).toBeGreaterThanOrEqual(100_000)
    const rest = { 'Upload-ID': uploadId, ...part(there, 199_999, 200_000) }
    expectStored(await api.upload(chunked, CONTENT.subarray(there), rest))
    for (const reader of trio.everywhere()) {
      expectBytes((await reader.get(`/files/${chunked}/content`)).body, CONTENT)
    }
    await writers.stopAndVerify(trio.everywhere())
    for (const kind of writers.answers.keys()) expect([...OUTAGE, 'lost']).toContain(kind)
    await expectSound()
  })

  it('PostgreSQL may crash and come back: what was acknowledged is there, and nobody hangs', async () => {
    const read = await trio.at(2).file('read during the crash', 'root', LARGE)
    const writers = await startWriters('while PostgreSQL crashes', trio.everywhere())
    await writers.stored(2)
    const download = await openRaw(trio.node(2))
    download.send(requestHead('GET', `/api/v1.3/files/${read}/content`, trio.token))
    await download.receive(100_000)
    download.pause()
    await postgres.crash()
    road.redirect(place())
    lonely.redirect(place())
    await writers.stored(3)
    download.resume()
    const answer = await inTime(download.answer())
    download.drop()
    // It may end early, for nobody could say whether it was current; what came of it is right.
    expectBytes(answer.body, LARGE.subarray(0, answer.body.length))
    if (answer.isWhole) expect(answer.body.length).toBe(LARGE.length)
    await writers.stopAndVerify(trio.everywhere())
    for (const kind of writers.answers.keys()) expect(OUTAGE).toContain(kind)
    for (const index of [0, 1, 2]) await expectReady(index)
    await expectMembers('alive', 'alive', 'alive')
    await expectSound()
  })

  it('the content store may stop and start: metadata and small content go on, large content waits', async () => {
    const api = trio.at(0)
    const stored = await api.file('stored before', 'root', CONTENT)
    const chunked = await api.file('completed later')
    const uploadId = await begin(api, chunked)
    const writers = await startWriters('while the store is away', trio.everywhere())
    await writers.stored(1)
    await trio.swift.shut()
    const whole = { 'Upload-ID': uploadId, ...part(0, 199_999, 200_000) }
    const [reading, writing, completing] = await inTime(
      Promise.all([
        trio.at(1).get(`/files/${stored}/content`),
        trio.at(2).upload(stored, bytesOf(150_000, 5)),
        api.upload(chunked, CONTENT, whole),
      ]),
    )
    for (const answer of [reading, writing, completing]) expectAway(answer)
    const folder = await api.folder('made without the store')
    const small = await trio.at(1).file('small', folder, 'small content')
    expect((await trio.at(2).get(`/files/${small}/content`)).text).toBe('small content')
    for (const index of [0, 1, 2]) await expectReady(index)
    await trio.swift.reopen()
    await writers.stored(2)
    expectBytes((await trio.at(1).get(`/files/${stored}/content`)).body, CONTENT)
    expect(await received(api, chunked, uploadId)).toBe(CONTENT.length)
    expectStored(await api.upload(chunked, '', { 'Upload-ID': uploadId, 'Content-Range': 'bytes */200000' }))
    expectBytes((await trio.at(2).get(`/files/${chunked}/content`)).body, CONTENT)
    await writers.stopAndVerify(trio.everywhere())
    for (const kind of writers.answers.keys()) expect(OUTAGE).toContain(kind)
    await expectSound()
  })

  describe.each(['refuse', 'hush'] as const)('a node that cannot reach PostgreSQL (%s)', (way) => {
    it('says so in time, honours nothing that may have been taken away, and is passed by', async () => {
      const server = trio.node(0)
      const { O, V, G, A } = await makePeople(server, 'O', 'V', 'G', 'A')
      const group = await addGroup(A, `Readers ${way}`, G)
      const share = await makeShare(O, 'Plans')
      await addMember(O, share, V, VIEWER)
      await addShareGroup(O, share, group, VIEWER)
      const revoked = await server.addToken(trio.email)
      const [own, shared] = [
        await trio.at(0).file(`own ${way}`, 'root', LARGE),
        await O.api.file('shared', share, LARGE),
      ]
      const far = (api: Client): Client => trio.node(1).client(api.token)
      const visible = [far(V.api), far(G.api)]
      for (const api of visible) expect((await api.get(`/folders/${share}`)).status).toBe(200)
      const downloads = await Promise.all(
        [
          [own, trio.token],
          [shared, V.api.token],
          [shared, G.api.token],
        ].map(async ([file, token]) => {
          const raw = await openRaw(trio.node(1))
          raw.send(requestHead('GET', `/api/v1.3/files/${file}/content`, token))
          await raw.receive(100_000)
          raw.pause()
          return raw
        }),
      )
      const writers = await startWriters(`while one is alone (${way})`, [trio.at(0), trio.at(2)])
      await writers.stored(1)
      lonely[way]()

      await server.revoke(revoked)
      await remove(O, share, V)
      await takeOut(A, group, G)
      expectStored(await trio.at(2).upload(own, CONTENT))
      const answers = await inTime(
        Promise.all([
          ...visible.map((api) => api.get(`/folders/${share}`)),
          ...visible.map((api) => api.get(`/files/${shared}/content`)),
          trio.at(1, revoked).get('/folders/root'),
          trio.at(1).get('/folders/root'),
          trio.at(1).post('/folders', { name: `never ${way}`, parent: 'root' }),
          trio.at(1).upload(own, 'never'),
        ]),
      )
      for (const answer of answers) expectAway(answer)
      expect(await readiness(1)).toBe(503)
      expect(await readiness(1, '/healthz')).toBe(200)
      for (const raw of downloads) {
        raw.resume()
        expect((await inTime(raw.answer())).isWhole).toBe(false)
        raw.drop()
      }
      await expect
        .poll(() => servedThrough(pinnedTo(trio.idOf(1))), { timeout: 60_000 })
        .toBeOneOf([trio.idOf(0), trio.idOf(2)])
      expectAway(await inTime(through.get('/folders/root', strictlyAt(trio.idOf(1)))))
      await writers.stored(2)

      lonely.heal()
      await expectReady(1)
      expect((await trio.at(1, revoked).get('/folders/root')).status).toBe(401)
      for (const api of visible) expect((await api.get(`/folders/${share}`)).status).toBe(404)
      expectBytes((await trio.at(1).get(`/files/${own}/content`)).body, CONTENT)
      const { stdout } = await server.command('node', 'list', '--json')
      expect((JSON.parse(stdout) as unknown[]).length).toBe(3)
      await writers.stopAndVerify(trio.everywhere())
      for (const kind of writers.answers.keys()) expect(OUTAGE).toContain(kind)
      await expect.poll(() => servedThrough(strictlyAt(trio.idOf(1))), { timeout: 60_000 }).toBe(trio.idOf(1))
      await expectSound()
    })
  })
})
