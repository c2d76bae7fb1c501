/** What existing clients put on the wire, as recorded from them; each test plays one of their habits. */
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../support/client.js'
import { ENGINES } from '../support/engines.js'
import { startServer, type TestServer } from '../support/server.js'
import { ask, bearer, openWire, readAnswer, requestText } from '../support/wire.js'
import { expectError, opaque, unchanged, unknownId } from './support.js'

describe.each(ENGINES)('clients in the field on %s', (engine) => {
  let server: TestServer
  let token: string
  let api: Client
  let names = 0

  beforeAll(async () => {
    server = await startServer(engine, { args: ['--legacy-versions'] })
    ;({ token, api } = await server.person())
  })
  afterAll(() => server.stop())

  const fresh = (extension = ''): string => `n${(names += 1)}${extension}`
  const raw = (line: string, headers: readonly string[] = [], body = ''): ReturnType<typeof ask> =>
    ask(server, requestText(line, [bearer(token), ...headers], body))

  describe('all or several', () => {
    test.each(['1.0', '1.3'])(
      'send ids back unchanged and root as parent in %s [FIELD-1]',
      async (version) => {
        const old = server.client(token, version)
        const folder = (await old.post('/folders', { name: fresh(), parent: 'root' })).json.id
        const file = (await old.post('/files', { name: fresh(), parent: folder })).json.id
        expect((await old.put(`/files/${file}`, { name: fresh(), parent: 'root' })).json.id).toBe(file)
        expect((await old.put(`/files/${file}`, { name: fresh(), parent: folder })).status).toBe(200)
      },
    )

    test('insist on consistency without keeping a cookie, in any letter case [FIELD-2]', async () => {
      for (const header of ['Endpoint-Consistency: strict', 'endpoint-consistency: strict']) {
        expect((await raw('GET /api/v1.3/folders/root', [header])).status).toBe(200)
      }
    })

    test('offer compression and get none [FIELD-3] [HTTP-23]', async () => {
      const file = await api.file(fresh('.txt'), 'root', 'hello '.repeat(1000))
      for (const encoding of ['gzip', 'gzip, deflate, br']) {
        for (const path of ['/folders/root', '/folders/root/children', `/files/${file}/content`]) {
          const answer = await api.get(path, { 'Accept-Encoding': encoding })
          expect(answer.headers['content-encoding']).toBeUndefined()
        }
      }
    })
  })

  describe('the Python client', () => {
    test('sends a content type with GET and DELETE and a length of 0 with DELETE [FIELD-10]', async () => {
      const folder = await api.folder(fresh())
      const json = 'Content-Type: application/json'
      expect((await raw(`GET /api/v1.3/folders/${folder}`, [json])).status).toBe(200)
      expect((await raw(`DELETE /api/v1.3/folders/${folder}`, [json, 'Content-Length: 0'])).status).toBe(204)
    })

    test('leaves conditions of an earlier call on later ones [FIELD-11]', async () => {
      const left = { 'If-Match': '"old"', Range: 'bytes=0-1', 'If-Range': '"old"' }
      expect((await api.get('/folders/root', left)).status).toBe(200)
      expect((await api.get('/folders/root/children', { ...left, 'If-None-Match': '*' })).status).toBe(200)
      expect((await api.get('/folders/root/path', { ...left, 'If-None-Match': '*' })).status).toBe(200)
      expect(
        (await api.post('/folders', { name: fresh(), parent: 'root' }, { ...left, 'If-None-Match': '*' }))
          .status,
      ).toBe(201)
    })

    test('uploads in its three steps, an empty file too, and sees no ETag before the end [FIELD-12] [FIELD-13]', async () => {
      const one = await api.file(fresh('.txt'))
      const plain = await raw(`PUT /api/v1.3/files/${one}/content`, ['Content-Length: 5'], 'hello')
      expect(plain.status).toBe(204)
      for (const chunks of [[], ['a'.repeat(1_048_576), 'b'.repeat(1_048_576), 'c']]) {
        const file = await api.file(fresh('.bin'))
        const begun = await api.upload(file, '', { 'Content-Range': 'bytes */*' })
        expect(begun.headers.etag).toBeUndefined()
        const id = String(begun.headers['upload-id'])
        let sent = 0
        for (const chunk of chunks) {
          const range = `bytes ${sent}-${sent + chunk.length - 1}/*`
          const answer = await api.upload(file, chunk, { 'Content-Range': range, 'Upload-ID': id })
          expect(answer.status).toBe(204)
          expect(answer.headers.etag).toBeUndefined()
          sent += chunk.length
        }
        const done = await api.upload(file, '', { 'Content-Range': `bytes */${sent}`, 'Upload-ID': id })
        expect(done.status).toBe(204)
        expect(done.headers.etag).toBeDefined()
        expect((await api.get(`/files/${file}/content`)).text).toBe(chunks.join(''))
      }
    })

    test('takes an empty answer for a success and reads JSON otherwise [FIELD-14]', async () => {
      const file = await api.file(fresh())
      const put = await api.upload(file, 'x')
      expect([put.status, put.text]).toEqual([204, ''])
      expect(put.headers['content-type']).toBeUndefined()
      const gone = await api.delete(`/files/${file}`)
      expect([gone.status, gone.text]).toEqual([204, ''])
    })

    test('reads the type of a file from its content [FIELD-18]', async () => {
      for (const [extension, type] of [
        ['.txt', 'text/plain'],
        ['.png', 'image/png'],
        ['.weird', 'application/octet-stream'],
      ] as const) {
        const file = await api.file(fresh(extension), 'root', 'x')
        expect((await api.get(`/files/${file}/content`)).headers['content-type']).toBe(type)
        expect((await api.get(`/files/${file}`)).json['mime_type']).toBe(type)
      }
    })
  })

  describe('the Go client', () => {
    test('mixes up content types between calls [FIELD-25]', async () => {
      const json = JSON.stringify({ name: fresh(), parent: 'root' })
      const octets = { 'Content-Type': 'application/octet-stream' }
      expect((await api.call('POST', '/folders', { body: json, headers: octets })).status).toBe(201)
      const again = JSON.stringify({ name: fresh(), parent: 'root' })
      expect((await raw('POST /api/v1.3/folders', [`Content-Length: ${again.length}`], again)).status).toBe(
        201,
      )
      const file = await api.file(fresh())
      const headers = { 'Content-Type': 'application/json', 'Content-Range': 'bytes 0-4/5' }
      expect((await api.upload(file, '{"bro', headers)).status).toBe(204)
      expect((await api.get(`/files/${file}/content`)).text).toBe('{"bro')
    })

    test('repeats fields and tags instead of joining them [FIELD-26]', async () => {
      const both = (await api.get('/folders/root?fields=path&fields=children')).json
      expect(both).toHaveProperty('path')
      expect(both).toHaveProperty('children')
      const { etag } = (await api.get('/folders/root')).headers
      const lines = ['If-None-Match: "a"', `If-None-Match: ${etag}`]
      expect((await raw('GET /api/v1.3/folders/root', lines)).status).toBe(304)
    })

    test('deletes with DEL, which deletes nothing [FIELD-27]', async () => {
      const file = await api.file(fresh())
      const answer = await raw(`DEL /api/v1.3/files/${file}`)
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(answer.json.type).toMatch(/^(BAD_ARGS|INTERNAL_ERROR)$/)
      expect((await api.get(`/files/${file}`)).status).toBe(200)
    })

    test('asks for the state in a wrong form and sends wrong lengths; what was received stays [FIELD-28]', async () => {
      const file = await api.file(fresh())
      const begun = await api.upload(file, 'hel', { 'Content-Range': 'bytes 0-2/*' })
      const id = String(begun.headers['upload-id'])
      expectError(await api.upload(file, '', { 'Content-Range': 'bytes /*/', 'Upload-ID': id }), 400)
      expectError(
        await api.upload(file, 'lo and more', { 'Content-Range': 'bytes 3-4/5', 'Upload-ID': id }),
        400,
      )
      const lines = [
        'Content-Range: bytes 3-4/5',
        'Content-Range: bytes 3-4/5',
        `Upload-ID: ${id}`,
        `Upload-ID: ${id}`,
      ]
      expectError(
        await raw(`PUT /api/v1.3/files/${file}/content`, [...lines, 'Content-Length: 2'], 'lo'),
        400,
      )
      const asked = await api.upload(file, '', { 'Content-Range': 'bytes */*', 'Upload-ID': id })
      expect([asked.status, asked.headers['range']]).toEqual([200, 'bytes=0-2'])
    })

    test('sends the tag of the metadata for the content [FIELD-29]', async () => {
      const file = await api.file(fresh(), 'root', 'hello')
      const meta = String((await api.get(`/files/${file}`)).headers.etag)
      const ranged = await api.get(`/files/${file}/content`, { 'If-Range': meta, Range: 'bytes=0-1' })
      expect([ranged.status, ranged.text]).toEqual([200, 'hello'])
      expect((await api.upload(file, 'new', { 'If-Match': meta })).status).toBe(204)
      expectError(await api.upload(file, 'newer', { 'If-Match': meta }), 412)
    })

    test('asks for the range 0--1 of a file without size [FIELD-30]', async () => {
      const file = await api.file(fresh(), 'root', 'hello')
      const whole = await api.get(`/files/${file}/content`, { Range: 'bytes=0--1' })
      expect([whole.status, whole.text]).toEqual([200, 'hello'])
      const empty = await api.file(fresh())
      expectError(await api.get(`/files/${empty}/content`, { Range: 'bytes=0--1' }), 404)
    })
  })

  describe('the JavaScript client', () => {
    test('sends two quotes with GET, HEAD and DELETE [FIELD-32]', async () => {
      const folder = await api.folder(fresh())
      const wire = await openWire(server)
      for (const [method, status] of [
        ['GET', 200],
        ['HEAD', 200],
        ['DELETE', 204],
      ] as const) {
        const lines = [bearer(token), 'Content-Type: application/json', 'Content-Length: 2']
        wire.send(requestText(`${method} /api/v1.3/folders/${folder}?t=0.123&fields=`, lines, '""'))
        expect((await readAnswer(wire, method)).status).toBe(status)
      }
    })

    test('adds a random parameter and empty fields, and still gets an ETag [FIELD-33]', async () => {
      const answer = await api.get('/folders/root?t=0.8472&fields=')
      expect(answer.status).toBe(200)
      expect(answer.headers.etag).toBeDefined()
      expect(answer.json).not.toHaveProperty('path')
    })

    test('sends empty conditions, and tags without quotes [FIELD-34] [FIELD-52]', async () => {
      const empty = { 'If-Match': '', 'If-None-Match': '' }
      expect((await api.get('/folders/root', empty)).status).toBe(200)
      const file = await api.file(fresh(), 'root', 'hello')
      expect((await api.put(`/files/${file}`, { name: fresh() }, empty)).status).toBe(200)
      expect((await api.upload(file, 'new', empty)).status).toBe(204)
      const { etag } = (await api.get(`/files/${file}`)).json
      expect((await api.upload(file, 'newer', { 'If-Match': etag })).status).toBe(204)
      expectError(await api.upload(file, 'newest', { 'If-Match': etag }), 412)
    })

    test('uploads in chunks with the total in each, following the Upload-ID from answer to answer [FIELD-35]', async () => {
      const file = await api.file(fresh('.bin'))
      const chunk = 'x'.repeat(65_536)
      const total = 3 * chunk.length
      let id: string | undefined
      for (let start = 0; start < total; start += chunk.length) {
        const headers: Record<string, string> = {
          'Content-Range': `bytes ${start}-${start + chunk.length - 1}/${total}`,
        }
        if (id !== undefined) headers['upload-id'] = id
        const answer = await api.upload(file, chunk, headers)
        expect(answer.status).toBe(204)
        expect(answer.headers['access-control-expose-headers']).toContain('Upload-ID')
        if (start + chunk.length < total) expect(answer.headers['upload-id']).toBeDefined()
        id = answer.headers['upload-id'] as string | undefined
      }
      expect((await api.get(`/files/${file}`)).json['size']).toBe(total)
    })
  })

  describe('pages of another origin', () => {
    test('read the status and the body of a 401, and then fetch a new token [FIELD-36]', async () => {
      const answer = await server.client(unknownId()).get('/folders/root', { Origin: 'https://app.test' })
      expectError(answer, 401)
      expect(answer.headers['access-control-allow-origin']).toBe('*')
      expect(answer.headers['access-control-expose-headers']).toContain('ETag')
    })

    test('ask before each kind of call that they make [FIELD-37]', async () => {
      const names = [
        'endpoint-consistency',
        'authorization',
        'content-range',
        'upload-id',
        'if-match',
        'if-none-match',
      ]
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE']) {
        const answer = await server.client().call('OPTIONS', '/folders/root', {
          headers: {
            Origin: 'https://app.test',
            'Access-Control-Request-Method': method,
            'Access-Control-Request-Headers': names.join(','),
          },
        })
        expect(answer.status).toBe(204)
        expect(String(answer.headers['access-control-allow-methods']).split(',')).toContain(method)
        expect(String(answer.headers['access-control-allow-headers']).split(', ')).toEqual(names)
      }
    })
  })

  describe('the C# client', () => {
    test('waits for 100 before every body, and is served without one all the same [FIELD-38]', async () => {
      const body = JSON.stringify({ name: fresh(), parent: 'root' })
      const lines = [bearer(token), 'Expect: 100-continue', `Content-Length: ${body.length}`]
      const patient = await openWire(server)
      patient.send(requestText('POST /api/v1.3/folders', lines))
      expect((await patient.answer('POST')).status).toBe(100)
      patient.send(body)
      expect((await patient.answer('POST')).status).toBe(201)
      const hasty = await openWire(server)
      const second = JSON.stringify({ name: fresh(), parent: 'root' })
      hasty.send(
        requestText(
          'POST /api/v1.3/folders',
          [...lines.slice(0, 2), `Content-Length: ${second.length}`],
          second,
        ),
      )
      let answer = await hasty.answer('POST')
      if (answer.status === 100) answer = await hasty.answer('POST')
      expect(answer.status).toBe(201)
    })

    test('sends PUT and POST without a body and without a length [FIELD-39]', async () => {
      const file = await api.file(fresh())
      const begun = await raw(`PUT /api/v1.3/files/${file}/content`, ['Content-Range: bytes */*'])
      expect(begun.status).toBe(204)
      expect(begun.headers['upload-id']).toMatch(/^[0-9a-f]{64}$/)
      expectError(await raw('POST /api/v1.3/folders'), 400)
    })

    test('takes a 400 of a status query for nothing received, and goes on with its Upload-ID [FIELD-40]', async () => {
      const file = await api.file(fresh())
      const id = String((await api.upload(file, '', { 'Content-Range': 'bytes */*' })).headers['upload-id'])
      const asked = await api.upload(file, '', { 'Content-Range': 'bytes */*', 'Upload-ID': id })
      expectError(asked, 400)
      expect(asked.headers['upload-id']).toBe(id)
      expect(
        (await api.upload(file, 'hello', { 'Content-Range': 'bytes 0-4/5', 'Upload-ID': id })).status,
      ).toBe(204)
    })

    test('compares the ETag of the last PUT with etag, and reads Range after the minus [FIELD-41]', async () => {
      const file = await api.file(fresh())
      const first = await api.upload(file, 'hel', { 'Content-Range': 'bytes 0-2/*' })
      expect(String(first.headers['range']).split('-')[1]).toBe('2')
      const headers = { 'Content-Range': 'bytes 3-4/5', 'Upload-ID': String(first.headers['upload-id']) }
      const last = await api.upload(file, 'lo', headers)
      expect(last.headers.etag?.replaceAll('"', '')).toBe((await api.get(`/files/${file}`)).json.etag)
    })

    test('tries to delete the root, lists in name order and parses last_modified [FIELD-44]', async () => {
      const stranger = await server.person()
      const root = (await stranger.api.get('/folders/root')).json.id
      await unchanged(server, async () => {
        for (const id of ['root', root]) expectError(await stranger.api.delete(`/folders/${id}`), 400, id)
      })
      for (const name of ['b', 'a', 'C']) await stranger.api.file(`${name}.txt`, 'root', 'x')
      await stranger.api.file('d.txt')
      const listed = (await stranger.api.get('/folders/root/children')).json['files'] as Record<
        string,
        string
      >[]
      expect(listed.map(({ name }) => name)).toEqual(['C.txt', 'a.txt', 'b.txt', 'd.txt'])
      expect(Number.isNaN(Date.parse(listed[0]?.['last_modified'] ?? ''))).toBe(false)
      expect(listed[3]).not.toHaveProperty('last_modified')
    })
  })

  describe('the Java client', () => {
    test('speaks 1.2, which needs the setting [FIELD-45]', async () => {
      expect((await server.client(token, '1.2').get('/folders/root')).status).toBe(200)
    })

    test.each(['1.0', '1.2'])(
      'accepts nothing but 200 from uploads in %s and reads Range each time [FIELD-46] [FIELD-47]',
      async (version) => {
        const old = server.client(token, version)
        const file = await old.file(fresh())
        const begun = await raw(`PUT /api/v${version}/files/${file}/content`, ['Content-Range: bytes */*'])
        expect(begun.status).toBe(200)
        const id = begun.headers['upload-id'] ?? ''
        expectError(await old.upload(file, '', { 'Content-Range': 'bytes */*', 'Upload-ID': id }), 400)
        const chunk = await old.upload(file, 'hello', { 'Content-Range': 'bytes 0-4/*', 'Upload-ID': id })
        const asked = await old.upload(file, '', { 'Content-Range': 'bytes */*', 'Upload-ID': id })
        for (const answer of [chunk, asked]) {
          expect(answer.status).toBe(200)
          expect(answer.headers['range']).toMatch(/^bytes=\d+-\d+$/)
        }
        expect((await old.upload(file, '', { 'Content-Range': 'bytes */5', 'Upload-ID': id })).status).toBe(
          200,
        )
      },
    )

    test('uploads whole files in chunked coding over TLS 1.2 [FIELD-48]', async () => {
      const file = await api.file(fresh())
      const head = requestText(`PUT /api/v1.2/files/${file}/content`, [
        bearer(token),
        'Transfer-Encoding: chunked',
      ])
      const answer = await ask(server, `${head}5\r\nhello\r\n0\r\n\r\n`)
      expect(answer.status).toBe(200)
      expect((await api.get(`/files/${file}/content`)).text).toBe('hello')
      const protocol = await new Promise<string | null>((resolve, reject) => {
        const { port, ca } = server
        const socket = connectTls({
          port,
          host: '127.0.0.1',
          ca,
          servername: 'localhost',
          maxVersion: 'TLSv1.2',
        })
        socket.once('secureConnect', () => {
          resolve(socket.getProtocol())
          socket.destroy()
        })
        socket.once('error', reject)
      })
      expect(protocol).toBe('TLSv1.2')
    })

    test('accepts pages and pictures, and gets what there is [FIELD-49]', async () => {
      const accept = { Accept: 'text/html, image/gif, image/jpeg, */*; q=0.2' }
      const file = await api.file(fresh('.txt'), 'root', 'hello')
      for (const path of ['/folders/root', '/folders/root/children', `/files/${file}/content`]) {
        const plain = await api.get(path)
        const answer = await api.get(path, accept)
        expect([answer.status, answer.text]).toEqual([200, plain.text])
      }
      expect((await api.get(`/files/${file}/content`, { Accept: 'application/json' })).text).toBe('hello')
      expectError(await api.get('/folders/bla', { Accept: 'image/gif' }), 400)
    })

    test('asks for a range by Content-Range with If-Match and gets the whole [FIELD-50]', async () => {
      const file = await api.file(fresh(), 'root', 'hello')
      const answer = await api.get(`/files/${file}/content`, {
        'Content-Range': 'bytes 1-2/5',
        'If-Match': '"old"',
      })
      expect([answer.status, answer.text]).toEqual([200, 'hello'])
    })

    test('reads the current tag by HEAD on the content [FIELD-51]', async () => {
      const file = await api.file(fresh(), 'root', 'hello')
      const head = await api.head(`/files/${file}/content`)
      expect(head.status).toBe(200)
      expect(opaque(head.headers.etag)).toBe((await api.get(`/files/${file}`)).json.etag)
    })
  })

  describe('web file browsers', () => {
    test('take the first half of a folder id for its store [FIELD-53]', async () => {
      const folder = await api.folder(fresh())
      const root = (await api.get('/folders/root')).json.id
      expect((await api.get(`/folders/${folder.slice(0, 32)}`)).json.id).toBe(root)
    })

    test('look at the content with HEAD, then open a link, and take the name from it [FIELD-54]', async () => {
      const file = await api.file('a "näme" (1).txt', 'root', 'hello')
      const head = await api.head(`/files/${file}/content`)
      expect(head.status).toBe(200)
      const link = await ask(server, requestText(`GET /api/v1.3/files/${file}/content?token=${token}`))
      expect([link.status, link.text]).toEqual([200, 'hello'])
      const disposition = link.headers['content-disposition'] ?? ''
      const encoded = /filename\*=UTF-8''(\S+)$/.exec(disposition)?.[1] ?? ''
      expect(decodeURIComponent(encoded)).toBe('a "näme" (1).txt')
      expect(disposition).toMatch(/filename="[\x20-\x7e]+"/)
    })

    test('tell 403, 404, 409 and 503 apart, and upload right after creating [FIELD-55]', async () => {
      const name = fresh()
      const made = await api.post('/files', { name, parent: 'root' })
      expect((await api.upload(made.json.id, 'at once')).status).toBe(204)
      expectError(await api.post('/files', { name, parent: 'root' }), 409)
      expectError(await api.get(`/files/${unknownId()}`), 404)
      const reader = server.client(await server.addToken((await server.person()).email, 'files.read'))
      expectError(await reader.post('/files', { name, parent: 'root' }), 403)
      const strict = { 'Endpoint-Consistency': 'strict', Cookie: `route=${'ab'.repeat(16)}` }
      expectError(await api.get('/folders/root', strict), 503)
    })
  })
})
