import { request } from 'node:https'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashSecret } from '../../../src/model/secrets.js'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { expectRefusal, NEWER_VERSIONS, VERSIONS, withoutChange } from './support.js'

const UNKNOWN = 'abcdef0123456789'.repeat(4)
const STALE = 'W/"stale"'

describe.each(ENGINES)('access to folders on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  describe.each(NEWER_VERSIONS)('under %s', (version) => {
    it('refuses tokens without the scope, also for ids that do not exist [FOLDER-18]', async () => {
      const { api, email } = await server.person(undefined, version)
      const id = await api.folder('folder')
      const reading = server.client(await server.addToken(email, 'files.read'), version)
      const writing = server.client(await server.addToken(email, 'files.write'), version)
      await withoutChange(api, async () => {
        for (const object of [id, UNKNOWN, 'root']) {
          expectRefusal(await reading.post('/folders', { name: 'new', parent: object }), 403)
          expectRefusal(await reading.put(`/folders/${object}`, { name: 'new' }), 403)
          expectRefusal(await reading.delete(`/folders/${object}`), 403)
          expectRefusal(await writing.get(`/folders/${object}`), 403)
          expect((await writing.head(`/folders/${object}`)).status).toBe(403)
        }
      })
      expect((await reading.get(`/folders/${id}`)).status).toBe(200)
      expect((await writing.put(`/folders/${id}`, { name: 'renamed' })).status).toBe(200)
    })

    it('reaches with a qualified files.read the folder and all below it [FOLDER-22]', async () => {
      const { api, email } = await server.person(undefined, version)
      const parent = await api.folder('parent')
      const folder = await api.folder('folder', parent)
      const below = await api.folder('below', await api.folder('between', folder))
      const sibling = await api.folder('sibling', parent)
      const narrow = server.client(await server.addToken(email, `files.read:${folder}`), version)
      for (const id of [folder, below]) {
        expect((await narrow.get(`/folders/${id}`)).status).toBe(200)
        expect((await narrow.get(`/folders/${id}/children`)).status).toBe(200)
      }
      for (const id of [parent, sibling, 'root']) {
        expectRefusal(await narrow.get(`/folders/${id}`), 403)
        expectRefusal(await narrow.get(`/folders/${id}/children`), 403)
      }
      expectRefusal(await narrow.get(`/folders/${UNKNOWN}`), 404)
      expectRefusal(await narrow.put(`/folders/${folder}`, { name: 'renamed' }), 403)
    })

    it('writes with a qualified files.write below its folder alone [FOLDER-23]', async () => {
      const { api, email } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      const below = await api.folder('below', folder)
      const elsewhere = await api.folder('elsewhere')
      const narrow = server.client(await server.addToken(email, `files.write:${folder}`), version)
      expect((await narrow.post('/folders', { name: 'in it', parent: folder })).status).toBe(201)
      expect((await narrow.post('/folders', { name: 'below it', parent: below })).status).toBe(201)
      await withoutChange(api, async () => {
        for (const parent of ['root', elsewhere]) {
          expectRefusal(await narrow.post('/folders', { name: 'new', parent }), 403)
        }
      })
      const both = server.client(await server.addToken(email, `files.read,files.read:${folder}`), version)
      for (const id of ['root', elsewhere, folder])
        expect((await both.get(`/folders/${id}`)).status).toBe(200)
      const write = server.client(await server.addToken(email, `files.write:${folder},files.write`), version)
      expect((await write.post('/folders', { name: 'anywhere', parent: elsewhere })).status).toBe(201)
    })

    it('checks the syntax before the scope and the scope before the object [FOLDER-26]', async () => {
      const { api, email } = await server.person(undefined, version)
      const id = await api.folder('folder')
      const reading = server.client(await server.addToken(email, 'files.read'), version)
      expectRefusal(await reading.put('/folders/bla', { name: 'new' }), 400)
      expectRefusal(await reading.put(`/folders/${id}`, { name: 'a/b' }), 400)
      expectRefusal(await reading.put(`/folders/${id}`, {}), 400)
      expectRefusal(await reading.call('PUT', `/folders/${id}`, { body: '{' }), 400)
      expectRefusal(await reading.put(`/folders/${UNKNOWN}`, { name: 'new' }), 403)
      expectRefusal(await reading.put(`/folders/${id}`, { name: 'new' }, { 'If-Match': STALE }), 403)
    })

    it('checks the object before the condition and the condition before the state [FOLDER-27]', async () => {
      const { api } = await server.person(undefined, version)
      const id = await api.folder('folder')
      await api.folder('taken')
      const file = await api.file('file')
      const headers = { 'If-Match': STALE }
      await withoutChange(api, async () => {
        expectRefusal(await api.put(`/folders/${UNKNOWN}`, { name: 'new' }, headers), 404)
        expectRefusal(await api.put(`/folders/${id}`, { parent: UNKNOWN }, headers), 404)
        expectRefusal(await api.delete(`/folders/${UNKNOWN}`, headers), 404)
        expectRefusal(await api.put(`/folders/${id}`, { name: 'taken' }, headers), 412)
        expectRefusal(await api.put(`/folders/${id}`, { parent: file }, headers), 412)
        expectRefusal(await api.put(`/folders/${id}`, { parent: id }, headers), 412)
        expectRefusal(await api.put('/folders/root', { name: 'new' }, headers), 412)
        expectRefusal(await api.delete('/folders/root', headers), 412)
      })
    })
  })

  describe.each(VERSIONS)('under %s', (version) => {
    it('refuses requests without exactly one valid token [FOLDER-19]', async () => {
      const { api, email, token } = await server.person(undefined, version)
      const id = await api.folder('folder')
      const revoked = await server.addToken(email)
      await server.revoke(revoked)
      const expired = await server.addToken(email, undefined, { lifetime: 60 })
      await server.installation.db.write((tx) =>
        tx.run('UPDATE tokens SET expires_ms = $2 WHERE hash = $1', hashSecret(expired), Date.now() - 1),
      )
      const nobody = server.client(undefined, version)
      const tokens = [revoked, expired, 'f'.repeat(64), 'x', '', token.toUpperCase()]
      const attempts = [
        undefined,
        ...tokens.map((text) => `Bearer ${text}`),
        token,
        `Basic ${token}`,
        [`Bearer ${token}`, `Bearer ${token}`],
      ]
      await withoutChange(server.client(token), async () => {
        for (const authorization of attempts) {
          const headers = authorization === undefined ? {} : { Authorization: authorization }
          for (const answer of [
            await nobody.get(`/folders/${id}`, headers),
            await nobody.post('/folders', { name: 'new', parent: 'root' }, headers),
            await nobody.put(`/folders/${id}`, { name: 'new' }, headers),
            await nobody.delete(`/folders/${id}`, headers),
            await nobody.get('/folders/bla', headers),
          ]) {
            expectRefusal(answer, 401, String(authorization))
            expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="[^"]+"/)
          }
        }
      })
      expect((await nobody.get(`/folders/${id}`, { Authorization: `bearer ${token}` })).status).toBe(200)
    })

    it('names the methods of a path when another is used, also without a token [FOLDER-25]', async () => {
      const { api } = await server.person(undefined, version)
      const id = await api.folder('folder')
      for (const someone of [api, server.client(undefined, version)]) {
        const onOne = await someone.post(`/folders/${id}`, { name: 'new', parent: 'root' })
        expectRefusal(onOne, 405)
        expect((onOne.headers.allow ?? '').split(', ').sort()).toEqual([
          'DELETE',
          'GET',
          'HEAD',
          'OPTIONS',
          'PUT',
        ])
        const onAll = await someone.get('/folders')
        expectRefusal(onAll, 405)
        expect((onAll.headers.allow ?? '').split(', ').sort()).toEqual(['OPTIONS', 'POST'])
      }
    })

    it('answers Expect: 100-continue with 100 unless it refuses before the body [FOLDER-28]', async () => {
      const { api, token, email } = await server.person(undefined, version)
      const id = await api.folder('folder')
      const reading = await server.addToken(email, 'files.read')
      const prefix = `/api/v${version}`
      const body = { name: 'expected', parent: 'root' }
      expect(await expecting(server, 'POST', `${prefix}/folders`, token, body)).toEqual({
        continued: true,
        status: 201,
      })
      expect(await expecting(server, 'PUT', `${prefix}/folders/${id}`, token, { name: 'renamed' })).toEqual({
        continued: true,
        status: 200,
      })
      for (const [method, path, bearer, headers, status] of [
        ['POST', '/folders', 'f'.repeat(64), {}, 401],
        ['POST', '/folders', token, { 'Content-Type': 'text/plain' }, 415],
        ['POST', '/folders', reading, {}, 403],
        ['PUT', '/folders/bla', token, {}, 400],
        ['PUT', `/folders/${UNKNOWN}`, token, {}, 404],
        ['PUT', `/folders/${id}`, token, { 'If-Match': STALE }, 412],
        ['GET', '/nowhere', token, {}, 404],
      ] as const) {
        const outcome = await expecting(server, method, prefix + path, bearer, body, headers)
        expect(outcome, `${method} ${path}`).toEqual({ continued: false, status })
      }
    })
  })
})

/** Sends the body only after a 100, and says whether that came and what came last. */
function expecting(
  server: TestServer,
  method: string,
  path: string,
  token: string,
  json: unknown,
  headers: Record<string, string> = {},
): Promise<{ continued: boolean; status: number }> {
  const body = JSON.stringify(json)
  return new Promise((resolve, reject) => {
    let continued = false
    const outgoing = request({
      host: server.host,
      port: server.port,
      ca: server.ca,
      agent: false,
      method,
      path,
      headers: {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
        Expect: '100-continue',
        ...headers,
      },
    })
    outgoing.on('continue', () => {
      continued = true
      outgoing.end(body)
    })
    outgoing.on('response', (response) => {
      response.resume()
      resolve({ continued, status: response.statusCode ?? 0 })
      outgoing.destroy()
    })
    outgoing.on('error', reject)
    outgoing.flushHeaders()
  })
}
