import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENGINES } from '../support/engines.js'
import { RW, startServer, type TestServer } from '../support/server.js'
import type { Client } from '../support/client.js'
import { expectError, unchanged, unknownId } from './support.js'

const APPDATA = 'files.appdata'

interface Listing {
  folders: { id: string; name: string; parent: string }[]
  files: { id: string; name: string }[]
}

/** A person with two applications and a token for each kind of right. */
interface Stage {
  email: string
  appA: string
  appB: string
  a: Client
  b: Client
  rw: Client
}

describe.each(ENGINES)('the folder of an application on %s', (engine) => {
  let server: TestServer
  let appA: string
  let appB: string

  beforeAll(async () => {
    server = await startServer(engine)
    appA = (await server.addApp('A')).id
    appB = (await server.addApp('B')).id
  })
  afterAll(() => server.stop())

  async function stage(): Promise<Stage> {
    const email = await server.addUser()
    const token = async (scope: string, app?: string): Promise<Client> =>
      server.client(await server.addToken(email, scope, app === undefined ? {} : { app }))
    return {
      email,
      appA,
      appB,
      a: await token(APPDATA, appA),
      b: await token(APPDATA, appB),
      rw: await token(RW),
    }
  }

  const listing = async (api: Client, id: string): Promise<Listing> =>
    (await api.get(`/folders/${id}/children`)).json as unknown as Listing

  const pathOf = async (api: Client, path: string): Promise<Listing['folders']> =>
    ((await api.get(path)).json as unknown as Listing).folders

  test('is made on the first GET and keeps its id [APPDATA-1] [AUTH-51]', async () => {
    const { a, rw } = await stage()
    const root = (await rw.get('/folders/root')).json.id
    const first = await a.get('/folders/appdata')
    expect(first.status).toBe(200)
    expect(first.json.id).toMatch(/^[0-9a-f]{64}$/)
    expect(first.json.id.slice(0, 32)).toBe(root.slice(0, 32))
    expect(first.json['is_shared']).toBe(false)
    expect(first.json).not.toHaveProperty('sid')
    expect((await a.get('/folders/appdata')).json).toEqual(first.json)
    expect((await a.get(`/folders/${first.json.id}`)).json).toEqual(first.json)
  })

  test('is made by the first POST that names it as parent [APPDATA-2]', async () => {
    const { a } = await stage()
    const made = await a.post('/folders', { name: 'settings', parent: 'appdata' })
    expect(made.status).toBe(201)
    const top = await a.get('/folders/appdata')
    expect(made.json.parent).toBe(top.json.id)
    expect((await listing(a, 'appdata')).folders.map(({ name }) => name)).toEqual(['settings'])
  })

  test('is one folder when twenty first uses come at once [APPDATA-3]', async () => {
    const { a, rw } = await stage()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0
          ? a.get('/folders/appdata').then((answer) => answer.json.id)
          : a.post('/folders', { name: `n${index}`, parent: 'appdata' }).then((answer) => answer.json.parent),
      ),
    )
    expect(new Set(answers).size).toBe(1)
    const container = (await listing(rw, 'root')).folders.filter(({ name }) => name === '.appdata')
    expect(container).toHaveLength(1)
    expect((await listing(rw, container[0]?.id ?? '')).folders.map(({ id }) => id)).toEqual([answers[0]])
  })

  test('belongs to the pair of user and application [APPDATA-4] [AUTH-59]', async () => {
    const one = await stage()
    const two = await stage()
    const again = server.client(await server.addToken(one.email, APPDATA, { app: appA }))
    const ids = await Promise.all(
      [one.a, one.b, two.a, two.b].map(async (api) => (await api.get('/folders/appdata')).json.id),
    )
    expect(new Set(ids).size).toBe(4)
    expect((await again.get('/folders/appdata')).json.id).toBe(ids[0])
    expectError(await two.a.get(`/folders/${ids[0]}`), 404)
    expectError(await two.a.post('/folders', { name: 'x', parent: ids[0] }), 404)
    expectError(await two.rw.get(`/folders/${ids[0]}`), 404)
  })

  test('is named by the client_id and lies in .appdata of the root [APPDATA-5]', async () => {
    const { a, rw } = await stage()
    const top = (await a.get('/folders/appdata')).json
    expect(top.name).toBe(appA)
    const seen = (await rw.get(`/folders/${top.id}`)).json
    const container = (await rw.get(`/folders/${seen.parent}`)).json
    expect(container.name).toBe('.appdata')
    expect(container.parent).toBe((await rw.get('/folders/root')).json.id)
  })

  test.each(['alias', 'id'])(
    'lets its token do everything inside, by %s [APPDATA-6] [AUTH-51]',
    async (form) => {
      const { a } = await stage()
      const top = form === 'alias' ? 'appdata' : (await a.get('/folders/appdata')).json.id
      const folder = await a.folder('folder', top)
      const below = await a.folder('below', folder)
      const file = await a.file('file.txt', top, 'hello')
      expect((await listing(a, top)).folders.map(({ name }) => name)).toEqual(['folder'])
      expect((await listing(a, top)).files.map(({ name }) => name)).toEqual(['file.txt'])
      expect((await a.get(`/files/${file}`)).status).toBe(200)
      expect((await a.head(`/files/${file}`)).status).toBe(200)
      expect((await a.get(`/files/${file}/path`)).status).toBe(200)
      expect((await a.get(`/files/${file}/content`)).text).toBe('hello')
      expect((await a.put(`/files/${file}`, { name: 'moved.txt', parent: below })).json.parent).toBe(below)
      expect((await a.put(`/folders/${below}`, { name: 'renamed' })).json.name).toBe('renamed')
      expect((await a.put(`/folders/${below}`, { parent: top })).status).toBe(200)
      const begun = await a.upload(file, '', { 'Content-Range': 'bytes */*' })
      const id = String(begun.headers['upload-id'])
      await a.upload(file, 'new ', { 'Content-Range': 'bytes 0-3/*', 'Upload-ID': id })
      const done = await a.upload(file, 'bytes', { 'Content-Range': 'bytes 4-8/9', 'Upload-ID': id })
      expect(done.status).toBe(204)
      expect((await a.get(`/files/${file}/content`)).text).toBe('new bytes')
      expect((await a.delete(`/files/${file}`)).status).toBe(204)
      expect((await a.delete(`/folders/${folder}`)).status).toBe(204)
      expect((await a.delete(`/folders/${below}`)).status).toBe(204)
      expect(await listing(a, top)).toEqual({ folders: [], files: [] })
    },
  )

  test('is all that exists for its token: everything else is 404, read or written [APPDATA-7] [AUTH-52] [AUTH-56] [AUTH-60]', async () => {
    const { a, b, rw } = await stage()
    const elsewhere = await rw.folder('elsewhere')
    const file = await rw.file('private.txt', elsewhere, 'private')
    const own = (await a.get('/folders/appdata')).json.id
    const others = (await b.get('/folders/appdata')).json.id
    const othersFile = await b.file('theirs.txt', 'appdata', 'theirs')
    const root = (await rw.get('/folders/root')).json.id
    const container = (await rw.get(`/folders/${own}`)).json.parent
    await unchanged(server, async () => {
      for (const id of ['root', root, root.slice(0, 32), container, elsewhere, others, unknownId()]) {
        for (const suffix of ['', '/path', '/children'])
          expectError(await a.get(`/folders/${id}${suffix}`), 404, id)
        expectError(await a.put(`/folders/${id}`, { name: 'taken over' }), 404, id)
        expectError(await a.delete(`/folders/${id}`), 404, id)
        for (const noun of ['folders', 'files'])
          expectError(await a.post(`/${noun}`, { name: 'x', parent: id }), 404, id)
      }
      for (const id of [file, othersFile, unknownId()]) {
        for (const suffix of ['', '/path', '/content'])
          expectError(await a.get(`/files/${id}${suffix}`), 404, id)
        expectError(await a.put(`/files/${id}`, { name: 'taken over' }), 404, id)
        expectError(await a.upload(id, 'replaced'), 404, id)
        expectError(await a.upload(id, '', { 'Content-Range': 'bytes */*' }), 404, id)
        expectError(await a.delete(`/files/${id}`), 404, id)
      }
    })
  })

  test('lets nothing out and nothing in [APPDATA-8] [AUTH-53]', async () => {
    const { a, b, rw } = await stage()
    const inside = await a.file('inside.txt', 'appdata')
    const folder = await a.folder('folder', 'appdata')
    const outside = await rw.folder('outside')
    const others = (await b.get('/folders/appdata')).json.id
    await unchanged(server, async () => {
      for (const parent of ['root', outside, others, unknownId()]) {
        expectError(await a.put(`/files/${inside}`, { parent }), 404, parent)
        expectError(await a.put(`/folders/${folder}`, { parent, name: 'new' }), 404, parent)
      }
      expectError(await a.put(`/folders/${outside}`, { parent: 'appdata' }), 404)
      expectError(await a.put(`/folders/${others}`, { parent: folder }), 404)
    })
  })

  test('is where its token sees a path begin [APPDATA-9] [AUTH-54]', async () => {
    const { a } = await stage()
    const top = (await a.get('/folders/appdata')).json.id
    const folder = await a.folder('folder', 'appdata')
    const file = await a.file('file.txt', folder)
    expect(await pathOf(a, '/folders/appdata/path')).toEqual([])
    expect((await pathOf(a, `/folders/${folder}/path`)).map(({ id }) => id)).toEqual([top])
    const path = await pathOf(a, `/files/${file}/path`)
    expect(path.map(({ id }) => id)).toEqual([top, folder])
    expect(path[0]?.parent).toBe(top)
    const asked = await a.get(`/files/${file}?fields=path`)
    expect(asked.json['path']).toEqual({ folders: path })
    expect((await a.get('/folders/appdata?fields=path')).json['path']).toEqual({ folders: [] })
  })

  test('is its own parent for its token [APPDATA-10] [AUTH-54]', async () => {
    const { a } = await stage()
    const top = (await a.get('/folders/appdata')).json
    expect(top.parent).toBe(top.id)
    await a.folder('child', 'appdata')
    expect((await listing(a, 'appdata')).folders.map(({ parent }) => parent)).toEqual([top.id])
  })

  test('has its true parent and path for a token with unrestricted scopes [APPDATA-11] [AUTH-57]', async () => {
    const { email, rw } = await stage()
    const root = (await rw.get('/folders/root')).json.id
    for (const scope of ['files.read', RW]) {
      const api = server.client(await server.addToken(email, scope, { app: appA }))
      const top = await api.get('/folders/appdata')
      expect(top.status).toBe(200)
      expect(top.json.name).toBe(appA)
      const path = await pathOf(api, '/folders/appdata/path')
      expect(path.map(({ name }) => name)).toEqual(['Starling', '.appdata'])
      expect(path.map(({ id }) => id)).toEqual([root, top.json.parent])
    }
  })

  test('of every application is open to unrestricted scopes [APPDATA-12] [AUTH-57]', async () => {
    const { email, a, b, rw } = await stage()
    const r = server.client(await server.addToken(email, 'files.read'))
    expect((await listing(rw, 'root')).folders).toEqual([])
    const file = await a.file('a.txt', 'appdata', 'of a')
    const others = await b.file('b.txt', 'appdata', 'of b')
    const [container] = (await listing(r, 'root')).folders
    expect(container?.name).toBe('.appdata')
    expect((await listing(r, container?.id ?? '')).folders.map(({ name }) => name)).toEqual(
      [appA, appB].sort(),
    )
    expect((await r.get(`/files/${file}/content`)).text).toBe('of a')
    expect((await r.get(`/files/${others}/content`)).text).toBe('of b')
    expectError(await r.upload(file, 'no'), 403)
    expect((await rw.upload(file, 'written')).status).toBe(204)
    expect((await a.get(`/files/${file}/content`)).text).toBe('written')
    expect((await rw.delete(`/files/${others}`)).status).toBe(204)
    expectError(await b.get(`/files/${others}`), 404)
  })

  test('can be written and the rest only read with files.read,files.appdata [APPDATA-13] [AUTH-58]', async () => {
    const { email, b, rw } = await stage()
    const api = server.client(await server.addToken(email, 'files.read,files.appdata', { app: appA }))
    const folder = await rw.folder('folder')
    const file = await rw.file('file.txt', folder, 'hello')
    const others = await b.file('b.txt', 'appdata', 'of b')
    const own = await api.file('own.txt', 'appdata', 'own')
    expect((await api.get(`/files/${own}/content`)).text).toBe('own')
    expect((await api.get(`/files/${file}/content`)).text).toBe('hello')
    expect((await api.get(`/files/${others}/content`)).text).toBe('of b')
    expect((await listing(api, 'root')).folders.map(({ name }) => name)).toEqual(['.appdata', 'folder'])
    await unchanged(server, async () => {
      expectError(await api.post('/files', { name: 'x', parent: 'root' }), 403)
      expectError(await api.put(`/files/${file}`, { name: 'x' }), 403)
      expectError(await api.upload(file, 'x'), 403)
      expectError(await api.delete(`/folders/${folder}`), 403)
      expectError(await api.upload(others, 'x'), 403)
      expectError(await api.put(`/files/${own}`, { parent: folder }), 403)
      expectError(await api.put(`/files/${file}`, { parent: 'appdata' }), 403)
    })
  })

  test('is closed to a token without a files scope [APPDATA-14] [AUTH-22]', async () => {
    const { email } = await stage()
    const api = server.client(await server.addToken(email, 'user.read,acl.read,acl.write', { app: appA }))
    await unchanged(server, async () => {
      expectError(await api.get('/folders/appdata'), 403)
      expectError(await api.post('/folders', { name: 'x', parent: 'appdata' }), 403)
    })
  })

  test('is no file [APPDATA-15]', async () => {
    const { a, rw } = await stage()
    for (const api of [a, rw]) {
      expectError(await api.get('/files/appdata'), 404)
      expectError(await api.get('/files/appdata/content'), 404)
      expectError(await api.put('/files/appdata', { name: 'x' }), 404)
      expectError(await api.upload('appdata', 'x'), 404)
      expectError(await api.delete('/files/appdata'), 404)
    }
  })

  test('does not exist in version 1.0, where its scope opens nothing [APPDATA-16] [VER-24] [VER-25]', async () => {
    const { a, rw } = await stage()
    const file = await a.file('file.txt', 'appdata', 'hello')
    const top = (await a.get('/folders/appdata')).json.id
    const old = server.client(a.token, '1.0')
    await unchanged(server, async () => {
      for (const id of ['appdata', 'root', top, unknownId()]) {
        expectError(await old.get(`/folders/${id}`), 403, id)
        expectError(await old.get(`/children/${id}`), 403, id)
        expectError(await old.post('/folders', { name: 'x', parent: id }), 403, id)
        expectError(await old.delete(`/folders/${id}`), 403, id)
      }
      expectError(await old.get('/children'), 403)
      expectError(await old.get(`/files/${file}/content`), 403)
      expectError(await old.upload(file, 'x'), 403)
      const oldRw = server.client(rw.token, '1.0')
      expectError(await oldRw.get('/folders/appdata'), 404)
      expectError(await oldRw.get('/children/appdata'), 404)
      expectError(await oldRw.post('/files', { name: 'x', parent: 'appdata' }), 404)
      expectError(await oldRw.put(`/files/${file}`, { parent: 'appdata' }), 404)
      expect((await oldRw.get('/folders/root')).status).toBe(200)
    })
  })

  test('of the built-in application serves tokens without an application', async () => {
    const { email, rw } = await stage()
    const api = server.client(await server.addToken(email, APPDATA))
    const top = await api.get('/folders/appdata')
    expect(top.status).toBe(200)
    expect((await rw.get('/folders/appdata')).json.id).toBe(top.json.id)
  })

  test('has a name that nobody may take in the root [APPDATA-18]', async () => {
    const { a, rw } = await stage()
    const folder = await rw.folder('folder')
    const file = await rw.file('file')
    const inner = await rw.folder('.appdata', folder)
    for (const moment of ['before', 'after']) {
      await unchanged(server, async () => {
        for (const noun of ['folders', 'files']) {
          expectError(await rw.post(`/${noun}`, { name: '.appdata', parent: 'root' }), 409, moment)
        }
        expectError(await rw.put(`/folders/${folder}`, { name: '.appdata' }), 409, moment)
        expectError(await rw.put(`/files/${file}`, { name: '.appdata' }), 409, moment)
        expectError(await rw.put(`/folders/${inner}`, { parent: 'root' }), 409, moment)
      })
      await a.get('/folders/appdata')
    }
  })

  test('stays where it is [APPDATA-19]', async () => {
    const { a, rw } = await stage()
    const top = (await a.get('/folders/appdata')).json.id
    const container = (await rw.get(`/folders/${top}`)).json.parent
    const folder = await rw.folder('folder')
    await unchanged(server, async () => {
      expectError(await rw.put(`/folders/${container}`, { name: 'other' }), 400)
      expectError(await rw.put(`/folders/${container}`, { parent: folder }), 400)
      expectError(await rw.delete(`/folders/${container}`), 400)
      for (const api of [a, rw]) expectError(await api.put(`/folders/${top}`, { name: 'other' }), 400)
      expectError(await rw.put(`/folders/${top}`, { parent: folder }), 400)
      expectError(await a.put('/folders/appdata', { name: 'other' }), 400)
    })
  })

  test('can be deleted, and the next use makes a new and empty one [APPDATA-20]', async () => {
    const { a, rw } = await stage()
    const ids = new Set<string>()
    for (const by of [a, rw, a]) {
      const top = (await a.get('/folders/appdata')).json.id
      ids.add(top)
      const file = await a.file('file.txt', 'appdata', 'hello')
      expect((await by.delete(`/folders/${top}`)).status).toBe(204)
      expectError(await a.get(`/folders/${top}`), 404)
      expectError(await a.get(`/files/${file}`), 404)
      expect(await listing(a, 'appdata')).toEqual({ folders: [], files: [] })
    }
    expect(ids.size).toBe(3)
  })
})
