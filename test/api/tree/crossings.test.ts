/** What crosses the boundary of a store, and what is counted where. */
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join as joinPath } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findStore } from '../../../src/db/stores.js'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { openRaw, requestHead } from '../../support/raw.js'
import { RW, startServer, type TestServer } from '../../support/server.js'
import { unchanged } from '../support.js'
import { EDITOR, join, leave, makeShare, OWNER, permit, sharer, VIEWER, type Sharer } from './shared.js'
import { expectRefusal, listing, namesIn } from './support.js'

/** Far more than all buffers between server and client hold, so that a client that stops reading stops the server. */
const LARGE_BYTES = 24 * 1024 * 1024

/** Begins and stops reading; the result reads on and tells whether all of it came. */
async function beginDownload(server: TestServer, id: string, token: string): Promise<() => Promise<boolean>> {
  const raw = await openRaw(server)
  raw.send(requestHead('GET', `/api/v1.3/files/${id}/content`, token, {}))
  await raw.receive(10_000)
  raw.pause()
  return async () => {
    raw.resume()
    const { isWhole } = await raw.answer()
    raw.drop()
    return isWhole
  }
}

/** A folder with folders in it, and files with content in those. */
async function plant(api: Client, name: string, parent: string): Promise<{ top: string; ids: string[] }> {
  const top = await api.folder(name, parent)
  const ids = [top]
  for (const inner of ['a', 'b']) {
    const folder = await api.folder(inner, top)
    ids.push(folder, await api.file('one', folder, `1 ${inner}`), await api.file('none', folder))
  }
  return { top, ids }
}

/** Everything below a folder: the names on the way, and the bytes. */
async function harvest(api: Client, id: string, way = ''): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  const { folders, files } = await listing(api, id)
  for (const folder of folders) Object.assign(found, await harvest(api, folder.id, `${way}/${folder.name}`))
  for (const file of files) found[`${way}/${file.name}`] = (await api.get(`/files/${file.id}/content`)).text
  return found
}

