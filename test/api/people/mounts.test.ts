import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { expectError, unchanged } from '../support.js'
import { listing, namesIn, rootOf, wholeTree, ZEROS, type Branch, type Item } from '../tree/support.js'
import {
  addMember,
  cast,
  invite,
  makePeople,
  makeShare,
  mountOf,
  OWNER,
  readShare,
  STALE,
  VIEWER,
  WRITE,
  type Person,
} from './cast.js'
import { ok } from './support.js'

const pathOf = async (api: Client, kind: 'folders' | 'files', id: string): Promise<Item[]> =>
  ok(await api.get(`/${kind}/${id}/path`), 200).json['folders'] as Item[]

describe.each(ENGINES)('shared folders in the tree on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  /** All names of a share that is mounted in this person's root. */
  const formsOf = async (person: Person, sh: string): Promise<string[]> => [
    (await rootOf(person.api)).slice(0, 32) + sh,
    sh,
    sh + ZEROS,
  ]

  it('are one folder under each of their names [ID-6] [ID-8] [CHILD-9] [CHILD-11] [FOLDER-3] [FOLDER-4]', async () => {
    const { O, E, sh } = await cast(server)
    const folder = await O.api.folder('folder', sh)
    const file = await O.api.file('file', sh, 'hello')
    const mounts: string[] = []
    for (const person of [O, E]) {
      const { api } = person
      const [mount = '', ...others] = await formsOf(person, sh)
      mounts.push(mount)
      const answer = ok(await api.get(`/folders/${mount}`), 200)
      expect(answer.json).toEqual({
        id: mount,
        name: 'Plans',
        parent: await rootOf(api),
        is_shared: true,
        sid: sh,
      })
      const children = ok(await api.get(`/folders/${mount}/children`), 200)
      for (const form of others) {
        const other = ok(await api.get(`/folders/${form}`), 200)
        expect(other.text).toBe(answer.text)
        expect(other.headers.etag).toBe(answer.headers.etag)
        expect(ok(await api.get(`/folders/${form}/children`), 200).text).toBe(children.text)
        const whole = ok(await api.get(`/folders/${form}?fields=path,children`), 200)
        expect(whole.json).toMatchObject({ id: mount, children: children.json })
      }
      const { folders, files } = await listing(api)
      expect(folders).toEqual([answer.json])
      expect(files).toEqual([])
      const inside = await listing(api, mount)
      expect(inside.folders).toEqual([{ id: folder, name: 'folder', parent: mount, is_shared: false }])
      expect(inside.files).toMatchObject([{ id: file, name: 'file', parent: mount }])
      expect(ok(await api.get(`/folders/${folder}`), 200).json).not.toHaveProperty('sid')
    }
    expect(mounts[0]).not.toBe(mounts[1])
  })

  it('are their own root where they are external [ID-7] [PATH-7] [CHILD-10] [CHILD-5]', async () => {
    const { O, E } = await makePeople(server, 'O', 'E')
    const sh = await makeShare(O, 'Plans', { is_external: true })
    await addMember(O, sh, E, WRITE)
    const ext = sh + ZEROS
    ok(await O.api.put(`/folders/${ext}`, { name: 'Outside' }), 200)
    const expected = { id: ext, name: 'Outside', parent: ext, is_shared: true, sid: sh }
    for (const form of [sh, ext]) expect(ok(await O.api.get(`/folders/${form}`), 200).json).toEqual(expected)
    const folder = await O.api.folder('folder', sh)
    const file = await O.api.file('file', folder, 'hello')
    expect((await listing(O.api, sh)).folders).toEqual([
      { id: folder, name: 'folder', parent: ext, is_shared: false },
    ])
    expect(await pathOf(O.api, 'folders', ext)).toEqual([])
    expect(await pathOf(O.api, 'folders', folder)).toEqual([expected])
    expect((await pathOf(O.api, 'files', file)).map(({ id }) => id)).toEqual([ext, folder])
    expect(await namesIn(O.api)).toEqual([])
    expectError(await O.api.get(`/folders/${(await rootOf(O.api)).slice(0, 32)}${sh}`), 404)
    const old = server.client(O.api.token, '1.0')
    for (const form of [sh, ext]) {
      expect(ok(await old.get(`/children/${form}`), 200).json.parent).toBe(ext)
    }
    const oldOfE = server.client(E.api.token, '1.0')
    for (const form of await formsOf(E, sh)) {
      expect(ok(await oldOfE.get(`/children/${form}`), 200).json.parent).toBe(await mountOf(E, sh))
    }
    expect((await pathOf(E.api, 'files', file)).map(({ name }) => name)).toEqual([
      'Starling',
      'Plans',
      'folder',
    ])
  })

  it('take new objects under each of their names, in every version [ID-2] [ID-21] [FOLDER-10] [FILE-11] [MOVE-7]', async () => {
    const { O, sh } = await cast(server)
    const [mount = '', ...others] = await formsOf(O, sh)
    for (const version of ['1.0', '1.3', '1.4']) {
      const api = server.client(O.api.token, version)
      for (const parent of [mount, ...others]) {
        const id = await api.folder(`folder ${version} ${parent}`, parent)
        const file = await api.file(`file ${version} ${parent}`, parent, 'hello')
        for (const object of [id, file]) {
          expect(object.slice(0, 32)).toBe(sh)
          expect(object).toMatch(/^[0-9a-f]{64}$/)
        }
        expect(ok(await O.api.get(`/folders/${id}`), 200).json.parent).toBe(mount)
        ok(await api.get(`/folders/${parent}`), 200)
        ok(await api.put(`/files/${file}`, { parent: id }), 200)
        const back = ok(await api.put(`/files/${file}`, { parent }), 200).json
        expect(back.id).toBe(file)
        expect(ok(await O.api.get(`/files/${file}`), 200).json.parent).toBe(mount)
      }
    }
    expect(await namesIn(O.api, mount)).toHaveLength(18)
  })

  it('lie on the way to what is in them [PATH-1] [PATH-5] [PATH-6] [FOLDER-3]', async () => {
    const { O, E, sh } = await cast(server)
    const d1 = await O.api.folder('d1')
    ok(await O.api.put(`/folders/${sh}`, { parent: d1, name: 'Mine' }), 200)
    const file = await O.api.file('f', sh, 'hello')
    const root = await rootOf(O.api)
    const mount = await mountOf(O, sh)
    const way = [
      { id: root, name: 'Starling', parent: root, is_shared: false },
      { id: d1, name: 'd1', parent: root, is_shared: false },
      { id: mount, name: 'Mine', parent: d1, is_shared: true, sid: sh },
    ]
    for (const kind of ['files', 'folders'] as const) expect(await pathOf(O.api, kind, file)).toEqual(way)
    const withPath = ok(await O.api.get(`/files/${file}?fields=path`), 200).json
    expect(withPath['path']).toEqual({ folders: way })
    for (const form of await formsOf(O, sh)) {
      expect(await pathOf(O.api, 'folders', form)).toEqual(way.slice(0, 2))
    }
    expect((await pathOf(E.api, 'files', file)).map(({ name }) => name)).toEqual(['Starling', 'Plans'])
  })

  it('have ids and parents that agree and can be used everywhere [ID-9] [ID-11]', async () => {
    const { O, E, sh } = await cast(server)
    const outside = await makeShare(O, 'Outside', { is_external: true })
    await addMember(O, outside, E, OWNER)
    const deep = await E.api.folder('deep', await E.api.folder('holder'))
    ok(await E.api.put(`/folders/${sh}`, { parent: deep }), 200)
    for (const share of [sh, outside]) {
      const folder = await O.api.folder('folder', share)
      await O.api.file('file', await O.api.folder('below', folder), 'hello')
      await O.api.file('file', share, 'hello')
    }
    const agree = async (person: Person, branch: Branch, id: string): Promise<void> => {
      for (const item of [...branch.folders, ...branch.files]) expect(item.parent).toBe(id)
      for (const folder of branch.folders) {
        const read = ok(await person.api.get(`/folders/${folder.id}`), 200).json
        expect(read).toEqual(folder)
        ok(await person.api.get(`/folders/${read.parent}`), 200)
        if (read['sid'] !== undefined) ok(await person.api.get(`/folders/${read['sid'] as string}`), 200)
        const way = await pathOf(person.api, 'folders', folder.id)
        expect(way.at(-1)?.id).toBe(folder.parent)
        ok(await person.api.post('/folders', { name: 'made', parent: read.parent }), 201)
        ok(await person.api.delete(`/folders/${await made(person, read.parent)}`), 204)
      }
      for (const [index, below] of branch.below.entries()) {
        await agree(person, below, branch.folders[index]?.id ?? '')
      }
    }
    const made = async (person: Person, parent: string): Promise<string> =>
      (await listing(person.api, parent)).folders.find(({ name }) => name === 'made')?.id ?? ''
    for (const person of [O, E]) {
      const root = await rootOf(person.api)
      await agree(person, await wholeTree(person.api), root)
    }
    await agree(O, await wholeTree(O.api, outside), outside + ZEROS)
  })

  it('belong to folder routes, and to nobody through the mount of another [ID-17] [ID-20]', async () => {
    const { O, E, V, sh } = await cast(server)
    const file = await O.api.file('file', sh, 'hello')
    const [mountOfO = ''] = await formsOf(O, sh)
    await unchanged(server, async () => {
      for (const form of await formsOf(E, sh)) {
        for (const method of ['GET', 'DELETE']) expectError(await E.api.call(method, `/files/${form}`), 404)
        expectError(await E.api.put(`/files/${form}`, { name: 'new' }), 404)
        for (const part of ['content', 'path'])
          expectError(await E.api.get(`/files/${form}/content`), 404, part)
        expectError(await E.api.upload(form, 'other'), 404)
      }
      for (const { api } of [E, V]) {
        expectError(await api.get(`/folders/${mountOfO}`), 404)
        expectError(await api.get(`/folders/${mountOfO}/children`), 404)
        expectError(await api.put(`/folders/${mountOfO}`, { name: 'new' }), 404)
        expectError(await api.delete(`/folders/${mountOfO}`), 404)
        expectError(await api.post('/folders', { name: 'new', parent: mountOfO }), 404)
        // What a body names is looked up after the privilege on what the path names.
        expectError(await api.put(`/files/${file}`, { parent: mountOfO }), api === E.api ? 404 : 403)
      }
      for (const id of [sh + sh, sh + (await rootOf(O.api)).slice(0, 32), `${sh}${'ab'.repeat(16)}`]) {
        expectError(await O.api.get(`/folders/${id}`), 404)
      }
    })
  })

  it('check rights before conditions, and conditions before the state [FOLDER-27] [HTTP-76] [UP-11] [UP-77]', async () => {
    const { O, V, M, sh } = await cast(server)
    const folder = await O.api.folder('folder', sh)
    await O.api.folder('taken', sh)
    const file = await O.api.file('file', folder, 'hello')
    await unchanged(server, async () => {
      for (const { api } of [V, M]) {
        expectError(await api.put(`/folders/${folder}`, { name: 'taken' }, STALE), 403)
        expectError(await api.delete(`/folders/${folder}`, STALE), 403)
        expectError(await api.put(`/files/${file}`, { name: 'new' }, STALE), 403)
        expectError(await api.delete(`/files/${file}`, STALE), 403)
        expectError(await api.upload(file, 'other', STALE), 403)
        const unknown = { 'Content-Range': 'bytes 0-1/2', 'Upload-ID': 'f'.repeat(64) }
        expectError(await api.upload(file, 'ab', unknown), 403)
      }
      expectError(await O.api.put(`/folders/${folder}`, { name: 'taken' }, STALE), 412)
    })
    expect(await server.command('node', 'deselect', folder)).toMatchObject({ status: 0 })
    expect(ok(await O.api.get(`/files/${file}`), 200).json['content_state']).toBe('DESELECTED')
    expectError(await V.api.upload(file, 'other'), 403)
    expectError(await V.api.upload(file, 'other', STALE), 403)
    expectError(await O.api.upload(file, 'other'), 404)
    expectError(await O.api.upload(file, 'other', STALE), 404)
  })

  it('lose what is deleted in them for everybody [DEL-8] [ACL-06]', async () => {
    const { O, E, V, sh } = await cast(server)
    const folder = await O.api.folder('folder', sh)
    const file = await O.api.file('file', folder, 'hello')
    const kept = await O.api.file('kept', sh, 'hello')
    ok(await E.api.delete(`/folders/${folder}`), 204)
    for (const { api } of [O, E, V]) {
      expectError(await api.get(`/folders/${folder}`), 404)
      expectError(await api.get(`/files/${file}`), 404)
      expect(await namesIn(api, sh)).toEqual(['kept'])
      ok(await api.get(`/files/${kept}/content`), 200)
    }
  })

  it('stay where they are in the tree, and nothing of theirs is shared elsewhere [MOVE-31] [MOVE-32] [MOVE-33] [MOVE-9]', async () => {
    const { O, E, sh } = await cast(server)
    const second = await makeShare(E, 'Second')
    const inSecond = await E.api.folder('folder', second)
    const inside = await E.api.folder('inside', sh)
    const holder = await E.api.folder('holder')
    const deep = await E.api.folder('deep', await E.api.folder('between', holder))
    ok(await E.api.put(`/folders/${second}`, { parent: deep }), 200)
    const mount = await mountOf(E, sh)
    await unchanged(server, async () => {
      for (const id of [mount, sh, sh + ZEROS]) {
        for (const parent of [second, second + ZEROS, await mountOf(E, second), inSecond]) {
          expectError(await E.api.put(`/folders/${id}`, { parent }), 400)
          expectError(await E.api.put(`/folders/${id}`, { parent, name: 'new' }), 400)
        }
        for (const parent of [mount, sh, sh + ZEROS, inside]) {
          expectError(await E.api.put(`/folders/${id}`, { parent }), 400)
        }
      }
      for (const parent of [sh, inside]) {
        for (const folder of [holder, deep])
          expectError(await E.api.put(`/folders/${folder}`, { parent }), 400)
      }
      // Its own mount lies below the folder.
      for (const parent of [second, inSecond]) {
        expectError(await E.api.put(`/folders/${holder}`, { parent }), 400)
      }
    })
    expect((await readShare(E, sh)).id).toBe(sh)
    expect((await readShare(E, second)).id).toBe(second)
    expect(await namesIn(O.api, sh)).toEqual(['inside'])
  })

  it('follow a folder that holds them, within the root [MOVE-34]', async () => {
    const { O, E, sh } = await cast(server)
    const second = await makeShare(E, 'Second')
    const inside = await O.api.folder('inside', sh)
    const holder = await E.api.folder('holder')
    const target = await E.api.folder('target')
    const mounts = [await mountOf(E, sh), await mountOf(E, second)]
    ok(await E.api.put(`/folders/${sh}`, { parent: holder }), 200)
    ok(await E.api.put(`/folders/${second}`, { parent: await E.api.folder('deep', holder) }), 200)
    ok(await E.api.put(`/folders/${holder}`, { parent: target, name: 'moved' }), 200)
    expect([await mountOf(E, sh), await mountOf(E, second)]).toEqual(mounts)
    const names = (await pathOf(E.api, 'folders', inside)).map(({ name }) => name)
    expect(names).toEqual(['Starling', 'target', 'moved', 'Plans'])
    expect(await namesIn(E.api)).toEqual(['target'])
    expect(await namesIn(O.api)).toEqual(['Plans'])
  })

  it('are renamed and not moved where they are external [MOVE-35]', async () => {
    const { O, E } = await makePeople(server, 'O', 'E')
    const sh = await makeShare(O, 'Plans', { is_external: true })
    await invite(O, sh, E.email, VIEWER)
    ok(await E.api.call('POST', `/users/me/invitations/${sh}?external=1`), 201)
    const folder = await E.api.folder('folder')
    for (const form of [sh, sh + ZEROS]) {
      const name = `Mine ${form.length}`
      const renamed = ok(await E.api.put(`/folders/${form}`, { name }), 200)
      expect(renamed.json).toEqual({ id: sh + ZEROS, name, parent: sh + ZEROS, is_shared: true, sid: sh })
      expect((await readShare(E, sh)).name).toBe(name)
      await unchanged(server, async () => {
        for (const parent of ['root', folder]) {
          expectError(await E.api.put(`/folders/${form}`, { parent }), 400)
          expectError(await E.api.put(`/folders/${form}`, { parent, name: 'new' }), 400)
        }
      })
    }
    expect((await readShare(O, sh)).name).toBe('Plans')
  })
})
