import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Answer, CallOptions, Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import {
  expectRefusal,
  KINDS,
  listing,
  make,
  NEWER_VERSIONS,
  rootOf,
  VERSIONS,
  wholeTree,
  withoutChange,
  ZEROS,
} from './support.js'

const HEX_64 = /^[0-9a-f]{64}$/
const UNKNOWN = 'abcdef0123456789'.repeat(4)
const MALFORMED = [
  'bla',
  'ROOT',
  'Root',
  'Appdata',
  'a'.repeat(31),
  'a'.repeat(33),
  'a'.repeat(63),
  'a'.repeat(65),
  `${'a'.repeat(63)}g`,
  'A'.repeat(64),
  'A'.repeat(32),
  'someone@x.test',
]

const RENAME: CallOptions = { json: { name: 'renamed' } }

/** Every route with an id in it; a HEAD answers by status alone. */
function routesOf(
  version: string,
): readonly [method: string, path: (id: string) => string, options?: CallOptions][] {
  const all: [string, (id: string) => string, CallOptions?][] = [
    ['GET', (id) => `/folders/${id}`],
    ['HEAD', (id) => `/folders/${id}`],
    ['PUT', (id) => `/folders/${id}`, RENAME],
    ['DELETE', (id) => `/folders/${id}`],
    ['GET', (id) => `/files/${id}`],
    ['HEAD', (id) => `/files/${id}`],
    ['PUT', (id) => `/files/${id}`, RENAME],
    ['DELETE', (id) => `/files/${id}`],
    ['GET', (id) => `/files/${id}/content`],
    ['HEAD', (id) => `/files/${id}/content`],
    ['PUT', (id) => `/files/${id}/content`, { body: 'hello' }],
  ]
  if (version === '1.0') return [...all, ['GET', (id) => `/children/${id}`]]
  return [
    ...all,
    ['GET', (id) => `/folders/${id}/path`],
    ['GET', (id) => `/folders/${id}/children`],
    ['GET', (id) => `/files/${id}/path`],
  ]
}

async function expectEverywhere(api: Client, version: string, id: string, status: number): Promise<void> {
  for (const [method, path, options] of routesOf(version)) {
    const answer = await api.call(method, path(id), options)
    if (method === 'HEAD') expect(answer.status, `HEAD ${path(id)}`).toBe(status)
    else expectRefusal(answer, status, `${method} ${path(id)}`)
  }
}

function sameAnswer(a: Answer, b: Answer): void {
  expect(a.status).toBe(200)
  expect({ status: a.status, json: a.json, etag: a.headers.etag }).toEqual({
    status: b.status,
    json: b.json,
    etag: b.headers.etag,
  })
}

