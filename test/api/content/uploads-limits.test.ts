import { readdir } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import type { RawAnswer } from '../../support/raw.js'
import { childrenOf } from '../../support/processes.js'
import type { TestServer } from '../../support/server.js'
import {
  begin,
  bytesOf,
  contentOf,
  eventually,
  expectProgress,
  expectRefused,
  expectStored,
  holdUpload,
  part,
  putRaw,
  received,
  total,
  useServer,
  type HeldUpload,
} from './support.js'

const EXPECT = { Expect: '100-continue' }

describe.each(ENGINES)('uploads at the same time on %s', (engine) => {
  const server = useServer(engine)

  it('take one chunk of an Upload-ID at a time [UP-62] [UP-86] [LIMIT-9]', async () => {
    const { api, token } = await server().person()
    const id = await api.file('a.txt')
    const own = { 'Upload-ID': await begin(api, id) }
    const held = await holdUpload(server(), {
      token,
      id,
      body: Buffer.from('hello'),
      headers: { ...own, ...part(0, 4) },
    })
    expectRefused(await api.upload(id, 'other', { ...own, ...part(0, 4) }), 409, 'CONFLICT')
    const waiting = { ...own, ...part(0, 4), 'Content-Length': 5, ...EXPECT }
    expectRefused(await putRaw(server(), { token, id, headers: waiting }), 409, 'CONFLICT')
    expectProgress(await held.finish(), 5)
    held.raw.drop()
    expectStored(await api.upload(id, '!', { ...own, ...part(5, 5, 6) }))
    expect(await contentOf(api, id)).toBe('hello!')
  })

  it('tell how far one is while a chunk comes in, and do not complete it [UP-63]', async () => {
    const { api, token } = await server().person()
    const id = await api.file('a.txt')
    const own = { 'Upload-ID': await begin(api, id) }
    const first = await holdUpload(server(), {
      token,
      id,
      body: Buffer.from('hello'),
      headers: { ...own, ...part(0, 4) },
    })
    const unused = await api.upload(id, '', { ...own, ...total() })
    expectRefused(unused, 400, 'BAD_ARGS')
    expect(unused.headers['upload-id']).toBe(own['Upload-ID'])
    expectProgress(await first.finish(), 5)
    first.raw.drop()
    const second = await holdUpload(server(), {
      token,
      id,
      body: Buffer.from('world'),
      headers: { ...own, ...part(5, 9) },
    })
    expectProgress(await api.upload(id, '', { ...own, ...total() }), 5, 200)
    expectRefused(await api.upload(id, '', { ...own, ...total(5) }), 409, 'CONFLICT')
    expectProgress(await second.finish(), 10)
    second.raw.drop()
    expectStored(await api.upload(id, '', { ...own, ...total(10) }))
  })
})

