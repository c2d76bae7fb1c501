import { describe, expect, it } from 'vitest'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { codedChunk, openRaw, requestHead } from '../../support/raw.js'
import {
  begin,
  bytesOf,
  contentOf,
  expectProgress,
  expectRefused,
  expectStored,
  part,
  putRaw,
  received,
  total,
  useServer,
} from './support.js'

const EXPECT = { Expect: '100-continue' }

const MALFORMED = [
  '*/*',
  'bytes garbage/more',
  'bytes 0-/*',
  'bytes -5/10',
  'bytes 0-4',
  'bytes 0-4/',
  'bytes=0-4/5',
  'bytes /*/',
  'items 0-4/5',
]

describe.each(ENGINES)('an upload that is refused on %s', (engine) => {
  const server = useServer(engine)

  /** A file with the content `before` and an upload that has received `hello`. */
  async function started(): Promise<{
    api: Client
    token: string
    id: string
    own: { 'Upload-ID': string }
  }> {
    const { api, token } = await server().person()
    const id = await api.file('a.txt', 'root', 'before')
    const own = { 'Upload-ID': await begin(api, id) }
    expectProgress(await api.upload(id, 'hello', { ...own, ...part(0, 4) }), 5)
    return { api, token, id, own }
  }

  async function expectUnchanged(api: Client, id: string, own: { 'Upload-ID': string }): Promise<void> {
    expect(await received(api, id, own['Upload-ID'])).toBe(5)
    expect(await contentOf(api, id)).toBe('before')
  }

  async function expectUsable(api: Client, id: string, own: { 'Upload-ID': string }): Promise<void> {
    expectStored(await api.upload(id, '!', { ...own, ...part(5, 5, 6) }))
    expect(await contentOf(api, id)).toBe('hello!')
  }

  it('because its first chunk does not start at 0 is refused before the body [UP-18] [UP-86]', async () => {
    const { token, id, api } = await started()
    for (const [range, length] of [
      ['bytes 5-9/*', 5],
      ['bytes 1-0/*', 0],
      ['bytes 5-9/10', 5],
    ] as const) {
      const headers = { 'Content-Range': range, 'Content-Length': length, ...EXPECT }
      const answer = await putRaw(server(), { token, id, headers })
      expectRefused(answer, 400, 'BAD_ARGS')
      expect(answer.headers['upload-id']).toBeUndefined()
    }
    expect(await contentOf(api, id)).toBe('before')
  })

  it('because a request without a range has a body, or one of another length, is 400 [UP-19]', async () => {
    const { api, id } = await started()
    const wrong = [
      [total(), 'x'],
      [total(5), 'four'],
      [total(5), 'sixsix'],
      [total(5), ''],
      [total(0), 'x'],
    ] as const
    for (const [headers, body] of wrong) {
      for (const coding of [{}, { 'Transfer-Encoding': 'chunked' }]) {
        const answer = await api.upload(id, body, { ...headers, ...coding })
        expectRefused(answer, 400, 'BAD_ARGS')
        expect(answer.headers['upload-id']).toBeUndefined()
      }
    }
    expect(await contentOf(api, id)).toBe('before')
  })

  it('because its Upload-ID is unknown, malformed, completed, of another file or user is 400 [UP-31] [NODE-14]', async () => {
    const { api, id, own } = await started()
    const file = await api.file('other.txt', 'root', 'other')
    const stranger = await server().person()
    const theirs = await stranger.api.file('theirs.txt')
    const completed = await begin(api, id)
    expectStored(await api.upload(id, 'before', { 'Upload-ID': completed, ...part(0, 5, 6) }))
    const own64 = own['Upload-ID']
    const changed = `${own64.slice(0, -1)}${own64.endsWith('0') ? '1' : '0'}`
    const foreign = await begin(api, file)
    const ids = [
      completed,
      changed,
      foreign,
      await begin(stranger.api, theirs),
      '0'.repeat(64),
      'garbage',
      own64.toUpperCase(),
      `${own64}0`,
    ]
    const messages = new Set<string>()
    for (const uploadId of ids) {
      const requests = [
        [total(), ''],
        [part(0, 2), 'abc'],
        [part(5, 7), 'abc'],
        [part(0, 2, 3), 'abc'],
        [total(5), ''],
        [total(0), ''],
      ] as const
      for (const [headers, body] of requests) {
        const answer = await api.upload(id, body, { 'Upload-ID': uploadId, ...headers })
        expectRefused(answer, 400, 'BAD_ARGS')
        // A status query repeats what it was asked about, in every one of these cases; nothing else does.
        expect(answer.headers['upload-id']).toBe(
          headers['Content-Range'] === 'bytes */*' ? uploadId : undefined,
        )
        messages.add(answer.json.message)
      }
    }
    expect(messages.size).toBe(1)
    await expectUnchanged(api, id, own)
    expect(await contentOf(api, file)).toBe('other')
    expectStored(await api.upload(file, 'abc', { 'Upload-ID': foreign, ...part(0, 2, 3) }))
    await expectUsable(api, id, own)
  })

  it.each(MALFORMED)('because of the Content-Range %j is 400 and changes nothing [UP-34]', async (range) => {
    const { api, id, own } = await started()
    for (const upload of [{}, own]) {
      expectRefused(await api.upload(id, 'hello', { ...upload, 'Content-Range': range }), 400, 'BAD_ARGS')
    }
    await expectUnchanged(api, id, own)
    await expectUsable(api, id, own)
  })

  it('because Content-Range comes on two lines is 400 [UP-34]', async () => {
    const { api, id, own, token } = await started()
    for (const upload of ['', `Upload-ID: ${own['Upload-ID']}\r\n`]) {
      for (const second of ['bytes 0-4/5', 'bytes */*']) {
        const raw = await openRaw(server())
        const lines = `${upload}Content-Range: bytes 0-4/5\r\nContent-Range: ${second}`
        const path = `/api/v1.3/files/${id}/content`
        raw.send(
          requestHead('PUT', path, token, { 'Content-Length': 5 }).replace(
            '\r\n\r\n',
            `\r\n${lines}\r\n\r\nhello`,
          ),
        )
        expectRefused(await raw.answer(), 400, 'BAD_ARGS')
        raw.drop()
      }
    }
    await expectUnchanged(api, id, own)
  })

  it.each<[string, string]>([
    ['bytes 0-4/99999999999999999999', '[UP-35]'],
    ['bytes 99999999999999999999-99999999999999999999/*', '[UP-35]'],
    ['bytes */99999999999999999999', '[UP-35]'],
    ['bytes 6-4/*', '[UP-36]'],
    ['bytes 0-10/10', '[UP-37]'],
    ['bytes 5-10/10', '[UP-37]'],
    ['bytes 0-3/*', '[UP-38]'],
    ['bytes 0-5/*', '[UP-38]'],
    ['bytes 5-10/11', '[UP-38]'],
    ['bytes 5-8/9', '[UP-38]'],
  ])('because %s does not fit its 5 bytes is 400 before the body and changes nothing %s', async (range) => {
    const { api, id, own, token } = await started()
    for (const upload of [{}, own]) {
      const headers = { ...upload, 'Content-Range': range, 'Content-Length': 5, ...EXPECT }
      expectRefused(await putRaw(server(), { token, id, headers }), 400, 'BAD_ARGS')
    }
    expectRefused(await api.upload(id, '', { ...own, ...part(5, 9) }), 400, 'BAD_ARGS')
    await expectUnchanged(api, id, own)
    await expectUsable(api, id, own)
  })

  it('because a body of unknown length is not as long as its range is 400 and changes nothing [UP-39] [UP-41]', async () => {
    const { api, id, own } = await started()
    const coded = { 'Transfer-Encoding': 'chunked' }
    for (const [first, last] of [
      [5, 9],
      [2, 6],
      [0, 4],
    ] as const) {
      for (const body of ['', 'four', 'sixsix', bytesOf(300_000)]) {
        expectRefused(await api.upload(id, body, { ...own, ...coded, ...part(first, last) }), 400, 'BAD_ARGS')
        expectRefused(
          await api.upload(id, body, { ...own, ...coded, ...part(first, last, last + 1) }),
          400,
          'BAD_ARGS',
        )
        await expectUnchanged(api, id, own)
      }
    }
    for (const body of ['', 'four', 'sixsix', bytesOf(300_000)]) {
      expectRefused(await api.upload(id, body, { ...coded, ...part(0, 4) }), 400, 'BAD_ARGS')
      expectRefused(await api.upload(id, body, { ...coded, ...part(0, 4, 5) }), 400, 'BAD_ARGS')
    }
    expectStored(await api.upload(id, '', { ...own, ...total(5) }))
    expect(await contentOf(api, id)).toBe('hello')
  })

  it('because a status query or a completion has a body is 400 and changes nothing [UP-40]', async () => {
    const { api, id, own } = await started()
    for (const headers of [total(), total(5), total(6), total(1)]) {
      for (const coding of [{}, { 'Transfer-Encoding': 'chunked' }]) {
        expectRefused(await api.upload(id, 'x', { ...own, ...headers, ...coding }), 400, 'BAD_ARGS')
      }
    }
    await expectUnchanged(api, id, own)
    await expectUsable(api, id, own)
  })

  it('leaves what was received, whatever the refusal, and the upload goes on [UP-41]', async () => {
    const { api, id, own } = await started()
    expectRefused(await api.upload(id, 'xx', { ...own, ...part(3, 6) }), 400, 'BAD_ARGS')
    expect((await api.upload(id, 'xx', { ...own, ...part(9, 10) })).status).toBe(416)
    expectRefused(await api.upload(id, 'xx', { ...own, ...part(3, 4), 'If-Match': '"no"' }), 412, 'CONFLICT')
    await expectUnchanged(api, id, own)
    await expectUsable(api, id, own)
  })

  it('does not take its unread body for the next request [UP-87]', async () => {
    const { id, token, api } = await started()
    const path = `/api/v1.3/files/${id}/content`
    const body = requestHead('DELETE', `/api/v1.3/files/${id}`, token)
    const refusals = [
      { 'Content-Range': 'nonsense' },
      { 'If-Match': '"no"' },
      { 'Upload-ID': '0'.repeat(64), ...part(0, body.length - 1) },
    ]
    for (const headers of refusals) {
      const raw = await openRaw(server())
      raw.send(requestHead('PUT', path, token, { ...headers, 'Content-Length': body.length }) + body)
      raw.send(requestHead('GET', path, token))
      expect([400, 412]).toContain((await raw.answer()).status)
      const next = await raw.answer().catch(() => 'closed' as const)
      if (next !== 'closed') expect(`${next.status} ${next.body.toString()}`).toBe('200 before')
      raw.drop()
      expect(await contentOf(api, id)).toBe('before')
    }
  })

  it('still tells a client that sends many megabytes why it is refused [UP-88]', async () => {
    const { token, id, api } = await started()
    const body = bytesOf(24 * 1024 * 1024)
    const refusals = [
      [{ 'If-Match': '"no"' }, 412, 'CONFLICT', token],
      [{ 'Content-Range': 'bytes 5-9/10' }, 400, 'BAD_ARGS', token],
      [{}, 401, 'UNAUTHORIZED', '0'.repeat(64)],
    ] as const
    for (const [headers, status, type, who] of refusals) {
      const answer = await putRaw(server(), {
        token: who,
        id,
        headers: { ...headers, 'Content-Length': body.length },
        body,
      })
      expectRefused(answer, status, type)
    }
    expect(await contentOf(api, id)).toBe('before')
  })

  it('or accepted never stores what exceeds the stated length [UP-89]', async () => {
    const { token, id, api, own } = await started()
    const surplus = await putRaw(server(), {
      token,
      id,
      headers: { 'Content-Length': 5 },
      body: 'worldSURPLUS',
    })
    expectStored(surplus)
    expect(await contentOf(api, id)).toBe('world')
    const coded = Buffer.concat([codedChunk('again'), codedChunk('SURPLUS'), codedChunk('')])
    const headers = { ...own, 'Transfer-Encoding': 'chunked', ...part(5, 9, 10) }
    expectRefused(await putRaw(server(), { token, id, headers, body: coded }), 400, 'BAD_ARGS')
    expect(await received(api, id, own['Upload-ID'])).toBe(5)
    const stated = { ...own, 'Content-Length': 1, ...part(5, 5, 6) }
    expectStored(await putRaw(server(), { token, id, headers: stated, body: '!SURPLUS' }))
    expect(await contentOf(api, id)).toBe('hello!')
  })
})
