import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import {
  expectRefusal,
  lastingHeaders,
  NEWER_VERSIONS,
  pathNames,
  rootOf,
  tagOf,
  type Item,
} from './support.js'

const UNKNOWN = 'abcdef0123456789'.repeat(4)

async function pathOf(api: Client, path: string): Promise<Item[]> {
  const answer = await api.get(path)
  expect(answer.status, answer.text).toBe(200)
  expect(Object.keys(answer.json)).toEqual(['folders'])
  return answer.json['folders'] as Item[]
}

describe.each(ENGINES)('parent paths on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  it('does not serve the path routes under 1.0, token or not [PATH-12]', async () => {
    const { api } = await server.person(undefined, '1.0')
    const folder = await api.folder('folder')
    const file = await api.file('file')
    for (const someone of [api, server.client(undefined, '1.0')]) {
      for (const path of [`/folders/${folder}/path`, `/files/${file}/path`])
        expectRefusal(await someone.get(path), 404)
    }
  })

  describe.each(NEWER_VERSIONS)('under %s', (version) => {
    it('lists the folders above an object from the root down, without itself [PATH-1] [PATH-2] [PATH-4]', async () => {
      const { api } = await server.person(undefined, version)
      const root = await rootOf(api)
      const outer = await api.folder('outer')
      const inner = await api.folder('inner', outer)
      const file = await api.file('file', inner, 'hello')
      const above = [root, outer, inner]
      for (const [path, ids] of [
        [`/files/${file}/path`, above],
        [`/folders/${inner}/path`, above.slice(0, 2)],
        [`/folders/${outer}/path`, above.slice(0, 1)],
      ] as const) {
        const folders = await pathOf(api, path)
        expect(folders.map((folder) => folder.id)).toEqual(ids)
        for (const folder of folders) expect(folder).toEqual((await api.get(`/folders/${folder.id}`)).json)
        expect(folders.map((folder) => folder.parent)).toEqual([root, ...ids.slice(0, -1)])
        for (const folder of folders)
          expect(Object.keys(folder).sort()).toEqual(['id', 'is_shared', 'name', 'parent'])
      }
    })

    it('has nothing above the root [PATH-3]', async () => {
      const { api } = await server.person(undefined, version)
      const root = await rootOf(api)
      for (const id of ['root', root, root.slice(0, 32)]) {
        expect((await api.get(`/folders/${id}/path`)).json).toEqual({ folders: [] })
      }
    })

    it('lists 50 folders in order [PATH-8]', async () => {
      const { api } = await server.person(undefined, version)
      const ids = [await rootOf(api)]
      for (let level = 1; level <= 50; level += 1) ids.push(await api.folder(`level ${level}`, ids.at(-1)))
      const file = await api.file('file', ids.at(-1))
      expect((await pathOf(api, `/files/${file}/path`)).map((folder) => folder.id)).toEqual(ids)
      expect((await pathOf(api, `/folders/${ids.at(-1)}/path`)).map((folder) => folder.id)).toEqual(
        ids.slice(0, -1),
      )
    })

    it('shows a rename and a move of an ancestor at once [PATH-9]', async () => {
      const { api } = await server.person(undefined, version)
      const outer = await api.folder('outer')
      const inner = await api.folder('inner', outer)
      const file = await api.file('file', inner)
      const target = await api.folder('target')
      await api.put(`/folders/${outer}`, { name: 'renamed' })
      expect(await pathNames(api, file)).toEqual(['Starling', 'renamed', 'inner'])
      await api.put(`/folders/${inner}`, { parent: target })
      expect(await pathNames(api, file)).toEqual(['Starling', 'target', 'inner'])
    })

    it('has no ETag and ignores If-None-Match and fields [PATH-10]', async () => {
      const { api } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      const file = await api.file('file', folder, 'hello')
      const tag = tagOf(await api.get(`/files/${file}`))
      for (const path of [`/files/${file}/path`, `/folders/${folder}/path`]) {
        const plain = await api.get(path)
        for (const value of ['*', tag]) {
          const answer = await api.get(`${path}?fields=path,children`, { 'If-None-Match': value })
          expect(answer.status).toBe(200)
          expect(answer.json).toEqual(plain.json)
          expect(answer.headers).not.toHaveProperty('etag')
        }
      }
    })

    it('refuses malformed ids, does not find others, takes either kind and needs files.read [PATH-11]', async () => {
      const { api, email } = await server.person(undefined, version)
      const other = await server.person()
      const hidden = await other.api.folder('hidden')
      const folder = await api.folder('folder')
      const file = await api.file('file', folder)
      const gone = await api.folder('gone')
      await api.delete(`/folders/${gone}`)
      const writing = server.client(await server.addToken(email, 'files.write'), version)
      for (const kind of ['folders', 'files']) {
        expectRefusal(await api.get(`/${kind}/bla/path`), 400)
        for (const id of [UNKNOWN, gone, hidden]) expectRefusal(await api.get(`/${kind}/${id}/path`), 404)
        expect((await pathOf(api, `/${kind}/${file}/path`)).map(({ name }) => name)).toEqual([
          'Starling',
          'folder',
        ])
        expect((await pathOf(api, `/${kind}/${folder}/path`)).map(({ name }) => name)).toEqual(['Starling'])
        for (const id of [folder, file, UNKNOWN]) expectRefusal(await writing.get(`/${kind}/${id}/path`), 403)
      }
    })

    it('answers for a file without content as usual [PATH-13]', async () => {
      const { api } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      const file = await api.file('file', folder)
      expect((await pathOf(api, `/files/${file}/path`)).map(({ name }) => name)).toEqual([
        'Starling',
        'folder',
      ])
    })

    it('starts at the folder that the token reaches [PATH-14]', async () => {
      const { api, email } = await server.person(undefined, version)
      const outer = await api.folder('outer')
      const top = await api.folder('top', outer)
      const inner = await api.folder('inner', top)
      const file = await api.file('file', inner)
      const narrow = server.client(await server.addToken(email, `files.read:${top}`), version)
      expect((await pathOf(narrow, `/files/${file}/path`)).map((folder) => folder.id)).toEqual([top, inner])
      expect((await pathOf(narrow, `/folders/${inner}/path`)).map((folder) => folder.id)).toEqual([top])
      expect(await pathOf(narrow, `/folders/${top}/path`)).toEqual([])
      const asked = await narrow.get(`/files/${file}?fields=path`)
      expect(asked.json['path']).toEqual((await narrow.get(`/files/${file}/path`)).json)
    })

    it('answers HEAD with the headers of GET and no body [PATH-15]', async () => {
      const { api } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      const file = await api.file('file')
      for (const path of [`/folders/${folder}/path`, `/files/${file}/path`]) {
        const head = await api.head(path)
        expect(head.status).toBe(200)
        expect(head.body).toHaveLength(0)
        expect(lastingHeaders(head)).toEqual(lastingHeaders(await api.get(path)))
      }
      expect((await api.head(`/folders/${UNKNOWN}/path`)).status).toBe(404)
    })
  })
})
