import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
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
  total,
  useServer,
} from './support.js'

type FileJson = Awaited<ReturnType<Client['get']>>['json']

async function fileOf(api: Client, id: string): Promise<FileJson> {
  return (await api.get(`/files/${id}`)).json
}

/** Every File that the API shows of one file: itself, in the listing and in the on-demand field. */
async function everywhere(api: Client, id: string, parent: string): Promise<FileJson[]> {
  const named = (files: unknown): FileJson[] => (files as FileJson[]).filter((file) => file.id === id)
  const listing = (await api.get(`/folders/${parent}/children`)).json
  const folder = (await api.get(`/folders/${parent}?fields=children`)).json
  const found = [
    await fileOf(api, id),
    ...named(listing['files']),
    ...named((folder['children'] as Record<string, unknown>)['files']),
  ]
  expect(found).toHaveLength(3)
  return found
}

async function expectState(api: Client, id: string, state: string): Promise<void> {
  const file = await fileOf(api, id)
  for (const view of await everywhere(api, id, file.parent)) {
    expect(view['content_state']).toBe(state)
    if (state === 'AVAILABLE') {
      expect(view).toMatchObject({ size: expect.any(Number) as number, etag: expect.any(String) as string })
      expect(view['last_modified']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\dZ$/)
    } else {
      expect(view).not.toHaveProperty('size')
      expect(view).not.toHaveProperty('last_modified')
    }
  }
}

async function run(server: TestServer, ...args: string[]): Promise<void> {
  const { status, stderr } = await server.command(...args)
  expect(`${status} ${stderr}`).toBe('0 ')
}

describe.each(ENGINES)('content_state on %s', (engine) => {
  const server = useServer(engine)

  it('is in every File of 1.3 and 1.4 and in none of 1.0 [STATE-1] [NODE-25]', async () => {
    const { api, token } = await server().person()
    const states = ['AVAILABLE', 'SYNCING', 'DESELECTED', 'INSUFFICIENT_STORAGE']
    for (const version of ['1.3', '1.4']) {
      const client = server().client(token, version)
      const made = (await client.post('/files', { name: `a-${version}.txt`, parent: 'root' })).json
      const renamed = (await client.put(`/files/${made.id}`, { name: `b-${version}.txt` })).json
      for (const file of [made, renamed, ...(await everywhere(client, made.id, 'root'))]) {
        expect(states).toContain(file['content_state'])
      }
    }
    const old = server().client(token, '1.0')
    const made = (
      await old.post('/files', { name: 'old.txt', parent: (await api.get('/folders/root')).json.id })
    ).json
    const renamed = (await old.put(`/files/${made.id}`, { name: 'older.txt' })).json
    const listed = (await old.get('/children')).json['files'] as FileJson[]
    expect(listed.length).toBeGreaterThan(0)
    for (const file of [made, renamed, await fileOf(old, made.id), ...listed])
      expect(file).not.toHaveProperty('content_state')
  })

  it('is SYNCING for a new file, which has no size, time or tag [STATE-2] [NODE-19]', async () => {
    const { api } = await server().person()
    const made = (await api.post('/files', { name: 'a.txt', parent: 'root' })).json
    expect(made['content_state']).toBe('SYNCING')
    for (const key of ['size', 'last_modified', 'etag']) expect(made).not.toHaveProperty(key)
    await expectState(api, made.id, 'SYNCING')
    expect(await fileOf(api, made.id)).not.toHaveProperty('etag')
    expectRefused(await api.get(`/files/${made.id}/content`), 404, 'NOT_FOUND')
  })

  it('stays SYNCING until the first upload completes, and is then AVAILABLE [STATE-3] [NODE-18]', async () => {
    const { api, token } = await server().person()
    const id = await api.file('a.txt')
    const held = await holdUpload(server(), { token, id, body: bytesOf(1000), sent: 500 })
    await expectState(api, id, 'SYNCING')
    held.raw.drop()
    await expectState(api, id, 'SYNCING')
    const own = { 'Upload-ID': await begin(api, id) }
    expectProgress(await api.upload(id, 'abc', { ...own, ...part(0, 2) }), 3)
    await expectState(api, id, 'SYNCING')
    expectStored(await api.upload(id, 'd', { ...own, ...part(3, 3, 4) }))
    await expectState(api, id, 'AVAILABLE')
    expect(await fileOf(api, id)).toMatchObject({ size: 4 })
  })

  it('stays AVAILABLE with the old values while new content comes in [STATE-4]', async () => {
    const { api, token } = await server().person()
    const id = await api.file('a.txt', 'root', 'before')
    const before = await fileOf(api, id)
    const held = await holdUpload(server(), { token, id, body: bytesOf(1000), sent: 500 })
    expectProgress(await api.upload(id, 'abc', part(0, 2)), 3)
    expect(await fileOf(api, id)).toEqual(before)
    await expectState(api, id, 'AVAILABLE')
    expectStored(await held.finish())
    held.raw.drop()
    expect(await fileOf(api, id)).toMatchObject({ size: 1000, content_state: 'AVAILABLE' })
  })

  it('is DESELECTED at once at any depth of a deselected folder, and comes back unharmed [STATE-5] [STATE-6] [STATE-7] [STATE-8] [NODE-20] [NODE-22] [DOWN-9]', async () => {
    const { api } = await server().person()
    const folder = await api.folder('folder')
    const deep = await api.folder('deep', await api.folder('inner', folder))
    const near = await api.file('near.txt', folder, 'near')
    const far = await api.file('far.bin', deep, bytesOf(200_000))
    const outside = await api.file('outside.txt', 'root', 'outside')
    const before = [await fileOf(api, near), await fileOf(api, far)]
    await run(server(), 'node', 'deselect', folder)
    for (const [index, id] of [near, far].entries()) {
      await expectState(api, id, 'DESELECTED')
      expect((await fileOf(api, id)).etag).toBe(before[index]?.etag)
      for (const headers of [{}, { Range: 'bytes=0-1' }, { 'If-None-Match': '*' }]) {
        expectRefused(await api.get(`/files/${id}/content`, headers), 404, 'NOT_FOUND')
        expect((await api.head(`/files/${id}/content`, headers)).status).toBe(404)
      }
      expectRefused(await api.upload(id, 'new'), 404, 'NOT_FOUND')
      expect((await api.get(`/files/${id}/path`)).status).toBe(200)
    }
    await expectState(api, outside, 'AVAILABLE')
    await run(server(), 'node', 'select', folder)
    expect(await contentOf(api, near)).toBe('near')
    expect((await api.get(`/files/${far}/content`)).body.equals(bytesOf(200_000))).toBe(true)
    expect([await fileOf(api, near), await fileOf(api, far)]).toEqual(before)
  })

  it('lets files of a deselected folder be made, renamed, moved and deleted [STATE-6] [STATE-9] [STATE-10] [NODE-21] [NODE-26]', async () => {
    const { api } = await server().person()
    const folder = await api.folder('folder')
    const inside = await api.file('inside.txt', folder, 'inside')
    const outside = await api.file('outside.txt', 'root', 'outside')
    await run(server(), 'node', 'deselect', folder)
    const made = await api.post('/files', { name: 'made.txt', parent: folder })
    expect(made.status).toBe(201)
    expect(made.json['content_state']).toBe('DESELECTED')
    expect((await api.post('/folders', { name: 'below', parent: folder })).status).toBe(201)
    const renamed = await api.put(`/files/${inside}`, { name: 'renamed.txt' })
    expect([renamed.status, renamed.json['content_state']]).toEqual([200, 'DESELECTED'])
    await api.put(`/files/${inside}`, { parent: 'root' })
    await expectState(api, inside, 'AVAILABLE')
    expect(await contentOf(api, inside)).toBe('inside')
    await api.put(`/files/${made.json.id}`, { parent: 'root' })
    await expectState(api, made.json.id, 'SYNCING')
    await api.put(`/files/${outside}`, { parent: folder })
    await expectState(api, outside, 'DESELECTED')
    expect((await api.delete(`/files/${outside}`)).status).toBe(204)
    expect((await api.delete(`/folders/${folder}`)).status).toBe(204)
  })
})

