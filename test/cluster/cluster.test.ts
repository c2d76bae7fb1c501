import { Agent } from 'node:https'
import { hash } from '@node-rs/argon2'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  bytesOf,
  eventually,
  expectBytes,
  expectRefused,
  expectStored,
  part,
  received,
  total,
} from '../api/content/support.js'
import {
  addGroup,
  addMember,
  addShareGroup,
  makePeople,
  makeShare,
  VIEWER,
  WRITE,
} from '../api/people/cast.js'
import { openBrowser, type Browser } from '../oauth/browser.js'
import { ACCOUNT, givePassword, isSignInPage, PASSWORD } from '../oauth/support.js'
import { BALANCERS, startBalancer, type Balancer } from '../support/balancer.js'
import { client, type Answer, type Client } from '../support/client.js'
import { openRaw, requestHead } from '../support/raw.js'
import type { TestServer } from '../support/server.js'
import { pinnedTo, routeOf, startTrio, strictlyAt, type Trio } from '../support/trio.js'
import { sweepTests } from './sweep.js'

const MIB = 1024 * 1024
const CONTENT = bytesOf(200_000, 1)
const LARGE = bytesOf(33 * MIB, 2)

describe('three nodes over one PostgreSQL and one S3 store', () => {
  let trio: Trio
  let token: string

  beforeAll(async () => {
    trio = await startTrio({ args: ['--failures-max', '1000000'] })
    token = trio.token
  })
  afterAll(() => trio.stop())

  const node = (index: number): TestServer => trio.node(index)
  const idOf = (index: number): string => trio.idOf(index)
  const at = (index: number): Client => trio.at(index)
  const everywhere = (withToken = token): Client[] => trio.everywhere(withToken)

  it('have ids of their own and know each other', async () => {
    expect(new Set([0, 1, 2].map(idOf)).size).toBe(3)
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

  it.each([
    ['signalled', 'replaced'],
    ['signalled', 'deleted'],
    ['unheard', 'replaced'],
    ['unheard', 'deleted'],
  ])('end a download, %s, of what is %s through another one', async (signal, fate) => {
    const url = node(0).databaseUrl ?? ''
    const file = await at(0).file(`${signal} and ${fate}`, 'root', LARGE)
    const raw = await openRaw(node(0))
    raw.send(requestHead('GET', `/api/v1.3/files/${file}/content`, token))
    await raw.receive(10_000)
    raw.pause()
    const ear = new pg.Client({ connectionString: url })
    await ear.connect()
    const heard: string[] = []
    ear.on('notification', ({ payload }) => void heard.push(payload ?? ''))
    await ear.query('LISTEN starling')
    if (signal === 'unheard') {
      await ear.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'starling signals' AND datname = current_database()`)
    }
    if (fate === 'replaced') expectStored(await at(1).upload(file, CONTENT))
    else expect((await at(1).delete(`/files/${file}`)).status).toBe(204)
    if (signal === 'signalled') {
      await expect.poll(() => heard, { timeout: 60_000 }).toContain(`${idOf(1)} ${file.slice(0, 32)}`)
    }
    await ear.end()
    raw.resume()
    const answer = await raw.answer()
    raw.drop()
    expect(answer.isWhole).toBe(false)
    expectBytes(answer.body, LARGE.subarray(0, answer.body.length))
    const after = await at(2).get(`/files/${file}/content`)
    if (fate === 'replaced') expectBytes(after.body, CONTENT)
    else expectRefused(after, 404, 'NOT_FOUND')
  })

  sweepTests(() => trio)

  describe.each(BALANCERS)('behind %s', (kind) => {
    let balancer: Balancer
    let api: Client
    const agent = new Agent({ keepAlive: false })

    beforeAll(async () => {
      balancer = await startBalancer(kind, trio.nodes)
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

    const pinned = (index: number): Record<string, string> => pinnedTo(idOf(index))
    const strictly = (index: number): Record<string, string> => strictlyAt(idOf(index))

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

    it('a cookie that names no node counts as none, for strict clients too [NODE-7] [NODE-8]', async () => {
      const strict = { 'Endpoint-Consistency': 'STRICT' }
      const id = idOf(1)
      for (const value of [id.slice(1), `${id}0`, id.toUpperCase(), 'x'.repeat(32), '', `"${id}"`]) {
        const served = await servedBy({ ...strict, Cookie: `route=${value}` })
        expect([0, 1, 2].map(idOf), value).toContain(served)
      }
      expect([0, 1, 2].map(idOf)).toContain(await servedBy(strict))
      const stranger = await api.get('/folders/root', strictlyAt('0'.repeat(32)))
      expect([stranger.status, stranger.json.type]).toEqual([503, 'INTERNAL_ERROR'])
      expect(stranger.headers['set-cookie']).toBeUndefined()
      expect([0, 1, 2].map(idOf)).toContain(await servedBy(pinnedTo('0'.repeat(32))))
    })

    it('what is taken away through one is gone at the very next request through another [NODE-34]', async () => {
      const agentOf = (withToken: string | undefined): Client =>
        client({ ...balancer, agent, token: withToken, version: '1.3' })
      const { O, E, V, G, S, A } = await makePeople(node(0), 'O', 'E', 'V', 'G', 'S', 'A')
      const through = (person: { api: Client }): Client => agentOf(person.api.token)
      const group = await addGroup(A, `Design ${kind}`, G)
      const share = await makeShare(O, `Plans ${kind}`)
      await addMember(O, share, E, WRITE)
      await addMember(O, share, V, VIEWER)
      await addShareGroup(O, share, group, VIEWER)
      const revoked = await node(0).addToken(S.email)
      const app = await node(0).addApp()
      const ofApp = await node(0).addToken(S.email, undefined, { app: app.id })
      const folder = await through(O).folder(`renamed behind ${kind}`)
      const name = async (headers: Record<string, string>): Promise<string> =>
        (await through(O).get(`/folders/${folder}`, headers)).json.name
      const read = (api: Client, path: string) => async (headers: Record<string, string>) =>
        (await api.get(path, headers)).status
      let files = 0
      const write = async (headers: Record<string, string>): Promise<number> =>
        (await through(E).post('/files', { name: `by E ${(files += 1)}`, parent: share }, headers)).status
      const inShare = `/folders/${share}`

      const changes: readonly [
        string,
        (headers: Record<string, string>) => Promise<number | string>,
        number | string,
        (headers: Record<string, string>) => Promise<Answer>,
        number | string,
      ][] = [
        [
          'a token',
          read(agentOf(revoked), '/folders/root'),
          200,
          (headers) =>
            agentOf(undefined).call('DELETE', `/auth/token/${revoked}`, { absolute: true, headers }),
          401,
        ],
        [
          'a permission',
          write,
          201,
          (headers) => through(O).put(`/shares/${share}/members/${E.email}`, { permissions: [] }, headers),
          403,
        ],
        [
          'a member',
          read(through(V), inShare),
          200,
          (headers) => through(O).delete(`/shares/${share}/members/${V.email}`, headers),
          404,
        ],
        [
          'a member of a group',
          read(through(G), inShare),
          200,
          (headers) => through(A).delete(`/groups/${group}/members/${G.email}`, headers),
          404,
        ],
        [
          'a name',
          name,
          `renamed behind ${kind}`,
          (headers) => through(O).put(`/folders/${folder}`, { name: 'another' }, headers),
          'another',
        ],
        [
          'a user',
          read(through(E), '/folders/root'),
          200,
          (headers) => through(A).delete(`/users/${E.email}`, headers),
          401,
        ],
      ]
      for (const [at, [what, look, before, change, after]] of changes.entries()) {
        for (const index of [0, 1, 2]) expect([what, await look(strictly(index))]).toEqual([what, before])
        expect([what, (await change(strictly(at % 3))).status]).toEqual([what, expect.toBeOneOf([200, 204])])
        for (const index of [1, 2, 3]) {
          expect([what, await look(strictly((at + index) % 3))]).toEqual([what, after])
        }
      }
      expect(await read(agentOf(ofApp), '/folders/root')(strictly(1))).toBe(200)
      expect((await node(2).command('app', 'remove', app.id)).status).toBe(0)
      for (const index of [0, 1])
        expect(await read(agentOf(ofApp), '/folders/root')(strictly(index))).toBe(401)
    })

    it('a session that ends at one has ended at all of them [NODE-34]', async () => {
      const email = await node(0).addUser()
      const digest = await hash(PASSWORD)
      await node(0).installation.db.write((tx) =>
        tx.run('UPDATE users SET password_hash = $1 WHERE email = $2', digest, email),
      )
      const front = { ...balancer, origin: `https://127.0.0.1:${balancer.port}` }
      const moveTo = (browser: Browser, index: number): Browser => {
        browser.cookies.set('route', idOf(index))
        return browser
      }
      async function signedIn(index: number): Promise<Browser> {
        const browser = moveTo(openBrowser(front), index)
        await givePassword(browser, await browser.open(ACCOUNT), email, PASSWORD)
        return browser
      }
      const isSignedOut = async (browser: Browser, index: number): Promise<boolean> =>
        isSignInPage(await moveTo(browser, index).open(ACCOUNT))
      const [first, second, third] = [await signedIn(0), await signedIn(1), await signedIn(2)]
      for (const browser of [first, second, third]) {
        for (const index of [0, 1, 2]) expect(await isSignedOut(browser, index)).toBe(false)
      }
      const kept = new Map(first.cookies)
      await first.press(await moveTo(first, 1).open(ACCOUNT), /^sign out$/i)
      for (const [name, value] of kept) first.cookies.set(name, value)
      for (const index of [2, 0, 1]) {
        expect(await isSignedOut(first, index)).toBe(true)
        for (const [name, value] of kept) first.cookies.set(name, value)
      }
      expect(await isSignedOut(second, 2)).toBe(false)
      await second.press(await moveTo(second, 2).open('/account/sessions'), /^sign out everywhere$/i)
      for (const index of [0, 1, 2]) expect(await isSignedOut(third, index)).toBe(true)
    })

    it('an upload goes on at the node that began it, and is unknown at another [NODE-12] [NODE-13] [UP-31] [UP-90]', async () => {
      const file = await api.file(`chunked behind ${kind}`)
      const begun = await api.upload(file, CONTENT.subarray(0, 100_000), {
        ...strictly(1),
        ...part(0, 99_999),
      })
      expect([begun.status, routeOf(begun)]).toEqual([204, idOf(1)])
      const uploadId = String(begun.headers['upload-id'])
      const last = { 'Upload-ID': uploadId, ...part(100_000, 199_999, 200_000) }
      const rest = CONTENT.subarray(100_000)
      const known = { 'Upload-ID': uploadId }
      for (const [body, range] of [
        ['', total()],
        ['', total(100_000)],
        [rest, part(100_000, 199_999)],
        [rest, part(100_000, 199_999, 200_000)],
      ] as const) {
        expectRefused(await at(2).upload(file, body, { ...known, ...range }), 400, 'BAD_ARGS')
        expectRefused(await api.upload(file, body, { ...known, ...range, ...pinned(2) }), 400, 'BAD_ARGS')
      }
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
      await Promise.all(trio.nodes.map((server) => server.kill()))
      const answer = await api.get('/folders/root')
      expect([answer.status, answer.headers['content-type'], answer.json.type]).toEqual([
        503,
        'application/json',
        'INTERNAL_ERROR',
      ])
      await Promise.all(trio.nodes.map((server) => server.restart()))
      await expect
        .poll(() => Promise.all([0, 1, 2].map((index) => servedBy(strictly(index)))), { timeout: 60_000 })
        .toEqual([0, 1, 2].map(idOf))
    })
  })

  it('leave nothing broken behind', async () => {
    expect((await node(1).command('check')).stdout).toBe('no broken invariant\n')
  })
})
