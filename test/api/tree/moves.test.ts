import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import {
  expectRefusal,
  KINDS,
  make,
  namesIn,
  NEWER_VERSIONS,
  pathNames,
  rootOf,
  tagOf,
  wholeTree,
  withoutChange,
} from './support.js'

const UNKNOWN = 'abcdef0123456789'.repeat(4)
const WEAK = /^W\/"[^"]+"$/

describe.each(ENGINES)('renaming and moving on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  describe.each(NEWER_VERSIONS)('under %s', (version) => {
    describe.each(KINDS)('of %s', (kind) => {
      it('changes the name alone [MOVE-1]', async () => {
        const { api } = await server.person(undefined, version)
        const id = await make(api, kind, 'before')
        const before = await api.get(`/${kind}/${id}`)
        const answer = await api.put(`/${kind}/${id}`, { name: 'after' })
        expect(answer.status).toBe(200)
        expect(answer.json).toEqual({ ...before.json, name: 'after' })
        expect(tagOf(answer)).toMatch(WEAK)
        expect(tagOf(answer)).not.toBe(tagOf(before))
        const after = await api.get(`/${kind}/${id}`)
        expect(after.json).toEqual(answer.json)
        expect(tagOf(after)).toBe(tagOf(answer))
        expect(await namesIn(api)).toEqual(['after'])
      })

      it('changes the parent alone [MOVE-2]', async () => {
        const { api } = await server.person(undefined, version)
        const target = await api.folder('target')
        const id = await make(api, kind, 'object')
        const before = await api.get(`/${kind}/${id}`)
        const answer = await api.put(`/${kind}/${id}`, { parent: target })
        expect(answer.status).toBe(200)
        expect(answer.json).toEqual({ ...before.json, parent: target })
        expect(tagOf(answer)).not.toBe(tagOf(before))
        expect(await namesIn(api)).toEqual(['target'])
        expect(await namesIn(api, target)).toEqual(['object'])
        const after = await api.get(`/${kind}/${id}`)
        expect(after.json).toEqual(answer.json)
        expect(tagOf(after)).toBe(tagOf(answer))
      })

      it('changes name and parent in one step [MOVE-3]', async () => {
        const { api } = await server.person(undefined, version)
        const source = await api.folder('source')
        const target = await api.folder('target')
        const id = await make(api, kind, 'before', source)
        // Either change alone would meet a taken name.
        await make(api, kind, 'after', source)
        await make(api, kind, 'before', target)
        const answer = await api.put(`/${kind}/${id}`, { name: 'after', parent: target })
        expect(answer.status).toBe(200)
        expect(answer.json).toMatchObject({ id, name: 'after', parent: target })
        expect(await namesIn(api, source)).toEqual(['after'])
        expect(await namesIn(api, target)).toEqual(['after', 'before'])
      })

      it('keeps what is missing or null, and refuses when nothing is left [MOVE-4]', async () => {
        const { api } = await server.person(undefined, version)
        const target = await api.folder('target')
        const id = await make(api, kind, 'object')
        const moved = await api.put(`/${kind}/${id}`, { name: null, parent: target })
        expect(moved.json).toMatchObject({ id, name: 'object', parent: target })
        const renamed = await api.put(`/${kind}/${id}`, { name: 'renamed', parent: null })
        expect(renamed.json).toMatchObject({ id, name: 'renamed', parent: target })
        await withoutChange(api, async () => {
          for (const json of [
            {},
            { colour: 'red' },
            { name: null },
            { parent: null },
            { name: null, parent: null },
          ]) {
            expectRefusal(await api.put(`/${kind}/${id}`, json), 400, JSON.stringify(json))
          }
        })
        expect(tagOf(await api.get(`/${kind}/${id}`))).toBe(tagOf(renamed))
      })

      it('changes nothing when name and parent are those it has [MOVE-5]', async () => {
        const { api } = await server.person(undefined, version)
        const root = await rootOf(api)
        const id = await make(api, kind, 'object')
        const before = await api.get(`/${kind}/${id}`)
        const deep = await make(api, kind, 'deep', await api.folder('folder'))
        const { parent } = (await api.get(`/${kind}/${deep}`)).json
        const deepBefore = await api.get(`/${kind}/${deep}`)
        await withoutChange(api, async () => {
          for (const json of [
            { name: 'object' },
            ...['root', root, root.slice(0, 32)].flatMap((own) => [
              { parent: own },
              { name: 'object', parent: own },
            ]),
          ]) {
            const answer = await api.put(`/${kind}/${id}`, json)
            expect(answer.status).toBe(200)
            expect(answer.json).toEqual(before.json)
            expect(tagOf(answer)).toBe(tagOf(before))
          }
          expect(tagOf(await api.put(`/${kind}/${deep}`, { name: 'deep', parent }))).toBe(tagOf(deepBefore))
        })
        expect(tagOf(await api.get(`/${kind}/${id}`))).toBe(tagOf(before))
      })

      it('takes the whole object as it was read, with another name [MOVE-6]', async () => {
        const { api } = await server.person(undefined, version)
        const folder = await api.folder('folder')
        const id =
          kind === 'files' ? await api.file('object', folder, 'hello') : await api.folder('object', folder)
        const read = (await api.get(`/${kind}/${id}?fields=path,children`)).json
        const plain = (await api.get(`/${kind}/${id}`)).json
        const answer = await api.put(`/${kind}/${id}`, {
          ...read,
          name: 'renamed',
          id: UNKNOWN,
          size: 99,
          is_shared: true,
          x: 1,
        })
        expect(answer.status).toBe(200)
        expect(answer.json).toEqual({ ...plain, name: 'renamed' })
      })

      it('takes every form of a parent [MOVE-7]', async () => {
        const { api } = await server.person(undefined, version)
        const root = await rootOf(api)
        const folder = await api.folder('folder')
        const appdata = (await api.get('/folders/appdata')).json.id
        const id = await make(api, kind, 'object')
        for (const [form, parent] of [
          [folder, folder],
          ['root', root],
          ['appdata', appdata],
          [root, root],
          [appdata, appdata],
          [root.slice(0, 32), root],
        ] as const) {
          const answer = await api.put(`/${kind}/${id}`, { parent: form })
          expect(answer.status, form).toBe(200)
          expect(answer.json.parent).toBe(parent)
          expect(await namesIn(api, parent)).toContain('object')
        }
      })

      it('refuses a taken name and leaves both as they were [MOVE-8]', async () => {
        const { api } = await server.person(undefined, version)
        const target = await api.folder('target')
        await api.folder('a folder', target)
        await api.file('a file', target, 'hello')
        const inside = await make(api, kind, 'inside', target)
        const same = await make(api, kind, 'a file')
        const tags = [tagOf(await api.get(`/${kind}/${inside}`)), tagOf(await api.get(`/${kind}/${same}`))]
        await withoutChange(api, async () => {
          for (const name of ['a folder', 'a file'])
            expectRefusal(await api.put(`/${kind}/${inside}`, { name }), 409)
          expectRefusal(await api.put(`/${kind}/${same}`, { parent: target }), 409)
          expectRefusal(await api.put(`/${kind}/${same}`, { name: 'a folder', parent: target }), 409)
        })
        expect([
          tagOf(await api.get(`/${kind}/${inside}`)),
          tagOf(await api.get(`/${kind}/${same}`)),
        ]).toEqual(tags)
      })

      it('refuses a file as the new parent [MOVE-10]', async () => {
        const { api } = await server.person(undefined, version)
        const file = await api.file('file')
        const id = await make(api, kind, 'object')
        await withoutChange(api, async () => {
          expectRefusal(await api.put(`/${kind}/${id}`, { parent: file }), 400)
          expectRefusal(await api.put(`/${kind}/${id}`, { name: 'renamed', parent: file }), 400)
          if (kind === 'files') expectRefusal(await api.put(`/files/${id}`, { parent: id }), 400)
        })
      })

      it('does not find objects and parents that are unknown, deleted or of others [MOVE-12]', async () => {
        const { api } = await server.person(undefined, version)
        const other = await server.person()
        const foreign = await make(other.api, kind, 'foreign')
        const foreignParent = await other.api.folder('foreign parent')
        const gone = await make(api, kind, 'gone')
        const goneParent = await api.folder('gone parent')
        const goneInner = await api.folder('inner', goneParent)
        await api.delete(`/${kind}/${gone}`)
        await api.delete(`/folders/${goneParent}`)
        const id = await make(api, kind, 'object')
        const before = await wholeTree(other.api)
        await withoutChange(api, async () => {
          for (const object of [UNKNOWN, gone, foreign]) {
            expectRefusal(await api.put(`/${kind}/${object}`, { name: 'renamed' }), 404)
            expectRefusal(await api.put(`/${kind}/${object}`, { parent: 'root' }), 404)
          }
          for (const parent of [
            UNKNOWN,
            UNKNOWN.slice(0, 32),
            goneParent,
            goneInner,
            foreignParent,
            await rootOf(other.api),
          ]) {
            expectRefusal(await api.put(`/${kind}/${id}`, { parent }), 404)
            expectRefusal(await api.put(`/${kind}/${id}`, { name: 'renamed', parent }), 404)
          }
        })
        expect(await wholeTree(other.api)).toEqual(before)
      })

      it('needs files.write [MOVE-13]', async () => {
        const { api, email } = await server.person(undefined, version)
        const target = await api.folder('target')
        const id = await make(api, kind, 'object')
        const reading = server.client(await server.addToken(email, 'files.read'), version)
        await withoutChange(api, async () => {
          expectRefusal(await reading.put(`/${kind}/${id}`, { name: 'renamed' }), 403)
          expectRefusal(await reading.put(`/${kind}/${id}`, { parent: target }), 403)
        })
      })

      it('needs files.write for the object and for the new parent [MOVE-14]', async () => {
        const { api, email } = await server.person(undefined, version)
        const a = await api.folder('A')
        const below = await api.folder('below', a)
        const b = await api.folder('B')
        const inside = await make(api, kind, 'inside', a)
        const outside = await make(api, kind, 'outside', b)
        const narrow = server.client(await server.addToken(email, `files.write:${a}`), version)
        await withoutChange(api, async () => {
          expectRefusal(await narrow.put(`/${kind}/${inside}`, { parent: b }), 403)
          expectRefusal(await narrow.put(`/${kind}/${inside}`, { parent: 'root' }), 403)
          expectRefusal(await narrow.put(`/${kind}/${outside}`, { parent: a }), 403)
          expectRefusal(await narrow.put(`/${kind}/${outside}`, { name: 'renamed' }), 403)
        })
        expect((await narrow.put(`/${kind}/${inside}`, { parent: below })).status).toBe(200)
        expect((await narrow.put(`/${kind}/${inside}`, { parent: a, name: 'renamed' })).status).toBe(200)
        const both = server.client(await server.addToken(email, `files.write:${a},files.write:${b}`), version)
        expect((await both.put(`/${kind}/${inside}`, { parent: b })).json.parent).toBe(b)
        expect(await namesIn(api, b)).toEqual(['outside', 'renamed'])
      })

      it('refuses bodies that make no sense, bad names, bad parents and other types [MOVE-15]', async () => {
        const { api } = await server.person(undefined, version)
        const id = await make(api, kind, 'object')
        const headers = { 'Content-Type': 'application/json' }
        await withoutChange(api, async () => {
          for (const body of [
            '',
            '{',
            '{"name":"renamed"',
            '[]',
            '"text"',
            '7',
            'null',
            '[{"name":"renamed"}]',
            'name=renamed',
          ]) {
            expectRefusal(await api.call('PUT', `/${kind}/${id}`, { headers, body }), 400, body)
          }
          for (const name of ['', '.', '..', 'a/b', 'a\u0000', 'n'.repeat(256), '\ud800', 7, false, [], {}]) {
            expectRefusal(await api.put(`/${kind}/${id}`, { name }), 400, JSON.stringify(name))
            expectRefusal(
              await api.put(`/${kind}/${id}`, { name, parent: 'root' }),
              400,
              JSON.stringify(name),
            )
          }
          for (const parent of ['', 'bla', 'ROOT', 'A'.repeat(64), 7, false, [], {}]) {
            expectRefusal(await api.put(`/${kind}/${id}`, { parent }), 400, JSON.stringify(parent))
            expectRefusal(
              await api.put(`/${kind}/${id}`, { name: 'renamed', parent }),
              400,
              JSON.stringify(parent),
            )
          }
          for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
            expectRefusal(
              await api.put(`/${kind}/${id}`, { name: 'renamed' }, { 'Content-Type': type }),
              415,
              type,
            )
          }
        })
      })
    })

    it('takes everything in a folder along, under the same ids [MOVE-2]', async () => {
      const { api } = await server.person(undefined, version)
      const target = await api.folder('target')
      const folder = await api.folder('folder')
      const inner = await api.folder('inner', folder)
      const file = await api.file('file', inner, 'hello')
      const before = await wholeTree(api, folder)
      const tags = [tagOf(await api.get(`/folders/${inner}`)), tagOf(await api.get(`/files/${file}`))]
      expect((await api.put(`/folders/${folder}`, { parent: target })).status).toBe(200)
      expect(await wholeTree(api, folder)).toEqual(before)
      expect([tagOf(await api.get(`/folders/${inner}`)), tagOf(await api.get(`/files/${file}`))]).toEqual(
        tags,
      )
      expect(await pathNames(api, file)).toEqual(['Starling', 'target', 'folder', 'inner'])
      expect((await api.get(`/files/${file}/content`)).text).toBe('hello')
    })

    it('refuses to move a folder into itself or below itself [MOVE-9]', async () => {
      const { api } = await server.person(undefined, version)
      const folder = await api.folder('folder')
      const inner = await api.folder('inner', folder)
      const innermost = await api.folder('innermost', await api.folder('between', inner))
      await withoutChange(api, async () => {
        for (const parent of [folder, inner, innermost]) {
          expectRefusal(await api.put(`/folders/${folder}`, { parent }), 400)
          expectRefusal(await api.put(`/folders/${folder}`, { name: 'renamed', parent }), 400)
        }
        expectRefusal(await api.put(`/folders/${inner}`, { parent: innermost }), 400)
      })
      expect((await api.put(`/folders/${innermost}`, { parent: folder })).status).toBe(200)
    })

    it('refuses to rename or move the root [MOVE-11]', async () => {
      const { api } = await server.person(undefined, version)
      const root = await api.get('/folders/root')
      const folder = await api.folder('folder')
      await withoutChange(api, async () => {
        for (const id of ['root', root.json.id, root.json.id.slice(0, 32)]) {
          expectRefusal(await api.put(`/folders/${id}`, { name: 'renamed' }), 400)
          expectRefusal(await api.put(`/folders/${id}`, { parent: folder }), 400)
          expectRefusal(await api.put(`/folders/${id}`, { name: 'renamed', parent: folder }), 400)
        }
      })
      const after = await api.get('/folders/root')
      expect([after.json, tagOf(after)]).toEqual([root.json, tagOf(root)])
    })

    it('leaves an unfinished upload valid [MOVE-26]', async () => {
      const { api } = await server.person(undefined, version)
      const outer = await api.folder('outer')
      const target = await api.folder('target')
      const id = await api.file('file', outer)
      const begun = await api.upload(id, 'hel', { 'Content-Range': 'bytes 0-2/*' })
      const upload = begun.headers['upload-id']
      expect(upload).toMatch(/^[0-9a-f]{64}$/)
      await api.put(`/files/${id}`, { name: 'renamed' })
      await api.put(`/files/${id}`, { parent: target })
      await api.put(`/folders/${target}`, { parent: outer })
      const done = await api.upload(id, 'lo', { 'Content-Range': 'bytes 3-4/5', 'Upload-ID': String(upload) })
      expect(done.status, done.text).toBe(204)
      expect((await api.get(`/files/${id}/content`)).text).toBe('hello')
    })
  })

  it('works alike under 1.0, without a parent in the answer [MOVE-16]', async () => {
    const { api, token } = await server.person(undefined, '1.0')
    const modern = server.client(token)
    const target = await api.folder('target')
    for (const kind of KINDS) {
      const id = await make(api, kind, `object of ${kind}`)
      for (const json of [
        { name: `renamed ${kind}` },
        { parent: target },
        { name: `${kind} again`, parent: 'root' },
      ]) {
        const answer = await api.put(`/${kind}/${id}`, json)
        expect(answer.status).toBe(200)
        expect(answer.json.id).toBe(id)
        expect(answer.json).not.toHaveProperty('parent')
        expect(tagOf(await api.get(`/${kind}/${id}`))).toBe(tagOf(answer))
      }
      expect((await modern.get(`/${kind}/${id}`)).json).toMatchObject({
        name: `${kind} again`,
        parent: await rootOf(api),
      })
      await api.folder(`taken by ${kind}`)
      expectRefusal(await api.put(`/${kind}/${id}`, { name: `taken by ${kind}` }), 409)
      expectRefusal(await api.put(`/${kind}/${id}`, {}), 400)
    }
    expectRefusal(await api.put(`/folders/${target}`, { parent: target }), 400)
    expectRefusal(await api.put('/folders/root', { name: 'renamed' }), 400)
  })
})