describe.each(ENGINES)('content_state of a node with little space on %s', (engine) => {
  const server = useServer(engine, { args: ['--capacity', '1000'] })

  it('is INSUFFICIENT_STORAGE without content while the space is spent [STATE-11] [STATE-12] [STATE-13] [NODE-24] [NODE-26] [DOWN-9]', async () => {
    const { api } = await server().person()
    const folder = await api.folder('folder')
    const full = await api.file('full.bin', 'root', bytesOf(1000))
    const empty = await api.file('empty.bin')
    const hidden = await api.file('hidden.bin', folder)
    await expectState(api, empty, 'INSUFFICIENT_STORAGE')
    await expectState(api, full, 'AVAILABLE')
    expect((await api.get(`/files/${full}/content`)).body.equals(bytesOf(1000))).toBe(true)
    expectRefused(await api.get(`/files/${empty}/content`), 404, 'NOT_FOUND')
    expect((await api.head(`/files/${empty}/content`, { Range: 'bytes=0-1' })).status).toBe(404)
    expectRefused(await api.upload(empty, 'x'), 507, 'INSUFFICIENT_STORAGE')
    expect((await api.put(`/files/${empty}`, { name: 'renamed.bin' })).json['content_state']).toBe(
      'INSUFFICIENT_STORAGE',
    )
    await run(server(), 'node', 'deselect', folder)
    await expectState(api, hidden, 'DESELECTED')
    await run(server(), 'node', 'capacity', '2000')
    await expectState(api, empty, 'SYNCING')
    await run(server(), 'node', 'capacity', '1000')
    await expectState(api, empty, 'INSUFFICIENT_STORAGE')
    expect((await api.delete(`/files/${full}`)).status).toBe(204)
    await eventually(() => expectState(api, empty, 'SYNCING'))
    expect((await api.delete(`/files/${empty}`)).status).toBe(204)
  })
})

describe.each(ENGINES)('content_state after an upload expired on %s', (engine) => {
  const server = useServer(engine, { args: ['--upload-lifetime', '1'] })

  it('is still SYNCING [STATE-3]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt')
    const own = { 'Upload-ID': expectProgress(await api.upload(id, 'abc', part(0, 2)), 3) }
    await sleep(1500)
    expectRefused(await api.upload(id, '', { ...own, ...total() }), 400, 'BAD_ARGS')
    await expectState(api, id, 'SYNCING')
  })
})