for (const engine of ENGINES) {
  describe(`crossing from store to store, on ${engine}`, () => {
    let server: TestServer

    beforeAll(async () => {
      server = await startServer(engine)
    })

    afterAll(() => server.stop())

    function used(sid: string): Promise<number | undefined> {
      return server.installation.db.read(async (tx) => (await findStore(tx, sid))?.used)
    }

    it('renews every id, keeps everything else, and moving back revives none [MOVE-19] [MOVE-20] [MOVE-21]', async () => {
      const olga = await sharer(server)
      const [first, second] = [
        await makeShare(server, 'One', [olga, OWNER]),
        await makeShare(server, 'Two', [olga, OWNER, 'external']),
      ]
      const planted = await plant(olga.api, 'tree', 'root')
      const before = await harvest(olga.api, planted.top)
      const seen = new Set(planted.ids)
      let top = planted.top
      for (const [parent, sid] of [
        [first, first],
        [second, second],
        ['root', olga.rootSid],
        [first, first],
      ] as const) {
        const moved = await olga.api.put(`/folders/${top}`, { parent, name: `in ${sid}` })
        expect(moved.status, moved.text).toBe(200)
        expect(moved.json.id.startsWith(sid)).toBe(true)
        expect(moved.json.parent).toBe((await olga.api.get(`/folders/${parent}`)).json.id)
        const read = await olga.api.get(`/folders/${moved.json.id}`)
        expect(read.json).toEqual(moved.json)
        expect(read.headers.etag).toBe(moved.headers.etag)
        for (const id of seen) {
          expectRefusal(await olga.api.get(`/folders/${id}`), 404)
          expectRefusal(await olga.api.get(`/files/${id}`), 404)
        }
        top = moved.json.id
        expect(await harvest(olga.api, top)).toEqual(before)
        const { folders } = await listing(olga.api, top)
        for (const { id, parent: above } of folders) {
          expect([seen.has(id), above]).toEqual([false, top])
          seen.add(id)
        }
        seen.add(top)
        expect(await used(olga.rootSid)).toBe(sid === olga.rootSid ? 6 : 0)
        expect(await used(first)).toBe(sid === first ? 6 : 0)
        expect(await used(second)).toBe(sid === second ? 6 : 0)
      }
    })

    it('ends the uploads of what crosses, and their bytes go [MOVE-26]', async () => {
      const olga = await sharer(server)
      const sid = await makeShare(server, 'Plans', [olga, OWNER])
      const folder = await olga.api.folder('folder')
      const file = await olga.api.file('f', folder, 'x')
      const begun = await olga.api.upload(file, randomBytes(100_000), { 'Content-Range': 'bytes 0-99999/*' })
      const uploadId = String(begun.headers['upload-id'])
      const chunk = { 'Upload-ID': uploadId, 'Content-Range': 'bytes 100000-100000/*' }
      expect((await olga.api.put(`/folders/${folder}`, { name: 'renamed' })).status).toBe(200)
      expect((await olga.api.upload(file, 'x', chunk)).status).toBe(204)
      const moved = await olga.api.put(`/folders/${folder}`, { parent: sid })
      const newFile = (await listing(olga.api, moved.json.id)).files[0]?.id ?? ''
      expectRefusal(await olga.api.upload(file, 'x', chunk), 404)
      expectRefusal(await olga.api.upload(newFile, 'x', chunk), 400)
      expect((await olga.api.get(`/files/${newFile}/content`)).text).toBe('x')
      await expect.poll(() => readdir(joinPath(server.dataDir, 'staging'))).toEqual([])
    })

    it('is refused for what holds a share, however deep, and nothing moves [MOVE-31] [MOVE-32] [MOVE-33] [MOVE-9]', async () => {
      const olga = await sharer(server)
      const [sid, other] = [
        await makeShare(server, 'Plans', [olga, OWNER]),
        await makeShare(server, 'Other', [olga, OWNER]),
      ]
      const top = await olga.api.folder('top')
      const deep = await olga.api.folder('deep', top)
      await olga.api.put(`/folders/${sid}`, { parent: deep })
      const inside = await olga.api.folder('inside', sid)
      await unchanged(server, async () => {
        for (const parent of [sid, inside, other, olga.rootSid + other]) {
          expectRefusal(await olga.api.put(`/folders/${top}`, { parent }), 400, 'a folder that holds it')
          expectRefusal(await olga.api.put(`/folders/${sid}`, { parent }), 400, 'the mount')
        }
      })
      const moved = await olga.api.put(`/folders/${deep}`, { parent: 'root', name: 'high' })
      expect(moved.json.id).toBe(deep)
      expect((await olga.api.get(`/folders/${sid}`)).json).toMatchObject({
        id: olga.rootSid + sid,
        parent: deep,
      })
    })

    it('takes WRITE on both sides and a free name, or nothing happens [MOVE-22] [MOVE-23]', async () => {
      const [olga, eva] = [await sharer(server), await sharer(server)]
      const from = await makeShare(server, 'From', [olga, OWNER], [eva, VIEWER])
      const to = await makeShare(server, 'To', [olga, OWNER], [eva, VIEWER])
      const { top } = await plant(olga.api, 'tree', from)
      await olga.api.folder('tree', to)
      await unchanged(server, async () => {
        expectRefusal(await eva.api.put(`/folders/${top}`, { parent: 'root' }), 403)
        expectRefusal(await eva.api.put(`/folders/${top}`, { parent: to }), 403)
        expectRefusal(await olga.api.put(`/folders/${top}`, { parent: to }), 409)
      })
      await permit(server, from, eva, EDITOR)
      expectRefusal(await eva.api.put(`/folders/${top}`, { parent: to, name: 'x' }), 403)
      await permit(server, to, eva, EDITOR)
      const moved = await eva.api.put(`/folders/${top}`, { parent: to, name: 'x' })
      expect(moved.status).toBe(200)
      expect(await namesIn(olga.api, to)).toEqual(['tree', 'x'])
      expect(await namesIn(olga.api, from)).toEqual([])
    })

    it('keeps what this node does not hold from being held [STATE-10]', async () => {
      const olga = await sharer(server)
      const sid = await makeShare(server, 'Plans', [olga, OWNER])
      const folder = await olga.api.folder('folder')
      const inner = await olga.api.folder('inner', folder)
      await olga.api.file('f', inner, 'x')
      await server.command('node', 'deselect', inner)
      const moved = await olga.api.put(`/folders/${folder}`, { parent: sid })
      const newInner = (await listing(olga.api, moved.json.id)).folders[0]?.id ?? ''
      expect((await listing(olga.api, newInner)).files[0]).toMatchObject({ content_state: 'DESELECTED' })
      await server.command('node', 'select', newInner)
      expect((await listing(olga.api, newInner)).files[0]).toMatchObject({ content_state: 'AVAILABLE' })
    })

    it('leaves one whole tree when many go to and fro at once [MOVE-37]', async () => {
      const [olga, eva] = [await sharer(server), await sharer(server)]
      const people = [olga, eva]
      const shares = [
        await makeShare(server, 'One', [olga, OWNER], [eva, EDITOR]),
        await makeShare(server, 'Two', [olga, OWNER], [eva, EDITOR]),
      ]
      const tops = await Promise.all(shares.map((sid) => plant(olga.api, 'tree', sid)))
      const moves = Array.from({ length: 24 }, (_, index) => {
        const { api } = people[index % 2] ?? olga
        const { top } = tops[index % 2] ?? { top: '' }
        const parent = [shares[0], shares[1], 'root'][index % 3]
        return api.put(`/folders/${top}`, { parent, name: `tree ${index}` })
      })
      for (const answer of await Promise.all(moves)) expect([200, 404]).toContain(answer.status)
      const ofOlga = Object.keys(await harvest(olga.api, 'root'))
      const ofEva = Object.keys(await harvest(eva.api, 'root')).filter((name) => !/^\/(One|Two)\//.test(name))
      expect([...ofOlga, ...ofEva].filter((name) => name.endsWith('/one')).length).toBe(4)
    })

    it('counts a joined share in full against the one who uploads, wherever it goes [QUOTA-07] [QUOTA-08] [QUOTA-09] [QUOTA-10]', async () => {
      const [olga, eva] = [await sharer(server), await sharer(server, { quotaBytes: 1000 })]
      const sid = await makeShare(server, 'Plans', [olga, OWNER], [eva, EDITOR])
      await olga.api.file('of olga', sid, Buffer.alloc(600))
      const own = await eva.api.file('own', 'root', Buffer.alloc(300))
      expectRefusalOfSpace(await eva.api.upload(await eva.api.file('f', sid), Buffer.alloc(101)))
      expectRefusalOfSpace(await eva.api.upload(own, Buffer.alloc(401)))
      expect((await eva.api.upload(own, Buffer.alloc(400))).status).toBe(204)
      expect((await olga.api.upload(await olga.api.file('more', sid), Buffer.alloc(5000))).status).toBe(204)
      expect((await eva.api.put(`/files/${own}`, { parent: sid })).status).toBe(200)
      await leave(server, sid, eva)
      expect((await eva.api.upload(await eva.api.file('g'), Buffer.alloc(1000))).status).toBe(204)
      await join(server, sid, eva, EDITOR)
      expectRefusalOfSpace(await eva.api.upload(await eva.api.file('h'), 'x'))
      const old = await eva.with(RW, '1.0')
      expect((await old.upload(await eva.api.file('i', sid), 'x')).status).toBe(500)
    })

    it('lets no number of uploads at once past the quota, in whatever stores they are [QUOTA-11]', async () => {
      const [olga, eva] = [await sharer(server), await sharer(server, { quotaBytes: 1000 })]
      const shares = [
        await makeShare(server, 'One', [olga, OWNER], [eva, EDITOR]),
        await makeShare(server, 'Two', [olga, OWNER], [eva, EDITOR]),
      ]
      const targets = ['root', ...shares, 'root', ...shares]
      const files = await Promise.all(targets.map((parent, index) => eva.api.file(`f${index}`, parent)))
      const answers = await Promise.all(files.map((file) => eva.api.upload(file, Buffer.alloc(300))))
      expect(answers.map(({ status }) => status).sort()).toEqual([204, 204, 204, 507, 507, 507])
    })

    it('refuses an upload at its end when the right to write went meanwhile [ACL-07]', async () => {
      const [olga, eva] = [await sharer(server), await sharer(server)]
      const sid = await makeShare(server, 'Plans', [olga, OWNER], [eva, EDITOR])
      const file = await eva.api.file('f', sid, 'old')
      for (const [status, take] of [
        [403, () => permit(server, sid, eva, VIEWER)],
        [404, () => leave(server, sid, eva)],
      ] as const) {
        async function* body(): AsyncGenerator<Buffer> {
          yield Buffer.alloc(80_000)
          await new Promise((resolve) => setTimeout(resolve, 300))
          await take()
          yield Buffer.alloc(80_000)
        }
        await permit(server, sid, eva, EDITOR)
        expectRefusal(await eva.api.call('PUT', `/files/${file}/content`, { body: body() }), status)
      }
      expect((await olga.api.get(`/files/${file}/content`)).text).toBe('old')
    })

    it('ends the downloads of those who leave, and of what crosses, and no others [ACL-07]', async () => {
      const [olga, eva] = [await sharer(server), await sharer(server)]
      const sid = await makeShare(server, 'Plans', [olga, OWNER], [eva, EDITOR])
      const file = await olga.api.file('f', sid, randomBytes(LARGE_BYTES))
      const whole = async (people: Sharer[], happening: () => Promise<unknown>): Promise<boolean[]> => {
        const downloads = await Promise.all(people.map(({ token }) => beginDownload(server, file, token)))
        await happening()
        return Promise.all(downloads.map((end) => end()))
      }
      expect(await whole([olga, eva], () => eva.api.delete(`/folders/${sid}`))).toEqual([true, false])
      expect(await whole([olga], () => olga.api.put(`/files/${file}`, { name: 'g' }))).toEqual([true])
      expect(await whole([olga], () => olga.api.put(`/files/${file}`, { parent: 'root' }))).toEqual([false])
    })

    it('leaves nothing behind that the check would find', async () => {
      const checked = await server.command('check')
      expect(checked).toMatchObject({ status: 0, stderr: '' })
    })
  })
}

function expectRefusalOfSpace(answer: { status: number; text: string }): void {
  expect(answer.status, answer.text).toBe(507)
}
