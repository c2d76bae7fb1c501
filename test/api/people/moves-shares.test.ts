import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { fillFolders } from '../../support/fill.js'
import { startServer, type TestServer } from '../../support/server.js'
import { expectError, unchanged } from '../support.js'
import { listing, namesIn, rootOf, tagOf, wholeTree, ZEROS, type Branch, type Item } from '../tree/support.js'
import { addMember, cast, makePeople, makeShare, mountOf, STALE, VIEWER, WRITE, type Person } from './cast.js'
import { expectSound, ok } from './support.js'

const UNKNOWN = 'abcdef0123456789'.repeat(4)

const everything = (branch: Branch): Item[] => [
  ...branch.folders,
  ...branch.files,
  ...branch.below.flatMap(everything),
]

/** Names, kinds and tags of a tree without its ids. */
const shapeOf = (branch: Branch): unknown => ({
  folders: branch.folders.map(({ name }) => name),
  files: branch.files.map((file) => ({ ...file, id: '', parent: '' })),
  below: branch.below.map(shapeOf),
})

describe.each(ENGINES)('moves across shared folders on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  /** An owner and an editor of two shares, one of which is external for the owner. */
  async function places(): Promise<{ O: Person; E: Person; S: Person; first: string; second: string }> {
    const { O, E, S } = await makePeople(server, 'O', 'E', 'S')
    const first = await makeShare(O, 'First')
    const second = await makeShare(O, 'Second', { is_external: true })
    await addMember(O, first, E, WRITE)
    await addMember(O, second, S, VIEWER)
    return { O, E, S, first, second }
  }

  /** A folder with things below it; returns its id. */
  async function grow(api: Client, parent: string): Promise<string> {
    const top = await api.folder('top', parent)
    const middle = await api.folder('middle', top)
    await api.file('a.txt', top, 'hello')
    await api.file('b.txt', middle, 'x'.repeat(100_000))
    await api.file('empty', await api.folder('low', middle))
    return top
  }

  it('give a file a new id and keep all the rest of it [MOVE-19] [MOVE-20]', async () => {
    const { O, first, second } = await places()
    const root = await rootOf(O.api)
    const inFirst = await O.api.folder('folder', first)
    let id = await O.api.file('report.txt', 'root', 'hello')
    const seen = new Set([id])
    for (const [parent, sid, form] of [
      [first, first, await mountOf(O, first)],
      [second, second, second + ZEROS],
      ['root', root.slice(0, 32), root],
      [second + ZEROS, second, second + ZEROS],
      [inFirst, first, inFirst],
      [root, root.slice(0, 32), root],
    ] as const) {
      const before = ok(await O.api.get(`/files/${id}`), 200)
      const content = ok(await O.api.get(`/files/${id}/content`), 200)
      const moved = ok(await O.api.put(`/files/${id}`, { parent }, { 'If-Match': tagOf(before) }), 200)
      expect(moved.json).toEqual({ ...before.json, id: moved.json.id, parent: form })
      expect(moved.json.id.slice(0, 32)).toBe(sid)
      expect(seen).not.toContain(moved.json.id)
      seen.add(moved.json.id)
      const after = ok(await O.api.get(`/files/${moved.json.id}`), 200)
      expect(after.json).toEqual(moved.json)
      expect(tagOf(after)).toBe(tagOf(moved))
      const now = ok(await O.api.get(`/files/${moved.json.id}/content`), 200)
      expect([now.text, now.headers.etag]).toEqual([content.text, content.headers.etag])
      for (const path of [`/files/${id}`, `/files/${id}/content`, `/files/${id}/path`]) {
        expectError(await O.api.get(path), 404)
      }
      id = moved.json.id
    }
    for (const old of seen) if (old !== id) expectError(await O.api.get(`/files/${old}`), 404)
    const renamed = ok(await O.api.put(`/files/${id}`, { parent: first, name: 'new.txt' }), 200).json
    expect(renamed).toMatchObject({ name: 'new.txt', mime_type: 'text/plain' })
  })

  it('take everything below a folder along [MOVE-21] [MOVE-25] [MOVE-19]', async () => {
    const { O, E, S, first, second } = await places()
    let id = await grow(O.api, 'root')
    const old = new Set<string>()
    for (const [parent, sees, blind] of [
      [first, E, S],
      [second, S, E],
      ['root', O, E],
      [second, S, E],
      [first, E, S],
    ] as const) {
      const before = await wholeTree(O.api, id)
      expect(everything(before)).toHaveLength(5)
      for (const item of [{ id }, ...everything(before)]) old.add(item.id)
      const moved = ok(await O.api.put(`/folders/${id}`, { parent }), 200).json.id
      const after = await wholeTree(O.api, moved)
      expect(shapeOf(after)).toEqual(shapeOf(before))
      for (const item of everything(after)) {
        expect(old).not.toContain(item.id)
        expect(item.id.slice(0, 32)).toBe(moved.slice(0, 32))
      }
      for (const item of everything(before)) {
        expectError(await O.api.get(`/folders/${item.id}`), 404)
        expectError(await O.api.get(`/files/${item.id}`), 404)
      }
      expectError(await O.api.get(`/folders/${id}`), 404)
      expect(shapeOf(await wholeTree(sees.api, moved))).toEqual(shapeOf(before))
      const [file] = after.files
      expect(ok(await sees.api.get(`/files/${file?.id}/content`), 200).text).toBe('hello')
      expectError(await blind.api.get(`/folders/${moved}`), 404)
      id = moved
    }
    expect(await namesIn(E.api, first)).toEqual(['top'])
    expect(await namesIn(S.api, second)).toEqual([])
    await expectSound(server)
  })

  it('need WRITE on both sides [MOVE-22] [MOVE-13] [HTTP-79]', async () => {
    const { O, E, V, S, sh } = await cast(server)
    const own = await makeShare(V, 'Own')
    await addMember(V, own, E, VIEWER)
    const inOwn = await grow(V.api, own)
    const inPlans = await grow(O.api, sh)
    const inRoot = await grow(V.api, 'root')
    const file = (await listing(O.api, inPlans)).files[0]?.id
    await unchanged(server, async () => {
      for (const parent of ['root', own, inOwn]) {
        expectError(await V.api.put(`/folders/${inPlans}`, { parent }), 403)
        expectError(await V.api.put(`/folders/${inPlans}`, { parent }, STALE), 403)
        expectError(await V.api.put(`/files/${file}`, { parent }), 403)
      }
      for (const parent of [sh, inPlans]) {
        for (const id of [inOwn, inRoot]) {
          expectError(await V.api.put(`/folders/${id}`, { parent }), 403)
          expectError(await V.api.put(`/folders/${id}`, { parent }, STALE), 403)
        }
      }
      expectError(await E.api.put(`/folders/${inPlans}`, { parent: own }), 403)
      expectError(await E.api.put(`/folders/${inOwn}`, { parent: sh }), 403)
      for (const [id, parent] of [
        [UNKNOWN, UNKNOWN],
        [inPlans, UNKNOWN],
        [UNKNOWN, sh],
      ] as const) {
        expectError(await O.api.put(`/folders/${id}`, { parent }, STALE), 404)
      }
      expectError(await S.api.put(`/folders/${inPlans}`, { parent: 'root' }), 404)
      expectError(await O.api.put(`/folders/${inPlans}`, { parent: own }), 404)
      expectError(await O.api.put(`/folders/${inPlans}`, { parent: 'root' }, STALE), 412)
    })
    ok(await E.api.put(`/folders/${inPlans}`, { parent: 'root' }), 200)
  })

  it('do not happen when the name is taken [MOVE-23]', async () => {
    const { O, first, second } = await places()
    const top = await grow(O.api, 'root')
    await O.api.file('top', first)
    await O.api.folder('top', second)
    await unchanged(server, async () => {
      for (const parent of [first, second]) expectError(await O.api.put(`/folders/${top}`, { parent }), 409)
    })
    const names = everything(await wholeTree(O.api, top)).map(({ name }) => name)
    expect(names.sort()).toEqual(['a.txt', 'b.txt', 'empty', 'low', 'middle'])
    const [middle] = (await listing(O.api, top)).folders
    expectError(await O.api.put(`/folders/${middle?.id}`, { parent: first, name: 'top' }), 409)
    ok(await O.api.put(`/folders/${top}`, { parent: first, name: 'other' }), 200)
  })

  it('end unfinished uploads, which moves within a store do not [MOVE-26]', async () => {
    const { O, first } = await places()
    const folder = await O.api.folder('folder')
    const file = await O.api.file('file', folder, 'old')
    const begun = ok(await O.api.upload(file, 'he', { 'Content-Range': 'bytes 0-1/5' }), 204)
    const rest = { 'Content-Range': 'bytes 2-4/5', 'Upload-ID': String(begun.headers['upload-id']) }
    const status = { 'Content-Range': 'bytes */*', 'Upload-ID': rest['Upload-ID'] }
    ok(await O.api.put(`/files/${file}`, { name: 'renamed' }), 200)
    ok(await O.api.put(`/folders/${folder}`, { parent: await O.api.folder('other') }), 200)
    expect(ok(await O.api.upload(file, '', status), 200).headers['range']).toBe('bytes=0-1')
    const moved = ok(await O.api.put(`/folders/${folder}`, { parent: first }), 200).json.id
    const [now] = (await listing(O.api, moved)).files
    expectError(await O.api.upload(file, 'llo', rest), 404)
    expectError(await O.api.upload(now?.id ?? '', 'llo', rest), 400)
    expect(ok(await O.api.get(`/files/${now?.id}/content`), 200).text).toBe('old')
    ok(await O.api.upload(now?.id ?? '', 'new'), 204)
    await expectSound(server)
  })

  it('carry use and deselection along [MOVE-19] [MOVE-20]', async () => {
    const { O, E, first } = await places()
    const used = async (person: Person): Promise<unknown> =>
      ok(await person.api.get('/users/me/quota'), 200).json['bytes_used']
    const top = await grow(O.api, 'root')
    expect([await used(O), await used(E)]).toEqual([100_005, 0])
    expect(await server.command('node', 'deselect', top)).toMatchObject({ status: 0 })
    const moved = ok(await O.api.put(`/folders/${top}`, { parent: first }), 200).json.id
    expect([await used(O), await used(E)]).toEqual([100_005, 100_005])
    const [file] = (await listing(E.api, moved)).files
    expect(ok(await E.api.get(`/files/${file?.id}`), 200).json['content_state']).toBe('DESELECTED')
    expect(await server.command('node', 'select', moved)).toMatchObject({ status: 0 })
    const back = ok(await E.api.put(`/folders/${moved}`, { parent: 'root' }), 200).json.id
    expect([await used(O), await used(E)]).toEqual([0, 100_005])
    expect((await listing(E.api, back)).files[0]?.['content_state']).toBe('AVAILABLE')
    await expectSound(server)
  })

  it('are refused into themselves through a share [MOVE-9] [MOVE-32]', async () => {
    const { O, first } = await places()
    const holder = await O.api.folder('holder')
    ok(await O.api.put(`/folders/${first}`, { parent: holder }), 200)
    const inside = await O.api.folder('inside', first)
    await unchanged(server, async () => {
      for (const parent of [first, inside, await mountOf(O, first)]) {
        expectError(await O.api.put(`/folders/${holder}`, { parent }), 400)
      }
    })
  })

  it('of ten thousand things are one step [MOVE-21]', async () => {
    const { O, E, first } = await places()
    const top = await O.api.folder('top')
    const width = 20
    const middles: string[] = []
    for (let index = 0; index < width; index += 1) middles.push(await O.api.folder(`m${index}`, top))
    await fillFolders(server.installation.db, middles, 500)
    const moved = ok(await O.api.put(`/folders/${top}`, { parent: first }), 200).json.id
    const { folders } = await listing(E.api, moved)
    expect(folders).toHaveLength(width)
    let count = 0
    for (const folder of folders) count += (await listing(E.api, folder.id)).folders.length
    expect(count).toBe(10_000)
    expectError(await O.api.get(`/folders/${top}`), 404)
    expectError(await O.api.get(`/folders/${middles[7]}`), 404)
    ok(await O.api.delete(`/folders/${moved}`), 204)
  }, 180_000)
})
