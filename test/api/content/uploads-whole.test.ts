import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import {
  begin,
  bytesOf,
  contentOf,
  expectBytes,
  expectProgress,
  expectRefused,
  expectStored,
  holdUpload,
  part,
  received,
  total,
  useServer,
  VERSIONS,
} from './support.js'

async function* pieces(...parts: (Buffer | string)[]): AsyncGenerator<Buffer> {
  for (const piece of parts) yield Promise.resolve(Buffer.from(piece))
}

describe.each(ENGINES)('an upload in one request on %s', (engine) => {
  const server = useServer(engine)

  describe.each(VERSIONS)('in version %s', (version) => {
    it('replaces the content, small or large [UP-1] [ETAG-2]', async () => {
      const { api } = await server().person(undefined, version)
      const id = await api.file('a.bin')
      for (const body of [
        Buffer.from('hello'),
        bytesOf(70_000),
        bytesOf(5_000_000, 3),
        Buffer.from('again'),
      ]) {
        const tag = expectStored(await api.upload(id, body), version)
        const answer = await api.get(`/files/${id}/content`)
        expectBytes(answer.body, body)
        expect(answer.headers.etag).toBe(tag)
      }
    })

    it('makes the content empty by an empty body [UP-5]', async () => {
      const { api } = await server().person(undefined, version)
      const id = await api.file('a.txt', 'root', 'hello')
      const tag = expectStored(await api.upload(id, ''), version)
      expect((await api.get(`/files/${id}`)).json['size']).toBe(0)
      const answer = await api.get(`/files/${id}/content`)
      expect([answer.status, answer.body.length, answer.headers.etag]).toEqual([200, 0, tag])
    })

    it('completes by a Content-Range that is the whole content [UP-16] [UP-17]', async () => {
      const { api } = await server().person(undefined, version)
      const id = await api.file('a.txt', 'root', 'before')
      const cases = [
        [part(0, 4, 5), 'hello'],
        [total(5), 'again'],
        [total(0), ''],
      ] as const
      for (const [headers, body] of cases) {
        expectStored(await api.upload(id, body, headers), version)
        expect(await contentOf(api, id)).toBe(body)
      }
    })
  })

  it('shows in the metadata and changes their tag [UP-3]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt')
    for (const body of ['hello', 'hello, world']) {
      const before = await api.get(`/files/${id}`)
      const tag = expectStored(await api.upload(id, body))
      const after = await api.get(`/files/${id}`)
      expect(after.json).toMatchObject({
        size: body.length,
        etag: tag.slice(1, -1),
        content_state: 'AVAILABLE',
      })
      expect(after.json['last_modified']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\dZ$/)
      expect(after.headers.etag).not.toBe(before.headers.etag)
    }
  })

  it('is dated when it completes, not when it begins [UP-4]', async () => {
    const { api, token } = await server().person()
    const id = await api.file('a.txt')
    const held = await holdUpload(server(), { token, id, body: Buffer.from('hello') })
    await sleep(2100)
    const endSecond = Math.floor(Date.now() / 1000)
    expectStored(await held.finish())
    held.raw.drop()
    const modified = String((await api.head(`/files/${id}/content`)).headers['last-modified'])
    expect(Date.parse(modified) / 1000).toBeGreaterThanOrEqual(endSecond)
  })

  it('may come in chunked transfer coding, in every form that a request has [UP-6]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt')
    const send = (headers: Record<string, string>, ...body: string[]): ReturnType<typeof api.call> =>
      api.call('PUT', `/files/${id}/content`, {
        headers: { 'Transfer-Encoding': 'chunked', ...headers },
        body: pieces(...body),
      })
    expectStored(await send({}, 'hel', 'lo'))
    expect(await contentOf(api, id)).toBe('hello')
    expectStored(await send({}))
    expect(await contentOf(api, id)).toBe('')
    expectStored(await send(part(0, 4, 5), 'he', 'llo'))
    expectStored(await send(total(5), 'ag', 'ain'))
    expect(await contentOf(api, id)).toBe('again')
    expectStored(await send(total(0)))
    const uploadId = expectProgress(await send(total()), 0)
    const own = { 'Upload-ID': uploadId }
    expectProgress(await send({ ...own, ...part(0, 4) }, 'hel', 'lo'), 5)
    expectProgress(await send({ ...own, ...total() }), 5, 200)
    expectProgress(await send({ ...own, ...part(3, 5) }, 'p', 'er'), 6)
    expectStored(await send({ ...own, ...part(6, 6, 7) }, 's'))
    expect(await contentOf(api, id)).toBe('helpers')
    const second = expectProgress(await send(part(0, 2), 'a', 'bc'), 3)
    expectStored(await send({ 'Upload-ID': second, ...total(3) }))
    expect(await contentOf(api, id)).toBe('abc')
  })

  it('takes every Content-Type and stores the bytes raw [UP-7]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt')
    const types = [
      undefined,
      'application/octet-stream',
      'application/json',
      'application/x-www-form-urlencoded',
      'nonsense',
    ]
    for (const type of [...types, 'multipart/form-data; boundary=x', 'text/plain; charset=utf-16']) {
      const body = `{"not json ${type}`
      const headers = type === undefined ? {} : { 'Content-Type': type }
      expectStored(await api.upload(id, body, headers))
      expect(await contentOf(api, id)).toBe(body)
      const chunk = await api.upload(id, body, { ...headers, ...part(0, body.length - 1) })
      const uploadId = expectProgress(chunk, body.length)
      expectStored(await api.upload(id, '', { ...headers, 'Upload-ID': uploadId, ...total(body.length) }))
      expect(await contentOf(api, id)).toBe(body)
    }
  })

  it('ignores an Upload-ID that comes without Content-Range [UP-8] [NODE-15]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt')
    const uploadId = await begin(api, id)
    expectProgress(await api.upload(id, 'abc', { 'Upload-ID': uploadId, ...part(0, 2) }), 3)
    for (const given of [uploadId, '0'.repeat(64), 'garbage']) {
      expectStored(await api.upload(id, `with ${given}`, { 'Upload-ID': given }))
      expect(await contentOf(api, id)).toBe(`with ${given}`)
    }
    expect(await received(api, id, uploadId)).toBe(3)
    expectStored(await api.upload(id, 'de', { 'Upload-ID': uploadId, ...part(3, 4, 5) }))
    expect(await contentOf(api, id)).toBe('abcde')
  })

  it('takes an empty Upload-ID for none [UP-9]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt')
    for (const empty of ['', ' ']) {
      expectStored(await api.upload(id, 'hello', { 'Upload-ID': empty }))
      expectProgress(await api.upload(id, '', { 'Upload-ID': empty, ...total() }), 0)
      expectProgress(await api.upload(id, 'abc', { 'Upload-ID': empty, ...part(0, 2) }), 3)
      expectStored(await api.upload(id, 'abc', { 'Upload-ID': empty, ...part(0, 2, 3) }))
    }
  })

  it('is refused for a wrong id, a hidden file, a folder, a token without the right and no token [UP-10]', async () => {
    const { api, email } = await server().person()
    const id = await api.file('a.txt', 'root', 'hello')
    const folder = await api.folder('folder')
    const deleted = await api.file('deleted.txt')
    await api.delete(`/files/${deleted}`)
    const stranger = (await server().person()).api
    const other = await stranger.file('theirs.txt', 'root', 'theirs')
    const requests = [
      [{}, 'abc'],
      [part(0, 2), 'abc'],
      [total(), ''],
    ] as const
    for (const [headers, body] of requests) {
      for (const wrong of ['bla', id.slice(1), `${id}0`, `${id.slice(0, 63)}g`]) {
        expectRefused(await api.upload(wrong, body, headers), 400, 'BAD_ARGS')
      }
      for (const missing of [`${id.slice(0, 32)}${'1'.repeat(32)}`, deleted, other, folder, 'root']) {
        expectRefused(await api.upload(missing, body, headers), 404, 'NOT_FOUND')
      }
      const reader = server().client(await server().addToken(email, 'files.read'))
      expectRefused(await reader.upload(id, body, headers), 403, 'FORBIDDEN')
      expectRefused(await server().client().upload(id, body, headers), 401, 'UNAUTHORIZED')
    }
    expect(await contentOf(api, id)).toBe('hello')
    expect(await contentOf(stranger, other)).toBe('theirs')
  })

  it('is checked for syntax before scope, and for If-Match before the Upload-ID [UP-11]', async () => {
    const { api, email } = await server().person()
    const id = await api.file('a.txt', 'root', 'hello')
    const reader = server().client(await server().addToken(email, 'files.read'))
    expectRefused(await reader.upload(id, 'abc', { 'Content-Range': 'nonsense' }), 400, 'BAD_ARGS')
    const unknown = { 'Upload-ID': '0'.repeat(64), ...part(0, 2) }
    expectRefused(await reader.upload(id, 'abc', unknown), 403, 'FORBIDDEN')
    expectRefused(await api.upload(id, 'abc', { ...unknown, 'If-Match': '"stale"' }), 412, 'CONFLICT')
    expectRefused(await api.upload(id, 'abc', unknown), 400, 'BAD_ARGS')
  })

  it('is wholly one of the bodies when several write one file at once [UP-64]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.bin')
    const bodies = Array.from({ length: 8 }, (_, index) =>
      bytesOf(index % 2 === 0 ? 500 : 150_000, index + 1),
    )
    const answers = await Promise.all(
      bodies.map(async (body, index) => {
        if (index < 4) return api.upload(id, body)
        const own = { 'Upload-ID': await begin(api, id) }
        return api.upload(id, body, { ...own, ...part(0, body.length - 1, body.length) })
      }),
    )
    const tags = answers.map((answer) => expectStored(answer))
    const answer = await api.get(`/files/${id}/content`)
    const winner = tags.indexOf(String(answer.headers.etag))
    expectBytes(answer.body, bodies[winner] ?? Buffer.alloc(0))
  })
})

describe.each(ENGINES)('an upload in the older versions on %s', (engine) => {
  const server = useServer(engine, { args: ['--legacy-versions'] })

  it.each(['1.1', '1.2'])(
    'answers 200 in version %s, whole, in chunks and completed [UP-2]',
    async (version) => {
      const { api } = await server().person(undefined, version)
      const id = await api.file('a.txt')
      expectStored(await api.upload(id, 'hello'), version)
      const uploadId = expectProgress(await api.upload(id, 'abc', part(0, 2)), 3, 200)
      expectStored(await api.upload(id, '', { 'Upload-ID': uploadId, ...total(3) }), version)
      expect(await contentOf(api, id)).toBe('abc')
    },
  )
})
