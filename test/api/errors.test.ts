import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Client } from '../support/client.js'
import { ENGINES } from '../support/engines.js'
import { startServer, type TestServer } from '../support/server.js'
import { ask, bearer, requestText, type WireAnswer } from '../support/wire.js'
import { expectError, unchanged, unknownId } from './support.js'

const KNOWN_TYPES = [
  'BAD_ARGS',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'NOT_FOUND',
  'CONFLICT',
  'INTERNAL_ERROR',
  'TOO_MANY_REQUESTS',
  'INSUFFICIENT_STORAGE',
]

describe.each(ENGINES)('errors on %s', (engine) => {
  let server: TestServer
  let token: string
  let api: Client
  let reader: Client
  let file: string
  let empty: string

  beforeAll(async () => {
    server = await startServer(engine, { args: ['--capacity', '1000'] })
    const person = await server.person()
    ;({ token, api } = person)
    reader = server.client(await server.addToken(person.email, 'files.read'))
    file = await api.file('file.txt', 'root', 'hello')
    empty = await api.file('empty.txt')
  })
  afterAll(() => server.stop())

  const raw = (line: string, headers: string[] = [], body = ''): Promise<WireAnswer> =>
    ask(server, requestText(line, [bearer(token), ...headers], body))

  /** One refusal for each status that the routes of the tree can give. */
  const REFUSALS: readonly [status: number, what: string, act: () => Promise<Answer | WireAnswer>][] = [
    [400, 'a malformed id', () => api.get('/folders/bla')],
    [
      400,
      'a broken body',
      () => api.call('POST', '/folders', { body: '{', headers: { 'Content-Type': 'application/json' } }),
    ],
    [
      400,
      'an invalid Upload-ID',
      () => api.upload(file, 'x', { 'Upload-ID': unknownId(), 'Content-Range': 'bytes 0-0/1' }),
    ],
    [400, 'an inconsistent Content-Range', () => api.upload(file, 'x', { 'Content-Range': 'bytes 0-4/5' })],
    [
      400,
      'a broken chunk',
      () => raw('PUT /api/v1.3/files/x/content', ['Transfer-Encoding: chunked'], 'zz\r\n'),
    ],
    [401, 'no token', () => server.client().get('/folders/root')],
    [403, 'a missing scope', () => reader.post('/folders', { name: 'x', parent: 'root' })],
    [404, 'an unknown path', () => api.get('/nope')],
    [404, 'an unknown path outside the API', () => api.call('GET', '/nope', { absolute: true })],
    [404, 'an unknown version', () => server.client(token, '9.9').get('/folders/root')],
    [404, 'an unknown object', () => api.get(`/folders/${unknownId()}`)],
    [404, 'content that is not there', () => api.get(`/files/${empty}/content`)],
    [405, 'a wrong method', () => api.call('PATCH', '/folders/root')],
    [405, 'a wrong method outside the API', () => api.call('POST', '/healthz', { absolute: true })],
    [409, 'a taken name', () => api.post('/folders', { name: 'file.txt', parent: 'root' })],
    [409, 'a taken name in a move', () => api.put(`/files/${empty}`, { name: 'file.txt' })],
    [412, 'a stale tag', () => api.put(`/files/${file}`, { name: 'x' }, { 'If-Match': '"stale"' })],
    [412, 'a stale tag in a deletion', () => api.delete(`/files/${file}`, { 'If-Match': '"stale"' })],
    [412, 'a stale tag in an upload', () => api.upload(file, 'x', { 'If-Match': '"stale"' })],
    [
      413,
      'a body that is too large',
      () => api.post('/folders', { name: 'x', parent: 'root', pad: 'x'.repeat(1_048_576) }),
    ],
    [
      415,
      'a wrong content type',
      () => api.call('POST', '/folders', { body: '<a/>', headers: { 'Content-Type': 'text/xml' } }),
    ],
    [
      431,
      'headers that are too large',
      () => raw('GET /api/v1.3/folders/root', [`X-Pad: ${'x'.repeat(20_000)}`]),
    ],
    [
      503,
      'another node',
      () =>
        api.get('/folders/root', { 'Endpoint-Consistency': 'strict', Cookie: `route=${'ab'.repeat(16)}` }),
    ],
    [
      505,
      'HTTP/1.0',
      () => ask(server, requestText('GET /api/v1.3/folders/root').replace('HTTP/1.1', 'HTTP/1.0')),
    ],
    [507, 'a lack of space', () => api.upload(file, 'x'.repeat(2000))],
  ]

  test.each(REFUSALS)(
    '%i for %s is an error object and changes nothing [ERR-1] [ERR-3] [ERR-4] [ERR-11] [ERR-14] [ERR-15] [ERR-16] [ERR-18]',
    async (status, _, act) => {
      const answer = await unchanged(server, act)
      expectError(answer, status)
      expect(Object.keys(answer.json).sort()).toEqual(['message', 'type'])
      expect(KNOWN_TYPES).toContain(answer.json.type)
      expect(answer.headers['x-content-type-options']).toBe('nosniff')
      expect(answer.json.message).not.toMatch(
        /\n|SELECT|INSERT|objects\.|\.ts\b|\.js\b|node_modules|\/tmp\/|sqlite|postgres/i,
      )
      expect(answer.text).not.toContain(token)
      if (status === 405) expect(answer.headers['allow']).toBeDefined()
      if (status === 401) expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="[^"]+"$/)
    },
  )

  test('a tag that does not match is told the current one, if there is one [ERR-16]', async () => {
    const meta = (await api.get(`/files/${file}`)).headers.etag
    const content = (await api.get(`/files/${file}/content`)).headers.etag
    const stale = { 'If-Match': '"stale"' }
    expect((await api.put(`/files/${file}`, { name: 'x' }, stale)).headers.etag).toBe(meta)
    expect((await api.upload(file, 'x', stale)).headers.etag).toBe(content)
    const none = await api.upload(empty, 'x', stale)
    expectError(none, 412)
    expect(none.headers.etag).toBeUndefined()
  })

  test('a 416 is empty, up and down, and HEAD has no body at all [ERR-2]', async () => {
    const down = await api.get(`/files/${file}/content`, { Range: 'bytes=9-' })
    const begun = await api.upload(file, 'x', { 'Content-Range': 'bytes 0-0/9' })
    const headers = { 'Content-Range': 'bytes 5-5/9', 'Upload-ID': String(begun.headers['upload-id']) }
    const up = await api.upload(file, 'x', headers)
    for (const answer of [down, up]) {
      expect(answer.status).toBe(416)
      expect(answer.body.length).toBe(0)
      expect(answer.headers['content-length']).toBeUndefined()
    }
    for (const [path, status] of [
      ['/folders/bla', 400],
      [`/folders/${unknownId()}`, 404],
      ['/nope', 404],
    ] as const) {
      const head = await api.head(path)
      expect([head.status, head.body.length]).toEqual([status, 0])
    }
  })

  test('the message names what was wrong [ERR-5]', async () => {
    for (const [name, answer] of [
      ['name', await api.post('/folders', { parent: 'root' })],
      ['name', await api.post('/folders', { name: 'a/b', parent: 'root' })],
      ['parent', await api.post('/folders', { name: 'x' })],
      ['parent', await api.put(`/files/${file}`, { parent: 'bla' })],
      ['Content-Range', await api.upload(file, 'x', { 'Content-Range': 'bytes x' })],
      ['Upload-ID', await api.upload(file, 'x', { 'Content-Range': 'bytes 0-0/1', 'Upload-ID': 'x' })],
      ['fields', await api.get('/folders/root?fields=%zz')],
      ['If-Match', await api.delete(`/files/${file}`, { 'If-Match': '"stale"' })],
      ['files.write', await reader.delete(`/files/${file}`)],
      [
        'Content-Type',
        await api.call('POST', '/folders', { body: 'x', headers: { 'Content-Type': 'text/plain' } }),
      ],
    ] as const) {
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(answer.json.message).toContain(name)
      expect(answer.json.message.length).toBeGreaterThan(name.length + 5)
    }
  })

  test('overlong input is shortened and markup stays JSON [ERR-6] [ERR-7]', async () => {
    const long = await server.client().call('PATCH', `/folders/${'x'.repeat(5000)}`)
    expectError(long, 405)
    expect(long.json.message.length).toBeLessThanOrEqual(300)
    const markup = '<script>alert(1)</script>'
    for (const answer of [
      await api.get(`/folders/${encodeURIComponent(markup)}`),
      await api.post('/folders', { name: `${markup}/`, parent: 'root' }),
      await api.upload(file, 'x', { 'Content-Range': markup }),
    ]) {
      expectError(answer, 400)
      expect(answer.headers['x-content-type-options']).toBe('nosniff')
    }
  })

  test('every status that the operations of files and folders state is produced [ERR-23]', async () => {
    const { etag } = (await api.get(`/files/${file}/content`)).headers
    expect((await api.get(`/files/${file}/content`, { 'If-None-Match': etag })).status).toBe(304)
    expect((await api.get(`/files/${empty}/content`)).status).toBe(404)
    expect((await api.get(`/files/${file}/content`, { Range: 'bytes=9-' })).status).toBe(416)
    for (const status of [400, 403, 404, 409, 412, 507]) {
      expect(REFUSALS.map(([known]) => known)).toContain(status)
    }
  })
})