describe.each(ENGINES)('a node of %s that takes two bodies at a time', (engine) => {
  describe.each([1, 2])('with %i process(es)', (workers) => {
    const server = useServer(engine, { workers, args: ['--max-uploads', '2', '--body-idle-ms', '10000'] })

    async function person(): Promise<{
      api: Client
      token: string
      id: string
      both: () => Promise<[HeldUpload, HeldUpload]>
    }> {
      const { api, token } = await server().person()
      const id = await api.file('a.txt', 'root', 'before')
      const files = [await api.file('one'), await api.file('two')] as const
      const hold = (file: string): Promise<HeldUpload> =>
        holdUpload(server(), { token, id: file, body: bytesOf(100_000), sent: 100 })
      return { api, token, id, both: async () => [await hold(files[0]), await hold(files[1])] }
    }

    async function expectFree(api: Client, id: string): Promise<void> {
      await eventually(async () => expectStored(await api.upload(id, 'stored')))
    }

    it('refuses the third, however small, and takes it when one has ended [UP-65] [UP-67] [UP-68] [UP-86] [LIMIT-7]', async () => {
      const { api, token, id, both } = await person()
      const held = await both()
      const own = { 'Upload-ID': await begin(api, id) }
      const refused = [
        await api.upload(id, 'hello'),
        await api.upload(id, bytesOf(200_000)),
        await api.upload(id, 'hello', part(0, 4)),
        await api.upload(id, 'hello', { ...own, ...part(0, 4) }),
        await api.upload(id, 'hello', { 'Transfer-Encoding': 'chunked' }),
        await putRaw(server(), { token, id, headers: { 'Content-Length': 5, ...EXPECT } }),
      ]
      for (const answer of refused) {
        expectRefused(answer, 429, 'TOO_MANY_REQUESTS')
        expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
      }
      expect(await contentOf(api, id)).toBe('before')
      expectStored(await held[0].finish())
      held[0].raw.drop()
      await expectFree(api, id)
      expectProgress(await api.upload(id, 'hello', { ...own, ...part(0, 4) }), 5)
      held[1].raw.drop()
    })

    it('serves what has no body, downloads and JSON as usual meanwhile [UP-66] [LIMIT-7]', async () => {
      const { api, id, both } = await person()
      const own = { 'Upload-ID': await begin(api, id) }
      await eventually(async () =>
        expectProgress(await api.upload(id, 'hello', { ...own, ...part(0, 4) }), 5),
      )
      const held = await both()
      await begin(api, id)
      expectProgress(await api.upload(id, '', { ...own, ...total() }), 5, 200)
      expect(await contentOf(api, id)).toBe('before')
      expectStored(await api.upload(id, '', { ...own, ...total(5) }))
      expect(await contentOf(api, id)).toBe('hello')
      expectStored(await api.upload(id, ''))
      expect((await api.put(`/files/${id}`, { name: 'renamed.txt' })).status).toBe(200)
      for (const one of held) one.raw.drop()
    })

    it('has a place again after a lost connection, a refusal and silence [UP-67] [LIMIT-8]', async () => {
      const { api, token, id, both } = await person()
      const lost = await both()
      for (const one of lost) one.raw.drop()
      await expectFree(api, id)
      const silent = await both()
      await Promise.all(silent.map((one) => one.raw.closed))
      await expectFree(api, id)
      for (let count = 0; count < 3; count += 1) {
        const match = { 'If-Match': String((await api.head(`/files/${id}/content`)).headers.etag) }
        const refused = await holdUpload(server(), { token, id, body: bytesOf(1000), headers: match })
        await api.upload(id, `other ${count}`)
        expectRefused(await refused.finish(), 412, 'CONFLICT')
        refused.raw.drop()
      }
      await expectFree(api, id)
    })

    it('says what else is wrong before it says that it is full [UP-69]', async () => {
      const { api, id, both } = await person()
      const own = { 'Upload-ID': await begin(api, id) }
      const reader = server().client(await server().addToken((await server().person()).email, 'files.read'))
      const held = await both()
      expectRefused(await api.upload(id, 'hello', { 'Content-Range': 'nonsense' }), 400, 'BAD_ARGS')
      expectRefused(await reader.upload(id, 'hello'), 403, 'FORBIDDEN')
      expectRefused(await api.upload(`${id.slice(0, 32)}${'1'.repeat(32)}`, 'hello'), 404, 'NOT_FOUND')
      expectRefused(await api.upload(id, 'hello', { 'If-Match': '"no"' }), 412, 'CONFLICT')
      expect((await api.upload(id, 'hello', { ...own, ...part(5, 9) })).status).toBe(416)
      for (const one of held) one.raw.drop()
    })
  })

  describe('with a process that crashes', () => {
    const server = useServer(engine, { workers: 2, args: ['--max-uploads', '2'] })

    it('has the places of that process again [LIMIT-8]', async () => {
      const { api, token } = await server().person()
      const id = await api.file('a.txt')
      const held = [await api.file('one'), await api.file('two')].map((file) =>
        holdUpload(server(), { token, id: file, body: bytesOf(100_000), sent: 100 }),
      )
      await Promise.all(held)
      for (const worker of childrenOf(server().pid)) process.kill(worker, 'SIGKILL')
      await eventually(async () => expectStored(await api.upload(id, 'stored')))
    })
  })
})

/** `node show` knows what the node holds, unfinished uploads included. */
async function usedBytes(server: TestServer): Promise<number> {
  const shown = await server.command('node', 'show', '--json')
  return (JSON.parse(shown.stdout) as { used: number }).used
}

const CAPACITY = 500_000

