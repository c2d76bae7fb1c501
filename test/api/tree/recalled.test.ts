import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashSecret } from '../../../src/model/secrets.js'
import type { Answer, Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { addMember, makePeople, makeShare, remove, setMember, VIEWER, WRITE } from '../people/cast.js'

/** So many at once use several connections, and so both processes of the node. */
const AT_ONCE = 4

describe.each(ENGINES)('a folder that is read again and again on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine, { workers: 2 })
  })
  afterAll(() => server.stop())

  function shown({ status, headers, text }: Answer): object {
    return { status, text, etag: headers.etag, type: headers['content-type'] }
  }

  /** An answer to a request with a query is never one that was given before. */
  async function expectTrue(api: Client, path: string, what: string): Promise<void> {
    const fresh = shown(await api.get(`${path}?unknown=1`))
    const many = await Promise.all(Array.from({ length: AT_ONCE }, () => api.get(path)))
    for (const answer of many) expect(shown(answer), what).toEqual(fresh)
  }

  it('is shown to everybody as it is and as they may see it, whatever has just been changed', async () => {
    const { O, E, A } = await makePeople(server, 'O', 'E', 'A')
    const share = await makeShare(O, 'Plans')
    const inside = await O.api.folder('inside', share)
    const own = await O.api.folder('own')
    const place = await O.api.folder('place')
    const narrow = await O.holding(`files.read:${own}`)
    const passing = await E.holding('files.read')
    const paths = [share, inside, own, place, 'root'].map((id) => `/folders/${id}`)
    const readers = [O.api, E.api, A.api, narrow, passing]
    let isMember = false

    const acts = {
      'renames its own': (mark) => O.api.put(`/folders/${own}`, { name: `own ${mark}` }),
      'renames in the share': (mark) => E.api.put(`/folders/${inside}`, { name: `inside ${mark}` }),
      'renames the share for itself': (mark) => E.api.put(`/folders/${share}`, { name: `plans ${mark}` }),
      moves: () => O.api.put(`/folders/${own}`, { parent: place }),
      'moves back': () => O.api.put(`/folders/${own}`, { parent: 'root' }),
      adds: async () => {
        if (!isMember) await addMember(O, share, E, WRITE)
        isMember = true
      },
      'takes out': async () => {
        if (isMember) await remove(O, share, E)
        isMember = false
      },
      'only lets read': async () => {
        if (isMember) await setMember(O, share, E, VIEWER)
      },
      nothing: () => Promise.resolve(),
    } satisfies Record<string, (mark: number) => Promise<unknown>>
    const names = Object.keys(acts) as (keyof typeof acts)[]
    let mark = 0
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 5 }), async (steps) => {
        for (const step of steps) {
          await acts[step]((mark += 1))
          for (const [index, api] of readers.entries()) {
            for (const path of paths) await expectTrue(api, path, `${step}: reader ${index}, ${path}`)
          }
        }
      }),
      { numRuns: 3 },
    )
  }, 300_000)

  it('is gone at once when it is deleted, and its token when it is revoked', async () => {
    const { api, email, token } = await server.person()
    const id = await api.folder('folder')
    const second = server.client(await server.addToken(email))
    for (const reader of [api, second]) await expectTrue(reader, `/folders/${id}`, 'at first')
    await server.revoke(token)
    const refused = await Promise.all(Array.from({ length: AT_ONCE }, () => api.get(`/folders/${id}`)))
    for (const { status } of refused) expect(status).toBe(401)
    await expectTrue(second, `/folders/${id}`, 'after the other token was revoked')
    expect((await second.delete(`/folders/${id}`)).status).toBe(204)
    const gone = await Promise.all(Array.from({ length: AT_ONCE }, () => second.get(`/folders/${id}`)))
    for (const { status } of gone) expect(status).toBe(404)
  })

  it('is refused to a token that has ended, though nothing else has happened', async () => {
    const email = await server.addUser()
    const token = await server.addToken(email, 'files.read', { lifetime: 4 })
    const api = server.client(token)
    const row = await server.installation.db.read((tx) =>
      tx.get<{ expires_ms: number }>('SELECT expires_ms FROM tokens WHERE hash = $1', hashSecret(token)),
    )
    const endMs = row?.expires_ms ?? 0
    expect(endMs).toBeGreaterThan(0)
    for (;;) {
      const askedMs = Date.now()
      const { status } = await api.get('/folders/root')
      const answeredMs = Date.now()
      if (answeredMs < endMs) expect(status).toBe(200)
      if (askedMs < endMs) continue
      expect(status).toBe(401)
      break
    }
  })

  it('answers conditions, heads, queries and wishes of their own after a plain request', async () => {
    const { api } = await server.person()
    const path = `/folders/${await api.folder('folder')}`
    const plain = await api.get(path)
    const tag = plain.headers.etag ?? ''
    await expectTrue(api, path, 'plain')
    const same = await api.get(path, { 'If-None-Match': tag })
    expect([same.status, same.text, same.headers.etag]).toEqual([304, '', tag])
    expect((await api.get(path, { 'If-None-Match': '"other"' })).text).toBe(plain.text)
    const head = await api.head(path)
    expect([head.status, head.text, head.headers.etag]).toEqual([200, '', tag])
    expect((await api.get(`${path}?fields=path`)).json['path']).toBeDefined()
    const strict = { 'Endpoint-Consistency': 'strict', Cookie: `route=${'ab'.repeat(16)}` }
    expect((await api.get(path, strict)).status).toBe(503)
    expect((await api.get(path, { Authorization: 'Bearer nothing' })).status).toBe(401)
    expect((await server.client().get(path)).status).toBe(401)
    expect((await api.get(path)).text).toBe(plain.text)
  })
})
