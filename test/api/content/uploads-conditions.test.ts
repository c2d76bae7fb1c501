import { describe, expect, it } from 'vitest'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { openRaw, requestHead } from '../../support/raw.js'
import {
  begin,
  bytesOf,
  contentOf,
  expectProgress,
  expectRefused,
  expectStored,
  holdUpload,
  part,
  putRaw,
  received,
  total,
  useServer,
  VERSIONS,
} from './support.js'

const EXPECT = { Expect: '100-continue' }

describe.each(ENGINES)('an upload with a condition on %s', (engine) => {
  const server = useServer(engine)

  async function tagOf(api: Client, id: string): Promise<string> {
    return String((await api.head(`/files/${id}/content`)).headers.etag)
  }

  it.each(VERSIONS)('that holds is stored in version %s [UP-78] [ETAG-7]', async (version) => {
    const { api } = await server().person(undefined, version)
    const id = await api.file('a.txt', 'root', 'hello')
    const spellings: ((tag: string) => string)[] = [
      (tag) => tag,
      (tag) => tag.slice(1, -1),
      (tag) => `W/${tag}`,
      (tag) => `"other", ${tag}`,
      () => '*',
    ]
    for (const [index, spelling] of spellings.entries()) {
      const tag = await tagOf(api, id)
      expectStored(await api.upload(id, `round ${index}`, { 'If-Match': spelling(tag) }), version)
      expect(await contentOf(api, id)).toBe(`round ${index}`)
    }
    const fromGet = String((await api.get(`/files/${id}/content`)).headers.etag)
    expectStored(await api.upload(id, 'by GET', { 'If-Match': fromGet }), version)
  })

  it('takes the tag of the metadata and of the content alike, on both routes [ETAG-7] [ETAG-20] [UP-84]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt', 'root', 'hello')
    const metadata = String((await api.get(`/files/${id}`)).headers.etag)
    expectStored(await api.upload(id, 'by metadata', { 'If-Match': metadata }))
    expectRefused(await api.upload(id, 'stale', { 'If-Match': metadata }), 412, 'CONFLICT')
    const content = await tagOf(api, id)
    expect((await api.put(`/files/${id}`, { name: 'b.txt' }, { 'If-Match': content })).status).toBe(200)
    expectRefused(await api.put(`/files/${id}`, { name: 'c.txt' }, { 'If-Match': '"no"' }), 412, 'CONFLICT')
    expect((await api.delete(`/files/${id}`, { 'If-Match': content })).status).toBe(204)
  })

  it('never matches by the tag of another file [ETAG-7]', async () => {
    const { api } = await server().person()
    const one = await api.file('one.txt', 'root', 'one')
    const two = await api.file('two.txt', 'root', 'two')
    const foreign = [String((await api.get(`/files/${two}`)).headers.etag), await tagOf(api, two)]
    for (const tag of foreign) {
      expectRefused(await api.upload(one, 'x', { 'If-Match': tag }), 412, 'CONFLICT')
      expect((await api.get(`/files/${one}/content`, { 'If-None-Match': tag })).status).toBe(200)
    }
    expect(await contentOf(api, one)).toBe('one')
  })

  it('that fails is refused before the body, with the current tag [UP-79] [UP-86]', async () => {
    const { api, token } = await server().person()
    const id = await api.file('a.txt', 'root', 'old')
    const stale = await tagOf(api, id)
    const tag = expectStored(await api.upload(id, 'hello'))
    for (const match of [stale, '"other"', tag.slice(0, -1), `'${tag.slice(1, -1)}'`]) {
      const headers = { 'If-Match': match, 'Content-Length': 1_000_000, ...EXPECT }
      const answer = await putRaw(server(), { token, id, headers })
      expectRefused(answer, 412, 'CONFLICT')
      expect(answer.headers['etag']).toBe(tag)
    }
    expect(await contentOf(api, id)).toBe('hello')
  })

  it('that fails while the body comes in is refused at the end, and the other content stays [UP-80]', async () => {
    const { api, token } = await server().person()
    const id = await api.file('a.txt', 'root', 'hello')
    for (const body of [bytesOf(1000), bytesOf(200_000)]) {
      const match = { 'If-Match': await tagOf(api, id) }
      const held = await holdUpload(server(), { token, id, body, headers: match })
      const other = `other ${body.length}`
      const tag = expectStored(await api.upload(id, other))
      const answer = await held.finish()
      held.raw.drop()
      expectRefused(answer, 412, 'CONFLICT')
      expect(answer.headers['etag']).toBe(tag)
      expect(await contentOf(api, id)).toBe(other)
    }
  })

  it('lets exactly one of ten through that carry the same tag [UP-81]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt', 'root', 'hello')
    const match = { 'If-Match': await tagOf(api, id) }
    const bodies = Array.from({ length: 10 }, (_, index) => `body ${index}`)
    const answers = await Promise.all(bodies.map((body) => api.upload(id, body, match)))
    const winners = bodies.filter((_, index) => answers[index]?.status === 204)
    expect(winners).toHaveLength(1)
    for (const answer of answers) if (answer.status !== 204) expectRefused(answer, 412, 'CONFLICT')
    expect(await contentOf(api, id)).toBe(winners[0])
  })

  it('checks it in every request of an upload in chunks [UP-82]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt', 'root', 'before')
    const good = { 'If-Match': await tagOf(api, id) }
    const bad = { 'If-Match': '"other"' }
    expectRefused(await api.upload(id, '', { ...bad, ...total() }), 412, 'CONFLICT')
    expectRefused(await api.upload(id, 'hello', { ...bad, ...part(0, 4) }), 412, 'CONFLICT')
    const own = { 'Upload-ID': expectProgress(await api.upload(id, '', { ...good, ...total() }), 0) }
    expectProgress(await api.upload(id, 'hello', { ...own, ...good, ...part(0, 4) }), 5)
    const refused = [
      [part(5, 5), '!'],
      [part(0, 0), '!'],
      [part(5, 5, 6), '!'],
      [total(), ''],
      [total(5), ''],
    ] as const
    for (const [headers, body] of refused) {
      const answer = await api.upload(id, body, { ...own, ...bad, ...headers })
      expectRefused(answer, 412, 'CONFLICT')
      expect(answer.headers.etag).toBe(good['If-Match'])
      expect(await received(api, id, own['Upload-ID'])).toBe(5)
    }
    expectProgress(await api.upload(id, '', { ...own, ...good, ...total() }), 5, 200)
    expectStored(await api.upload(id, '', { ...own, ...good, ...total(5) }))
    expect(await contentOf(api, id)).toBe('hello')
  })

  it('that fails at the end keeps the upload with all its bytes [UP-83]', async () => {
    const { api, token } = await server().person()
    const id = await api.file('a.txt', 'root', 'before')
    const good = { 'If-Match': await tagOf(api, id) }
    const own = { 'Upload-ID': await begin(api, id) }
    expectProgress(await api.upload(id, 'hello', { ...own, ...part(0, 4) }), 5)
    const headers = { ...own, ...good, ...part(5, 9, 10) }
    const held = await holdUpload(server(), { token, id, body: Buffer.from('world'), headers })
    const tag = expectStored(await api.upload(id, 'other'))
    const answer = await held.finish()
    held.raw.drop()
    expectRefused(answer, 412, 'CONFLICT')
    expect(answer.headers['etag']).toBe(tag)
    expect(await contentOf(api, id)).toBe('other')
    expect(await received(api, id, own['Upload-ID'])).toBe(10)
    expectStored(await api.upload(id, '', { ...own, 'If-Match': tag, ...total(10) }))
    expect(await contentOf(api, id)).toBe('helloworld')
  })

  it('cannot hold for a file without content, and an empty one is none [ETAG-21] [UP-84]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt')
    const metadata = String((await api.get(`/files/${id}`)).headers.etag)
    for (const match of ['*', '"x"', '"x", "y"', metadata]) {
      for (const headers of [{}, part(0, 4)]) {
        const answer = await api.upload(id, 'hello', { 'If-Match': match, ...headers })
        expectRefused(answer, 412, 'CONFLICT')
        expect(answer.headers.etag).toBeUndefined()
      }
    }
    expectRefused(await api.get(`/files/${id}/content`), 404, 'NOT_FOUND')
    expectStored(await api.upload(id, 'hello', { 'If-Match': '' }))
    expectStored(await api.upload(id, 'again', { 'If-Match': ' ' }))
    const tag = await tagOf(api, id)
    for (const none of ['*', tag, '"other"'])
      expectStored(await api.upload(id, `not ${none}`, { 'If-None-Match': none }))
  })
})

