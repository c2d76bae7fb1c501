import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import {
  expectRefusal,
  lastingHeaders,
  listing,
  namesIn,
  NEWER_VERSIONS,
  rootOf,
  tagOf,
  VERSIONS,
  withoutChange,
} from './support.js'

const UNKNOWN = 'abcdef0123456789'.repeat(4)
const NO_OBJECTS = ['[]', '"text"', '7', 'true', 'null', '[{"name":"a","parent":"root"}]']
const BROKEN = [
  '',
  ' ',
  '{',
  '{"name":"new","parent":"root"',
  '{"name":"new",}',
  "{'name':'new'}",
  'name=new&parent=root',
]

describe.each(ENGINES)('folders on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  it('sends the attributes of 1.0 under 1.0 [FOLDER-2]', async () => {
    const { api } = await server.person(undefined, '1.0')
    const made = await api.post('/folders', { name: 'folder', parent: 'root' })
    const renamed = await api.put(`/folders/${made.json.id}`, { name: 'folder' })
    for (const answer of [
      made,
      renamed,
      await api.get(`/folders/${made.json.id}`),
      await api.get('/folders/root'),
    ]) {
      expect(Object.keys(answer.json).sort()).toEqual(['id', 'is_shared', 'name'])
      expect(answer.json['is_shared']).toBe(false)
    }
  })

  describe.each(NEWER_VERSIONS)('under %s', (version) => {
    it('sends the attributes of a folder and neither path nor children [FOLDER-1] [FOLDER-3]', async () => {
      const { api } = await server.person(undefined, version)
      const root = await rootOf(api)
      const id = await api.folder('folder')
      const answer = await api.get(`/folders/${id}`)
      expect(answer.status).toBe(200)
      expect(answer.headers['content-type']).toMatch(/^application\/json(;|$)/)
      expect(answer.headers.etag).toMatch(/^W\/"[^"]+"$/)
      expect(answer.json).toEqual({ id, name: 'folder', parent: root, is_shared: false })
      const top = await api.get('/folders/root')
      expect(Object.keys(top.json).sort()).toEqual(['id', 'is_shared', 'name', 'parent'])
      expect(top.json['is_shared']).toBe(false)
    })

    it('has one fixed name for the root [FOLDER-5]', async () => {
      const { api } = await server.person(undefined, version)
      const other = await server.person(undefined, version)
      const root = await api.get('/folders/root')
      expect(root.json.name).toBe('Starling')
      expect((await api.get(`/folders/${root.json.id}`)).json.name).toBe(root.json.name)
      expect((await other.api.get('/folders/root')).json.name).toBe(root.json.name)
      const folder = await api.folder('folder')
      const file = await api.file('file', folder)
      for (const path of [`/folders/${folder}/path`, `/files/${file}/path`]) {
        expect((await api.get(path)).json['folders']).toHaveProperty('[0].name', root.json.name)
      }
    })

    it('answers HEAD with the headers of GET and no body [FOLDER-6]', async () => {
      const { api } = await server.person(undefined, version)
      const id = await api.folder('folder')
      const get = await api.get(`/folders/${id}`)
      const head = await api.head(`/folders/${id}`)
      expect(head.status).toBe(200)
      expect(head.body).toHaveLength(0)
      expect(lastingHeaders(head)).toEqual(lastingHeaders(get))
      expect((await api.head(`/folders/${UNKNOWN}`)).status).toBe(404)
    })

    it('does not find anything below a deleted folder [FOLDER-7] [FOLDER-13]', async () => {
      const { api } = await server.person(undefined, version)
      const first = await api.folder('1')
      const second = await api.folder('2', first)
      const third = await api.folder('3', second)
      await api.delete(`/folders/${first}`)
      await withoutChange(api, async () => {
        for (const id of [first, second, third]) {
          expectRefusal(await api.get(`/folders/${id}`), 404)
          expectRefusal(await api.post('/folders', { name: 'new', parent: id }), 404)
        }
      })
    })

    it('ignores attributes that cannot be written and unknown ones [FOLDER-12]', async () => {
      const { api } = await server.person(undefined, version)
      const root = await rootOf(api)
      const id = await api.folder('taken')
      const sent = {
        id,
        sid: id.slice(0, 32),
        is_shared: true,
        path: 7,
        children: null,
        colour: 'red',
        ['__proto__']: 7,
      }
      const answer = await api.post('/folders', { ...sent, name: 'new', parent: 'root' })
      expect(answer.status).toBe(201)
      expect(answer.json.id).not.toBe(id)
      expect(answer.json).toEqual({ id: answer.json.id, name: 'new', parent: root, is_shared: false })
    })

    it('refuses unknown and invisible parents and those of others [FOLDER-13]', async () => {
      const { api } = await server.person(undefined, version)
      const other = await server.person()
      const hidden = await other.api.folder('hidden')
      await withoutChange(api, async () => {
        for (const parent of [UNKNOWN, UNKNOWN.slice(0, 32), hidden, await rootOf(other.api)]) {
          expectRefusal(await api.post('/folders', { name: 'new', parent }), 404)
        }
      })
      expect(await namesIn(other.api, hidden)).toEqual([])
    })

    it('refuses a file as parent [FOLDER-14]', async () => {
      const { api } = await server.person(undefined, version)
      const file = await api.file('file')
      await withoutChange(api, async () => {
        expectRefusal(await api.post('/folders', { name: 'new', parent: file }), 400)
      })
    })

    it('refuses a name that is taken in the parent [FOLDER-15]', async () => {
      const { api } = await server.person(undefined, version)
      const parent = await api.folder('parent')
      await api.folder('a folder', parent)
      await api.file('a file', parent)
      await withoutChange(api, async () => {
        for (const name of ['a folder', 'a file'])
          expectRefusal(await api.post('/folders', { name, parent }), 409)
      })
    })

    it('takes JSON, plain bytes and no type at all, and refuses other types [FOLDER-20]', async () => {
      const { api } = await server.person(undefined, version)
      const id = await api.folder('folder')
      await withoutChange(api, async () => {
        for (const type of [
          'text/plain',
          'application/x-www-form-urlencoded',
          'multipart/form-data; boundary=x',
        ]) {
          const headers = { 'Content-Type': type }
          expectRefusal(await api.post('/folders', { name: 'new', parent: 'root' }, headers), 415, type)
          expectRefusal(await api.put(`/folders/${id}`, { name: 'new' }, headers), 415, type)
        }
      })
      for (const [index, type] of [
        'application/json',
        'application/json; charset=utf-8',
        undefined,
      ].entries()) {
        const headers = type === undefined ? {} : { 'Content-Type': type }
        const body = JSON.stringify({ name: `new ${index}`, parent: 'root' })
        expect((await api.call('POST', '/folders', { headers, body })).status, type).toBe(201)
        const name = JSON.stringify({ name: `renamed ${index}` })
        expect((await api.call('PUT', `/folders/${id}`, { headers, body: name })).status, type).toBe(200)
      }
    })

    it('ignores bodies, types and unknown parameters where they mean nothing [FOLDER-21]', async () => {
      const { api } = await server.person(undefined, version)
      const id = await api.folder('folder')
      const plain = await api.get(`/folders/${id}`)
      for (const headers of [{ 'Content-Type': 'application/json' }, { 'Content-Type': 'text/plain' }]) {
        const answer = await api.call('GET', `/folders/${id}?t=0.5&limit=x&%ff=%ff`, {
          headers,
          body: '{"not":json',
        })
        expect(answer.status).toBe(200)
        expect(answer.json).toEqual(plain.json)
      }
      const headers = { 'Content-Type': 'text/plain' }
      expect((await api.call('DELETE', `/folders/${id}?t=0.5`, { headers, body: 'no JSON' })).status).toBe(
        204,
      )
      expectRefusal(await api.get(`/folders/${id}`), 404)
    })
  })

  describe.each(VERSIONS)('under %s', (version) => {
    it('sends every success in chunks with the headers for pages of other origins [FOLDER-8]', async () => {
      const { api } = await server.person(undefined, version)
      const made = await api.post('/folders', { name: 'folder', parent: 'root' })
      const renamed = await api.put(`/folders/${made.json.id}`, { name: 'renamed' })
      for (const answer of [
        made,
        renamed,
        await api.get(`/folders/${made.json.id}`),
        await api.get('/folders/root'),
      ]) {
        expect([200, 201]).toContain(answer.status)
        expect(answer.headers['transfer-encoding']).toBe('chunked')
        expect(answer.headers['content-length']).toBeUndefined()
        expect(answer.headers['access-control-allow-origin']).toBe('*')
        const exposed = (answer.headers['access-control-expose-headers'] ?? '').split(/, */)
        expect(exposed).toEqual(expect.arrayContaining(['ETag', 'Location']))
        expect(answer.headers['cache-control']).toBe('private, no-transform, no-cache')
      }
    })

    it('makes a folder and says where it is [FOLDER-9]', async () => {
      const { api } = await server.person(undefined, version)
      const parent = await api.folder('parent')
      const answer = await api.post('/folders', { name: 'new', parent })
      expect(answer.status).toBe(201)
      expect(answer.json.name).toBe('new')
      expect(answer.json['is_shared']).toBe(false)
      expect(answer.headers.location).toBe(`${server.origin}/api/v${version}/folders/${answer.json.id}`)
      const read = await api.call('GET', new URL(answer.headers.location ?? '').pathname, { absolute: true })
      expect(read.status).toBe(200)
      expect(read.json).toEqual(answer.json)
      expect(tagOf(read)).toBe(tagOf(answer))
    })

    it('takes every form of a parent [FOLDER-10]', async () => {
      const { api, token } = await server.person(undefined, version)
      const modern = server.client(token)
      const root = await rootOf(api)
      const folder = await api.folder('folder')
      const forms = ['root', root, root.slice(0, 32), folder, ...(version === '1.0' ? [] : ['appdata'])]
      for (const [index, parent] of forms.entries()) {
        const answer = await api.post('/folders', { name: `new ${index}`, parent })
        expect(answer.status, parent).toBe(201)
        const { folders } = await listing(modern, parent)
        expect(folders.map((child) => child.id)).toContain(answer.json.id)
      }
    })

    it('refuses a body without parent, without sense or without an object [FOLDER-11]', async () => {
      const { api, token } = await server.person(undefined, version)
      await withoutChange(server.client(token), async () => {
        for (const json of [{ name: 'new' }, { name: 'new', parent: null }, {}]) {
          expectRefusal(await api.post('/folders', json), 400)
        }
        for (const body of [...BROKEN, ...NO_OBJECTS]) {
          expectRefusal(
            await api.call('POST', '/folders', { headers: { 'Content-Type': 'application/json' }, body }),
            400,
            body,
          )
        }
        expectRefusal(await api.call('POST', '/folders'), 400)
      })
    })
  })
})