describe.each(ENGINES)('a node of %s with little space', (engine) => {
  const server = useServer(engine, { args: ['--capacity', String(CAPACITY)] })

  async function emptied(): Promise<{ api: Client; old: Client; token: string; id: string }> {
    await eventually(async () => expect(await usedBytes(server())).toBe(0))
    const { api, token } = await server().person()
    return { api, token, old: server().client(token, '1.0'), id: await api.file('a.bin') }
  }

  async function expectFull(
    answer: RawAnswer | Promise<RawAnswer | Awaited<ReturnType<Client['get']>>>,
  ): Promise<void> {
    expectRefused(await answer, 507, 'INSUFFICIENT_STORAGE')
  }

  it('refuses what does not fit before it is sent, and keeps the old content [UP-70] [UP-86] [NODE-28]', async () => {
    const { api, old, token, id } = await emptied()
    expectStored(await api.upload(id, 'old'))
    const headers = { 'Content-Length': CAPACITY + 1, ...EXPECT }
    await expectFull(putRaw(server(), { token, id, headers }))
    await expectFull(api.upload(id, bytesOf(CAPACITY + 1)))
    expectRefused(await putRaw(server(), { token, id, headers, version: '1.0' }), 500, 'INTERNAL_ERROR')
    expectRefused(await old.upload(id, bytesOf(CAPACITY + 1)), 500, 'INTERNAL_ERROR')
    expect(await contentOf(api, id)).toBe('old')
    await api.delete(`/files/${id}`)
  })

  it('refuses a body of unknown length once it outgrows the space, and keeps nothing of it [UP-71] [NODE-29]', async () => {
    const { api, old, id } = await emptied()
    expectStored(await api.upload(id, 'old'))
    const coded = { 'Transfer-Encoding': 'chunked' }
    await expectFull(api.upload(id, bytesOf(CAPACITY + 1), coded))
    expectRefused(await old.upload(id, bytesOf(CAPACITY + 1), coded), 500, 'INTERNAL_ERROR')
    expect(await contentOf(api, id)).toBe('old')
    expect(await usedBytes(server())).toBe(3)
    await eventually(async () => expect(await readdir(`${server().dataDir}/staging`)).toEqual([]))
    await api.delete(`/files/${id}`)
  })

  it('refuses the first chunk of a total that cannot fit [UP-72]', async () => {
    const { api, old, token, id } = await emptied()
    const headers = part(0, 9, CAPACITY + 1)
    await expectFull(api.upload(id, bytesOf(10), headers))
    await expectFull(
      putRaw(server(), { token, id, headers: { ...headers, 'Content-Length': 10, ...EXPECT } }),
    )
    expectRefused(await old.upload(id, bytesOf(10), headers), 500, 'INTERNAL_ERROR')
    const own = { 'Upload-ID': await begin(api, id) }
    await expectFull(api.upload(id, bytesOf(10), { ...own, ...headers }))
    expect(await usedBytes(server())).toBe(0)
    await api.delete(`/files/${id}`)
  })

  it('refuses the chunk that passes the space, and keeps those before it [UP-73] [UP-41] [NODE-33]', async () => {
    const { api, old, id } = await emptied()
    const body = bytesOf(CAPACITY + 1)
    const own = { 'Upload-ID': await begin(api, id) }
    for (let first = 0; first < CAPACITY; first += 100_000) {
      expectProgress(
        await api.upload(id, body.subarray(first, first + 100_000), {
          ...own,
          ...part(first, first + 99_999),
        }),
        first + 100_000,
      )
    }
    expect(await usedBytes(server())).toBe(CAPACITY)
    await expectFull(api.upload(id, 'x', { ...own, ...part(CAPACITY, CAPACITY) }))
    expectRefused(await old.upload(id, 'x', { ...own, ...part(CAPACITY, CAPACITY) }), 500, 'INTERNAL_ERROR')
    await expectFull(api.upload(await api.file('other'), 'x'))
    expect(await received(api, id, own['Upload-ID'])).toBe(CAPACITY)
    expectStored(await api.upload(id, '', { ...own, ...total(CAPACITY) }))
    expect((await api.get(`/files/${id}/content`)).body.equals(body.subarray(0, CAPACITY))).toBe(true)
    await api.delete(`/files/${id}`)
  })

  it('lets only one of two through that fit alone and not together, however they come [NODE-30]', async () => {
    const { api, token, id } = await emptied()
    const other = await api.file('b.bin')
    const size = 300_000
    const forms = [{}, part(0, size - 1)]
    for (const headers of forms) {
      const [one, two] = [
        await holdUpload(server(), { token, id, body: bytesOf(size, 1), headers }),
        await holdUpload(server(), { token, id: other, body: bytesOf(size, 2), headers }),
      ]
      const answers = await Promise.all([one.finish(), two.finish()])
      one.raw.drop()
      two.raw.drop()
      expect(answers.map((answer) => answer.status).sort()).toEqual([204, 507])
      expect(await usedBytes(server())).toBe(size)
      expectStored(await api.upload(id, ''))
      expectStored(await api.upload(other, ''))
      const winner = answers.findIndex((answer) => answer.status === 204)
      const uploadId = answers[winner]?.headers['upload-id']
      if (uploadId !== undefined) {
        expectStored(
          await api.upload([id, other][winner] ?? '', 'x', { 'Upload-ID': uploadId, ...part(0, 0, 1) }),
        )
      }
    }
    await api.delete(`/files/${id}`)
    await api.delete(`/files/${other}`)
  })

  it('has room again when content is deleted or replaced, or the capacity is raised [UP-75] [NODE-31]', async () => {
    const { api, id } = await emptied()
    const other = await api.file('b.bin')
    expectStored(await api.upload(id, bytesOf(400_000, 1)))
    await expectFull(api.upload(other, bytesOf(200_000, 2)))
    expectStored(await api.upload(id, bytesOf(100_000, 3)))
    expectStored(await api.upload(other, bytesOf(200_000, 2)))
    await expectFull(api.upload(id, bytesOf(400_000, 4)))
    await api.delete(`/files/${other}`)
    expectStored(await api.upload(id, bytesOf(400_000, 4)))
    const third = await api.file('c.bin')
    await expectFull(api.upload(third, bytesOf(200_000, 5)))
    expect((await server().command('node', 'capacity', '700000')).status).toBe(0)
    expectStored(await api.upload(third, bytesOf(200_000, 5)))
    expect((await server().command('node', 'capacity', String(CAPACITY))).status).toBe(0)
    await api.delete(`/files/${id}`)
    await api.delete(`/files/${third}`)
  })

  it('refuses uploads of a person whose quota is spent, and of nobody else [UP-74] [NODE-32]', async () => {
    await emptied()
    const email = await server().addUser({ quotaBytes: 1000 })
    const token = await server().addToken(email)
    const api = server().client(token)
    const old = server().client(token, '1.0')
    const id = await api.file('a.bin', 'root', bytesOf(400))
    const other = await api.file('b.bin')
    await expectFull(putRaw(server(), { token, id: other, headers: { 'Content-Length': 601, ...EXPECT } }))
    expectRefused(await old.upload(other, bytesOf(601)), 500, 'INTERNAL_ERROR')
    await expectFull(api.upload(other, bytesOf(601), { 'Transfer-Encoding': 'chunked' }))
    await expectFull(api.upload(other, bytesOf(10), part(0, 9, 601)))
    const own = { 'Upload-ID': await begin(api, other) }
    expectProgress(await api.upload(other, bytesOf(600), { ...own, ...part(0, 599) }), 600)
    await expectFull(api.upload(other, 'x', { ...own, ...part(600, 600) }))
    expect(await received(api, other, own['Upload-ID'])).toBe(600)
    const stranger = (await server().person()).api
    const theirs = await stranger.file('theirs.bin', 'root', bytesOf(2000, 9))
    expectStored(await api.upload(other, '', { ...own, ...total(600) }))
    await expectFull(api.upload(other, bytesOf(601)))
    expectStored(await api.upload(id, bytesOf(399)))
    expectStored(await api.upload(other, bytesOf(601, 4)))
    await api.delete(`/files/${id}`)
    await api.delete(`/files/${other}`)
    await stranger.delete(`/files/${theirs}`)
  })
})

