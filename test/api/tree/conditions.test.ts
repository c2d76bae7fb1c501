import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Answer, Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { stateOf, STATES, withState } from './states.js'
import {
  expectRefusal,
  expectUnmodified,
  KINDS,
  make,
  namesIn,
  NEWER_VERSIONS,
  opaque,
  tagOf,
  withoutChange,
  type Kind,
} from './support.js'

/** The tags of an object: of its metadata, and of its content when it is a file that has some. */
async function tagsOf(
  api: Client,
  kind: Kind,
  id: string,
): Promise<{ metadata: string; content: string | undefined }> {
  const content = kind === 'files' ? (await api.get(`/files/${id}/content`)).headers.etag : undefined
  return { metadata: tagOf(await api.get(`/${kind}/${id}`)), content }
}

/** Ways to write a header that holds the current tag. */
function matching(tag: string): readonly (string | string[])[] {
  const quoted = `"${opaque(tag)}"`
  return [
    tag,
    quoted,
    `W/${quoted}`,
    `"other", ${tag}`,
    `"other",${tag}`,
    `${tag},"other"`,
    `, ,"other" , ,${tag}, `,
    ['"other"', tag],
    [tag, '"other"'],
    ['W/"a", "b"', '', `"c", ${quoted}`],
    opaque(tag),
    `W/"with, comma", ${tag}`,
    '*',
  ]
}

/** Ways to write one that does not; none of them counts as absent. */
function failing(tag: string): readonly (string | string[])[] {
  const value = opaque(tag)
  return [
    '"other"',
    'W/"other"',
    'other',
    `"${value}x"`,
    `"x", W/"y"`,
    ['"x"', '"y"'],
    `"${value}`,
    `'${value}'`,
    `${value}"`,
    `W/"${value}`,
    '""',
    `"x,${value}"`,
  ]
}

