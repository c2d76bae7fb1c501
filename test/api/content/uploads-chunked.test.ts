import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import {
  begin,
  bytesOf,
  contentOf,
  eventually,
  expectBytes,
  expectProgress,
  expectRefused,
  expectStored,
  holdUpload,
  okStatus,
  part,
  received,
  total,
  useServer,
  VERSIONS,
} from './support.js'

describe.each(ENGINES)('an upload in chunks on %s', (engine) => {
  const server = useServer(engine)

  /** A file with the content `before` and an upload that has received `hello`. */
  async function started(
    version: string,
  ): Promise<{ api: Client; id: string; own: { 'Upload-ID': string } }> {
    const { api } = await server().person(undefined, version)
    const id = await api.file('a.txt', 'root', 'before')
    const own = { 'Upload-ID': await begin(api, id) }
    expectProgress(await api.upload(id, 'hello', { ...own, ...part(0, 4) }), 5, okStatus(version))
    return { api, id, own }
  }

  describe.each(VERSIONS)('in version %s', (version) => {
    const ok = okStatus(version)

    it('begins without data [UP-13]', async () => {
      const { api } = await server().person(undefined, version)
      const id = await api.file('a.txt', 'root', 'before')
      expectProgress(await api.upload(id, '', total()), 0, ok)
      expect(await contentOf(api, id)).toBe('before')
    })

    it('begins with a first chunk, whether the total is known or not [UP-14] [UP-15]', async () => {
      const { api } = await server().person(undefined, version)
      const id = await api.file('a.txt', 'root', 'before')
      for (const length of ['*', 10] as const) {
        const uploadId = expectProgress(await api.upload(id, 'hello', part(0, 4, length)), 5, ok)
        expect(await received(api, id, uploadId)).toBe(5)
      }
      expect(await contentOf(api, id)).toBe('before')
    })

    it('tells how far it is, with 200 [UP-20]', async () => {
      const { api, id, own } = await started(version)
      for (let count = 0; count < 2; count += 1) {
        expect(expectProgress(await api.upload(id, '', { ...own, ...total() }), 5, 200)).toBe(
          own['Upload-ID'],
        )
      }
    })

    it('tells an unused, an unknown and a completed id alike, and the unused one stays usable [UP-21] [NODE-38]', async () => {
      const { api } = await server().person(undefined, version)
      const id = await api.file('a.txt')
      const unused = await begin(api, id)
      const completed = await begin(api, id)
      expectStored(await api.upload(id, 'x', { 'Upload-ID': completed, ...part(0, 0, 1) }), version)
      for (const asked of [unused, completed, '0'.repeat(64)]) {
        const answer = await api.upload(id, '', { 'Upload-ID': asked, ...total() })
        expectRefused(answer, 400, 'BAD_ARGS')
        expect(answer.headers['upload-id']).toBe(asked)
        expect(answer.headers['range']).toBeUndefined()
      }
      expectStored(await api.upload(id, 'hello', { 'Upload-ID': unused, ...part(0, 4, 5) }), version)
    })

    it('completes without a body when the total is what was received [UP-22]', async () => {
      const { api, id, own } = await started(version)
      expectStored(await api.upload(id, '', { ...own, ...total(5) }), version)
      expect(await contentOf(api, id)).toBe('hello')
    })

    it('completes with empty content when nothing was received [UP-23]', async () => {
      const { api } = await server().person(undefined, version)
      const id = await api.file('a.txt', 'root', 'before')
      expectStored(await api.upload(id, '', { 'Upload-ID': await begin(api, id), ...total(0) }), version)
      expect((await api.get(`/files/${id}`)).json['size']).toBe(0)
      expect(await contentOf(api, id)).toBe('')
    })

    it('goes on with 200 when another total than what was received is named [UP-24]', async () => {
      const { api, id, own } = await started(version)
      for (const length of [0, 4, 6, 1000]) {
        expect(expectProgress(await api.upload(id, '', { ...own, ...total(length) }), 5, 200)).toBe(
          own['Upload-ID'],
        )
      }
      expect(await contentOf(api, id)).toBe('before')
    })

    it('is 400 when a total is named and nothing was received [UP-25]', async () => {
      const { api } = await server().person(undefined, version)
      const id = await api.file('a.txt', 'root', 'before')
      const uploadId = await begin(api, id)
      const answer = await api.upload(id, '', { 'Upload-ID': uploadId, ...total(5) })
      expectRefused(answer, 400, 'BAD_ARGS')
      expect(answer.headers['upload-id']).toBe(uploadId)
      expectStored(await api.upload(id, 'hello', { 'Upload-ID': uploadId, ...part(0, 4, 5) }), version)
    })

    it('appends a chunk that starts where the last one ended, until the total is reached [UP-26] [UP-27] [NODE-16]', async () => {
      const { api, id, own } = await started(version)
      expect(expectProgress(await api.upload(id, ' wor', { ...own, ...part(5, 8) }), 9, ok)).toBe(
        own['Upload-ID'],
      )
      expect(await contentOf(api, id)).toBe('before')
      expectStored(await api.upload(id, 'ld', { ...own, ...part(9, 10, 11) }), version)
      expect(await contentOf(api, id)).toBe('hello world')
    })

    it('drops what was received from where a chunk starts [UP-28]', async () => {
      const { api, id, own } = await started(version)
      expectProgress(await api.upload(id, 'p', { ...own, ...part(3, 3) }), 4, ok)
      expect(await received(api, id, own['Upload-ID'])).toBe(4)
      expectStored(await api.upload(id, '', { ...own, ...total(4) }), version)
      expect(await contentOf(api, id)).toBe('help')
      const again = await started(version)
      expectProgress(await again.api.upload(again.id, 'abc', { ...again.own, ...part(0, 2) }), 3, ok)
      expectStored(await again.api.upload(again.id, '', { ...again.own, ...total(3) }), version)
      expect(await contentOf(again.api, again.id)).toBe('abc')
    })

    it('may rewind and complete in one request [UP-29]', async () => {
      const { api, id, own } = await started(version)
      expectProgress(await api.upload(id, '56789', { ...own, ...part(5, 9) }), 10, ok)
      expectStored(await api.upload(id, 'abc', { ...own, ...part(5, 7, 8) }), version)
      expect(await contentOf(api, id)).toBe('helloabc')
    })

    it('is 416 for a chunk beyond what was received, and goes on from there [UP-30] [LIMIT-9]', async () => {
      const { api, id, own } = await started(version)
      const gap = await api.upload(id, 'xyz', { ...own, ...part(6, 8) })
      expect(expectProgress(gap, 5, 416)).toBe(own['Upload-ID'])
      expect(await received(api, id, own['Upload-ID'])).toBe(5)
      expectStored(await api.upload(id, '!', { ...own, ...part(5, 5, 6) }), version)
      const unused = { 'Upload-ID': await begin(api, id) }
      expect(expectProgress(await api.upload(id, 'xyz', { ...unused, ...part(1, 3) }), 0, 416)).toBe(
        unused['Upload-ID'],
      )
      expectProgress(await api.upload(id, 'xyz', { ...unused, ...part(0, 2) }), 3, ok)
    })

    it('takes an empty chunk, also as the last one [UP-33]', async () => {
      const { api, id, own } = await started(version)
      expectProgress(await api.upload(id, '', { ...own, ...part(5, 4) }), 5, ok)
      expectStored(await api.upload(id, '', { ...own, ...part(5, 4, 5) }), version)
      expect(await contentOf(api, id)).toBe('hello')
    })
  })

  it('takes the Upload-ID of any token of the same user [UP-32]', async () => {
    const { api, email } = await server().person()
    const id = await api.file('a.txt')
    const own = { 'Upload-ID': await begin(api, id) }
    const app = await server().addApp()
    const second = server().client(await server().addToken(email, undefined, { app: app.id }))
    expectProgress(await second.upload(id, 'abc', { ...own, ...part(0, 2) }), 3)
    expectStored(await api.upload(id, '', { ...own, ...total(3) }))
    expect(await contentOf(api, id)).toBe('abc')
  })

  it('counts only the total of the current request [UP-42]', async () => {
    const { api, id, own } = await started('1.3')
    expectProgress(await api.upload(id, 'ab', { ...own, ...part(5, 6, 20) }), 7)
    expectProgress(await api.upload(id, 'cd', { ...own, ...part(7, 8) }), 9)
    expectStored(await api.upload(id, 'e', { ...own, ...part(9, 9, 10) }))
    expect(await contentOf(api, id)).toBe('helloabcde')
  })

  it('leaves the old content in place until it completes [UP-43]', async () => {
    const { api, id, own } = await started('1.3')
    const before = await api.get(`/files/${id}`)
    const tag = (await api.head(`/files/${id}/content`)).headers.etag
    expectProgress(await api.upload(id, ' again', { ...own, ...part(5, 10) }), 11)
    const during = await api.get(`/files/${id}`)
    expect(during.json).toEqual(before.json)
    expect(during.headers.etag).toBe(before.headers.etag)
    expect((await api.head(`/files/${id}/content`)).headers.etag).toBe(tag)
    const stored = expectStored(await api.upload(id, '', { ...own, ...total(11) }))
    const after = await api.get(`/files/${id}`)
    expect(after.json).toMatchObject({ size: 11, etag: stored.slice(1, -1) })
    expect(await contentOf(api, id)).toBe('hello again')
  })

  it('leaves a new file without content until it completes [UP-44]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt')
    expectProgress(await api.upload(id, 'abc', part(0, 2)), 3)
    expectRefused(await api.get(`/files/${id}/content`), 404, 'NOT_FOUND')
    const file = (await api.get(`/files/${id}`)).json
    expect(file['content_state']).toBe('SYNCING')
    expect(file).not.toHaveProperty('size')
  })

  it('follows the three courses that clients take [UP-45] [UP-46] [UP-47]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.bin')
    const body = bytesOf(150_000, 46)
    const chunk = (first: number, last: number): Buffer => body.subarray(first, last + 1)

    const first = { 'Upload-ID': await begin(api, id) }
    expectProgress(await api.upload(id, chunk(0, 65_535), { ...first, ...part(0, 65_535) }), 65_536)
    expectProgress(
      await api.upload(id, chunk(65_536, 149_999), { ...first, ...part(65_536, 149_999) }),
      150_000,
    )
    const tag = expectStored(await api.upload(id, '', { ...first, ...total(150_000) }))
    expectBytes((await api.get(`/files/${id}/content`)).body, body)

    expectStored(await api.upload(id, 'reset'))
    const second = {
      'Upload-ID': expectProgress(await api.upload(id, chunk(0, 65_535), part(0, 65_535, 150_000)), 65_536),
    }
    expectProgress(
      await api.upload(id, chunk(65_536, 131_071), { ...second, ...part(65_536, 131_071, 150_000) }),
      131_072,
    )
    expect(
      expectStored(
        await api.upload(id, chunk(131_072, 149_999), { ...second, ...part(131_072, 149_999, 150_000) }),
      ),
    ).toBe(tag)
    expectBytes((await api.get(`/files/${id}/content`)).body, body)

    expectStored(await api.upload(id, 'reset'))
    const third = { 'Upload-ID': expectProgress(await api.upload(id, body, part(0, 149_999)), 150_000) }
    expect(expectStored(await api.upload(id, '', { ...third, ...total(150_000) }))).toBe(tag)
    expectBytes((await api.get(`/files/${id}/content`)).body, body)
  })

  it('has an identifier that is random, never repeats and is taken back as it is [UP-49] [NODE-17]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt')
    const ids = await Promise.all(Array.from({ length: 40 }, () => begin(api, id)))
    expect(new Set(ids).size).toBe(40)
    for (const uploadId of ids) expect(uploadId).toMatch(/^[0-9a-f]{64}$/)
    // Where two identifiers agree by more than chance, a part of them is not random: 64 digits agree in about 4 places.
    const [one = '', ...others] = ids
    for (const other of others) {
      const same = [...one].filter((digit, index) => digit === other[index]).length
      expect(same).toBeLessThan(24)
    }
    const chosen = ids[7] ?? ''
    expect(chosen).not.toContain(id.slice(32))
    expect(expectProgress(await api.upload(id, 'abc', { 'Upload-ID': chosen, ...part(0, 2) }), 3)).toBe(
      chosen,
    )
  })

  it('is independent of another upload to the same file [UP-50]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt')
    const [one, two] = [{ 'Upload-ID': await begin(api, id) }, { 'Upload-ID': await begin(api, id) }]
    expectProgress(await api.upload(id, 'one', { ...one, ...part(0, 2) }), 3)
    expectProgress(await api.upload(id, 'second', { ...two, ...part(0, 5) }), 6)
    expect(await received(api, id, one['Upload-ID'])).toBe(3)
    expectStored(await api.upload(id, '', { ...one, ...total(3) }))
    expect(await contentOf(api, id)).toBe('one')
    expectStored(await api.upload(id, '', { ...two, ...total(6) }))
    expect(await contentOf(api, id)).toBe('second')
  })

  it('ends with its token and goes on with another one [UP-51]', async () => {
    const { api, email } = await server().person()
    const id = await api.file('a.txt')
    const token = await server().addToken(email)
    const revoked = server().client(token)
    const own = { 'Upload-ID': await begin(revoked, id) }
    expectProgress(await revoked.upload(id, 'abc', { ...own, ...part(0, 2) }), 3)
    const held = await holdUpload(server(), {
      token,
      id,
      body: Buffer.from('def'),
      headers: { ...own, ...part(3, 5, 6) },
    })
    await server().revoke(token)
    expectRefused(await held.finish(), 401, 'UNAUTHORIZED')
    held.raw.drop()
    expectRefused(await revoked.upload(id, 'def', { ...own, ...part(3, 5) }), 401, 'UNAUTHORIZED')
    expectRefused(await api.get(`/files/${id}/content`), 404, 'NOT_FOUND')
    expectStored(await api.upload(id, 'def', { ...own, ...part(3, 5, 6) }))
    expect(await contentOf(api, id)).toBe('abcdef')
  })

  it('goes on when the file is renamed or moved and ends when it is deleted [UP-52]', async () => {
    const { api, id, own } = await started('1.3')
    await api.put(`/files/${id}`, { name: 'b.txt' })
    expectProgress(await api.upload(id, '1', { ...own, ...part(5, 5) }), 6)
    await api.put(`/files/${id}`, { parent: await api.folder('elsewhere') })
    expectProgress(await api.upload(id, '2', { ...own, ...part(6, 6) }), 7)
    await api.delete(`/files/${id}`)
    for (const headers of [part(7, 7), total(7), total()]) {
      const body = headers['Content-Range'] === 'bytes 7-7/*' ? '3' : ''
      expectRefused(await api.upload(id, body, { ...own, ...headers }), 404, 'NOT_FOUND')
    }
  })

  it('gives the content and the tag of one PUT, however it is cut, rewound, resumed or lost [UP-48] [UP-53] [UP-54]', async () => {
    const { api, token } = await server().person()
    const id = await api.file('split.bin')
    const whole = await api.file('whole.bin')
    const share = fc.double({ min: 0, max: 1, noNaN: true })
    // Lengths beyond one block of the content's hash, so that a rewind may fall into an earlier block.
    const length = fc.oneof(
      { weight: 3, arbitrary: fc.integer({ min: 1, max: 3000 }) },
      fc.integer({ min: 4_190_000, max: 4_400_000 }),
    )
    const step = fc.record({
      start: fc.oneof(fc.constant(1), share),
      length,
      seed: fc.nat(),
      isLost: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        const own = { 'Upload-ID': await begin(api, id) }
        let sent = Buffer.alloc(0)
        for (const { start, length, seed, isLost } of steps) {
          const first = Math.floor(start * sent.length)
          const body = bytesOf(length, seed)
          const headers = { ...own, ...part(first, first + length - 1) }
          let arrived = length
          if (isLost && length > 1) {
            const held = await patiently(() =>
              holdUpload(server(), { token, id, body, sent: length >> 1, headers }),
            )
            held.raw.drop()
            arrived = (await settled(api, id, own)) - first
            expect(arrived).toBeGreaterThanOrEqual(0)
            expect(arrived).toBeLessThanOrEqual(length >> 1)
          } else {
            await patiently(async () => expectProgress(await api.upload(id, body, headers), first + length))
          }
          sent = Buffer.concat([sent.subarray(0, first), body.subarray(0, arrived)])
        }
        const end = { ...own, ...part(sent.length, sent.length, sent.length + 1) }
        const content = Buffer.concat([sent, Buffer.from('.')])
        const tag = await patiently(async () => expectStored(await api.upload(id, '.', end)))
        expect(tag).toBe(expectStored(await api.upload(whole, content)))
        expectBytes((await api.get(`/files/${id}/content`)).body, content)
      }),
      { numRuns: 25, endOnFailure: true },
    )
  }, 120_000)
})

/** A request that comes before the server has noticed a lost connection gets a 409 and may be sent again. */
async function patiently<T>(attempt: () => Promise<T>): Promise<T> {
  let result: T | undefined
  await eventually(async () => {
    result = await attempt()
  })
  return result as T
}

/** What was received once the request before has ended: an empty chunk at that place is taken. */
async function settled(api: Client, id: string, own: { 'Upload-ID': string }): Promise<number> {
  return patiently(async () => {
    const count = await received(api, id, own['Upload-ID'])
    if (count > 0) expectProgress(await api.upload(id, '', { ...own, ...part(count, count - 1) }), count)
    return count
  })
}
