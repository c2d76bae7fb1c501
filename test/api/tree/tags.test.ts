import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import {
  expectUnmodified,
  KINDS,
  make,
  NEWER_VERSIONS,
  opaque,
  tagOf,
  VERSIONS,
  type Kind,
} from './support.js'

const WEAK = /^W\/"[^"]+"$/
const STRONG = /^"[^"]+"$/

describe.each(ENGINES)('entity tags on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine, { workers: 2 })
  })
  afterAll(() => server.stop())

  describe.each(VERSIONS)('under %s', (version) => {
    const ok = version === '1.0' ? 200 : 204

    it('gives metadata a weak tag [ETAG-1]', async () => {
      const { api } = await server.person(undefined, version)
      for (const kind of KINDS) {
        const made = await api.post(`/${kind}`, { name: `object of ${kind}`, parent: 'root' })
        const path = `/${kind}/${made.json.id}`
        const answers = [
          made,
          await api.get(path),
          await api.head(path),
          await api.put(path, { name: `renamed ${kind}` }),
        ]
        for (const answer of answers) expect(tagOf(answer)).toMatch(WEAK)
        const [first, ...others] = answers.slice(0, 3).map(tagOf)
        expect(others).toEqual([first, first])
      }
    })

    it('gives content a strong tag [ETAG-2]', async () => {
      const { api } = await server.person(undefined, version)
      const id = await api.file('file')
      const whole = await api.upload(id, 'hello')
      const ranged = await api.upload(id, 'hello', { 'Content-Range': 'bytes 0-4/5' })
      const begun = await api.upload(id, 'hel', { 'Content-Range': 'bytes 0-2/5' })
      expect(begun.headers).not.toHaveProperty('etag')
      const upload = { 'Upload-ID': String(begun.headers['upload-id']) }
      const chunked = await api.upload(id, 'lo', { ...upload, 'Content-Range': 'bytes 3-4/5' })
      for (const answer of [whole, ranged, chunked]) expect(answer.status).toBe(ok)
      const path = `/files/${id}/content`
      const read = await api.get(path)
      const part = await api.get(path, { Range: 'bytes=1-2' })
      const unmodified = await api.get(path, { 'If-None-Match': tagOf(read) })
      expect([read.status, part.status, unmodified.status]).toEqual([200, 206, 304])
      for (const answer of [whole, ranged, chunked, read, part, unmodified, await api.head(path)]) {
        expect(tagOf(answer)).toMatch(STRONG)
        expect(tagOf(answer)).toBe(tagOf(read))
      }
    })

    it('answers 304 for metadata that the client has [ETAG-16]', async () => {
      const { api } = await server.person(undefined, version)
      for (const kind of KINDS) {
        const id = await make(api, kind, `object of ${kind}`)
        const path = `/${kind}/${id}`
        const tag = tagOf(await api.get(path))
        for (const value of [tag, '*', `"${opaque(tag)}"`]) {
          expectUnmodified(await api.get(path, { 'If-None-Match': value }), tag)
          expectUnmodified(await api.head(path, { 'If-None-Match': value }), tag)
        }
        const current = tagOf(await api.put(path, { name: `renamed ${kind}` }))
        for (const value of [tag, '"other"']) {
          const answer = await api.get(path, { 'If-None-Match': value })
          expect(answer.status).toBe(200)
          expect(tagOf(answer)).toBe(current)
          expect((await api.head(path, { 'If-None-Match': value })).status).toBe(200)
        }
      }
    })

    it('answers 304 for content that the client has [ETAG-17]', async () => {
      const { api } = await server.person(undefined, version)
      const id = await api.file('file', 'root', 'hello')
      const path = `/files/${id}/content`
      const tag = tagOf(await api.get(path))
      for (const value of [tag, '*', `W/${tag}`]) {
        expectUnmodified(await api.get(path, { 'If-None-Match': value }), tag)
        expectUnmodified(await api.head(path, { 'If-None-Match': value }), tag)
      }
      await api.upload(id, 'other')
      for (const value of [tag, '"other"', '"unterminated', "'other'"]) {
        const answer = await api.get(path, { 'If-None-Match': value })
        expect([answer.status, answer.text]).toEqual([200, 'other'])
        expect((await api.head(path, { 'If-None-Match': value })).status).toBe(200)
      }
    })
  })

  describe.each(NEWER_VERSIONS)('under %s', (version) => {
    it('changes a metadata tag with the object alone [ETAG-3]', async () => {
      const { api } = await server.person(undefined, version)
      const outer = await api.folder('outer')
      const folder = await api.folder('folder', outer)
      const file = await api.file('file', folder)
      const target = await api.folder('target')
      const tag = async (kind: Kind, id: string): Promise<string> => tagOf(await api.get(`/${kind}/${id}`))
      const seen = { folders: [await tag('folders', folder)], files: [await tag('files', file)] }

      await api.upload(file, 'hello')
      seen.files.push(await tag('files', file))
      await api.upload(file, 'other')
      seen.files.push(await tag('files', file))
      for (const [kind, id] of [
        ['folders', folder],
        ['files', file],
      ] as const) {
        for (const json of [
          { name: `renamed ${kind}` },
          { parent: target },
          { name: `both ${kind}`, parent: outer },
        ]) {
          expect((await api.put(`/${kind}/${id}`, json)).status).toBe(200)
          seen[kind].push(await tag(kind, id))
        }
        expect(new Set(seen[kind]).size).toBe(seen[kind].length)
      }

      const before = [await tag('folders', outer), await tag('files', file)]
      expect((await api.put(`/files/${file}`, { name: 'both files', parent: outer })).status).toBe(200)
      await api.folder('new', outer)
      const child = await api.file('child', outer, 'hello')
      await api.put(`/files/${child}`, { name: 'renamed child' })
      await api.delete(`/files/${child}`)
      expect((await api.upload(file, 'other', { 'Content-Range': 'bytes 0-4/9' })).status).toBe(204)
      expect([await tag('folders', outer), await tag('files', file)]).toEqual(before)
      await api.put(`/folders/${outer}`, { name: 'renamed ancestor' })
      expect(await tag('files', file)).toBe(before[1])
      expect(await tag('folders', outer)).not.toBe(before[0])
    })

    it('makes the content tag of the bytes alone [ETAG-4]', async () => {
      const { api } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      const id = await api.file('file', 'root', 'hello')
      const tag = async (): Promise<string> => tagOf(await api.get(`/files/${id}/content`))
      const hello = await tag()
      await api.put(`/files/${id}`, { name: 'renamed', parent: folder })
      expect(await tag()).toBe(hello)
      await api.upload(id, 'hello')
      expect(await tag()).toBe(hello)
      await api.upload(id, 'hellO')
      expect(await tag()).not.toBe(hello)
      await api.upload(id, '')
      expect(await tag()).not.toBe(hello)
      await api.upload(id, 'hello')
      expect(await tag()).toBe(hello)
    })

    it('sends no tag where there is none to compare [ETAG-5]', async () => {
      const { api } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      const id = await api.file('file', folder, 'hello')
      const answers = [
        await api.get(`/folders/${folder}/path`),
        await api.get(`/files/${id}/path`),
        await api.get(`/folders/${folder}/children`),
        await api.get(`/folders/${folder}?fields=path`),
        await api.get(`/folders/${folder}?fields=children`),
        await api.get(`/files/${id}?fields=path`),
        await api.upload(id, '', { 'Content-Range': 'bytes */*' }),
        await api.upload(id, 'hel', { 'Content-Range': 'bytes 0-2/*' }),
        await api.get(`/files/${id}/content`, { Range: 'bytes=5-' }),
        await api.delete(`/files/${id}`),
        await api.delete(`/folders/${folder}`),
      ]
      expect(answers.map((answer) => answer.status)).toEqual([
        200, 200, 200, 200, 200, 200, 204, 204, 416, 204, 204,
      ])
      for (const answer of answers) expect(answer.headers).not.toHaveProperty('etag')
    })
  })

  it('tells the same tags in every process and after a restart [ETAG-6]', async () => {
    const { api } = await server.person()
    const folder = await api.folder('folder')
    const id = await api.file('file', folder, 'hello')
    await api.put(`/files/${id}`, { name: 'renamed' })
    const paths = [`/folders/${folder}`, '/folders/root', `/files/${id}`, `/files/${id}/content`]
    // Each new connection goes to the next process in turn.
    const tags = (): Promise<string[][]> =>
      Promise.all(
        [1, 2, 3, 4].map(() =>
          Promise.all(paths.map(async (path) => tagOf(await api.get(path, { Connection: 'close' })))),
        ),
      )
    const before = await tags()
    for (const some of before) expect(some).toEqual(before[0])
    await server.terminate()
    await server.restart()
    expect(await tags()).toEqual(before)
  })
})