describe.each(ENGINES)('an upload with Expect: 100-continue on %s', (engine) => {
  const server = useServer(engine)

  it.each(VERSIONS)('is asked for its body and then answered in version %s [UP-85]', async (version) => {
    const { api, token } = await server().person(undefined, version)
    const id = await api.file('a.txt')
    for (const [headers, body] of [
      [{}, 'hello'],
      [part(0, 4, 5), 'again'],
    ] as const) {
      const held = await holdUpload(server(), {
        token,
        id,
        body: Buffer.from(body),
        headers,
        version,
        sent: 0,
      })
      expectStored(await held.finish(), version)
      held.raw.drop()
      expect(await contentOf(api, id)).toBe(body)
    }
  })

  it('is refused without a 100 by every check that needs no body [UP-86]', async () => {
    const { api, token, email } = await server().person()
    const id = await api.file('a.txt', 'root', 'before')
    const own = { 'Upload-ID': await begin(api, id) }
    const reader = await server().addToken(email, 'files.read')
    const cases = [
      [{ token: undefined }, 401],
      [{ token: '0'.repeat(64) }, 401],
      [{ token: reader }, 403],
      [{ id: `${id.slice(0, 32)}${'1'.repeat(32)}` }, 404],
      [{ id: 'bla' }, 400],
      [{ headers: { 'Content-Range': 'nonsense' } }, 400],
      [{ headers: part(5, 9) }, 400],
      [{ headers: { 'Upload-ID': '0'.repeat(64), ...part(0, 4) } }, 400],
      [{ headers: { 'If-Match': '"no"' } }, 412],
      [{ headers: { ...own, ...part(5, 9) } }, 416],
      [{ headers: { ...own, ...total() } }, 400],
    ] as const
    for (const [change, status] of cases) {
      const headers = { 'Content-Length': 5, ...EXPECT, ...('headers' in change ? change.headers : {}) }
      const answer = await putRaw(server(), { token, id, ...change, headers })
      expect(`${JSON.stringify(change)} ${answer.status}`).toBe(`${JSON.stringify(change)} ${status}`)
    }
    expect(await contentOf(api, id)).toBe('before')
  })

  it('leaves the connection closed or usable after a refusal [UP-87]', async () => {
    const { api, token } = await server().person()
    const id = await api.file('a.txt', 'root', 'before')
    const path = `/api/v1.3/files/${id}/content`
    const raw = await openRaw(server())
    raw.send(requestHead('PUT', path, token, { 'If-Match': '"no"', 'Content-Length': 5, ...EXPECT }))
    expectRefused(await raw.answer(), 412, 'CONFLICT')
    // The client sends the body that it announced, and then its next request.
    raw.send('hello')
    raw.send(requestHead('GET', path, token))
    const next = await raw.answer().catch(() => 'closed' as const)
    if (next !== 'closed') {
      expect(next.status).toBe(200)
      expect(next.body.toString()).toBe('before')
    }
    raw.drop()
    expect(await contentOf(api, id)).toBe('before')
  })
})