describe.each(ENGINES)('conditions on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine, { workers: 2 })
  })
  afterAll(() => server.stop())

  describe.each(NEWER_VERSIONS)('under %s', (version) => {
    it('never matches a tag of another object [ETAG-7]', async () => {
      const { api } = await server.person(undefined, version)
      const objects: [Kind, string][] = [
        ['folders', await api.folder('folder')],
        ['folders', await api.folder('another folder')],
        ['files', await api.file('file', 'root', 'hello')],
        ['files', await api.file('another file', 'root', 'other')],
      ]
      await withoutChange(api, async () => {
        for (const [kind, id] of objects) {
          for (const [otherKind, other] of objects) {
            if (other === id) continue
            const { metadata, content } = await tagsOf(api, otherKind, other)
            for (const tag of [metadata, content]) {
              if (tag === undefined) continue
              expectRefusal(await api.put(`/${kind}/${id}`, { name: 'renamed' }, { 'If-Match': tag }), 412)
              expectRefusal(await api.delete(`/${kind}/${id}`, { 'If-Match': tag }), 412)
              expect((await api.get(`/${kind}/${id}`, { 'If-None-Match': tag })).status).toBe(200)
            }
          }
        }
      })
    })

    it('takes the metadata tag and the content tag of a file alike in If-Match [ETAG-7] [ETAG-20]', async () => {
      const { api } = await server.person(undefined, version)
      const id = await api.file('file', 'root', 'hello')
      for (const [index, which] of (['metadata', 'content', 'metadata', 'content'] as const).entries()) {
        const before = (await tagsOf(api, 'files', id))[which] ?? ''
        expect(
          (await api.put(`/files/${id}`, { name: `renamed ${index}` }, { 'If-Match': before })).status,
        ).toBe(200)
        const current = (await tagsOf(api, 'files', id))[which] ?? ''
        const uploaded = await api.upload(id, `content ${index}`, { 'If-Match': current })
        expect(uploaded.status, uploaded.text).toBe(204)
        const refused = await api.upload(id, 'lost', { 'If-Match': current })
        expectRefusal(refused, 412)
        expect(tagOf(refused)).toBe(tagOf(uploaded))
        expect((await api.get(`/files/${id}/content`)).text).toBe(`content ${index}`)
      }
      const { content } = await tagsOf(api, 'files', id)
      expect((await api.delete(`/files/${id}`, { 'If-Match': content ?? '' })).status).toBe(204)
    })

    it.each(KINDS)(
      'writes %s when If-Match holds the current tag in any spelling [ETAG-8] [ETAG-10] [ETAG-11] [ETAG-12] [ETAG-14]',
      async (kind) => {
        const { api } = await server.person(undefined, version)
        const id = await make(api, kind, 'object')
        let tag = tagOf(await api.get(`/${kind}/${id}`))
        for (let index = 0; index < matching(tag).length; index += 1) {
          const value = matching(tag)[index] ?? ''
          const answer = await api.put(`/${kind}/${id}`, { name: `name ${index}` }, { 'If-Match': value })
          expect(answer.status, String(value)).toBe(200)
          tag = tagOf(answer)
        }
        for (let index = 0; index < matching(tag).length; index += 1) {
          const doomed = await api.post(`/${kind}`, { name: 'doomed', parent: 'root' })
          const value = matching(tagOf(doomed))[index] ?? ''
          const answer = await api.delete(`/${kind}/${doomed.json.id}`, { 'If-Match': value })
          expect(answer.status, String(value)).toBe(204)
        }
      },
    )

    it('replaces content when If-Match holds the current tag in any spelling [ETAG-8] [ETAG-12] [ETAG-14]', async () => {
      const { api } = await server.person(undefined, version)
      const id = await api.file('file', 'root', 'hello')
      let tag = tagOf(await api.get(`/files/${id}/content`))
      for (let index = 0; index < matching(tag).length; index += 1) {
        const value = matching(tag)[index] ?? ''
        const answer = await api.upload(id, `content ${index}`, { 'If-Match': value })
        expect(answer.status, String(value)).toBe(204)
        tag = tagOf(answer)
      }
    })

    it.each(KINDS)(
      'refuses to write %s when If-Match holds no current tag, and tells it [ETAG-9] [ETAG-14] [ETAG-15]',
      async (kind) => {
        const { api } = await server.person(undefined, version)
        const folder = await api.folder('folder')
        const id = await make(api, kind, 'object')
        const old = tagOf(await api.get(`/${kind}/${id}`))
        const tag = tagOf(await api.put(`/${kind}/${id}`, { name: 'object now' }))
        await withoutChange(api, async () => {
          for (const value of [old, ...failing(tag)]) {
            const headers = { 'If-Match': value }
            for (const answer of [
              await api.put(`/${kind}/${id}`, { name: 'renamed' }, headers),
              await api.put(`/${kind}/${id}`, { parent: folder }, headers),
              await api.put(`/${kind}/${id}`, { name: 'object now' }, headers),
              await api.delete(`/${kind}/${id}`, headers),
            ]) {
              expectRefusal(answer, 412, String(value))
              expect(tagOf(answer)).toBe(tag)
            }
          }
        })
        expect(tagOf(await api.get(`/${kind}/${id}`))).toBe(tag)
      },
    )

    it.each(STATES)(
      'tells with a 412 the tag that a GET gives while content is %s [ETAG-9]',
      async (state) => {
        const { api } = await server.person(undefined, version)
        const folder = await api.folder('folder')
        const id = await api.file('file', folder)
        await withState(server, state, folder, async () => {
          expect(await stateOf(api, id)).toBe(state)
          const current = tagOf(await api.get(`/files/${id}`))
          const refused = await api.put(`/files/${id}`, { name: 'renamed' }, { 'If-Match': '"stale"' })
          expectRefusal(refused, 412)
          expect(tagOf(refused)).toBe(current)
          const headers = { 'If-Match': current }
          expect((await api.put(`/files/${id}`, { name: 'renamed' }, headers)).status).toBe(200)
        })
      },
    )

    it('refuses to replace content when If-Match holds no current tag, and tells it [ETAG-9] [ETAG-15]', async () => {
      const { api } = await server.person(undefined, version)
      const id = await api.file('file', 'root', 'hello')
      const tag = tagOf(await api.get(`/files/${id}/content`))
      for (const value of failing(tag)) {
        const answer = await api.upload(id, 'other', { 'If-Match': value })
        expectRefusal(answer, 412, String(value))
        expect(tagOf(answer)).toBe(tag)
      }
      expect((await api.get(`/files/${id}/content`)).text).toBe('hello')
    })

    it('compares If-None-Match in every spelling [ETAG-10] [ETAG-11] [ETAG-14] [ETAG-15]', async () => {
      const { api } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      const id = await api.file('file', folder, 'hello')
      for (const path of [`/folders/${folder}`, `/files/${id}`, `/files/${id}/content`]) {
        const tag = tagOf(await api.get(path))
        for (const value of matching(tag))
          expectUnmodified(await api.get(path, { 'If-None-Match': value }), tag)
        for (const value of failing(tag)) {
          expect((await api.get(path, { 'If-None-Match': value })).status, String(value)).toBe(200)
        }
      }
    })

    it('takes empty headers for absent ones [ETAG-13]', async () => {
      const { api } = await server.person(undefined, version)
      for (const [index, value] of ['', ' ', '\t ', ['', ' ']].entries()) {
        const empty = { 'If-Match': value, 'If-None-Match': value }
        for (const kind of KINDS) {
          const id = await make(api, kind, `object ${index} of ${kind}`)
          expect((await api.get(`/${kind}/${id}`, empty)).status).toBe(200)
          expect((await api.put(`/${kind}/${id}`, { name: `renamed ${index} ${kind}` }, empty)).status).toBe(
            200,
          )
          if (kind === 'files') {
            expect((await api.upload(id, 'hello', empty)).status).toBe(204)
            expect((await api.get(`/files/${id}/content`, empty)).status).toBe(200)
          }
          expect((await api.delete(`/${kind}/${id}`, empty)).status).toBe(204)
        }
      }
    })

    it('ignores If-None-Match on writes [ETAG-18]', async () => {
      const { api } = await server.person(undefined, version)
      for (const kind of KINDS) {
        const id = await make(api, kind, `object of ${kind}`)
        for (const value of ['*', tagOf(await api.get(`/${kind}/${id}`)), '"other"']) {
          const headers = { 'If-None-Match': value }
          const made = await api.post(`/${kind}`, { name: 'made', parent: 'root' }, headers)
          expect(made.status).toBe(201)
          expect((await api.put(`/${kind}/${made.json.id}`, { name: 'renamed' }, headers)).status).toBe(200)
          if (kind === 'files') expect((await api.upload(made.json.id, 'hello', headers)).status).toBe(204)
          expect((await api.delete(`/${kind}/${made.json.id}`, headers)).status).toBe(204)
        }
      }
    })

    it('ignores If-Match on reads and on POST [ETAG-19]', async () => {
      const { api } = await server.person(undefined, version)
      const stale = { 'If-Match': '"stale"' }
      const folder = await api.folder('folder')
      const id = await api.file('file', folder, 'hello')
      for (const path of [
        `/folders/${folder}`,
        `/folders/${folder}/children`,
        `/folders/${folder}/path`,
        `/files/${id}`,
        `/files/${id}/path`,
        `/files/${id}/content`,
      ]) {
        expect((await api.get(path, stale)).status, path).toBe(200)
        expect((await api.head(path, stale)).status, path).toBe(200)
      }
      for (const kind of KINDS) {
        expect((await api.post(`/${kind}`, { name: `new ${kind}`, parent: folder }, stale)).status).toBe(201)
      }
    })

    it('matches nothing on the content of a file without content [ETAG-21]', async () => {
      const { api } = await server.person(undefined, version)
      const id = await api.file('file')
      const tag = tagOf(await api.get(`/files/${id}`))
      for (const value of ['*', tag, '"x"', `"x", ${tag}`, '"unterminated']) {
        const answer = await api.upload(id, 'hello', { 'If-Match': value })
        expectRefusal(answer, 412, value)
        expect(answer.headers).not.toHaveProperty('etag')
      }
      expectRefusal(await api.get(`/files/${id}/content`), 404)
      expect(tagOf(await api.get(`/files/${id}`))).toBe(tag)
      expect((await api.put(`/files/${id}`, { name: 'renamed' }, { 'If-Match': '*' })).status).toBe(200)
    })

    it('lets one of ten writes with the same condition through [ETAG-22]', async () => {
      const { api } = await server.person(undefined, version)
      for (let round = 0; round < 3; round += 1) {
        const id = await api.folder(`round ${round}`)
        const tag = tagOf(await api.get(`/folders/${id}`))
        const answers = await Promise.all(
          Array.from({ length: 10 }, (_, index) =>
            api.put(`/folders/${id}`, { name: `round ${round} name ${index}` }, { 'If-Match': tag }),
          ),
        )
        const winners = answers.filter((answer) => answer.status === 200)
        expect(winners).toHaveLength(1)
        for (const answer of answers) if (answer.status !== 200) expectRefusal(answer, 412)
        const after = await api.get(`/folders/${id}`)
        expect([after.json, tagOf(after)]).toEqual([winners[0]?.json, tagOf(winners[0] as Answer)])
        expect(await namesIn(api)).toContain(after.json.name)
        for (const answer of answers) expect(tagOf(answer)).toBe(tagOf(after))
      }
    })

    it('lets one of ten uploads with the same condition through [ETAG-22]', async () => {
      const { api } = await server.person(undefined, version)
      const id = await api.file('file', 'root', 'hello')
      const tag = tagOf(await api.get(`/files/${id}/content`))
      const contents = Array.from({ length: 10 }, (_, index) => `content ${index}`)
      const answers = await Promise.all(
        contents.map((content) => api.upload(id, content, { 'If-Match': tag })),
      )
      expect(answers.map((answer) => answer.status).sort()).toEqual([204, ...Array<number>(9).fill(412)])
      const winner = answers.findIndex((answer) => answer.status === 204)
      expect((await api.get(`/files/${id}/content`)).text).toBe(contents[winner])
    })
  })
})
