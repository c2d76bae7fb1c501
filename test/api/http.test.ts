import { readdir, readFile, readlink } from 'node:fs/promises'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CURRENT } from '../support/client.js'
import type { Client } from '../support/client.js'
import { ENGINES } from '../support/engines.js'
import { runCommand, startServer, type TestServer } from '../support/server.js'
import { ask, bearer, openWire, readAnswer, requestText } from '../support/wire.js'
import { expectError, opaque, unchanged, unknownId } from './support.js'

describe.each(ENGINES)('HTTP on %s', (engine) => {
  let server: TestServer
  let token: string
  let api: Client
  let folder: string
  let file: string

  beforeAll(async () => {
    server = await startServer(engine)
    ;({ token, api } = await server.person())
    folder = await api.folder('folder')
    file = await api.file('file.txt', folder, 'hello')
  })
  afterAll(() => server.stop())

  const send = (line: string, headers: readonly string[] = [], body = ''): ReturnType<typeof ask> =>
    ask(server, requestText(line, [bearer(token), ...headers], body))

  describe('answers', () => {
    test('under /api are never kept by a cache, whatever their status [HTTP-25]', async () => {
      const answers = [
        await api.get('/folders/root'),
        await api.get(`/files/${file}/content`),
        await api.get(`/files/${file}/content`, { Range: 'bytes=0-1' }),
        await api.get(`/files/${file}/content`, { Range: 'bytes=9-' }),
        await api.get('/folders/bla'),
        await api.get(`/folders/${unknownId()}`),
        await server.client().get('/folders/root'),
        await api.get('/nope'),
        await api.call('PATCH', '/folders/root'),
        await api.upload(file, 'hello'),
      ]
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 206, 416, 400, 404, 401, 404, 405, 204])
      for (const answer of answers) {
        expect(answer.headers['cache-control'], String(answer.status)).toBe('private, no-transform, no-cache')
      }
    })

    test('in JSON say so and are plain UTF-8 [HTTP-27]', async () => {
      const id = await api.folder('Ünïcode 雀 🐦')
      for (const answer of [await api.get(`/folders/${id}`), await api.get('/folders/root/children')]) {
        expect(answer.headers['content-type']).toMatch(/^application\/json(; charset=utf-8)?$/)
        expect(answer.body.subarray(0, 3)).not.toEqual(Buffer.from([0xef, 0xbb, 0xbf]))
        expect(new TextDecoder('utf-8', { fatal: true }).decode(answer.body)).toContain('Ünïcode 雀 🐦')
      }
    })

    test('have times in minutes, and Last-Modified in its own form [HTTP-28]', async () => {
      const { json } = await api.get(`/files/${file}`)
      expect(json['last_modified']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\dZ$/)
      const modified = (await api.get(`/files/${file}/content`)).headers['last-modified'] ?? ''
      expect(modified).toMatch(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/)
      expect(new Date(modified).toISOString().slice(0, 16)).toBe(String(json['last_modified']).slice(0, 16))
    })

    test('never hold null [HTTP-29]', async () => {
      const empty = await api.file('empty.txt')
      for (const path of [
        '/folders/root?fields=path,children',
        '/folders/root/children',
        `/files/${empty}`,
        `/files/${empty}/path`,
      ]) {
        expect((await api.get(path)).text).not.toContain('null')
      }
    })

    test('show every readable attribute wherever an object appears [HTTP-94]', async () => {
      const own = (await api.get(`/files/${file}`)).json
      const [listed] = (await api.get(`/folders/${folder}/children`)).json['files'] as object[]
      const asked = (await api.get(`/folders/${folder}?fields=children`)).json['children'] as {
        files: object[]
      }
      expect(listed).toEqual(own)
      expect(asked.files).toEqual([own])
      const root = (await api.get('/folders/root')).json
      const parent = (await api.get(`/folders/${folder}`)).json
      expect((await api.get(`/files/${file}/path`)).json['folders']).toEqual([root, parent])
      const renamed = await api.put(`/files/${file}`, { name: 'file.txt' })
      expect(renamed.json).toEqual(own)
    })

    test('have an on-demand attribute only when it was asked for [HTTP-95] [HTTP-89]', async () => {
      const shape = async (query: string): Promise<[string[], boolean]> => {
        const answer = await api.get(`/folders/${folder}${query}`)
        const extra = Object.keys(answer.json).filter((key) => key === 'path' || key === 'children')
        return [extra.sort(), answer.headers.etag !== undefined]
      }
      for (const query of ['', '?fields', '?fields=', '?fields=unknown', '?fields=,', '?fields=id,name']) {
        expect(await shape(query), query).toEqual([[], true])
      }
      for (const query of [
        '?fields=path,children',
        '?fields=path&fields=children',
        '?fields=x,children,path,x',
      ]) {
        expect(await shape(query), query).toEqual([['children', 'path'], false])
      }
      expect(await shape('?fields=path')).toEqual([['path'], false])
      expect(await shape('?t=1&fields=children&fields=')).toEqual([['children'], false])
    })
  })

  describe('paths and methods', () => {
    test.each([
      '/api/v1.3/nope',
      '/api/v1.3/folders/root/nope',
      '/api/v1.3/folders/root/children/nope',
      '/api/v1.3/files/root/content/nope',
      '/api/v1.3/',
      '/auth/nope',
      '/nope',
    ])('%s is unknown to every method, with a token or without [HTTP-40]', async (path) => {
      for (const who of [api, server.client()]) {
        for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']) {
          const answer = await who.call(method, path, { absolute: true })
          if (method === 'HEAD') expect(answer.status).toBe(404)
          else expectError(answer, 404, method)
        }
      }
    })

    const SERVED: readonly [path: string, version: string, methods: string[]][] = [
      ['/folders', '1.3', ['POST']],
      ['/folders/root', '1.3', ['DELETE', 'GET', 'HEAD', 'PUT']],
      ['/folders/root/path', '1.3', ['GET', 'HEAD']],
      ['/folders/root/children', '1.3', ['GET', 'HEAD']],
      ['/files', '1.3', ['POST']],
      ['/files/ID', '1.3', ['DELETE', 'GET', 'HEAD', 'PUT']],
      ['/files/ID/path', '1.3', ['GET', 'HEAD']],
      ['/files/ID/content', '1.3', ['GET', 'HEAD', 'PUT']],
      ['/children', '1.0', ['GET', 'HEAD']],
      ['/children/ID', '1.0', ['GET', 'HEAD']],
      ['/files/ID/content', '1.0', ['GET', 'HEAD', 'PUT']],
      ['/folders', '1.0', ['POST']],
    ]

    test.each(SERVED)(
      '%s in %s serves exactly its methods, and says so [HTTP-41] [HTTP-42] [HTTP-38] [ERR-21]',
      async (path, version, methods) => {
        const allow = [...methods, 'OPTIONS'].sort()
        const at = path.replace('ID', unknownId())
        const listed = (answer: { headers: { allow?: string | undefined } }): string[] =>
          (answer.headers.allow ?? '').split(', ').sort()
        for (const who of [server.client(token, version), server.client(undefined, version)]) {
          for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].filter(
            (m) => !methods.includes(m),
          )) {
            const answer = await unchanged(server, () => who.call(method, at))
            expect(answer.status, method).toBe(405)
            expect(listed(answer)).toEqual(allow)
            if (method !== 'HEAD') expectError(answer, 405)
          }
          const options = await who.call('OPTIONS', at)
          expect(options.status).toBe(204)
          expect(listed(options)).toEqual(allow)
        }
      },
    )

    test('OPTIONS without a wish is 404 on an unknown path [HTTP-38]', async () => {
      for (const path of ['/api/v1.3/nope', '/api/v1.7/folders/root', '/nope']) {
        expectError(await server.client().call('OPTIONS', path, { absolute: true }), 404, path)
      }
    })

    test.each([
      '/api/v1.3/folders/root',
      '/api/v1.3/nope',
      '/api/v9.9/folders',
      '/auth/token',
      '/auth/tokeninfo',
      '/authorize',
      '/nope',
    ])(
      'a pre-flight of %s is answered without a look at path or token [HTTP-33] [HTTP-35] [HTTP-36] [HTTP-37]',
      async (path) => {
        const answer = await server.client(unknownId()).call('OPTIONS', path, {
          absolute: true,
          headers: {
            'Access-Control-Request-Method': 'PATCH',
            'Access-Control-Request-Headers': 'upload-id',
          },
        })
        expect(answer.status).toBe(204)
        expect(answer.headers['access-control-allow-origin']).toBe('*')
        expect(answer.headers['access-control-allow-methods']).toBe('GET,HEAD,PUT,POST,PATCH,DELETE,OPTIONS')
        expect(answer.headers['access-control-allow-headers']).toBe('upload-id')
        expect(Number(answer.headers['access-control-max-age'])).toBeGreaterThanOrEqual(86_400)
      },
    )

    test('a method that nobody knows gets the error object and changes nothing [HTTP-43] [FIELD-27]', async () => {
      await unchanged(server, async () => {
        for (const method of ['DEL', 'BREW', 'get']) {
          const answer = await send(`${method} /api/v1.3/files/${file}`)
          expect([400, 405, 501]).toContain(answer.status)
          expect(typeof answer.json.type).toBe('string')
          expect(answer.json.message).not.toBe('')
          expect(answer.headers['access-control-allow-origin']).toBe('*')
        }
      })
    })

    test('no header or parameter replaces the method [HTTP-44]', async () => {
      await unchanged(server, async () => {
        expect((await api.get(`/files/${file}`, { 'X-HTTP-Method-Override': 'DELETE' })).status).toBe(200)
        expect((await api.get(`/files/${file}?_method=DELETE`)).status).toBe(200)
        const answer = await api.post('/folders', { _method: 'DELETE', name: 'folder', parent: 'root' })
        expectError(answer, 409)
      })
    })

    test('HEAD gives status and headers of GET and no body on every GET route [HTTP-45]', async () => {
      const relevant = [
        'etag',
        'content-type',
        'content-disposition',
        'accept-ranges',
        'content-range',
        'cache-control',
      ]
      const { etag } = (await api.get(`/files/${file}/content`)).headers
      for (const [path, headers] of [
        ['/folders/root', {}],
        ['/folders/root?fields=path', {}],
        ['/folders/root/path', {}],
        ['/folders/root/children', {}],
        [`/files/${file}`, {}],
        [`/files/${file}/path`, {}],
        [`/files/${file}/content`, {}],
        [`/files/${file}/content`, { Range: 'bytes=1-2' }],
        [`/files/${file}/content`, { Range: 'bytes=9-' }],
        [`/files/${file}/content`, { 'If-None-Match': etag }],
        [`/files/${unknownId()}`, {}],
        ['/folders/bla', {}],
      ] as [string, Record<string, string>][]) {
        const got = await api.get(path, headers)
        const head = await api.head(path, headers)
        expect(head.status, path).toBe(got.status)
        for (const name of relevant) expect(head.headers[name], `${path} ${name}`).toEqual(got.headers[name])
        expect(head.body.length).toBe(0)
        expect(head.headers['content-length']).toBeUndefined()
      }
    })

    test('one slash at the end changes nothing [HTTP-46]', async () => {
      for (const path of [
        '/folders/root',
        '/folders/root/children',
        '/folders/root/path',
        `/files/${file}`,
        `/files/${file}/content`,
      ]) {
        expect((await api.get(`${path}/`)).text).toBe((await api.get(path)).text)
      }
      expect((await api.post('/folders/', { name: 'with slash', parent: 'root' })).status).toBe(201)
      expectError(await api.get('/folders/root//'), 404)
    })

    test('unknown parameters are ignored [HTTP-47] [FIELD-33]', async () => {
      const plain = await api.get('/folders/root')
      for (const query of [
        't=0.123&foo&foo=2',
        'limit=abc',
        '&&&',
        '=',
        'x=%zz',
        '%zz=1',
        'a=b=c',
        't=0.5&fields=',
      ]) {
        const answer = await api.get(`/folders/root?${query}`)
        expect(answer.status, query).toBe(200)
        expect(answer.text).toBe(plain.text)
        expect(answer.headers.etag).toBe(plain.headers.etag)
      }
      expect((await api.call('DELETE', `/folders/${await api.folder('x')}?recursive=false`)).status).toBe(204)
    })

    test('a known parameter that cannot be decoded is refused by name [HTTP-48] [ERR-5]', async () => {
      for (const query of ['fields=%zz', 'fields=path&fields=%', 'fields=%ff']) {
        const answer = await api.get(`/folders/root?${query}`)
        expectError(answer, 400, query)
        expect(answer.json.message).toContain('fields')
      }
    })

    test('a segment that is no text is refused after the token; an encoded slash does not split it [HTTP-49]', async () => {
      for (const segment of [
        '%zz',
        '%',
        '%ff%fe',
        '%00',
        'root%00',
        'root%2Fchildren',
        'root%2F',
        '%2E%2E',
      ]) {
        expectError(await api.get(`/folders/${segment}`), 400, segment)
        expectError(await server.client().get(`/folders/${segment}`), 401, segment)
      }
      expect((await api.get('/folders/%72oot')).json.id).toBe((await api.get('/folders/root')).json.id)
      expectError(await api.get('/folders/%2572oot'), 400)
      expectError(await api.get('/folders/ro+ot'), 400)
    })

    test.each([
      '/API/v1.3/folders/root',
      '/api/v1.3/Folders/root',
      '/api/v1.3/folders/root/Children',
      '/Auth/token',
    ])('%s is unknown, because letter case counts [HTTP-51]', async (path) => {
      expectError(await api.call('GET', path, { absolute: true }), 404)
    })

    test('an absolute target is served by its path [HTTP-52]', async () => {
      const answer = await send(`GET https://localhost/api/v1.3/folders/root`)
      expect(answer.json.id).toBe((await api.get('/folders/root')).json.id)
    })
  })

  describe('bodies', () => {
    test.each([
      ['nothing', ''],
      ['cut JSON', '{"name":"x","parent":"root"'],
      ['JSON and more', '{"name":"x","parent":"root"} x'],
      ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0x6e, 0xff, 0x22, 0x7d])],
      ['a list', '[{"name":"x","parent":"root"}]'],
      ['a number', '42'],
      ['null', 'null'],
      ['a string', '"x"'],
      ['an object as name', '{"name":{},"parent":"root"}'],
      ['null as name', '{"name":null,"parent":"root"}'],
      ['a number as name', '{"name":1,"parent":"root"}'],
      ['a list as parent', '{"name":"x","parent":["root"]}'],
    ] as [string, string | Buffer][])('%s is refused and changes nothing [HTTP-58]', async (what, body) => {
      const headers = { 'Content-Type': 'application/json' }
      await unchanged(server, async () => {
        for (const path of ['/folders', '/files']) {
          const answer = await api.call('POST', path, { body, headers })
          expectError(answer, 400, path)
          if (what.endsWith('name')) expect(answer.json.message).toContain('name')
          if (what.endsWith('parent')) expect(answer.json.message).toContain('parent')
        }
        if (what !== 'null as name')
          expectError(await api.call('PUT', `/folders/${folder}`, { body, headers }), 400)
      })
    })

    test('unknown and read-only keys are ignored and never stored [HTTP-60] [HTTP-61]', async () => {
      const id = unknownId()
      const body = `{"name":"new","parent":"root","id":"${id}","is_shared":true,"sid":"${id.slice(0, 32)}","size":9,
        "mime_type":"x/y","etag":"z","content_state":"AVAILABLE","last_modified":"2001-01-01T00:00Z","colour":1,
        "__proto__":{"name":"evil","is_shared":true},"constructor":{"prototype":{"is_shared":true}},"toString":"x"}`
      const headers = { 'Content-Type': 'application/json' }
      const made = await api.call('POST', '/folders', { body, headers })
      expect(made.status).toBe(201)
      expect(made.json.id).not.toBe(id)
      expect(Object.keys(made.json).sort()).toEqual(['id', 'is_shared', 'name', 'parent'])
      expect([made.json.name, made.json['is_shared']]).toEqual(['new', false])
      const file = await api.call('POST', '/files', { body: body.replace('"new"', '"new.txt"'), headers })
      expect(Object.keys(file.json).sort()).toEqual(['content_state', 'id', 'mime_type', 'name', 'parent'])
      expect([file.json['content_state'], file.json['mime_type']]).toEqual(['SYNCING', 'text/plain'])
      const other = await api.folder('other')
      expect((await api.get(`/folders/${other}`)).json['is_shared']).toBe(false)
      expectError(
        await api.call('POST', '/folders', { body: '{"__proto__":{"name":"x","parent":"root"}}', headers }),
        400,
      )
    })

    test('of GET, HEAD and DELETE are ignored and the connection goes on [HTTP-62] [FIELD-10] [FIELD-32]', async () => {
      for (const body of ['{"name":"x"}', '{"broken', '""', 'x'.repeat(1_048_576)]) {
        const doomed = await api.folder('doomed')
        const wire = await openWire(server)
        const lines = [bearer(token), 'Content-Type: application/json', `Content-Length: ${body.length}`]
        for (const [line, status] of [
          ['GET /api/v1.3/folders/root', 200],
          ['HEAD /api/v1.3/folders/root', 200],
          [`DELETE /api/v1.3/folders/${doomed}`, 204],
          ['GET /api/v1.3/folders/root', 200],
        ] as const) {
          wire.send(requestText(line, lines, body))
          expect((await readAnswer(wire, line.split(' ')[0])).status, line).toBe(status)
        }
      }
    })
  })

  describe('conditions', () => {
    test('several tags, several lines and * are one condition [HTTP-84] [HTTP-85] [FIELD-26]', async () => {
      const target = await api.folder('tagged')
      const tag = async (): Promise<string> => opaque((await api.get(`/folders/${target}`)).headers.etag)
      let turn = 0
      for (const lines of [
        (t: string) => [`If-Match: "a", W/"${t}", "b"`],
        (t: string) => ['If-Match: "a"', `If-Match: W/"${t}"`],
        () => ['If-Match: *'],
        (t: string) => [`If-Match: "${t}"`],
        (t: string) => [`If-Match: ${t}`],
      ]) {
        const body = JSON.stringify({ name: `turn ${(turn += 1)}` })
        const answer = await send(
          `PUT /api/v1.3/folders/${target}`,
          [...lines(await tag()), `Content-Length: ${body.length}`],
          body,
        )
        expect(answer.status, answer.text).toBe(200)
      }
      const current = (await api.get(`/folders/${target}`)).headers.etag
      for (const value of ['"a"', '"a", "b"', `"x${await tag()}"`, `'${await tag()}'`]) {
        const refused = await unchanged(server, () =>
          api.put(`/folders/${target}`, { name: 'no' }, { 'If-Match': value }),
        )
        expectError(refused, 412, value)
        expect(refused.headers.etag).toBe(current)
      }
    })

    test('tags are weak for JSON and strong for content [HTTP-98]', async () => {
      expect((await api.get('/folders/root')).headers.etag).toMatch(/^W\/"[^"]+"$/)
      expect((await api.get(`/files/${file}`)).headers.etag).toMatch(/^W\/"[^"]+"$/)
      expect((await api.get(`/files/${file}/content`)).headers.etag).toMatch(/^"[^"]+"$/)
    })

    test('that are empty count as absent [HTTP-86] [FIELD-34]', async () => {
      for (const value of ['', ' ']) {
        expect((await api.put(`/files/${file}`, { name: 'file.txt' }, { 'If-Match': value })).status).toBe(
          200,
        )
        expect((await api.get(`/files/${file}`, { 'If-None-Match': value })).status).toBe(200)
        expect((await api.get(`/files/${file}/content`, { 'If-None-Match': value })).status).toBe(200)
        expect((await api.upload(file, 'hello', { 'If-Match': value })).status).toBe(204)
      }
    })

    test('If-None-Match gives 304 with the tag and no body [HTTP-87]', async () => {
      for (const path of ['/folders/root', `/files/${file}`, `/files/${file}/content`]) {
        const { etag } = (await api.get(path)).headers
        for (const value of [etag, '*', `"a", ${etag}`, opaque(etag)]) {
          const answer = await api.get(path, { 'If-None-Match': value })
          expect(answer.status, `${path} ${value}`).toBe(304)
          expect(answer.headers.etag).toBe(etag)
          expect(answer.body.length).toBe(0)
        }
        expect((await api.get(path, { 'If-None-Match': '"other"' })).status).toBe(200)
      }
    })

    test('where a route does not list them are ignored [HTTP-88] [FIELD-11] [FIELD-50]', async () => {
      const stale = { 'If-Match': '"stale"' }
      const range = { Range: 'bytes=0-0', 'If-Range': '"x"', 'Content-Range': 'bytes 0-0/1' }
      expect((await api.get('/folders/root', { ...stale, ...range })).status).toBe(200)
      expect((await api.head('/folders/root', stale)).status).toBe(200)
      expect((await api.get(`/files/${file}`, { ...stale, ...range })).status).toBe(200)
      const content = await api.get(`/files/${file}/content`, { ...stale, 'Content-Range': 'bytes=0-0' })
      expect([content.status, content.text]).toEqual([200, 'hello'])
      expect(
        (await api.post('/folders', { name: 'with tags', parent: 'root' }, { ...stale, ...range })).status,
      ).toBe(201)
      const { etag } = (await api.get(`/files/${file}`)).headers
      expect(
        (await api.put(`/files/${file}`, { name: 'file.txt' }, { 'If-None-Match': etag, ...range })).status,
      ).toBe(200)
      const doomed = await api.folder('doomed by tag')
      expect((await api.delete(`/folders/${doomed}`, { 'If-None-Match': '*', ...range })).status).toBe(204)
    })

    test('of the wrong resource never break anything [HTTP-90] [FIELD-29]', async () => {
      const meta = String((await api.get(`/files/${file}`)).headers.etag)
      const content = String((await api.get(`/files/${file}/content`)).headers.etag)
      const other = String((await api.get(`/folders/${folder}`)).headers.etag)
      for (const tag of [meta, content, other]) {
        for (const answer of [
          await api.get(`/files/${file}`, { 'If-None-Match': tag }),
          await api.get(`/files/${file}/content`, { 'If-None-Match': tag }),
          await api.get(`/files/${file}/content`, { 'If-Range': tag, Range: 'bytes=0-1' }),
          await api.put(`/files/${file}`, { name: 'file.txt' }, { 'If-Match': tag }),
          await api.upload(file, 'hello', { 'If-Match': tag }),
        ]) {
          expect([200, 204, 206, 304, 412]).toContain(answer.status)
        }
      }
      const ranged = await api.get(`/files/${file}/content`, { 'If-Range': meta, Range: 'bytes=0-1' })
      expect([ranged.status, ranged.text]).toEqual([200, 'hello'])
    })
  })

  test('Location is absolute, finds the new object and follows Host [HTTP-91] [HTTP-92]', async () => {
    const made = await api.post('/files', { name: 'located #1?.txt', parent: 'root' })
    const location = new URL(made.headers.location ?? '')
    expect(location.origin).toBe(server.origin)
    expect((await api.call('GET', location.pathname, { absolute: true })).json).toEqual(made.json)
    const body = JSON.stringify({ name: 'elsewhere', parent: 'root' })
    const lines = [bearer(token), `Content-Length: ${body.length}`]
    const text = requestText('POST /api/v1.3/folders', lines, body).replace(
      'Host: localhost',
      'Host: files.x.test:99',
    )
    const answer = await ask(server, text)
    expect(answer.headers['location']).toBe(`https://files.x.test:99/api/v1.3/folders/${answer.json.id}`)
  })

  test('without a proxy the headers of one change nothing [HTTP-8]', async () => {
    const headers = {
      'X-Forwarded-Proto': 'http',
      'X-Forwarded-Host': 'evil.test',
      'X-Forwarded-For': '203.0.113.9',
      Forwarded: 'for=203.0.113.9;host=evil.test;proto=http',
    }
    const made = await api.post('/folders', { name: 'forwarded', parent: 'root' }, headers)
    expect(made.status).toBe(201)
    expect(made.headers.location).toBe(`${server.origin}/api/v${CURRENT}/folders/${made.json.id}`)
    const rows = await server.installation.db.read((tx) =>
      tx.all<{ origin: string }>('SELECT origin FROM changes WHERE subject = $1', made.json.id),
    )
    expect(rows).toEqual([{ origin: '127.0.0.1' }])
    expect(await server.terminate()).toBe(0)
    expect(server.log()).toContain('"client":"127.0.0.1"')
    expect(server.log()).not.toContain('203.0.113.9')
    await server.restart()
  })

  test('each request has one line of JSON in the log, whatever its path is made of', async () => {
    const odd = `/api/v1.3/folders/"\\,"status":200}{'${'x'.repeat(1000)}?token=never`
    expect((await ask(server, requestText(`GET ${odd}`, [bearer(token)]))).status).toBe(400)
    expect(await server.terminate()).toBe(0)
    const lines = server
      .log()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === 'request')
    expect(lines).toEqual([
      {
        level: 30,
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
        process: 'primary',
        pid: server.pid,
        request: expect.stringMatching(/./) as string,
        method: 'GET',
        path: odd.slice(0, 300),
        status: 400,
        ms: expect.any(Number) as number,
        client: '127.0.0.1',
        msg: 'request',
      },
    ])
    await server.restart()
  })
})

