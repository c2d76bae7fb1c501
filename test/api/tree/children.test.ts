import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { insertObject } from '../../../src/db/objects.js'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { stateOf, withState } from './states.js'
import {
  expectRefusal,
  lastingHeaders,
  listing,
  namesIn,
  NEWER_VERSIONS,
  rootOf,
  tagOf,
  VERSIONS,
} from './support.js'

const UNKNOWN = 'abcdef0123456789'.repeat(4)
const ORDERED = ['B', 'a', '\u00e9', '\u{1f600}', '\uff21']

describe.each(ENGINES)('children on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  describe('under 1.0', () => {
    it('lists a folder with its own id and the attributes of 1.0 [CHILD-2] [CHILD-8]', async () => {
      const { api } = await server.person(undefined, '1.0')
      const folder = await api.folder('folder')
      const inner = await api.folder('inner', folder)
      const file = await api.file('file.txt', folder, 'hello')
      const answer = await api.get(`/children/${folder}`)
      expect(answer.status).toBe(200)
      expect(Object.keys(answer.json).sort()).toEqual(['files', 'folders', 'parent'])
      expect(answer.json.parent).toBe(folder)
      expect(answer.json['folders']).toEqual([{ id: inner, name: 'inner', is_shared: false }])
      const [first] = answer.json['files'] as object[]
      expect(Object.keys(first ?? {}).sort()).toEqual(['id', 'last_modified', 'mime_type', 'name', 'size'])
      expect(first).toEqual((await api.get(`/files/${file}`)).json)
    })

    it('lists the root when the id is left out [CHILD-3]', async () => {
      const { api } = await server.person(undefined, '1.0')
      const root = await rootOf(api)
      const folder = await api.folder('folder')
      for (const path of ['/children', '/children/']) {
        const answer = await api.get(path)
        expect(answer.status).toBe(200)
        expect(answer.json).toEqual({
          parent: root,
          folders: [{ id: folder, name: 'folder', is_shared: false }],
          files: [],
        })
      }
    })

    it("tells the folder's own id however it was addressed [CHILD-5]", async () => {
      const { api } = await server.person(undefined, '1.0')
      const root = await rootOf(api)
      for (const id of ['root', root, root.slice(0, 32)])
        expect((await api.get(`/children/${id}`)).json.parent).toBe(root)
    })
  })

  describe.each(NEWER_VERSIONS)('under %s', (version) => {
    it('lists folders and files and no parent of its own [CHILD-1]', async () => {
      const { api } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      await api.folder('inner', folder)
      await api.file('file', folder)
      for (const id of [folder, 'root', 'appdata']) {
        const answer = await api.get(`/folders/${id}/children`)
        expect(answer.status).toBe(200)
        expect(Object.keys(answer.json).sort()).toEqual(['files', 'folders'])
        expect(Array.isArray(answer.json['folders'])).toBe(true)
        expect(Array.isArray(answer.json['files'])).toBe(true)
      }
    })

    it('lists the root when the id is left out [CHILD-4]', async () => {
      const { api } = await server.person(undefined, version)
      await api.folder('folder')
      await api.file('file')
      const expected = await listing(api)
      for (const path of ['/folders/children', '/folders//children', '/folders/children/']) {
        const answer = await api.get(path)
        expect(answer.status, path).toBe(200)
        expect(answer.json).toEqual(expected)
      }
    })

    it('orders folders and files by UTF-16 code units [CHILD-6]', async () => {
      const { api } = await server.person(undefined, version)
      for (const kind of ['folder', 'file'] as const) {
        const parent = await api.folder(kind)
        for (const index of [3, 0, 4, 2, 1]) await api[kind](ORDERED[index] ?? '', parent)
        expect(await namesIn(api, parent)).toEqual(ORDERED)
      }
    })

    it('lists each object as its own route sends it [CHILD-7]', async () => {
      const { api } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      await api.folder('inner', folder)
      await api.file('full.txt', folder, 'hello')
      await api.file('empty', folder)
      for (const id of ['root', folder]) {
        const own = (await api.get(`/folders/${id}`)).json.id
        const { folders, files } = await listing(api, id)
        expect(folders.length + files.length).toBe(id === 'root' ? 1 : 3)
        for (const child of folders) expect(child).toEqual((await api.get(`/folders/${child.id}`)).json)
        for (const child of files) expect(child).toEqual((await api.get(`/files/${child.id}`)).json)
        for (const child of [...folders, ...files]) expect(child.parent).toBe(own)
      }
    })

    it('lists live direct children alone [CHILD-12]', async () => {
      const { api } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      await api.file('grandchild', await api.folder('child', folder))
      await api.delete(`/folders/${await api.folder('deleted folder', folder)}`)
      await api.delete(`/files/${await api.file('deleted file', folder, 'hello')}`)
      expect(await namesIn(api, folder)).toEqual(['child'])
      expect(await namesIn(api)).toEqual(['folder'])
    })

    it('sends two empty lists for an empty folder [CHILD-13]', async () => {
      const { api } = await server.person(undefined, version)
      expect(await listing(api)).toEqual({ folders: [], files: [] })
      expect(await listing(api, await api.folder('folder'))).toEqual({ folders: [], files: [] })
    })

    it('lists files without content and folders that the node does not hold [CHILD-14] [PATH-13]', async () => {
      const { api } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      const file = await api.file('file', folder)
      const inner = await api.folder('inner', folder)
      const before = (await listing(api, folder)).files[0]
      const path = (await api.get(`/files/${file}/path`)).json
      await withState(server, 'DESELECTED', folder, async () => {
        expect(await stateOf(api, file)).toBe('DESELECTED')
        const { folders, files } = await listing(api, folder)
        expect(folders.map((child) => child.id)).toEqual([inner])
        expect(files).toEqual([{ ...before, content_state: 'DESELECTED' }])
        expect(await namesIn(api)).toEqual(['folder'])
        expect((await api.get(`/files/${file}/path`)).json).toEqual(path)
        expect((await api.get(`/folders/${inner}/path`)).json).toEqual(path)
      })
    })

    it('refuses malformed ids and does not find others [CHILD-15]', async () => {
      const { api } = await server.person(undefined, version)
      const other = await server.person()
      const hidden = await other.api.folder('hidden')
      const gone = await api.folder('gone')
      await api.delete(`/folders/${gone}`)
      const file = await api.file('file')
      expectRefusal(await api.get('/folders/bla/children'), 400)
      for (const id of [UNKNOWN, gone, hidden, file])
        expectRefusal(await api.get(`/folders/${id}/children`), 404)
    })

    it('needs files.read [CHILD-16]', async () => {
      const { api, email } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      const writing = server.client(await server.addToken(email, 'files.write'), version)
      for (const path of [
        `/folders/${folder}/children`,
        '/folders/children',
        `/folders/${UNKNOWN}/children`,
      ]) {
        expectRefusal(await writing.get(path), 403)
      }
      const reading = server.client(await server.addToken(email, 'files.read'), version)
      expect((await reading.get(`/folders/${folder}/children`)).status).toBe(200)
    })

    it('has no ETag and ignores If-None-Match [CHILD-18]', async () => {
      const { api } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      const tag = tagOf(await api.get(`/folders/${folder}`))
      for (const value of ['*', tag, 'W/"x"']) {
        const answer = await api.get(`/folders/${folder}/children`, { 'If-None-Match': value })
        expect(answer.status).toBe(200)
        expect(answer.headers).not.toHaveProperty('etag')
      }
    })

    it('sends 5000 children in one answer and in order [CHILD-19]', async () => {
      const { api } = await server.person(undefined, version)
      const parent = await api.folder('parent')
      const [sid, oid] = [parent.slice(0, 32), parent.slice(32)]
      const names = Array.from(
        { length: 5000 },
        (_, index) => `child ${String((index * 7919) % 5000).padStart(4, '0')}`,
      )
      await server.installation.db.write(async (tx) => {
        for (const [index, name] of names.entries()) {
          const kind = index % 2 === 0 ? 'folder' : 'file'
          const own = `${sid.slice(0, 24)}${String(index).padStart(8, '0')}`
          await insertObject(tx, { sid, oid: own, parent: oid, name, nameKey: name, kind, nowMs: Date.now() })
        }
      })
      const answer = await api.get(`/folders/${parent}/children?limit=5&after=x&before=y`)
      expect(answer.status).toBe(200)
      const { folders, files } = answer.json as unknown as Awaited<ReturnType<typeof listing>>
      expect(folders.map((child) => child.name)).toEqual(names.filter((_, index) => index % 2 === 0).sort())
      expect(files.map((child) => child.name)).toEqual(names.filter((_, index) => index % 2 === 1).sort())
    })

    it('answers HEAD with the headers of GET and no body [CHILD-20]', async () => {
      const { api } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      const path = `/folders/${folder}/children`
      const head = await api.head(path)
      expect(head.status).toBe(200)
      expect(head.body).toHaveLength(0)
      expect(lastingHeaders(head)).toEqual(lastingHeaders(await api.get(path)))
      expect((await api.head(`/folders/${UNKNOWN}/children`)).status).toBe(404)
    })

    it('shows every change to the next request [CHILD-22]', async () => {
      const { api } = await server.person(undefined, version)
      const a = await api.folder('a')
      expect(await namesIn(api)).toEqual(['a'])
      const b = await api.folder('b')
      const file = await api.file('file', a)
      expect(await namesIn(api, a)).toEqual(['file'])
      await api.upload(file, 'hello')
      expect((await listing(api, a)).files[0]).toHaveProperty('size', 5)
      await api.put(`/files/${file}`, { name: 'renamed' })
      expect(await namesIn(api, a)).toEqual(['renamed'])
      await api.put(`/files/${file}`, { parent: b })
      expect([await namesIn(api, a), await namesIn(api, b)]).toEqual([[], ['renamed']])
      await api.delete(`/files/${file}`)
      expect(await namesIn(api, b)).toEqual([])
      await api.delete(`/folders/${b}`)
      expect(await namesIn(api)).toEqual(['a'])
    })
  })

  it.each(VERSIONS)(
    'does not serve the routes of other versions under %s, token or not [CHILD-17]',
    async (version) => {
      const { api } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      const foreign =
        version === '1.0'
          ? [`/folders/${folder}/children`]
          : ['/children', '/children/', `/children/${folder}`]
      for (const path of foreign) {
        for (const someone of [api, server.client(undefined, version)])
          expectRefusal(await someone.get(path), 404, path)
      }
    },
  )

  it('serves 1.1 and 1.2 when legacy versions are on, and only then [CHILD-21]', async () => {
    const { api, token } = await server.person()
    const folder = await api.folder('folder')
    const file = await api.file('file', folder)
    const [v11, v12] = [server.client(token, '1.1'), server.client(token, '1.2')]
    const older = ['/children', `/children/${folder}`]
    const newer = [`/folders/${folder}/children`, `/folders/${folder}/path`, `/files/${file}/path`]
    for (const legacy of [v11, v12]) {
      for (const path of [...older, ...newer, `/folders/${folder}`])
        expectRefusal(await legacy.get(path), 404, path)
    }
    await server.terminate()
    await server.restart(['--legacy-versions'])
    for (const path of older) {
      for (const legacy of [v11, v12]) expect((await legacy.get(path)).status, path).toBe(200)
    }
    for (const path of newer) {
      expectRefusal(await v11.get(path), 404, path)
      expect((await v12.get(path)).status, path).toBe(200)
    }
    expect((await v11.get(`/folders/${folder}?fields=path`)).json).not.toHaveProperty('path')
    expect((await v12.get(`/folders/${folder}?fields=path,children`)).json).toMatchObject({
      path: { folders: [{ name: 'Starling' }] },
      children: { files: [{ name: 'file' }] },
    })
    await server.terminate()
    await server.restart()
    expectRefusal(await v12.get('/children'), 404)
  })
})
