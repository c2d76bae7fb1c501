import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { stateOf, STATES, withState } from './states.js'
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
const MINUTE = /^\d{4}-\d\d-\d\dT\d\d:\d\dZ$/
const WITHOUT_CONTENT = ['content_state', 'id', 'mime_type', 'name', 'parent']

describe.each(ENGINES)('files on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  it('sends the attributes of 1.0 under 1.0 [FILE-2]', async () => {
    const { api } = await server.person(undefined, '1.0')
    const id = await api.file('a.txt', 'root', 'hello')
    for (const answer of [await api.get(`/files/${id}`), await api.put(`/files/${id}`, { name: 'a.txt' })]) {
      expect(answer.headers.etag).toMatch(/^W\/"[^"]+"$/)
      expect(answer.json).toEqual({
        id,
        name: 'a.txt',
        size: 5,
        mime_type: 'text/plain',
        last_modified: expect.stringMatching(MINUTE) as string,
      })
    }
  })

  it('sends id, name and type alone for a file without content under 1.0 [FILE-8]', async () => {
    const { api } = await server.person(undefined, '1.0')
    const made = await api.post('/files', { name: 'a.png', parent: 'root' })
    const expected = { id: made.json.id, name: 'a.png', mime_type: 'image/png' }
    expect(made.json).toEqual(expected)
    expect((await api.get(`/files/${made.json.id}`)).json).toEqual(expected)
    expect((await api.get('/children')).json['files']).toEqual([expected])
  })

  describe.each(NEWER_VERSIONS)('under %s', (version) => {
    it('sends every attribute of a file with content and no path [FILE-1] [FILE-3]', async () => {
      const { api } = await server.person(undefined, version)
      const before = Date.now()
      const id = await api.file('a.txt', 'root', 'hello')
      const after = Date.now()
      const answer = await api.get(`/files/${id}`)
      expect(answer.status).toBe(200)
      expect(answer.headers.etag).toMatch(/^W\/"[^"]+"$/)
      expect(answer.json).toEqual({
        id,
        name: 'a.txt',
        parent: await rootOf(api),
        last_modified: expect.stringMatching(MINUTE) as string,
        size: 5,
        mime_type: 'text/plain',
        etag: expect.stringMatching(/^[^"]+$/) as string,
        content_state: 'AVAILABLE',
      })
      const minute = Date.parse(answer.json['last_modified'] as string)
      expect(minute).toBeGreaterThan(before - 60_000)
      expect(minute).toBeLessThanOrEqual(after)
    })

    it('tells the exact size, of empty and of huge content too [FILE-4]', async () => {
      const { api } = await server.person(undefined, version)
      const empty = await api.get(`/files/${await api.file('empty', 'root', '')}`)
      expect(empty.json['size']).toBe(0)
      expect(empty.json['content_state']).toBe('AVAILABLE')
      const id = await api.file('huge', 'root', 'hello')
      expect((await api.get(`/files/${id}`)).json['size']).toBe(5)
      const sizeBytes = 3 * 2 ** 32 + 1
      await server.installation.db.write((tx) =>
        tx.run(
          'UPDATE objects SET size = $3 WHERE sid = $1 AND oid = $2',
          id.slice(0, 32),
          id.slice(32),
          sizeBytes,
        ),
      )
      expect((await api.get(`/files/${id}`)).text).toContain(`"size":${sizeBytes},`)
      expect((await listing(api)).files.find((file) => file.id === id)).toHaveProperty('size', sizeBytes)
    })

    it('tells the tag of the content without its quotes [FILE-5]', async () => {
      const { api } = await server.person(undefined, version)
      const id = await api.file('file', 'root', 'hello')
      const { etag } = (await api.get(`/files/${id}`)).json
      expect(tagOf(await api.get(`/files/${id}/content`))).toBe(`"${etag}"`)
      const uploaded = await api.upload(id, 'other')
      const now = (await api.get(`/files/${id}`)).json.etag
      expect(now).not.toBe(etag)
      expect(tagOf(uploaded)).toBe(`"${now}"`)
    })

    it('takes the type from the extension [FILE-6]', async () => {
      const { api } = await server.person(undefined, version)
      for (const [name, type] of [
        ['a.txt', 'text/plain'],
        ['a.png', 'image/png'],
        ['A.TXT', 'text/plain'],
        ['a?b#c.txt', 'text/plain'],
        ['page.html', 'text/html'],
        ['a.txt.unknown-extension', 'application/octet-stream'],
        ['no extension', 'application/octet-stream'],
        ['.txt', 'application/octet-stream'],
        ['dot.', 'application/octet-stream'],
        ['a.constructor', 'application/octet-stream'],
        ['a.__proto__', 'application/octet-stream'],
      ] as const) {
        const answer = await api.post('/files', { name, parent: 'root' })
        expect({ name, type: answer.json['mime_type'] }).toEqual({ name, type })
      }
    })

    it('changes the type with the name and keeps what is about the content [FILE-7]', async () => {
      const { api } = await server.person(undefined, version)
      const id = await api.file('a.txt', 'root', 'hello')
      const before = (await api.get(`/files/${id}`)).json
      const after = await api.put(`/files/${id}`, { name: 'a.bin' })
      expect(after.json).toEqual({ ...before, name: 'a.bin', mime_type: 'application/octet-stream' })
    })

    it('leaves out what is unknown of a file without content and never sends null [FILE-8] [FILE-19]', async () => {
      const { api } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      const id = await api.file('file', folder)
      for (const state of STATES) {
        await withState(server, state, folder, async () => {
          const answer = await api.get(`/files/${id}?fields=path`)
          expect(answer.json['content_state']).toBe(state)
          expect(Object.keys(answer.json).sort()).toEqual([...WITHOUT_CONTENT, 'path'])
          const { files } = await listing(api, folder)
          expect(files.map((file) => Object.keys(file).sort())).toEqual([WITHOUT_CONTENT])
          const all = [
            answer,
            await api.get(`/files/${id}`),
            await api.get(`/folders/${folder}?fields=path,children`),
          ]
          for (const { text } of all) expect(text).not.toContain('null')
          const old = await server.client(api.token, '1.0').get(`/files/${id}`)
          expect(Object.keys(old.json).sort()).toEqual(['id', 'mime_type', 'name'])
        })
      }
    })

    it('ignores attributes that cannot be written and unknown ones [FILE-10]', async () => {
      const { api } = await server.person(undefined, version)
      const sent = {
        size: 7,
        etag: 'x',
        content_state: 'AVAILABLE',
        last_modified: 'now',
        mime_type: 'a/b',
        id: UNKNOWN,
        x: 1,
      }
      const answer = await api.post('/files', { ...sent, name: 'new.txt', parent: 'root' })
      expect(answer.status).toBe(201)
      expect(answer.json.id).not.toBe(UNKNOWN)
      expect(answer.json).toEqual({
        id: answer.json.id,
        name: 'new.txt',
        parent: await rootOf(api),
        mime_type: 'text/plain',
        content_state: 'SYNCING',
      })
    })

    it('refuses parents that are not there and those that are files [FILE-13]', async () => {
      const { api } = await server.person(undefined, version)
      const other = await server.person()
      const hidden = await other.api.folder('hidden')
      const outer = await api.folder('outer')
      const gone = await api.folder('gone', outer)
      await api.delete(`/folders/${outer}`)
      const file = await api.file('file')
      await withoutChange(api, async () => {
        for (const parent of [UNKNOWN, outer, gone, hidden, await rootOf(other.api)]) {
          expectRefusal(await api.post('/files', { name: 'new', parent }), 404)
        }
        expectRefusal(await api.post('/files', { name: 'new', parent: file }), 400)
      })
      expect(await namesIn(other.api, hidden)).toEqual([])
    })

    it('refuses a name that is taken in the parent [FILE-14]', async () => {
      const { api } = await server.person(undefined, version)
      const parent = await api.folder('parent')
      await api.folder('a folder', parent)
      await api.file('a file', parent, 'hello')
      await withoutChange(api, async () => {
        for (const name of ['a folder', 'a file'])
          expectRefusal(await api.post('/files', { name, parent }), 409)
      })
    })

    it('refuses tokens without the scope and requests without a token [FILE-16]', async () => {
      const { api, email } = await server.person(undefined, version)
      const id = await api.file('file', 'root', 'hello')
      const reading = server.client(await server.addToken(email, 'files.read'), version)
      const writing = server.client(await server.addToken(email, 'files.write'), version)
      const nobody = server.client(undefined, version)
      await withoutChange(api, async () => {
        for (const [someone, status] of [
          [reading, 403],
          [nobody, 401],
        ] as const) {
          expectRefusal(await someone.post('/files', { name: 'new', parent: 'root' }), status)
          expectRefusal(await someone.put(`/files/${id}`, { name: 'new' }), status)
          expectRefusal(await someone.delete(`/files/${id}`), status)
          expectRefusal(await someone.upload(id, 'other'), status)
        }
        for (const [someone, status] of [
          [writing, 403],
          [nobody, 401],
        ] as const) {
          expectRefusal(await someone.get(`/files/${id}`), status)
          expectRefusal(await someone.get(`/files/${id}/path`), status)
          expectRefusal(await someone.get(`/files/${id}/content`), status)
          expect((await someone.head(`/files/${id}`)).status).toBe(status)
        }
      })
      expect((await reading.get(`/files/${id}/content`)).text).toBe('hello')
      expect((await writing.upload(id, 'other')).status).toBe(204)
    })

    it('reaches with a qualified files.read the file, or what is below the folder [FILE-18]', async () => {
      const { api, email } = await server.person(undefined, version)
      const outer = await api.folder('outer')
      const inner = await api.folder('inner', outer)
      const file = await api.file('file', inner, 'hello')
      const beside = await api.file('beside', 'root', 'hello')
      for (const id of [file, inner, outer]) {
        const narrow = server.client(await server.addToken(email, `files.read:${id}`), version)
        for (const path of [`/files/${file}`, `/files/${file}/path`, `/files/${file}/content`]) {
          expect((await narrow.get(path)).status, path).toBe(200)
        }
        for (const path of [`/files/${beside}`, `/files/${beside}/path`, `/files/${beside}/content`]) {
          expectRefusal(await narrow.get(path), 403, path)
        }
      }
    })

    it('answers HEAD with the headers of GET and no body [FILE-20]', async () => {
      const { api } = await server.person(undefined, version)
      const id = await api.file('file', 'root', 'hello')
      const get = await api.get(`/files/${id}`)
      const head = await api.head(`/files/${id}`)
      expect(head.status).toBe(200)
      expect(head.body).toHaveLength(0)
      expect(lastingHeaders(head)).toEqual(lastingHeaders(get))
      expect((await api.head(`/files/${UNKNOWN}`)).status).toBe(404)
    })
  })

  describe.each(VERSIONS)('under %s', (version) => {
    it('makes a file without content and says where it is [FILE-9]', async () => {
      const { api, token } = await server.person(undefined, version)
      const parent = await api.folder('parent')
      const answer = await api.post('/files', { name: 'new', parent })
      expect(answer.status).toBe(201)
      const { id } = answer.json
      expect(answer.headers.location).toBe(`${server.origin}/api/v${version}/files/${id}`)
      const read = await api.call('GET', new URL(answer.headers.location ?? '').pathname, { absolute: true })
      expect(read.status).toBe(200)
      expect(read.json).toEqual(answer.json)
      expect(tagOf(read)).toBe(tagOf(answer))
      const modern = await server.client(token).get(`/files/${id}`)
      expect(modern.json).toEqual({
        id,
        name: 'new',
        parent,
        mime_type: 'application/octet-stream',
        content_state: 'SYNCING',
      })
      expectRefusal(await api.get(`/files/${id}/content`), 404)
    })

    it('takes every form of a parent [FILE-11]', async () => {
      const { api, token } = await server.person(undefined, version)
      const modern = server.client(token)
      const root = await rootOf(api)
      const folder = await api.folder('folder')
      const forms = ['root', root, root.slice(0, 32), folder, ...(version === '1.0' ? [] : ['appdata'])]
      for (const [index, parent] of forms.entries()) {
        const answer = await api.post('/files', { name: `new ${index}`, parent })
        expect(answer.status, parent).toBe(201)
        const { files } = await listing(modern, parent)
        expect(files.map((child) => child.id)).toContain(answer.json.id)
      }
    })

    it('refuses bodies that lack something or make no sense, and other types [FILE-12]', async () => {
      const { api, token } = await server.person(undefined, version)
      await withoutChange(server.client(token), async () => {
        for (const json of [
          { name: 'new' },
          { parent: 'root' },
          {},
          { name: 'new', parent: null },
          [],
          'text',
          7,
          null,
        ]) {
          expectRefusal(await api.post('/files', json), 400, JSON.stringify(json))
        }
        for (const body of ['', '{', '{"name":"new","parent":"root"', 'new']) {
          expectRefusal(await api.call('POST', '/files', { body }), 400, body)
        }
        for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
          expectRefusal(
            await api.post('/files', { name: 'new', parent: 'root' }, { 'Content-Type': type }),
            415,
            type,
          )
        }
      })
    })
  })

  it.each(STATES)(
    'renames, moves and deletes a file whose content is %s [FILE-17] [MOVE-18]',
    async (state) => {
      for (const version of VERSIONS) {
        const { api, token } = await server.person(undefined, version)
        const modern = server.client(token)
        const folder = await api.folder('folder')
        const target = await api.folder('target', folder)
        const id = await api.file('file', folder)
        await withState(server, state, folder, async () => {
          expect(await stateOf(modern, id)).toBe(state)
          const renamed = await api.put(`/files/${id}`, { name: 'renamed' })
          expect({ status: renamed.status, name: renamed.json.name }).toEqual({
            status: 200,
            name: 'renamed',
          })
          expect((await api.put(`/files/${id}`, { parent: target })).status).toBe(200)
          expect(await namesIn(modern, target)).toEqual(['renamed'])
          expect((await api.delete(`/files/${id}`)).status).toBe(204)
          expect(await namesIn(modern, target)).toEqual([])
        })
      }
    },
  )
})
