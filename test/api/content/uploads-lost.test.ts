import { readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { codedChunk, openRaw, requestHead } from '../../support/raw.js'
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
  part,
  received,
  total,
  useServer,
} from './support.js'

describe.each(ENGINES)('an upload whose connection is lost on %s', (engine) => {
  const server = useServer(engine)

  async function expectNothingStaged(): Promise<void> {
    await eventually(async () => expect(await readdir(`${server().dataDir}/staging`)).toEqual([]))
  }

  async function started(
    body: Buffer,
  ): Promise<{ api: Client; token: string; id: string; own: { 'Upload-ID': string } }> {
    const { api, token } = await server().person()
    const id = await api.file('a.bin')
    const own = { 'Upload-ID': await begin(api, id) }
    expectProgress(await api.upload(id, body, { ...own, ...part(0, body.length - 1) }), body.length)
    return { api, token, id, own }
  }

  it.each([
    ['ends in order', 5_000],
    ['ends in order', 400_000],
    ['breaks', 5_000],
    ['breaks', 400_000],
  ] as const)(
    'keeps the bytes of a chunk that arrived when the connection %s after %i [UP-53]',
    async (how, sent) => {
      const body = bytesOf(1_000_000, 53)
      const { api, token, id, own } = await started(body.subarray(0, 100_000))
      const headers = { ...own, ...part(100_000, 999_999, 1_000_000) }
      const held = await holdUpload(server(), { token, id, body: body.subarray(100_000), sent, headers })
      if (how === 'breaks') held.raw.drop()
      else held.raw.end()
      let count = 0
      await eventually(async () => {
        count = await received(api, id, own['Upload-ID'])
        expect(count).toBeGreaterThanOrEqual(100_000)
        expect(count).toBeLessThanOrEqual(100_000 + sent)
        if (how === 'ends in order') expect(count).toBe(100_000 + sent)
        const next = { ...own, ...part(count, count + 99) }
        expectProgress(await api.upload(id, body.subarray(count, count + 100), next), count + 100)
      })
      const rest = { ...own, ...part(count + 100, 999_999, 1_000_000) }
      expectStored(await api.upload(id, body.subarray(count + 100), rest))
      expectBytes((await api.get(`/files/${id}/content`)).body, body)
    },
  )

  it.each([{ coding: 'a stated length' }, { coding: 'chunked transfer coding' }])(
    'has dropped what the lost chunk was to replace, with $coding [UP-54]',
    async ({ coding }) => {
      const { api, token, id, own } = await started(bytesOf(1000, 1))
      const body = bytesOf(900, 2)
      const raw = await openRaw(server())
      const isCoded = coding !== 'a stated length'
      const framing = isCoded ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': 900 }
      const headers = { ...own, ...part(300, 1199), ...framing, Expect: '100-continue' }
      raw.send(requestHead('PUT', `/api/v1.3/files/${id}/content`, token, headers))
      expect((await raw.answer()).status).toBe(100)
      raw.send(isCoded ? codedChunk(body.subarray(0, 200)) : body.subarray(0, 200))
      raw.end()
      await eventually(async () => expect(await received(api, id, own['Upload-ID'])).toBe(500))
      await eventually(async () => expectStored(await api.upload(id, '', { ...own, ...total(500) })))
      const expected = Buffer.concat([bytesOf(1000, 1).subarray(0, 300), body.subarray(0, 200)])
      expectBytes((await api.get(`/files/${id}/content`)).body, expected)
    },
  )

  it('leaves nothing of a whole PUT, over old content or none [UP-55]', async () => {
    const { api, token } = await server().person()
    const old = await api.file('old.txt', 'root', 'before')
    const fresh = await api.file('fresh.txt')
    for (const id of [old, fresh]) {
      for (const [size, sent] of [
        [1000, 500],
        [3_000_000, 2_000_000],
      ] as const) {
        for (const headers of [{}, part(0, size - 1, size), total(size)]) {
          const held = await holdUpload(server(), { token, id, body: bytesOf(size), sent, headers })
          held.raw.drop()
        }
      }
    }
    await expectNothingStaged()
    expect(await contentOf(api, old)).toBe('before')
    expectRefused(await api.get(`/files/${fresh}/content`), 404, 'NOT_FOUND')
    expect((await api.get(`/files/${fresh}`)).json).not.toHaveProperty('size')
  })

  it('leaves nothing of a first chunk without Upload-ID [UP-56]', async () => {
    const { api, token } = await server().person()
    const id = await api.file('a.txt', 'root', 'before')
    const before = await api.get(`/files/${id}`)
    const held = await holdUpload(server(), {
      token,
      id,
      body: bytesOf(2_000_000),
      sent: 1_500_000,
      headers: part(0, 1_999_999),
    })
    held.raw.drop()
    await expectNothingStaged()
    expect((await api.get(`/files/${id}`)).json).toEqual(before.json)
    expect(await contentOf(api, id)).toBe('before')
  })
})

describe.each(ENGINES)('an upload to a server that is killed on %s', (engine) => {
  const server = useServer(engine, { workers: 2 })

  it('has every chunk that was acknowledged, on any process and after the restart [UP-57] [NODE-16]', async () => {
    const { api, token } = await server().person()
    const id = await api.file('a.bin')
    const body = bytesOf(5_000_000, 57)
    const own = { 'Upload-ID': await begin(api, id) }
    let count = 0
    for (const size of [1_000, 70_000, 4_300_000]) {
      const chunk = { ...own, ...part(count, count + size - 1) }
      expectProgress(await api.upload(id, body.subarray(count, count + size), chunk), count + size)
      count += size
    }
    const rest = { ...own, ...part(count, 4_999_999, 5_000_000) }
    const held = await holdUpload(server(), {
      token,
      id,
      body: body.subarray(count),
      sent: 100_000,
      headers: rest,
    })
    await server().kill()
    held.raw.drop()
    await server().restart()
    const after = await received(api, id, own['Upload-ID'])
    expect(after).toBeGreaterThanOrEqual(count)
    expect(after).toBeLessThanOrEqual(count + 100_000)
    expectStored(await api.upload(id, body.subarray(after), { ...own, ...part(after, 4_999_999, 5_000_000) }))
    expectBytes((await api.get(`/files/${id}/content`)).body, body)
  })

  it('has wholly the old or wholly the new content when the kill comes while it completes [UP-58]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.bin')
    let current = bytesOf(300_000, 1000)
    expectStored(await api.upload(id, current))
    for (let round = 0; round < 5; round += 1) {
      const next = bytesOf(300_000, 2000 + round)
      const own = { 'Upload-ID': await begin(api, id) }
      expectProgress(await api.upload(id, next, { ...own, ...part(0, 299_999) }), 300_000)
      const completion = api.upload(id, '', { ...own, ...total(300_000) }).catch(() => undefined)
      await sleep(round * 3)
      await server().kill()
      const answer = await completion
      await server().restart()
      const file = (await api.get(`/files/${id}`)).json
      const content = await api.get(`/files/${id}/content`)
      expect(content.status).toBe(200)
      expect(content.headers.etag).toBe(`"${file.etag}"`)
      const isNew = content.body.equals(next)
      if (answer?.status === 204) expect(isNew).toBe(true)
      if (isNew) current = next
      expectBytes(content.body, current)
    }
  }, 120_000)
})
