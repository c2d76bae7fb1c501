import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { expectError, unchanged } from '../support.js'
import { listing, namesIn, pathNames } from '../tree/support.js'
import {
  addGroup,
  addMember,
  addShareGroup,
  addToGroup,
  accept,
  cast,
  emails,
  invite,
  leave,
  list,
  makePeople,
  makeShare,
  mountOf,
  OWNER,
  readShare,
  remove,
  setMember,
  statusOf,
  tagOf,
  VIEWER,
  WRITE,
  type Person,
  type Share,
} from './cast.js'
import { ok } from './support.js'

const sharesOf = async (person: Person): Promise<Share[]> =>
  list<Share>(await person.api.get('/users/me/shares'))

describe.each(ENGINES)('the life of shared folders on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  it('renames a share for the one who renames it [SHARE-26] [SHARE-27] [MOVE-27] [ETAG-23] [FOLDER-4] [MOVE-30]', async () => {
    const { O, E, V, S, sh } = await cast(server)
    const tagsOfO = [await tagOf(O, sh), ok(await O.api.get(`/folders/${sh}`), 200).headers.etag]
    for (const person of [E, V]) {
      const mount = await mountOf(person, sh)
      const before = ok(await person.api.get(`/folders/${mount}`), 200)
      await person.api.folder('taken')
      const name = `Ours of ${person.first_name}`
      const renamed = ok(await person.api.put(`/folders/${mount}`, { name }), 200)
      expect(renamed.json).toEqual({ ...before.json, name })
      expect(renamed.headers.etag).not.toBe(before.headers.etag)
      expect((await readShare(person, sh)).name).toBe(name)
      expect((await sharesOf(person)).map((share) => share.name)).toEqual([name])
      expect(await namesIn(person.api)).toEqual([name, 'taken'])
      expect(ok(await person.api.get(`/folders/${sh}`), 200).json).toEqual(renamed.json)
      await unchanged(server, async () => {
        expectError(await person.api.put(`/folders/${mount}`, { name: 'taken' }), 409)
        expectError(await person.api.put(`/folders/${mount}`, { name: 'a/b' }), 400)
      })
    }
    expect(await namesIn(O.api)).toEqual(['Plans'])
    const folderOfO = ok(await O.api.get(`/folders/${sh}`), 200)
    expect([await tagOf(O, sh), folderOfO.headers.etag]).toEqual(tagsOfO)
    expect(folderOfO.json).toMatchObject({ name: 'Plans', is_shared: true, sid: sh })
    ok(await O.api.put(`/folders/${sh}`, { name: 'Mine' }), 200)
    await addMember(O, sh, S, VIEWER)
    expect((await readShare(S, sh)).name).toBe('Plans')
    expect((await readShare(E, sh)).name).toBe('Ours of Eva')
  })

  it('numbers a taken name for everyone who joins, however they join [SHARE-28] [SHARE-31] [INVITATION-10]', async () => {
    const { O, P, S, L, A, sh } = await cast(server)
    for (const person of [P, S, L]) await person.api.folder('Plans')
    await addMember(O, sh, S, WRITE)
    await accept(P, sh)
    await addShareGroup(O, sh, await addGroup(A, 'Late', L), VIEWER)
    for (const person of [P, S, L]) {
      const share = await readShare(person, sh)
      expect(share).toMatchObject({ name: 'Plans (2)', is_external: false, external: false })
      expect((await sharesOf(person)).map(({ name }) => name)).toEqual(['Plans (2)'])
      const mount = (await listing(person.api)).folders.find(({ sid }) => sid === sh)
      expect(mount?.name).toBe('Plans (2)')
    }
    expect((await readShare(O, sh)).name).toBe('Plans')
  })

  it('is external for some and internal for others, for as long as they are in it [SHARE-29] [SHARE-30] [CHILD-10] [INVITATION-11]', async () => {
    const { O, E, S, tag } = await makePeople(server, 'O', 'E', 'S')
    const sh = await makeShare(O, 'Plans', { is_external: true })
    await addMember(O, sh, E, OWNER)
    await invite(O, sh, S.email, WRITE)
    ok(await S.api.call('POST', `/users/me/invitations/${sh}?external=1`), 201)
    const flags = async (): Promise<unknown[]> =>
      Promise.all([O, E, S].map(async (person) => (await readShare(person, sh)).is_external))
    expect(await flags()).toEqual([true, false, true])
    for (const person of [O, S]) {
      expect(await namesIn(person.api)).toEqual([])
      expect(ok(await person.api.get('/folders/root?fields=children'), 200).text).not.toContain(sh)
    }
    expect(await namesIn(E.api)).toEqual(['Plans'])
    for (const [person, flag] of [
      [E, true],
      [S, false],
    ] as const) {
      const change = { permissions: OWNER, is_external: flag, external: flag }
      ok(await O.api.put(`/shares/${sh}/members/${person.email}`, change), 200)
      ok(await person.api.put(`/folders/${sh}`, { name: `Other ${tag}`, is_external: flag }), 200)
    }
    expect(await flags()).toEqual([true, false, true])
    await leave(S, sh)
    await invite(O, sh, S.email, WRITE)
    ok(await S.api.call('POST', `/users/me/invitations/${sh}?external=0`), 201)
    expect(await flags()).toEqual([true, false, false])
    expect(await namesIn(S.api)).toEqual(['Plans'])
  })

  it('moves a mount for the one who moves it [SHARE-32] [MOVE-28] [MOVE-29] [ID-10] [PATH-6]', async () => {
    const { O, E, V, sh } = await cast(server)
    const inside = await O.api.folder('inside', sh)
    const file = await O.api.file('file', inside, 'hello')
    const trees = async (): Promise<unknown[]> =>
      Promise.all([O, V].map(async ({ api }) => [await listing(api), await pathNames(api, file)]))
    const before = await trees()
    const mount = await mountOf(E, sh)
    const deep = await E.api.folder('2', await E.api.folder('1'))
    const moved = ok(await E.api.put(`/folders/${mount}`, { parent: deep }), 200)
    expect(moved.json).toMatchObject({ id: mount, parent: deep, name: 'Plans', sid: sh })
    expect(await namesIn(E.api)).toEqual(['1'])
    for (const form of [mount, sh, sh + '0'.repeat(32)]) {
      expect(ok(await E.api.get(`/folders/${form}`), 200).json).toEqual(moved.json)
      expect(await namesIn(E.api, form)).toEqual(['inside'])
    }
    expect(await pathNames(E.api, file)).toEqual(['Starling', '1', '2', 'Plans', 'inside'])
    ok(await E.api.get(`/files/${file}/content`), 200)
    const onTop = ok(await E.api.put(`/folders/${sh}`, { parent: 'root', name: 'Top' }), 200)
    expect(onTop.json).toMatchObject({ id: mount, name: 'Top', sid: sh })
    const byZeros = ok(await E.api.put(`/folders/${sh}${'0'.repeat(32)}`, { parent: deep }), 200)
    expect(byZeros.json).toMatchObject({ id: mount, name: 'Top', parent: deep })
    const mountOfV = await mountOf(V, sh)
    ok(await V.api.put(`/folders/${mountOfV}`, { parent: await V.api.folder('own') }), 200)
    expect(await pathNames(V.api, file)).toEqual(['Starling', 'own', 'Plans', 'inside'])
    expect(await pathNames(E.api, file)).toEqual(['Starling', '1', '2', 'Top', 'inside'])
    expect(await pathNames(O.api, file)).toEqual(['Starling', 'Plans', 'inside'])
    expect((await trees())[0]).toEqual(before[0])
  })

  it('takes deleting the mount for leaving [SHARE-33] [DEL-9] [DEL-10]', async () => {
    const { O, M, E, V, sh } = await cast(server)
    const file = await O.api.file('file', sh, 'hello')
    const forms = [await mountOf(E, sh), sh, `${sh}${'0'.repeat(32)}`]
    for (const [index, person] of [E, V, M].entries()) {
      ok(await person.api.delete(`/folders/${forms[index]}`), 204)
      expect(await namesIn(person.api)).toEqual([])
      expect(await sharesOf(person)).toEqual([])
      for (const id of [sh, `${sh}${'0'.repeat(32)}`]) {
        expectError(await person.api.get(`/folders/${id}`), 404)
      }
      expectError(await person.api.get(`/shares/${sh}`), 404)
      expectError(await person.api.get(`/files/${file}`), 404)
      expect(emails((await readShare(O, sh)).members)).not.toContain(person.email)
      expect(ok(await O.api.get(`/files/${file}/content`), 200).text).toBe('hello')
    }
    expectError(await E.api.get(`/folders/${forms[0]}`), 404)
    const outside = await makeShare(O, 'Outside', { is_external: true })
    await addMember(O, outside, E, OWNER)
    ok(await O.api.delete(`/folders/${outside}${'0'.repeat(32)}`), 204)
    expect(await statusOf(O, outside)).toBe(404)
    expect(emails((await readShare(E, outside)).members)).toEqual([E.email])
  })

  it('leaves all shares below a deleted folder, or none [SHARE-34] [DEL-11] [DEL-12]', async () => {
    const { O, E, V, sh } = await cast(server)
    const second = await makeShare(O, 'Second')
    await addMember(O, second, E, WRITE)
    const own = await makeShare(E, 'Own')
    await addMember(E, own, V, WRITE)
    const folder = await E.api.folder('folder')
    const deep = await E.api.folder('deep', folder)
    await E.api.file('file', folder, 'hello')
    ok(await E.api.put(`/folders/${sh}`, { parent: folder }), 200)
    ok(await E.api.put(`/folders/${second}`, { parent: deep }), 200)
    ok(await E.api.put(`/folders/${own}`, { parent: deep }), 200)
    await unchanged(server, async () => {
      expectError(await E.api.delete(`/folders/${folder}`), 409)
      expectError(await E.api.delete(`/folders/${deep}`), 409)
      expectError(await E.api.delete(`/folders/${own}`), 409)
      expectError(await E.api.delete(`/folders/${await mountOf(E, own)}`), 409)
    })
    expect((await sharesOf(E)).map(({ name }) => name)).toEqual(['Own', 'Plans', 'Second'])
    ok(await E.api.put(`/folders/${own}`, { parent: 'root' }), 200)
    ok(await E.api.delete(`/folders/${folder}`), 204)
    expect(await namesIn(E.api)).toEqual(['Own'])
    expect((await sharesOf(E)).map(({ name }) => name)).toEqual(['Own'])
    expect(emails((await readShare(O, second)).members)).toEqual([O.email])
    expect(emails((await readShare(O, sh)).members)).not.toContain(E.email)
    expectError(await E.api.get(`/folders/${second}`), 404)
  })

  describe('the end', () => {
    it('comes when the last one leaves, for all and everything [SHARE-46] [SHARE-48] [MEMBER-50] [DEL-13] [INVITATION-18] [SGROUP-28]', async () => {
      for (const way of ['members', 'mount'] as const) {
        const { O, P, L, A, N, S } = { ...(await cast(server)) }
        const sh = await makeShare(O, 'Ending')
        const folder = await O.api.folder('folder', sh)
        const file = await O.api.file('file', folder, 'hello')
        const upload = ok(await O.api.upload(file, 'he', { 'Content-Range': 'bytes 0-1/5' }), 204)
        const grp = await addGroup(A, 'Empty')
        await addShareGroup(O, sh, grp, OWNER)
        await invite(O, sh, P.email, OWNER)
        await invite(O, sh, N, OWNER)
        await addMember(O, sh, L, OWNER)
        await leave(L, sh)
        if (way === 'members') await leave(O, sh)
        else ok(await O.api.delete(`/folders/${await mountOf(O, sh)}`), 204)
        for (const { api } of [O, P, L, A, S]) {
          expectError(await api.get(`/shares/${sh}`), 404)
          for (const path of [`/folders/${sh}`, `/folders/${folder}`, `/files/${file}`]) {
            expectError(await api.get(path), 404)
          }
          expectError(await api.get(`/files/${file}/content`), 404)
        }
        const resumed = { 'Content-Range': 'bytes 2-4/5', 'Upload-ID': String(upload.headers['upload-id']) }
        expectError(await O.api.upload(file, 'llo', resumed), 404)
        const invitations = list(await P.api.get('/users/me/invitations'))
        expect(invitations.map((one) => one['share_id'])).not.toContain(sh)
        expectError(await P.api.call('POST', `/users/me/invitations/${sh}`), 404)
        expect(list(await A.api.get(`/groups/${grp}/shares`))).toEqual([])
        ok(await A.api.get(`/groups/${grp}`), 200)
        expect(await namesIn(O.api)).toEqual(['Plans'])
      }
      const left = await server.installation.db.read((tx) =>
        tx.all(`SELECT sid FROM shares WHERE name = $1`, 'Ending'),
      )
      expect(left).toEqual([])
    })

    it('comes when an admin removes the last one [SHARE-47]', async () => {
      const { O, A, S } = await makePeople(server, 'O', 'A', 'S')
      const sh = await makeShare(O, 'Plans')
      const file = await O.api.file('file', sh, 'hello')
      await invite(O, sh, S.email, OWNER)
      await remove(A, sh, O)
      for (const { api } of [O, A]) {
        expectError(await api.get(`/shares/${sh}`), 404)
        expectError(await api.get(`/files/${file}`), 404)
      }
      expect(list(await S.api.get('/users/me/invitations'))).toEqual([])
      expect(await namesIn(O.api)).toEqual([])
    })

    it('is a personal one for people of a group who leave [DEL-14] [MEMBER-45]', async () => {
      const { O, G, E, V, A, sh, grp } = await cast(server)
      await addToGroup(A, grp, V)
      const other = await makePeople(server, 'G')
      await addToGroup(A, grp, other.G)
      ok(await G.api.delete(`/folders/${await mountOf(G, sh)}`), 204)
      await leave(other.G, sh)
      for (const person of [G, other.G]) {
        expect(await statusOf(person, sh)).toBe(404)
        expectError(await person.api.get(`/folders/${sh}`), 404)
        expect(await namesIn(person.api)).toEqual([])
        expect(await sharesOf(person)).toEqual([])
      }
      expect((await readShare(V, sh)).caller_effective_permissions).toEqual(WRITE)
      ok(await O.api.put(`/shares/${sh}/groups/${grp}`, { permissions: OWNER }), 200)
      expect(await statusOf(G, sh)).toBe(404)
      await addMember(O, sh, G, VIEWER)
      expect((await readShare(G, sh)).caller_effective_permissions).toEqual(OWNER)
      await setMember(O, sh, E, VIEWER)
    })
  })
})
