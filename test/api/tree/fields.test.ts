import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { NEWER_VERSIONS, tagOf, type Item } from './support.js'

interface Family {
  readonly api: Client
  readonly outer: string
  readonly folder: string
  readonly inner: string
  readonly file: string
}

describe.each(ENGINES)('on-demand fields on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  /** A folder with something above, beside and below it. */
  async function family(version: string): Promise<Family> {
    const { api } = await server.person(undefined, version)
    const outer = await api.folder('outer')
    const folder = await api.folder('folder', outer)
    const inner = await api.folder('inner', folder)
    const file = await api.file('file', folder, 'hello')
    return { api, outer, folder, inner, file }
  }

  it('ignores the parameter under 1.0 [FIELDS-9]', async () => {
    const { api, folder, file } = await family('1.0')
    for (const path of [`/folders/${folder}`, `/files/${file}`]) {
      const plain = await api.get(path)
      const answer = await api.get(`${path}?fields=path,children`)
      expect(answer.json).toEqual(plain.json)
      expect(answer.json).not.toHaveProperty('path')
      expect(answer.json).not.toHaveProperty('children')
      expect(tagOf(answer)).toBe(tagOf(plain))
      expect((await api.get(`${path}?fields=path`, { 'If-None-Match': tagOf(plain) })).status).toBe(304)
    }
  })

  describe.each(NEWER_VERSIONS)('under %s', (version) => {
    it('leaves path and children out unless they are asked for [FIELDS-1]', async () => {
      const { api, folder, file } = await family(version)
      for (const path of [`/folders/${folder}`, '/folders/root', `/files/${file}`]) {
        const answer = await api.get(path)
        expect(answer.status).toBe(200)
        expect(answer.json).not.toHaveProperty('path')
        expect(answer.json).not.toHaveProperty('children')
      }
    })

    it('includes in a folder what the routes of path and children answer [FIELDS-2]', async () => {
      const { api, folder } = await family(version)
      const plain = (await api.get(`/folders/${folder}`)).json
      const path = (await api.get(`/folders/${folder}/path`)).json
      const children = (await api.get(`/folders/${folder}/children`)).json
      const asked = async (fields: string): Promise<unknown> =>
        (await api.get(`/folders/${folder}?fields=${fields}`)).json
      expect(await asked('path')).toEqual({ ...plain, path })
      expect(await asked('children')).toEqual({ ...plain, children })
      expect(await asked('path,children')).toEqual({ ...plain, path, children })
      expect(await asked('children%2Cpath')).toEqual({ ...plain, path, children })
    })

    it('includes in a file what the route of its path answers [FIELDS-3]', async () => {
      const { api, file } = await family(version)
      const plain = (await api.get(`/files/${file}`)).json
      const path = (await api.get(`/files/${file}/path`)).json
      expect((await api.get(`/files/${file}?fields=path`)).json).toEqual({ ...plain, path })
    })

    it('sends no ETag with an on-demand field, on HEAD neither [FIELDS-4]', async () => {
      const { api, folder, file } = await family(version)
      for (const path of [
        `/folders/${folder}?fields=path`,
        `/folders/${folder}?fields=children`,
        `/folders/${folder}?fields=path,children`,
        `/files/${file}?fields=path`,
      ]) {
        for (const answer of [await api.get(path), await api.head(path)]) {
          expect(answer.status).toBe(200)
          expect(answer.headers).not.toHaveProperty('etag')
        }
      }
    })

    it('ignores names that are no on-demand field of the resource [FIELDS-5]', async () => {
      const { api, folder, file } = await family(version)
      for (const [path, fields] of [
        [`/folders/${folder}`, ['', 'foo', 'Path', 'PATH,Children', 'name', ',', 'foo,,bar']],
        [`/files/${file}`, ['', 'foo', 'Path', 'children', 'etag', ',']],
      ] as const) {
        const plain = await api.get(path)
        for (const value of fields) {
          const answer = await api.get(`${path}?fields=${value}`)
          expect(answer.json, value).toEqual(plain.json)
          expect(answer.headers.etag, value).toBe(tagOf(plain))
        }
        expect((await api.get(`${path}?fields`)).headers.etag).toBe(tagOf(plain))
        const mixed = await api.get(`${path}?fields=foo,path`)
        expect(Object.keys(mixed.json).sort()).toEqual([...Object.keys(plain.json), 'path'].sort())
        expect(mixed.headers).not.toHaveProperty('etag')
      }
    })

    it('includes the union of repeated parameters, each field once [FIELDS-6]', async () => {
      const { api, folder } = await family(version)
      const both = await api.get(`/folders/${folder}?fields=path,children`)
      for (const query of [
        'fields=path&fields=children',
        'fields=children&fields=path',
        'fields=path,path,children,children',
        'fields=path&fields=path&fields=foo&fields=&fields=children',
      ]) {
        expect((await api.get(`/folders/${folder}?${query}`)).text, query).toBe(both.text)
      }
    })

    it('puts no on-demand fields into the objects of a field [FIELDS-7]', async () => {
      const { api, outer, folder, file } = await family(version)
      const answer = (await api.get(`/folders/${folder}?fields=path,children`)).json
      const { folders: above } = answer['path'] as { folders: Item[] }
      const { folders, files } = answer['children'] as { folders: Item[]; files: Item[] }
      expect([above.length, folders.length, files.length]).toEqual([2, 1, 1])
      expect(above[1]?.id).toBe(outer)
      expect(files[0]?.id).toBe(file)
      for (const item of [...above, ...folders, ...files]) {
        expect(item).not.toHaveProperty('path')
        expect(item).not.toHaveProperty('children')
      }
    })

    it('includes empty lists of the root and of an empty folder [FIELDS-8]', async () => {
      const { api, inner } = await family(version)
      const root = (await api.get('/folders/root?fields=path,children')).json
      expect(root['path']).toEqual({ folders: [] })
      expect(root['children']).toMatchObject({ folders: [{ name: 'outer' }], files: [] })
      const empty = (await api.get(`/folders/${inner}?fields=children`)).json
      expect(empty['children']).toEqual({ folders: [], files: [] })
    })

    it('never answers 304 with an on-demand field [FIELDS-10]', async () => {
      const { api, folder, file } = await family(version)
      for (const [path, fields] of [
        [`/folders/${folder}`, 'path'],
        [`/folders/${folder}`, 'children'],
        [`/files/${file}`, 'path'],
      ] as const) {
        for (const value of ['*', tagOf(await api.get(path))]) {
          const answer = await api.get(`${path}?fields=${fields}`, { 'If-None-Match': value })
          expect(answer.status).toBe(200)
          expect(answer.json).toHaveProperty(fields)
        }
      }
    })

    it('ignores the parameter with POST and PUT [FIELDS-11]', async () => {
      const { api, folder, file } = await family(version)
      for (const answer of [
        await api.post('/folders?fields=path,children', { name: 'new folder', parent: folder }),
        await api.post('/files?fields=path', { name: 'new file', parent: folder }),
        await api.put(`/folders/${folder}?fields=path,children`, { name: 'renamed' }),
        await api.put(`/files/${file}?fields=path`, { name: 'renamed' }),
      ]) {
        expect([200, 201]).toContain(answer.status)
        expect(answer.json).not.toHaveProperty('path')
        expect(answer.json).not.toHaveProperty('children')
        expect(tagOf(answer)).toMatch(/^W\//)
      }
    })
  })
})
