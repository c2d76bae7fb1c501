import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Answer, Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import {
  expectRefusal,
  KINDS,
  make,
  namesIn,
  NEWER_VERSIONS,
  rootOf,
  tagOf,
  VERSIONS,
  withoutChange,
} from './support.js'

const UNKNOWN = 'abcdef0123456789'.repeat(4)

function expectDeleted(answer: Answer): void {
  expect(answer.status).toBe(204)
  expect(answer.body).toHaveLength(0)
  for (const name of ['etag', 'content-length', 'transfer-encoding'])
    expect(answer.headers).not.toHaveProperty(name)
}

describe.each(ENGINES)('deleting on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine, { workers: 2 })
  })
  afterAll(() => server.stop())

  /** No route of any version finds the object. */
  async function expectGone(token: string, kind: (typeof KINDS)[number], id: string): Promise<void> {
    for (const version of VERSIONS) {
      const api = server.client(token, version)
      const paths = [`/${kind}/${id}`]
      if (version !== '1.0') paths.push(`/${kind}/${id}/path`)
      if (kind === 'files') paths.push(`/files/${id}/content`)
      else paths.push(version === '1.0' ? `/children/${id}` : `/folders/${id}/children`)
      for (const path of paths) expectRefusal(await api.get(path), 404, path)
      expectRefusal(await api.put(`/${kind}/${id}`, { name: 'back' }), 404)
      if (kind === 'files') expectRefusal(await api.upload(id, 'hello'), 404)
      else expectRefusal(await api.post('/files', { name: 'new', parent: id }), 404)
    }
  }

  describe.each(VERSIONS)('under %s', (version) => {
    it('deletes a file, with an empty answer [DEL-1]', async () => {
      const { api, token } = await server.person(undefined, version)
      const id = await api.file('file', 'root', 'hello')
      await api.file('kept', 'root', 'hello')
      expectDeleted(await api.delete(`/files/${id}`))
      await expectGone(token, 'files', id)
      expect(await namesIn(server.client(token))).toEqual(['kept'])
    })

    it('deletes a folder and everything in it [DEL-2]', async () => {
      const { api, token } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      const inner = await api.folder('inner', folder)
      const files = [
        await api.file('file', folder, 'hello'),
        await api.file('deep', inner, 'hello'),
        await api.file('empty', inner),
      ]
      const kept = await api.file('kept', 'root', 'hello')
      expectDeleted(await api.delete(`/folders/${folder}`))
      for (const id of [folder, inner]) await expectGone(token, 'folders', id)
      for (const id of files) await expectGone(token, 'files', id)
      expect(await namesIn(server.client(token))).toEqual(['kept'])
      expect((await api.get(`/files/${kept}/content`)).text).toBe('hello')
    })
  })

  describe.each(NEWER_VERSIONS)('under %s', (version) => {
    it('does not find what is deleted already [DEL-3]', async () => {
      const { api } = await server.person(undefined, version)
      for (const kind of KINDS) {
        const id = await make(api, kind, 'object')
        expectDeleted(await api.delete(`/${kind}/${id}`))
        expectRefusal(await api.delete(`/${kind}/${id}`), 404)
        expectRefusal(await api.delete(`/${kind}/${id}`, { 'If-Match': '*' }), 404)
      }
    })

    it('refuses to delete the root [DEL-4]', async () => {
      const { api } = await server.person(undefined, version)
      const root = await rootOf(api)
      await api.file('file', 'root', 'hello')
      await withoutChange(api, async () => {
        for (const id of ['root', root, root.slice(0, 32)])
          expectRefusal(await api.delete(`/folders/${id}`), 400)
      })
    })

    it('refuses malformed ids and does not find others [DEL-5]', async () => {
      const { api } = await server.person(undefined, version)
      const other = await server.person()
      const foreign = { folders: await other.api.folder('folder'), files: await other.api.file('file') }
      const own = { folders: await api.folder('folder'), files: await api.file('file') }
      await withoutChange(other.api, () =>
        withoutChange(api, async () => {
          for (const kind of KINDS) {
            expectRefusal(await api.delete(`/${kind}/bla`), 400)
            expectRefusal(await api.delete(`/${kind}/${UNKNOWN}`), 404)
            expectRefusal(await api.delete(`/${kind}/${foreign[kind]}`), 404)
          }
          expectRefusal(await api.delete(`/folders/${own.files}`), 404)
          expectRefusal(await api.delete(`/files/${own.folders}`), 404)
        }),
      )
    })

    it('needs files.write [DEL-6]', async () => {
      const { api, email } = await server.person(undefined, version)
      const reading = server.client(await server.addToken(email, 'files.read'), version)
      const ids = { folders: await api.folder('folder'), files: await api.file('file') }
      await withoutChange(api, async () => {
        for (const kind of KINDS) expectRefusal(await reading.delete(`/${kind}/${ids[kind]}`), 403)
      })
    })

    it('deletes only what If-Match names [DEL-7]', async () => {
      const { api } = await server.person(undefined, version)
      for (const kind of KINDS) {
        const id = await make(api, kind, 'object')
        const old = tagOf(await api.get(`/${kind}/${id}`))
        const current = tagOf(await api.put(`/${kind}/${id}`, { name: 'renamed' }))
        await withoutChange(api, async () => {
          const refused = await api.delete(`/${kind}/${id}`, { 'If-Match': old })
          expectRefusal(refused, 412)
          expect(tagOf(refused)).toBe(current)
        })
        expectDeleted(await api.delete(`/${kind}/${id}`, { 'If-Match': current }))
        expectRefusal(await api.get(`/${kind}/${id}`), 404)
      }
    })

    it('ignores a body and its type [DEL-15]', async () => {
      const { api } = await server.person(undefined, version)
      for (const kind of KINDS) {
        for (const options of [
          { json: { name: 'x' } },
          { headers: { 'Content-Type': 'application/json' } },
          { headers: { 'Content-Type': 'application/json' }, body: '{"broken' },
          { headers: { 'Content-Type': 'text/plain' }, body: 'text' },
        ]) {
          const id = await make(api, kind, 'object')
          expectDeleted(await api.call('DELETE', `/${kind}/${id}`, options))
          expectRefusal(await api.get(`/${kind}/${id}`), 404)
        }
      }
    })

    it('deletes files without content and ends uploads in progress [DEL-16]', async () => {
      const { api } = await server.person(undefined, version)
      expectDeleted(await api.delete(`/files/${await api.file('empty')}`))
      for (const byFolder of [false, true]) {
        const folder = await api.folder('folder')
        const id = await api.file('file', folder)
        const begun = await api.upload(id, 'hel', { 'Content-Range': 'bytes 0-2/5' })
        expect(begun.status).toBe(204)
        const upload = String(begun.headers['upload-id'])
        expectDeleted(await api.delete(byFolder ? `/folders/${folder}` : `/files/${id}`))
        expectRefusal(
          await api.upload(id, 'lo', { 'Content-Range': 'bytes 3-4/5', 'Upload-ID': upload }),
          404,
        )
        expectRefusal(await api.upload(id, '', { 'Content-Range': 'bytes */*', 'Upload-ID': upload }), 404)
        if (!byFolder) await api.delete(`/folders/${folder}`)
      }
    })

    it('makes a new object without content under a deleted name [DEL-17]', async () => {
      const { api } = await server.person(undefined, version)
      const old = await api.file('file', 'root', 'hello')
      await api.delete(`/files/${old}`)
      const answer = await api.post('/files', { name: 'file', parent: 'root' })
      expect(answer.status).toBe(201)
      expect(answer.json.id).not.toBe(old)
      expect(answer.json).not.toHaveProperty('size')
      expectRefusal(await api.get(`/files/${answer.json.id}/content`), 404)
      const folder = await api.folder('folder')
      await api.file('inside', folder)
      await api.delete(`/folders/${folder}`)
      const again = await api.folder('folder')
      expect(again).not.toBe(folder)
      expect(await namesIn(api, again)).toEqual([])
    })
  })

  it('leaves nothing reachable of a folder that others write into meanwhile [DEL-18]', async () => {
    const { api } = await server.person()
    const kept = await api.folder('kept')
    for (let round = 0; round < 5; round += 1) {
      const folder = await api.folder(`round ${round}`)
      const inner = await api.folder('inner', folder)
      const file = await api.file('file', inner)
      const outside = await Promise.all(
        Array.from({ length: 5 }, (_, index) => api.file(`moving ${round} ${index}`, kept)),
      )
      const writing = (indexes: readonly number[]): Promise<Answer[]>[] =>
        indexes.map((index) =>
          index % 4 === 3
            ? uploadTwice(api, file)
            : nest(api, index % 2 === 0 ? folder : inner, `new ${index}`),
        )
      // The removal is sent in the midst of the others.
      const indexes = [...Array(20).keys()]
      const early = writing(indexes.slice(0, 10))
      const movers = outside.map((id) => api.put(`/files/${id}`, { parent: inner }))
      const removing = api.delete(`/folders/${folder}`)
      const late = writing(indexes.slice(10))
      const [removal, moved, ...written] = await Promise.all([
        removing,
        Promise.all(movers),
        ...early,
        ...late,
      ])
      expectDeleted(removal)
      for (const answer of written.flat()) {
        if (answer.status >= 300) expectRefusal(answer, 404)
        else expect([201, 204]).toContain(answer.status)
        if (answer.status === 201) {
          for (const kind of KINDS) expectRefusal(await api.get(`/${kind}/${answer.json.id}`), 404)
        }
      }
      for (const [index, answer] of moved.entries()) {
        expect([200, 404]).toContain(answer.status)
        const remains = await api.get(`/files/${outside[index] ?? ''}`)
        expect(remains.status).toBe(answer.status === 200 ? 404 : 200)
      }
      for (const id of [folder, inner]) expectRefusal(await api.get(`/folders/${id}/children`), 404)
      expectRefusal(await api.get(`/files/${file}`), 404)
      expect(await namesIn(api)).toEqual(['kept'])
    }
    expect(await server.command('check')).toMatchObject({ status: 0, stdout: 'no broken invariant\n' })
  })
})

/** A folder and, once it is there, a file in it. */
async function nest(api: Client, parent: string, name: string): Promise<Answer[]> {
  const outer = await api.post('/folders', { name, parent })
  if (outer.status !== 201) return [outer]
  return [outer, await api.post('/files', { name, parent: outer.json.id })]
}

async function uploadTwice(api: Client, file: string): Promise<Answer[]> {
  return [await api.upload(file, 'hello'), await api.upload(file, 'other')]
}
