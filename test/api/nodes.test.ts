import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Client } from '../support/client.js'
import { ENGINES } from '../support/engines.js'
import { startServer, type TestServer } from '../support/server.js'
import { ask, bearer, requestText } from '../support/wire.js'
import { expectError, unchanged, unknownId } from './support.js'

const OTHER = 'ab'.repeat(16)

describe.each(ENGINES)('the node on %s', (engine) => {
  let server: TestServer
  let api: Client
  let token: string
  let nodeId: string

  beforeAll(async () => {
    server = await startServer(engine, { workers: 2 })
    ;({ api, token } = await server.person())
    nodeId = server.installation.nodeId
  })
  afterAll(() => server.stop())

  const cookieOf = (answer: Answer): string => String(answer.headers['set-cookie'])
  const strict = (cookie: string, wish = 'strict'): Record<string, string> => ({
    'Endpoint-Consistency': wish,
    ...(cookie === '' ? {} : { Cookie: cookie }),
  })

  test('has one id, kept in its folder, shown by the command line and used by all its workers [NODE-1]', async () => {
    expect(nodeId).toMatch(/^[0-9a-f]{32}$/)
    expect((await readFile(join(server.dataDir, 'node-id'), 'utf8')).trim()).toBe(nodeId)
    const shown = await server.command('node', 'show', '--json')
    expect((JSON.parse(shown.stdout) as { id: string }).id).toBe(nodeId)
    const answers = await Promise.all(
      Array.from({ length: 12 }, () =>
        ask(server, requestText('GET /api/v1.3/folders/root', [bearer(token)])),
      ),
    )
    for (const answer of answers) expect(answer.headers['set-cookie']).toContain(`route=${nodeId};`)
    const other = await startServer('sqlite')
    expect(other.installation.nodeId).not.toBe(nodeId)
    await other.stop()
  })

  test('sets its cookie on every answer of the API, success or error [NODE-2]', async () => {
    for (const answer of [
      await api.get('/folders/root'),
      await api.get('/folders/bla'),
      await api.get(`/folders/${unknownId()}`),
      await server.client().get('/folders/root'),
      await api.get('/nope'),
      await api.call('PATCH', '/folders/root'),
      await server.client(token, '9.9').get('/folders/root'),
    ]) {
      expect(answer.headers['set-cookie']).toEqual([
        `route=${nodeId}; Path=/; Secure; HttpOnly; SameSite=None`,
      ])
    }
  })

  test('serves a session of its own, strict or not [NODE-3]', async () => {
    for (const headers of [{ Cookie: `route=${nodeId}` }, strict(`a=b; route=${nodeId}; c=d`)]) {
      expect((await api.get('/folders/root', headers)).status).toBe(200)
    }
  })

  test('serves a session of another node that does not insist, and takes it over [NODE-4]', async () => {
    const answer = await api.get('/folders/root', { Cookie: `route=${OTHER}` })
    expect(answer.status).toBe(200)
    expect(cookieOf(answer)).toContain(`route=${nodeId};`)
  })

  test('never answers for another node, and leaves its cookie alone [NODE-5] [NODE-6]', async () => {
    const file = await api.file('strict.txt', 'root', 'hello')
    await unchanged(server, async () => {
      for (let count = 0; count < 3; count += 1) {
        for (const answer of [
          await api.get('/folders/root', strict(`route=${OTHER}`)),
          await api.get(`/files/${file}/content`, strict(`route=${OTHER}`)),
          await api.post('/folders', { name: 'x', parent: 'root' }, strict(`route=${OTHER}`)),
          await api.upload(file, 'x', strict(`route=${OTHER}`)),
          await api.delete(`/files/${file}`, strict(`route=${OTHER}`)),
        ]) {
          expectError(answer, 503)
          expect(answer.headers['set-cookie']).toBeUndefined()
        }
      }
    })
  })

  test.each([
    '',
    'route=',
    `route=${OTHER.slice(1)}`,
    `route=${OTHER}a`,
    `route=${OTHER.toUpperCase()}`,
    `route=${'z'.repeat(32)}`,
    `route="${OTHER}"`,
    `route=${OTHER}; route=${'cd'.repeat(16)}`,
    `Route=${OTHER}`,
    'route',
  ])('takes the cookie %j for none [NODE-7] [FIELD-2]', async (cookie) => {
    const answer = await api.get('/folders/root', strict(cookie))
    expect(answer.status).toBe(200)
    expect(cookieOf(answer)).toContain(`route=${nodeId};`)
  })

  test('heeds strict in any letter case and no other word [NODE-8]', async () => {
    for (const wish of ['strict', 'Strict', 'STRICT']) {
      expectError(await api.get('/folders/root', strict(`route=${OTHER}`, wish)), 503, wish)
    }
    expectError(
      await api.get('/folders/root', { 'ENDPOINT-consistency': 'strict', cookie: `route=${OTHER}` }),
      503,
    )
    for (const wish of ['', 'lax', 'strictly', 'strict, lax', '1', 'true']) {
      expect((await api.get('/folders/root', strict(`route=${OTHER}`, wish))).status, wish).toBe(200)
    }
  })

  test('keeps its sessions over a restart, whichever worker answers [NODE-11] [NODE-1]', async () => {
    const cookie = `route=${nodeId}`
    expect(await server.terminate()).toBe(0)
    await server.restart()
    const lines = [bearer(token), `Cookie: ${cookie}`, 'Endpoint-Consistency: strict']
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => ask(server, requestText('GET /api/v1.3/folders/root', lines))),
    )
    for (const answer of answers) {
      expect(answer.status).toBe(200)
      expect(answer.headers['set-cookie']).toContain(cookie)
    }
  })

  describe('Upload-ID', () => {
    const query = { 'Content-Range': 'bytes */*' }

    test('of another file, another user, a changed or a completed upload is refused alike [NODE-14]', async () => {
      const mine = await api.file(`a ${unknownId()}`)
      const second = await api.file(`b ${unknownId()}`)
      const stranger = await server.person()
      const theirs = await stranger.api.file('theirs.txt')
      const begin = async (who: Client, file: string): Promise<string> =>
        String((await who.upload(file, 'he', { 'Content-Range': 'bytes 0-1/*' })).headers['upload-id'])
      const ofSecond = await begin(api, second)
      const ofStranger = await begin(stranger.api, theirs)
      const own = await begin(api, mine)
      const done = await begin(api, mine)
      await api.upload(mine, '', { 'Content-Range': 'bytes */2', 'Upload-ID': done })
      const changed = own.slice(0, -1) + (own.endsWith('0') ? '1' : '0')
      const bodies = new Set<string>()
      for (const id of [ofSecond, ofStranger, changed, done, unknownId()]) {
        for (const [body, range] of [
          ['', 'bytes */*'],
          ['x', 'bytes 2-2/*'],
          ['', 'bytes */2'],
        ] as const) {
          const answer = await unchanged(server, () =>
            api.upload(mine, body, { 'Content-Range': range, 'Upload-ID': id }),
          )
          expectError(answer, 400, range)
          bodies.add(answer.text)
        }
      }
      expect(bodies.size).toBe(1)
      const asked = await api.upload(mine, '', { ...query, 'Upload-ID': own })
      expect([asked.status, asked.headers['range']]).toEqual([200, 'bytes=0-1'])
    })

    test('without Content-Range is ignored [NODE-15]', async () => {
      const file = await api.file(`c ${unknownId()}`)
      for (const id of [unknownId(), 'x', '']) {
        expect((await api.upload(file, `with ${id}`, { 'Upload-ID': id })).status).toBe(204)
        expect((await api.get(`/files/${file}/content`)).text).toBe(`with ${id}`)
      }
    })

    test('cannot be guessed: 64 hex digits in which nothing repeats but the name of the node [NODE-17]', async () => {
      const ids = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const file = await api.file(`g${index} ${unknownId()}`)
          return String((await api.upload(file, '', query)).headers['upload-id'])
        }),
      )
      for (const id of ids) expect(id).toMatch(/^[0-9a-f]{64}$/)
      expect(
        new Set(ids.map((id) => id.slice(0, 32))).size + new Set(ids.map((id) => id.slice(32))).size,
      ).toBeGreaterThan(20)
      const stored = await server.installation.db.read((tx) =>
        tx.all<{ staged: string }>('SELECT staged FROM uploads'),
      )
      for (const { staged } of stored) for (const id of ids) expect(id).not.toContain(staged)
    })

    test('that has received nothing is told like an invalid and a completed one [NODE-38] [FIELD-40]', async () => {
      const file = await api.file(`d ${unknownId()}`)
      const unused = String((await api.upload(file, '', query)).headers['upload-id'])
      const begun = await api.upload(file, 'he', { 'Content-Range': 'bytes 0-1/*' })
      const done = String(begun.headers['upload-id'])
      await api.upload(file, '', { 'Content-Range': 'bytes */2', 'Upload-ID': done })
      for (const id of [unused, unknownId(), done]) {
        const answer = await api.upload(file, '', { ...query, 'Upload-ID': id })
        expectError(answer, 400)
        expect(answer.headers['upload-id']).toBe(id)
      }
      const used = await api.upload(file, 'hello', { 'Content-Range': 'bytes 0-4/5', 'Upload-ID': unused })
      expect(used.status).toBe(204)
    })
  })
})