describe.each(ENGINES)('a node of %s that does not hold a folder', (engine) => {
  const server = useServer(engine)

  it('refuses every upload there before the body, whatever the condition [UP-76] [UP-77] [UP-86] [NODE-20]', async () => {
    const { api, token, email } = await server().person()
    const old = server().client(token, '1.0')
    const folder = await api.folder('folder')
    const id = await api.file('a.txt', await api.folder('inner', folder), 'before')
    const own = { 'Upload-ID': await begin(api, id) }
    expectProgress(await api.upload(id, 'hello', { ...own, ...part(0, 4) }), 5)
    expect((await server().command('node', 'deselect', folder)).status).toBe(0)
    const requests = [
      [{}, 'whole'],
      [part(0, 4), 'chunk'],
      [total(), ''],
      [{ ...own, ...part(5, 9) }, 'chunk'],
      [{ ...own, ...total() }, ''],
      [{ ...own, ...total(5) }, ''],
      [{ 'If-Match': '"stale"' }, 'whole'],
    ] as const
    for (const [headers, body] of requests) {
      expectRefused(await api.upload(id, body, headers), 404, 'NOT_FOUND')
      expectRefused(await old.upload(id, body, headers), 500, 'INTERNAL_ERROR')
    }
    expectRefused(
      await putRaw(server(), { token, id, headers: { 'Content-Length': 5, ...EXPECT } }),
      404,
      'NOT_FOUND',
    )
    const reader = server().client(await server().addToken(email, 'files.read'))
    expectRefused(await reader.upload(id, 'hello'), 403, 'FORBIDDEN')
    expect((await server().command('node', 'select', folder)).status).toBe(0)
    expect(await contentOf(api, id)).toBe('before')
    expectStored(await api.upload(id, '', { ...own, ...total(5) }))
    expect(await contentOf(api, id)).toBe('hello')
  })
})
