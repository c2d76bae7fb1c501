/** One shared folder, seen by people who have it in different places, by admins and through limited tokens. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { RW, startServer, type TestServer } from '../../support/server.js'
import { unchanged } from '../support.js'
import { EDITOR, join, leave, makeShare, OWNER, permit, sharer, VIEWER, type Sharer } from './shared.js'
import { expectRefusal, listing, namesIn, pathNames, ZEROS, type Item } from './support.js'

const ADMIN = `organization.admin,${RW}`

function mountOf(person: Sharer, sid: string): string {
  return person.rootSid + sid
}

/** The parents that a long list of children names; long enough to be kept. */
async function parentsIn(api: Client, id: string): Promise<Set<string>> {
  const { folders, files } = await listing(api, id)
  return new Set([...folders, ...files].map((item) => item.parent))
}

for (const engine of ENGINES) {
  describe(`a shared folder from every viewpoint, on ${engine}`, () => {
    let server: TestServer

    beforeAll(async () => {
      server = await startServer(engine)
    })

    afterAll(() => server.stop())

    it('has for each person one id, however it is addressed [ID-6] [ID-7] [ID-24]', async () => {
      const [olga, eva, ada] = [
        await sharer(server),
        await sharer(server),
        await sharer(server, { admin: true, scope: ADMIN }),
      ]
      const sid = await makeShare(server, 'Plans', [olga, OWNER], [eva, EDITOR, 'external'])
      const folder = await olga.api.folder('in it', sid)
      const forms: [Sharer, string[], string, string][] = [
        [olga, [sid, sid + ZEROS, mountOf(olga, sid)], mountOf(olga, sid), olga.rootSid + ZEROS],
        [eva, [sid, sid + ZEROS], sid + ZEROS, sid + ZEROS],
        [ada, [sid, sid + ZEROS], sid + ZEROS, sid + ZEROS],
      ]
      for (const [person, ids, id, parent] of forms) {
        const answers = await Promise.all(ids.map((form) => person.api.get(`/folders/${form}`)))
        for (const answer of answers) {
          expect(answer.json).toEqual({ id, name: 'Plans', parent, is_shared: true, sid })
          expect(answer.headers.etag).toBe(answers[0]?.headers.etag)
        }
        expect((await person.api.get(`/folders/${folder}`)).json).toEqual({
          id: folder,
          name: 'in it',
          parent: id,
          is_shared: false,
        })
      }
    })

    it('gives everybody parents of their own, also out of lists that are kept [ID-9] [CHILD-11]', async () => {
      const people = [await sharer(server), await sharer(server), await sharer(server)] as const
      const [olga, eva, vera] = people
      const sid = await makeShare(server, 'Plans', [olga, OWNER], [eva, EDITOR], [vera, VIEWER, 'external'])
      for (let number = 0; number < 40; number += 1) await olga.api.folder(`folder ${number}`, sid)
      for (let round = 0; round < 3; round += 1) {
        expect(await parentsIn(olga.api, sid)).toEqual(new Set([mountOf(olga, sid)]))
        expect(await parentsIn(eva.api, mountOf(eva, sid))).toEqual(new Set([mountOf(eva, sid)]))
        expect(await parentsIn(vera.api, sid + ZEROS)).toEqual(new Set([sid + ZEROS]))
      }
      await eva.api.folder('new', mountOf(eva, sid))
      for (const { api } of people) expect(await namesIn(api, sid)).toContain('new')
      const oldest = await olga.with(RW, '1.0')
      expect((await oldest.get(`/children/${sid}`)).json.parent).toBe(mountOf(olga, sid))
    })

    it('lies in the path of its objects where each person has put it [PATH-6] [PATH-7]', async () => {
      const [olga, eva] = [await sharer(server), await sharer(server)]
      const sid = await makeShare(server, 'Plans', [olga, OWNER], [eva, EDITOR, 'external'])
      const deep = await olga.api.folder('deep', await olga.api.folder('high'))
      expect((await olga.api.put(`/folders/${sid}`, { parent: deep, name: 'mine' })).status).toBe(200)
      expect((await eva.api.put(`/folders/${sid}`, { name: 'hers' })).status).toBe(200)
      const file = await eva.api.file('f', await eva.api.folder('inner', sid))
      expect(await pathNames(olga.api, file)).toEqual(['Starling', 'high', 'deep', 'mine', 'inner'])
      expect(await pathNames(eva.api, file)).toEqual(['hers', 'inner'])
      const { folders } = (await olga.api.get(`/files/${file}/path`)).json as unknown as { folders: Item[] }
      folders.slice(1).forEach((folder, index) => expect(folder.parent).toBe(folders[index]?.id))
    })

    it('is reached by a limited token through its mount, and what is above is not named [FOLDER-22] [PATH-14] [AUTH-41] [AUTH-44]', async () => {
      const olga = await sharer(server)
      const sid = await makeShare(server, 'Plans', [olga, OWNER])
      const home = await olga.api.folder('home')
      await olga.api.put(`/folders/${sid}`, { parent: home })
      const file = await olga.api.file('f', await olga.api.folder('inner', sid), 'x')
      const above = await olga.with(`files.read:${home}`)
      expect(await pathNames(above, file)).toEqual(['home', 'Plans', 'inner'])
      for (const form of [sid, sid + ZEROS, mountOf(olga, sid)]) {
        const limited = await olga.with(`files.read:${form}`)
        for (const path of [sid, mountOf(olga, sid), sid + ZEROS]) {
          expect((await limited.get(`/folders/${path}`)).status, path).toBe(200)
        }
        expect((await limited.get(`/files/${file}/content`)).text).toBe('x')
        expect(await pathNames(limited, file)).toEqual(['Plans', 'inner'])
        expect(await pathNames(limited, sid)).toEqual([])
        expectRefusal(await limited.get(`/folders/${home}`), 403)
      }
    })

    it('may be renamed and sent back whole by a viewer, mounted or external [MOVE-27] [MOVE-35] [MOVE-6]', async () => {
      const [vera, victor] = [await sharer(server), await sharer(server)]
      const sid = await makeShare(
        server,
        'Plans',
        [await sharer(server), OWNER],
        [vera, VIEWER],
        [victor, VIEWER, 'external'],
      )
      for (const { api } of [vera, victor]) {
        const read = await api.get(`/folders/${sid}`)
        const renamed = await api.put(
          `/folders/${sid}`,
          { ...read.json, name: 'mine' },
          { 'If-Match': read.headers.etag },
        )
        expect({ status: renamed.status, name: renamed.json.name }).toEqual({ status: 200, name: 'mine' })
        expect(renamed.headers.etag).not.toBe(read.headers.etag)
        const again = await api.get(`/folders/${sid}`)
        expect(again.json).toEqual(renamed.json)
        expect(again.headers.etag).toBe(renamed.headers.etag)
        expectRefusal(await api.post('/folders', { name: 'n', parent: sid }), 403)
      }
      const elsewhere = await victor.api.folder('elsewhere')
      expectRefusal(await victor.api.put(`/folders/${sid}`, { parent: elsewhere }), 400)
    })

    it('never has a tag of an earlier stay again [ETAG-3]', async () => {
      const [olga, eva] = [await sharer(server), await sharer(server)]
      for (const place of ['mounted', 'external'] as const) {
        const sid = await makeShare(server, 'Plans', [olga, OWNER], [eva, EDITOR, place])
        const tags = new Set<string | undefined>()
        for (const name of ['one', 'two', 'three']) {
          tags.add((await eva.api.get(`/folders/${sid}`)).headers.etag)
          tags.add((await eva.api.put(`/folders/${sid}`, { name })).headers.etag)
          expect((await eva.api.delete(`/folders/${sid}`)).status).toBe(204)
          await join(server, sid, eva, EDITOR, place)
        }
        expect(tags.size, place).toBe(6)
        await leave(server, sid, eva)
      }
    })

    it('is not there for people who are not in it, in any form and for any method [ID-17] [ID-18]', async () => {
      const [olga, sam] = [await sharer(server), await sharer(server)]
      const sid = await makeShare(server, 'Plans', [olga, OWNER])
      const file = await olga.api.file('f', sid, 'x')
      await unchanged(server, async () => {
        for (const id of [sid, sid + ZEROS, mountOf(olga, sid), mountOf(sam, sid), sid + sid]) {
          expectRefusal(await sam.api.get(`/folders/${id}`), 404, id)
          expectRefusal(await sam.api.delete(`/folders/${id}`), 404, id)
          expectRefusal(await sam.api.put(`/folders/${id}`, { name: 'x' }), 404, id)
          expectRefusal(await sam.api.post('/files', { name: 'x', parent: id }), 404, id)
        }
        expectRefusal(await sam.api.upload(file, 'y'), 404)
        expectRefusal(await olga.api.get(`/folders/${sid}${sid}`), 404)
      })
    })

    it('is open to an admin who is not in it, except for its name and its end [FOLDER-24] [AUTH-69] [ACL-24]', async () => {
      const [olga, ada] = [await sharer(server), await sharer(server, { admin: true, scope: ADMIN })]
      const sid = await makeShare(server, 'Plans', [olga, OWNER])
      await olga.api.put(`/folders/${sid}`, { name: 'renamed' })
      const file = await ada.api.file('f', sid, 'by an admin')
      expect((await olga.api.get(`/files/${file}/content`)).text).toBe('by an admin')
      expect(await pathNames(ada.api, file)).toEqual(['Plans'])
      expect(await namesIn(ada.api)).toEqual([])
      const [ordinary, bare] = [await ada.with(RW), await ada.with('organization.admin')]
      await unchanged(server, async () => {
        expectRefusal(await ada.api.put(`/folders/${sid}`, { name: 'x' }), 403)
        expectRefusal(await ada.api.delete(`/folders/${sid}`), 403)
        expectRefusal(await ada.api.get(`/folders/${mountOf(olga, sid)}`), 404)
        expectRefusal(await ada.api.get(`/folders/${olga.rootSid}`), 404)
        expectRefusal(await ordinary.get(`/folders/${sid}`), 404)
        expectRefusal(await bare.get(`/folders/${sid}`), 403)
      })
      expect((await ada.api.delete(`/files/${file}`)).status).toBe(204)
    })

    it('keeps out of the folders of applications, and they out of it [APPDATA-7] [APPDATA-8]', async () => {
      const olga = await sharer(server)
      const sid = await makeShare(server, 'Plans', [olga, OWNER])
      const app = await olga.with('files.appdata')
      const appdata = (await app.get('/folders/appdata')).json.id
      const held = await app.file('f', 'appdata', 'x')
      const holder = await olga.api.folder('holder')
      await unchanged(server, async () => {
        expectRefusal(await olga.api.put(`/folders/${sid}`, { parent: appdata }), 400)
        expectRefusal(await app.get(`/folders/${sid}`), 404)
        expectRefusal(await app.post('/folders', { name: 'x', parent: sid }), 404)
        expectRefusal(await app.put(`/files/${held}`, { parent: sid }), 404)
      })
      await olga.api.put(`/folders/${sid}`, { parent: holder })
      expectRefusal(await olga.api.put(`/folders/${holder}`, { parent: appdata }), 400)
      expect((await olga.api.put(`/files/${held}`, { parent: sid })).status).toBe(200)
      expect(await namesIn(app, 'appdata')).toEqual([])
    })

    it('takes names that only a root reserves, and not twice [NAME-19] [APPDATA-18]', async () => {
      const olga = await sharer(server)
      const sid = await makeShare(server, 'Plans', [olga, OWNER])
      expect((await olga.api.post('/folders', { name: '.appdata', parent: sid })).status).toBe(201)
      expectRefusal(await olga.api.post('/folders', { name: 'Plans', parent: 'root' }), 409)
      expectRefusal(await olga.api.put(`/folders/${sid}`, { name: '.appdata' }), 409)
      const other = await makeShare(server, 'Plans', [olga, OWNER])
      expect((await olga.api.get(`/folders/${other}`)).json.name).toBe('Plans (2)')
      expectRefusal(await olga.api.put(`/folders/${other}`, { name: 'Plans' }), 409)
      expectRefusal(await olga.api.put(`/folders/${other}`, { parent: sid }), 400)
    })

    it('can be written by those who may write at that moment [MOVE-13] [DEL-6] [FILE-15]', async () => {
      const [olga, eva] = [await sharer(server), await sharer(server)]
      const sid = await makeShare(server, 'Plans', [olga, OWNER], [eva, EDITOR])
      const file = await eva.api.file('f', sid, 'x')
      await permit(server, sid, eva, VIEWER)
      const limited = await eva.with(`files.write:${sid}`)
      await unchanged(server, async () => {
        expectRefusal(await eva.api.upload(file, 'y'), 403)
        expectRefusal(await eva.api.put(`/files/${file}`, { name: 'g' }), 403)
        expectRefusal(await eva.api.put(`/files/${file}`, { parent: 'root' }), 403)
        expectRefusal(await eva.api.delete(`/files/${file}`), 403)
        expectRefusal(await limited.delete(`/files/${file}`), 403)
      })
      expect((await eva.api.get(`/files/${file}/content`)).text).toBe('x')
    })
  })
}