test('without a proxy everything is served over TLS, and no port speaks plain HTTP [HTTP-1] [HTTP-2]', async () => {
  const server = await startServer('sqlite')
  try {
    const { token, api } = await server.person()
    expect((await api.get('/folders/root')).status).toBe(200)
    expect((await api.call('GET', '/healthz', { absolute: true })).status).toBe(200)
    expect(await listeningPorts(server.pid)).toEqual([server.port])
    const plain = await plainAnswer(server.port, requestText('GET /api/v1.3/folders/root', [bearer(token)]))
    expect(plain).not.toMatch(/"id"|set-cookie|location:|HTTP\/1\.1 [235]/i)
    expect(plain).not.toContain(token)
    expect((await api.get('/folders/root')).status).toBe(200)
  } finally {
    await server.stop()
  }
})

test('--base-url is the address of everything, whatever Host says [HTTP-92]', async () => {
  const server = await startServer('sqlite', { args: ['--base-url', 'https://sync.x.test/'] })
  try {
    const { token } = await server.person()
    const elsewhere = (line: string, body = ''): ReturnType<typeof ask> => {
      const lines = [bearer(token), `Content-Length: ${body.length}`]
      return ask(server, requestText(line, lines, body).replace('Host: localhost', 'Host: evil.test'))
    }
    const made = await elsewhere('POST /api/v1.3/folders', '{"name":"a","parent":"root"}')
    expect(made.headers['location']).toBe(`https://sync.x.test/api/v1.3/folders/${made.json.id}`)
    expect((await elsewhere('GET /openapi.json')).json['servers']).toEqual([{ url: 'https://sync.x.test' }])
    const app = await server.addApp()
    const config = await server.command('app', 'config', app.id, '--base-url', 'https://sync.x.test')
    expect((JSON.parse(config.stdout) as { hostname: string }).hostname).toBe('sync.x.test')
  } finally {
    await server.stop()
  }
})