describe.each(ENGINES)('identifiers on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  it.each(VERSIONS)(
    'makes 64 hex digits that begin with those of the root under %s [ID-1]',
    async (version) => {
      const { api } = await server.person(undefined, version)
      const rootSid = (await rootOf(api)).slice(0, 32)
      for (const kind of KINDS) {
        const id = await make(api, kind, `an object of ${kind}`)
        expect(id).toMatch(HEX_64)
        expect(id.slice(0, 32)).toBe(rootSid)
      }
    },
  )

  it.each(NEWER_VERSIONS)(
    'describes the root as its own parent and not shared under %s [ID-3]',
    async (version) => {
      const { api } = await server.person(undefined, version)
      const answer = await api.get('/folders/root')
      expect(answer.status).toBe(200)
      expect(answer.json.id).toMatch(/^[0-9a-f]{32}0{32}$/)
      expect(answer.json.parent).toBe(answer.json.id)
      expect(answer.json['is_shared']).toBe(false)
      expect(answer.json).not.toHaveProperty('sid')
    },
  )

  it.each(NEWER_VERSIONS)(
    'gives the root the same id for every token of the user and after a restart under %s [ID-4]',
    async (version) => {
      const { api, email } = await server.person(undefined, version)
      const before = await api.get('/folders/root')
      const second = server.client(await server.addToken(email, 'files.read'), version)
      sameAnswer(await second.get('/folders/root'), before)
      sameAnswer(await api.get(`/folders/${before.json.id}`), before)
      await server.terminate()
      await server.restart()
      sameAnswer(await api.get('/folders/root'), before)
      sameAnswer(await api.get(`/folders/${before.json.id}`), before)
    },
  )

  it.each(NEWER_VERSIONS)(
    'takes the bare id of the root store for the root under %s [ID-5]',
    async (version) => {
      const { api } = await server.person(undefined, version)
      const rootSid = (await rootOf(api)).slice(0, 32)
      sameAnswer(await api.get(`/folders/${rootSid}`), await api.get('/folders/root'))
      const made = await api.post('/folders', { name: 'by the bare id', parent: rootSid })
      expect(made.json.parent).toBe(rootSid + ZEROS)
    },
  )

  it.each(NEWER_VERSIONS)(
    'tells as parent of every element the id that its folder reports under %s [ID-9]',
    async (version) => {
      const { api } = await server.person(undefined, version)
      const outer = await api.folder('outer')
      const inner = await api.folder('inner', outer)
      const file = await api.file('file', inner, 'hello')
      await api.file('beside', outer)
      for (const id of ['root', outer, inner]) {
        const { id: own } = (await api.get(`/folders/${id}`)).json
        const { folders, files } = await listing(api, id)
        expect(folders.length + files.length).toBeGreaterThan(0)
        for (const item of [...folders, ...files]) expect(item.parent).toBe(own)
      }
      const path = (await api.get(`/files/${file}/path`)).json['folders'] as { id: string; parent: string }[]
      expect(path.map((folder) => folder.id)).toEqual([await rootOf(api), outer, inner])
      for (const folder of path)
        expect((await api.get(`/folders/${folder.parent}`)).json.id).toBe(folder.parent)
    },
  )

  it.each(NEWER_VERSIONS)(
    'accepts every id and parent of a response in a path and as a parent under %s [ID-11]',
    async (version) => {
      const { api } = await server.person(undefined, version)
      const outer = (await api.post('/folders', { name: 'outer', parent: 'root' })).json
      const inner = (await api.post('/folders', { name: 'inner', parent: outer.id })).json
      const file = (await api.post('/files', { name: 'file', parent: inner.id })).json
      let count = 0
      for (const id of [outer.id, outer.parent, inner.id, inner.parent, file.parent]) {
        expect((await api.get(`/folders/${id}`)).json.id).toBe(id)
        const made = await api.post('/files', { name: `made ${(count += 1)}`, parent: id })
        expect(made.status).toBe(201)
        expect(made.json.parent).toBe(id)
        expect((await api.put(`/files/${file.id}`, { parent: id })).status).toBe(200)
      }
      expect((await api.get(`/files/${file.id}`)).json.id).toBe(file.id)
    },
  )

  it.each(VERSIONS)('refuses malformed ids in the path of every route under %s [ID-12]', async (version) => {
    const { api, token } = await server.person(undefined, version)
    await api.folder('kept')
    await withoutChange(server.client(token), async () => {
      for (const id of MALFORMED) await expectEverywhere(api, version, id, 400)
    })
    for (const id of MALFORMED) {
      expectRefusal(await api.post(`/folders/${id}`, { name: 'x', parent: 'root' }), 405, id)
      expectRefusal(await api.call('DELETE', `/files/${id}/content`), 405, id)
    }
  })

  it.each(NEWER_VERSIONS)('refuses a valid id with a tail under %s [ID-13]', async (version) => {
    const { api } = await server.person(undefined, version)
    const folder = await api.folder('folder')
    await withoutChange(api, async () => {
      for (const tail of ['0', 'x', '%20', '%00', '%0a', '.json', ';v=1', '%2f']) {
        await expectEverywhere(api, version, `${folder}${tail}`, 400)
      }
    })
  })

  it.each(VERSIONS)('refuses malformed parents in every body under %s [ID-14]', async (version) => {
    const { api, token } = await server.person(undefined, version)
    const folder = await api.folder('folder')
    const file = await api.file('file')
    await withoutChange(server.client(token), async () => {
      for (const parent of [
        ...MALFORMED,
        '',
        `${folder}0`,
        0,
        12,
        1.5,
        true,
        false,
        [],
        [folder],
        {},
        { id: folder },
      ]) {
        const about = JSON.stringify(parent)
        expectRefusal(await api.post('/folders', { name: 'new', parent }), 400, about)
        expectRefusal(await api.post('/files', { name: 'new', parent }), 400, about)
        expectRefusal(await api.put(`/folders/${folder}`, { name: 'new', parent }), 400, about)
        expectRefusal(await api.put(`/files/${file}`, { name: 'new', parent }), 400, about)
      }
    })
  })

  it.each(VERSIONS)('does not find well-formed ids that name nothing under %s [ID-15]', async (version) => {
    const { api, token } = await server.person(undefined, version)
    const other = await server.person()
    const rootSid = (await rootOf(api)).slice(0, 32)
    const otherSid = (await rootOf(other.api)).slice(0, 32)
    const folder = await api.folder('folder')
    const file = await api.file('file')
    const nothing = [
      UNKNOWN,
      UNKNOWN.slice(0, 32),
      `${UNKNOWN.slice(0, 32)}${ZEROS}`,
      `${rootSid}${UNKNOWN.slice(0, 32)}`,
      ZEROS,
      `${ZEROS}${ZEROS}`,
      `${otherSid}${folder.slice(32)}`,
      `${otherSid}${file.slice(32)}`,
      `${UNKNOWN.slice(0, 32)}${folder.slice(32)}`,
      `${rootSid}${rootSid}`,
    ]
    await withoutChange(server.client(token), async () => {
      for (const id of nothing) {
        await expectEverywhere(api, version, id, 404)
        expectRefusal(await api.post('/folders', { name: 'new', parent: id }), 404, id)
        expectRefusal(await api.put(`/folders/${folder}`, { parent: id }), 404, id)
      }
    })
  })

  it.each(NEWER_VERSIONS)(
    'never finds a deleted id again, even when the name comes back under %s [ID-16]',
    async (version) => {
      const { api } = await server.person(undefined, version)
      for (const kind of KINDS) {
        const id = await make(api, kind, 'comes back')
        expect((await api.delete(`/${kind}/${id}`)).status).toBe(204)
        await expectEverywhere(api, version, id, 404)
        const again = await make(api, kind, 'comes back')
        expect(again).not.toBe(id)
        await expectEverywhere(api, version, id, 404)
        await api.delete(`/${kind}/${again}`)
      }
    },
  )

  it.each(VERSIONS)("does not find anything of another person's root under %s [ID-17]", async (version) => {
    const { api, token } = await server.person(undefined, version)
    const other = await server.person()
    const root = await rootOf(other.api)
    const folder = await other.api.folder('private')
    const file = await other.api.file('diary', folder, 'hello')
    const own = await api.folder('own')
    const before = await wholeTree(other.api)
    await withoutChange(server.client(token), async () => {
      for (const id of [root.slice(0, 32), root, folder, file]) {
        await expectEverywhere(api, version, id, 404)
        expectRefusal(await api.post('/folders', { name: 'new', parent: id }), 404, id)
        expectRefusal(await api.post('/files', { name: 'new', parent: id }), 404, id)
        expectRefusal(await api.put(`/folders/${own}`, { parent: id }), 404, id)
      }
    })
    expect(await wholeTree(other.api)).toEqual(before)
  })

  it.each(VERSIONS)('does not find a file on the routes of folders under %s [ID-19]', async (version) => {
    const { api, token } = await server.person(undefined, version)
    const modern = server.client(token)
    const file = await api.file('file', 'root', 'hello')
    await withoutChange(modern, async () => {
      expectRefusal(await api.get(`/folders/${file}`), 404)
      expectRefusal(await api.put(`/folders/${file}`, { name: 'renamed' }), 404)
      expectRefusal(await api.delete(`/folders/${file}`), 404)
      expectRefusal(await api.get(version === '1.0' ? `/children/${file}` : `/folders/${file}/children`), 404)
    })
    sameAnswer(await modern.get(`/folders/${file}/path`), await modern.get(`/files/${file}/path`))
  })

  it.each(NEWER_VERSIONS)(
    'does not find a folder on the routes of files under %s [ID-20]',
    async (version) => {
      const { api } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      const root = await rootOf(api)
      await api.get('/folders/appdata')
      await withoutChange(api, async () => {
        for (const id of [folder, 'root', root, root.slice(0, 32), 'appdata']) {
          expectRefusal(await api.get(`/files/${id}`), 404, id)
          expectRefusal(await api.put(`/files/${id}`, { name: 'renamed' }), 404, id)
          expectRefusal(await api.delete(`/files/${id}`), 404, id)
          expectRefusal(await api.get(`/files/${id}/content`), 404, id)
          expect((await api.head(`/files/${id}/content`)).status).toBe(404)
          expectRefusal(await api.upload(id, 'hello'), 404, id)
          sameAnswer(await api.get(`/files/${id}/path`), await api.get(`/folders/${id}/path`))
        }
      })
    },
  )

  it('knows the root by its alias, its id and its bare store id under 1.0 [ID-21]', async () => {
    const { api, token } = await server.person(undefined, '1.0')
    const modern = server.client(token)
    const root = await rootOf(api)
    for (const [index, id] of ['root', root, root.slice(0, 32)].entries()) {
      expect((await api.get(`/folders/${id}`)).json.id).toBe(root)
      expect((await api.get(`/children/${id}`)).json.parent).toBe(root)
      const made = await api.folder(`made ${index}`, id)
      expect((await modern.get(`/folders/${made}`)).json.parent).toBe(root)
      const moved = await api.file(`moved ${index}`, made)
      expect((await api.put(`/files/${moved}`, { parent: id })).status).toBe(200)
      expect((await modern.get(`/files/${moved}`)).json.parent).toBe(root)
    }
  })

  it('has no folder called appdata under 1.0 [ID-22]', async () => {
    const { api, token } = await server.person(undefined, '1.0')
    const folder = await api.folder('folder')
    const file = await api.file('file')
    await withoutChange(server.client(token), async () => {
      for (const [method, path, options] of routesOf('1.0')) {
        expect(
          (await api.call(method, path('appdata'), options)).status,
          `${method} ${path('appdata')}`,
        ).toBe(404)
      }
      expectRefusal(await api.get('/folders/appdata'), 404)
      for (const kind of KINDS)
        expectRefusal(await api.post(`/${kind}`, { name: 'new', parent: 'appdata' }), 404)
      expectRefusal(await api.put(`/folders/${folder}`, { parent: 'appdata' }), 404)
      expectRefusal(await api.put(`/files/${file}`, { parent: 'appdata' }), 404)
    })
  })

  it.each(NEWER_VERSIONS)(
    'answers a path with a slash at its end as without it under %s [ID-23]',
    async (version) => {
      const { api, token } = await server.person(undefined, version)
      const old = server.client(token, '1.0')
      const folder = await api.folder('folder')
      const file = await api.file('file', folder, 'hello')
      for (const path of [
        `/folders/${folder}`,
        '/folders/root',
        `/folders/${folder}/children`,
        `/folders/${folder}/path`,
        `/files/${file}`,
        `/files/${file}/path`,
      ]) {
        sameAnswer(await api.get(`${path}/`), await api.get(path))
      }
      for (const path of ['/children', `/children/${folder}`, `/folders/${folder}`]) {
        sameAnswer(await old.get(`${path}/`), await old.get(path))
      }
      expect((await api.get(`/files/${file}/content/`)).text).toBe('hello')
      expect((await api.post('/folders/', { name: 'made', parent: 'root' })).status).toBe(201)
      expect((await api.put(`/folders/${folder}/`, { name: 'renamed' })).json.name).toBe('renamed')
      expect((await api.delete(`/files/${file}/`)).status).toBe(204)
    },
  )

  it("does not find other people's roots for an admin either [ID-24]", async () => {
    const admin = await server.addUser({ admin: true })
    const api = server.client(await server.addToken(admin, 'organization.admin,files.read,files.write'))
    const other = await server.person()
    const root = await rootOf(other.api)
    const folder = await other.api.folder('private')
    for (const id of [root, root.slice(0, 32), folder]) await expectEverywhere(api, '1.3', id, 404)
  })
})
