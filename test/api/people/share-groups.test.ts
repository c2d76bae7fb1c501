import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { expectError, unchanged } from '../support.js'
import { namesIn } from '../tree/support.js'
import {
  addGroup,
  addMember,
  addShareGroup,
  addToGroup,
  cast,
  emails,
  expectShareGroup,
  invite,
  leave,
  list,
  makePeople,
  makeShare,
  MANAGE,
  mountOf,
  OWNER,
  readShare,
  remove,
  setMember,
  statusOf,
  tagOf,
  VIEWER,
  WEAK,
  WRITE,
  type Share,
  type ShareGroup,
} from './cast.js'
import { expectEmpty, locationOf, ok } from './support.js'

const BAD_IDS = ['0', '-5', '+5', '007', '4294967296', 'abc', '1.5', '5x']

describe.each(ENGINES)('groups in shared folders on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  it('lists them to everybody in the share [SGROUP-01] [SGROUP-02] [SGROUP-06] [FIELD-6] [SHAPE-01]', async () => {
    const { O, M, E, V, G, A, S, sh, grp } = await cast(server)
    const expected = { id: grp, name: 'Design', permissions: WRITE }
    for (const person of [O, M, E, V, G, A]) {
      const answer = await person.api.get(`/shares/${sh}/groups`)
      expect(list(answer)).toEqual([expected])
      list<ShareGroup>(answer).forEach(expectShareGroup)
      expect(answer.headers.etag).toMatch(WEAK)
      const api = await person.without('groups.read')
      const one = ok(await api.get(`/shares/${sh}/groups/${grp}`), 200)
      expect(one.json).toEqual(expected)
      expect(one.headers.etag).toBe(answer.headers.etag)
      const asMember = ok(await api.get(`/shares/${sh}/members/${grp}`), 200)
      expect(asMember.text).toBe(one.text)
      expect(asMember.headers.etag).toBe(one.headers.etag)
    }
    const unknown = await O.api.get(`/shares/${sh}/groups/7`)
    expectError(unknown, 404)
    expect((await O.api.get(`/shares/${sh}/members/7`)).text).toBe(unknown.text)
    const empty = await makeShare(S, 'Empty')
    expect(list(await S.api.get(`/shares/${empty}/groups`))).toEqual([])
  })

  it('tells unknown groups from bad identifiers [SGROUP-03] [SGROUP-04] [SGROUP-12] [SGROUP-13] [FIELD-43]', async () => {
    const { O, A, sh, grp } = await cast(server)
    const other = await addGroup(A, 'Other')
    const body = { permissions: WRITE }
    await unchanged(server, async () => {
      for (const id of ['7', '4294967295', other]) {
        expectError(await O.api.get(`/shares/${sh}/groups/${id}`), 404)
        expectError(await O.api.put(`/shares/${sh}/groups/${id}`, body), 404)
        expectError(await O.api.delete(`/shares/${sh}/groups/${id}`), 404)
      }
      for (const id of BAD_IDS) {
        const path = encodeURIComponent(id)
        expectError(await O.api.get(`/shares/${sh}/groups/${path}`), 400, id)
        expectError(await O.api.put(`/shares/${sh}/groups/${path}`, body), 400, id)
        expectError(await O.api.delete(`/shares/${sh}/groups/${path}`), 400, id)
      }
      for (const id of [...BAD_IDS, '', undefined, null, 7, Number(grp), { Base: '7' }, [grp]]) {
        const answer = await O.api.post(`/shares/${sh}/groups`, { id, permissions: WRITE })
        expectError(answer, 400, JSON.stringify(id))
        expect(answer.json.message).toContain('id')
      }
      for (const permissions of [undefined, null, 'WRITE', {}, [5], ['READ'], ['write'], ['']]) {
        expectError(await O.api.post(`/shares/${sh}/groups`, { id: other, permissions }), 400)
        expectError(await O.api.put(`/shares/${sh}/groups/${grp}`, { permissions }), 400)
      }
      expectError(await O.api.post(`/shares/${sh}/groups`, { id: '7', permissions: [] }), 404)
      expectError(await O.api.post(`/shares/${sh}/groups`, { id: grp, permissions: OWNER }), 409)
    })
  })

  it('needs the scopes and MANAGE [SGROUP-07] [SGROUP-08] [SGROUP-11]', async () => {
    const { O, E, V, G, P, L, S, A, A0, sh, grp } = await cast(server)
    const other = await addGroup(A, 'Other')
    const reading = await Promise.all([O, A].map((person) => person.without('acl.write')))
    const blind = await Promise.all([O, A].map((person) => person.without('acl.read')))
    const refuse = async (api: typeof O.api, status: number): Promise<void> => {
      const body = { id: other, permissions: OWNER }
      expectError(await api.post(`/shares/${sh}/groups`, body), status)
      expectError(await api.put(`/shares/${sh}/groups/${grp}`, body), status)
      expectError(await api.delete(`/shares/${sh}/groups/${grp}`), status)
    }
    await unchanged(server, async () => {
      for (const api of reading) await refuse(api, 403)
      for (const { api } of [E, V, G]) await refuse(api, 403)
      for (const { api } of [P, L, S, A0]) {
        await refuse(api, 404)
        for (const group of [other, '7']) {
          expectError(await api.put(`/shares/${sh}/groups/${group}`, { permissions: [] }), 404)
          expectError(await api.delete(`/shares/${sh}/groups/${group}`), 404)
        }
      }
      for (const api of blind) {
        for (const path of ['groups', `groups/${grp}`, `members/${grp}`]) {
          expectError(await api.get(`/shares/${sh}/${path}`), 403)
        }
      }
    })
    await addShareGroup(A, sh, other, VIEWER)
    ok(await A.api.put(`/shares/${sh}/groups/${other}`, { permissions: WRITE }), 200)
    ok(await A.api.delete(`/shares/${sh}/groups/${other}`), 204)
    expect(list(await A.api.get('/users/me/shares'))).toEqual([])
  })

  it('lets all people of a group in at once [SGROUP-09] [SGROUP-10] [SGROUP-13] [SGROUP-14] [SHARE-31]', async () => {
    const { O, M, S, L, A, sh } = await cast(server)
    await S.api.folder('Plans')
    const group = await addGroup(A, 'Others', S, L)
    const body = { id: group, permissions: WRITE, name: 'ignored' }
    const answer = ok(await M.api.post(`/shares/${sh}/groups`, body), 201)
    expect(answer.json).toEqual({ id: group, name: 'Others', permissions: WRITE })
    expect(locationOf(server, answer)).toBe(`/shares/${sh}/groups/${group}`)
    expect(answer.headers.etag).toBe(await tagOf(M, sh))
    for (const [person, name] of [
      [S, 'Plans (2)'],
      [L, 'Plans'],
    ] as const) {
      const share = await readShare(person, sh)
      expect(share).toMatchObject({ name, is_external: false, caller_effective_permissions: WRITE })
      expect(emails([...share.members, ...share.pending])).not.toContain(person.email)
      expect(await namesIn(person.api)).toContain(name)
      expect(list<Share>(await person.api.get('/users/me/shares')).map(({ id }) => id)).toEqual([sh])
      expect(list(await person.api.get('/users/me/invitations'))).toEqual([])
      await person.api.file(`file of ${person.first_name}`, sh, 'hello')
    }
    const empty = await addGroup(A, 'Nobody')
    await addShareGroup(O, sh, empty, OWNER)
    await remove(O, sh, M)
    await unchanged(server, async () => {
      expectError(await O.api.delete(`/shares/${sh}/members/me`), 409)
    })
  })

  it('changes nothing for direct members but what they may do [SGROUP-15]', async () => {
    const { O, V, S, A, sh } = await cast(server)
    await invite(O, sh, S.email, VIEWER)
    ok(await S.api.call('POST', `/users/me/invitations/${sh}?external=1`), 201)
    ok(await V.api.put(`/folders/${sh}`, { name: 'Ours' }), 200)
    const mount = await mountOf(V, sh)
    await addShareGroup(O, sh, await addGroup(A, 'Both', V, S), OWNER)
    expect(await readShare(V, sh)).toMatchObject({
      name: 'Ours',
      is_external: false,
      caller_effective_permissions: OWNER,
    })
    expect(await mountOf(V, sh)).toBe(mount)
    expect(await namesIn(V.api)).toEqual(['Ours'])
    expect(await readShare(S, sh)).toMatchObject({
      name: 'Plans',
      is_external: true,
      caller_effective_permissions: OWNER,
    })
    expect(await namesIn(S.api)).toEqual([])
  })

  it('lets those who left in again when the group comes, not when it changes [SGROUP-17] [ACL-12]', async () => {
    const { O, G, L, A, sh, grp } = await cast(server)
    await leave(G, sh)
    ok(await O.api.put(`/shares/${sh}/groups/${grp}`, { permissions: OWNER }), 200)
    expect(await statusOf(G, sh)).toBe(404)
    await addShareGroup(O, sh, await addGroup(A, 'Late', L, G), VIEWER)
    expect((await readShare(L, sh)).caller_effective_permissions).toEqual(VIEWER)
    expect((await readShare(G, sh)).caller_effective_permissions).toEqual(OWNER)
  })

  it('changes what its people may do at once [SGROUP-18] [SGROUP-19]', async () => {
    const { O, G, S, sh, grp } = await cast(server)
    const before = await tagOf(O, sh)
    const body = { permissions: MANAGE, id: '7', name: 'ignored' }
    const answer = ok(await O.api.put(`/shares/${sh}/groups/${grp}`, body), 200)
    expect(answer.json).toEqual({ id: grp, name: 'Design', permissions: MANAGE })
    expect(answer.headers.etag).not.toBe(before)
    expect(answer.headers.etag).toBe(await tagOf(O, sh))
    expect((await readShare(G, sh)).caller_effective_permissions).toEqual(MANAGE)
    await addMember(G, sh, S, VIEWER)
    expectError(await G.api.post('/files', { name: 'file', parent: sh }), 403)
    const again = ok(await O.api.put(`/shares/${sh}/groups/${grp}`, body), 200)
    expect(again.headers.etag).toBe(await tagOf(O, sh))
  })

  it('takes away with a group what it alone gave [SGROUP-20] [SGROUP-21]', async () => {
    const { O, E, V, G, S, A, sh, grp } = await cast(server)
    const file = await O.api.file('file', sh, 'hello')
    await addToGroup(A, grp, V)
    await addToGroup(A, grp, S)
    const second = await addGroup(A, 'Second', S)
    await addShareGroup(O, sh, second, MANAGE)
    expect((await readShare(S, sh)).caller_effective_permissions).toEqual(OWNER)
    const mount = await mountOf(S, sh)
    const answer = await O.api.delete(`/shares/${sh}/groups/${grp}`)
    expectEmpty(answer, 204)
    expect(answer.headers.etag).toBeUndefined()
    expectError(await O.api.delete(`/shares/${sh}/groups/${grp}`), 404)
    expect(await statusOf(G, sh)).toBe(404)
    for (const path of [`/folders/${sh}`, `/files/${file}`, `/files/${file}/content`]) {
      expectError(await G.api.get(path), 404)
    }
    expect(await namesIn(G.api)).toEqual([])
    expect((await readShare(V, sh)).caller_effective_permissions).toEqual(VIEWER)
    expect((await readShare(E, sh)).caller_effective_permissions).toEqual(WRITE)
    expect((await readShare(S, sh)).caller_effective_permissions).toEqual(MANAGE)
    expect(await mountOf(S, sh)).toBe(mount)
  })

  it('keeps the last owners of a share, wherever their MANAGE comes from [SGROUP-23] [SGROUP-24]', async () => {
    const { O, M, G, A, sh, grp } = await cast(server)
    ok(await O.api.put(`/shares/${sh}/groups/${grp}`, { permissions: OWNER }), 200)
    await remove(O, sh, M)
    await leave(O, sh)
    await unchanged(server, async () => {
      for (const { api } of [G, A]) {
        for (const permissions of [VIEWER, WRITE]) {
          expectError(await api.put(`/shares/${sh}/groups/${grp}`, { permissions }), 409)
        }
        expectError(await api.delete(`/shares/${sh}/groups/${grp}`), 409)
      }
    })
    await addMember(G, sh, O, MANAGE)
    ok(await G.api.put(`/shares/${sh}/groups/${grp}`, { permissions: WRITE }), 200)
    ok(await O.api.delete(`/shares/${sh}/groups/${grp}`), 204)
    expect(await statusOf(G, sh)).toBe(404)
  })

  it('destroys a share with the group of its only people [SGROUP-25]', async () => {
    const { O, G, S, A } = await makePeople(server, 'O', 'G', 'S', 'A')
    const sh = await makeShare(O, 'Plans')
    const file = await O.api.file('file', sh, 'hello')
    const group = await addGroup(A, 'Owners', G, S)
    await addShareGroup(O, sh, group, OWNER)
    await leave(O, sh)
    ok(await A.api.delete(`/shares/${sh}/groups/${group}`), 204)
    for (const person of [O, G, S, A]) {
      expect(await statusOf(person, sh)).toBe(404)
      expectError(await person.api.get(`/files/${file}`), 404)
      expect(await namesIn(person.api)).toEqual([])
    }
    expect(list(await A.api.get(`/groups/${group}/shares`))).toEqual([])
  })

  it('counts the joined people of a MANAGE group as owners, and nobody else [SGROUP-26] [SGROUP-27]', async () => {
    const { O, M, E, V, G, A, sh, grp } = await cast(server)
    await remove(O, sh, M)
    ok(await O.api.put(`/shares/${sh}/groups/${grp}`, { permissions: MANAGE }), 200)
    await setMember(O, sh, O, VIEWER)
    await setMember(G, sh, O, OWNER)
    await leave(G, sh)
    await addShareGroup(O, sh, await addGroup(A, 'Empty'), OWNER)
    await unchanged(server, async () => {
      expectError(await O.api.delete(`/shares/${sh}/members/me`), 409)
      expectError(await O.api.put(`/shares/${sh}/members/me`, { permissions: WRITE }), 409)
    })
    await addToGroup(A, grp, V)
    await leave(O, sh)
    expect((await readShare(V, sh)).caller_effective_permissions).toEqual(MANAGE)
    expect(await statusOf(E, sh)).toBe(200)
  })
})
