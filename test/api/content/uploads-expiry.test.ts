import { readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { hashSecret } from '../../../src/model/secrets.js'
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

describe.each(ENGINES)('an Upload-ID that lives eight seconds on %s', (engine) => {
  const server = useServer(engine, { args: ['--upload-lifetime', '8', '--capacity', '1000000'] })

  it('is refused after that, and its bytes and their space are free again [UP-59] [LIMIT-6] [UP-31] [NODE-14] [NODE-33]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.bin', 'root', 'before')
    const other = await api.file('b.bin')
    const own = {
      'Upload-ID': expectProgress(await api.upload(id, bytesOf(900_000), part(0, 899_999)), 900_000),
    }
    expectRefused(await api.upload(other, bytesOf(500_000)), 507, 'INSUFFICIENT_STORAGE')
    await sleep(8500)
    const requests = [
      [total(), ''],
      [part(900_000, 900_004), 'chunk'],
      [part(0, 4), 'chunk'],
      [total(900_000), ''],
    ] as const
    for (const [headers, body] of requests)
      expectRefused(await api.upload(id, body, { ...own, ...headers }), 400, 'BAD_ARGS')
    await eventually(async () => expect(await readdir(`${server().dataDir}/staging`)).toEqual([]))
    const shown = await server().command('node', 'show', '--json')
    expect(JSON.parse(shown.stdout)).toMatchObject({ used: 'before'.length })
    expectStored(await api.upload(other, bytesOf(500_000)))
    expect(await contentOf(api, id)).toBe('before')
    await api.delete(`/files/${other}`)
  })

  it('does not expire while a chunk comes in [UP-60]', async () => {
    const { api, token } = await server().person()
    const id = await api.file('a.bin')
    const own = { 'Upload-ID': await begin(api, id) }
    const body = bytesOf(200_000)
    const held = await holdUpload(server(), {
      token,
      id,
      body,
      sent: 1000,
      headers: { ...own, ...part(0, 199_999) },
    })
    await sleep(12_000)
    expectProgress(await held.finish(), 200_000)
    held.raw.drop()
    expectStored(await api.upload(id, '', { ...own, ...total(200_000) }))
    expectBytes((await api.get(`/files/${id}/content`)).body, body)
  })
})

describe.each(ENGINES)('an Upload-ID on %s', (engine) => {
  const server = useServer(engine)

  async function setLastUse(uploadId: string, secondsAgo: number): Promise<void> {
    const usedMs = Date.now() - secondsAgo * 1000
    await server().installation.db.write((tx) =>
      tx.run('UPDATE uploads SET used_ms = $2 WHERE id = $1', hashSecret(uploadId), usedMs),
    )
  }

  it('lives on with every chunk and every status query [UP-60] [LIMIT-5]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt')
    const own = { 'Upload-ID': await begin(api, id) }
    const nearlyExpired = (): Promise<void> => setLastUse(own['Upload-ID'], 86_400 - 100)
    const expectRenewed = async (): Promise<void> => {
      const [row] = await server().installation.db.read((tx) =>
        tx.all('SELECT used_ms FROM uploads WHERE id = $1', hashSecret(own['Upload-ID'])),
      )
      expect(row?.['used_ms']).toBeGreaterThan(Date.now() - 600_000)
    }
    for (let count = 0; count < 3; count += 1) {
      await nearlyExpired()
      expectProgress(await api.upload(id, 'x', { ...own, ...part(count, count) }), count + 1)
      await expectRenewed()
      await nearlyExpired()
      expect(await received(api, id, own['Upload-ID'])).toBe(count + 1)
      await expectRenewed()
    }
    expectStored(await api.upload(id, '', { ...own, ...total(3) }))
  })

  it('lives 86400 seconds since its last use by default [UP-61] [LIMIT-5]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt')
    const own = { 'Upload-ID': expectProgress(await api.upload(id, 'abc', part(0, 2)), 3) }
    await setLastUse(own['Upload-ID'], 86_400 - 100)
    expect(await received(api, id, own['Upload-ID'])).toBe(3)
    await setLastUse(own['Upload-ID'], 86_400 + 1)
    expectRefused(await api.upload(id, '', { ...own, ...total() }), 400, 'BAD_ARGS')
    expectRefused(await api.upload(id, '', { ...own, ...total(3) }), 400, 'BAD_ARGS')
  })
})