describe('behind a proxy', () => {
  let server: TestServer
  let token: string

  beforeAll(async () => {
    server = await startServer('sqlite', { args: ['--behind-proxy'] })
    ;({ token } = await server.person())
  })
  afterAll(() => server.stop())

  const https = 'X-Forwarded-Proto: https'

  test('a request that came by https is served over plain HTTP [HTTP-5]', async () => {
    const body = JSON.stringify({ name: 'a', parent: 'root' })
    const lines = [bearer(token), https, `Content-Length: ${body.length}`]
    const made = await ask(server, requestText('POST /api/v1.3/folders', lines, body))
    expect(made.status).toBe(201)
    expect(made.headers['location']).toBe(`https://localhost/api/v1.3/folders/${made.json.id}`)
    expect(
      (
        await ask(
          server,
          requestText('GET /api/v1.3/folders/root', [bearer(token), 'x-forwarded-proto: HTTPS']),
        )
      ).status,
    ).toBe(200)
  })

  test.each([
    [[]],
    [['X-Forwarded-Proto:']],
    [['X-Forwarded-Proto: http']],
    [['X-Forwarded-Proto: ftp']],
    [[https, https]],
    [[https, 'X-Forwarded-Proto: http']],
    [['X-Forwarded-Proto: https, http']],
    [['X-Forwarded-Proto: http, https']],
  ])('a request with %j is refused before anything else is looked at [HTTP-6]', async (lines) => {
    for (const text of [
      requestText('GET /api/v1.3/folders/root', [bearer(token), ...lines]),
      requestText('GET /nope', lines),
      requestText('POST /api/v9.9/folders', [...lines, 'Content-Length: 1000']),
    ]) {
      const answer = await ask(server, text)
      expectError(answer, 400, text)
      expect(answer.json.message).toContain('X-Forwarded-Proto')
    }
  })

  test('the node listens on loopback only [HTTP-7]', async () => {
    const outer = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ internal, family }) => !internal && family === 'IPv4')
    for (const { address } of outer) expect(await isRefused(server.port, address), address).toBe(true)
    expect(await isRefused(server.port, '127.0.0.1')).toBe(false)
    const refused = await runCommand([
      'serve',
      '--data',
      server.dataDir,
      '--behind-proxy',
      '--host',
      '0.0.0.0',
    ])
    expect(refused.status).toBe(2)
    expect(refused.stderr).toMatch(/^starling: .*loopback[^\n]*\n$/)
  })
})

describe.each(ENGINES)('the end of a node on %s', (engine) => {
  test.each([
    ['SIGTERM', 1],
    ['SIGINT', 2],
  ] as const)(
    '%s lets requests finish, accepts no more and exits 0 (workers: %i) [HTTP-18]',
    async (signal, workers) => {
      const server = await startServer(engine, { workers })
      try {
        const { token, api } = await server.person()
        const file = await api.file('a.txt')
        const wire = await openWire(server)
        const length = 200_000
        wire.send(
          requestText(`PUT /api/v1.3/files/${file}/content`, [
            bearer(token),
            `Content-Length: ${length}`,
            'Expect: 100-continue',
          ]),
        )
        expect((await wire.answer('PUT')).status).toBe(100)
        wire.send('x'.repeat(length / 2))
        const ended = signal === 'SIGTERM' ? server.terminate() : exitAfter(server, signal)
        while (!(await isRefused(server.port, '127.0.0.1'))) await delay(20)
        wire.send('y'.repeat(length / 2))
        expect((await wire.answer('PUT')).status).toBe(204)
        expect(await ended).toBe(0)
        await server.restart()
        expect((await server.client(token).get(`/files/${file}/content`)).body.length).toBe(length)
      } finally {
        await server.stop()
      }
    },
  )

  test('does not wait for ever for a request that does not go on [HTTP-18]', async () => {
    const server = await startServer(engine, { args: ['--stop-ms', '300'] })
    try {
      const { token, api } = await server.person()
      const file = await api.file('a.txt', 'root', 'old')
      const wire = await openWire(server)
      wire.send(
        requestText(`PUT /api/v1.3/files/${file}/content`, [
          bearer(token),
          'Content-Length: 100',
          'Expect: 100-continue',
        ]),
      )
      expect((await wire.answer('PUT')).status).toBe(100)
      expect(await server.terminate()).toBe(0)
      await wire.closed()
      await server.restart()
      expect((await server.client(token).get(`/files/${file}/content`)).text).toBe('old')
    } finally {
      await server.stop()
    }
  })
})

/** The harness sends SIGTERM alone; this waits for the end of the process that got another signal. */
async function exitAfter(server: TestServer, signal: NodeJS.Signals): Promise<number | null> {
  process.kill(server.pid, signal)
  return server.ended()
}

/** The TCP ports that a process listens on, as the kernel tells. */
async function listeningPorts(pid: number): Promise<number[]> {
  const links = await readdir(`/proc/${pid}/fd`)
  const targets = await Promise.all(links.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')))
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/${pid}/net/${name}`, 'utf8')),
  )
  const LISTEN = '0A'
  const ports = tables.flatMap((table) =>
    table
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[3] === LISTEN && targets.includes(`socket:[${fields[9]}]`))
      .map((fields) => parseInt(fields[1]?.split(':')[1] ?? '', 16)),
  )
  return [...new Set(ports)]
}

/** Everything that comes back over a connection without TLS until it is closed. */
function plainAnswer(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    let received = ''
    socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')))
    socket.once('error', () => resolve(received))
    socket.once('close', () => resolve(received))
  })
}

function isRefused(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host)
    socket.once('connect', () => {
      socket.destroy()
      resolve(false)
    })
    socket.once('error', () => resolve(true))
  })
}
