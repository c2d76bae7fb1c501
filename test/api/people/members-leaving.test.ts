import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { expectError, unchanged } from '../support.js'
import { namesIn } from '../tree/support.js'
import {
  accept,
  addMember,
  addToGroup,
  cast,
  emails,
  invite,
  leave,
  list,
  MANAGE,
  memberOf,
  mountOf,
  OWNER,
  readShare,
  remove,
  setMember,
  STALE,
  statusOf,
  tagOf,
  VIEWER,
  WRITE,
} from './cast.js'
import { expectEmpty, ok } from './support.js'

describe.each(ENGINES)('leaving shared folders on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  it('removes a person at once and for them alone [MEMBER-41] [MEMBER-42] [ACL-07]', async () => {
    const { O, M, A, E, V, S, sh } = await cast(server)
    const folder = await O.api.folder('folder', sh)
    const file = await O.api.file('file', folder, 'hello')
    await addMember(O, sh, S, OWNER)
    for (const [by, person] of [
      [O, E],
      [M, V],
      [A, S],
    ] as const) {
      const mount = await mountOf(person, sh)
      const answer = await by.api.delete(`/shares/${sh}/members/${person.email}`)
      expectEmpty(answer, 204)
      expect(answer.headers.etag).toBe(await tagOf(by, sh))
      expectError(await by.api.get(`/shares/${sh}/members/${person.email}`), 404)
      expectError(await by.api.delete(`/shares/${sh}/members/${person.email}`), 404)
      for (const path of [
        ...[`/shares/${sh}`, `/folders/${mount}`, `/folders/${sh}`, `/folders/${folder}`],
        ...[`/files/${file}`, `/files/${file}/content`],
      ]) {
        expectError(await person.api.get(path), 404, path)
      }
      expect(await namesIn(person.api)).toEqual([])
      expect(list(await person.api.get('/users/me/shares'))).toEqual([])
    }
    expect(await namesIn(M.api, sh)).toEqual(['folder'])
    expect(ok(await M.api.get(`/files/${file}/content`), 200).text).toBe('hello')
    expect(await namesIn(O.api)).toEqual(['Plans'])
  })

  it('leaves to a removed person what a group gives [MEMBER-43]', async () => {
    const { O, E, V, A, sh, grp } = await cast(server)
    for (const person of [E, V]) await addToGroup(A, grp, person)
    await setMember(O, sh, E, OWNER)
    const mount = await mountOf(E, sh)
    ok(await E.api.put(`/folders/${mount}`, { name: 'Ours' }), 200)
    for (const person of [E, V]) {
      await remove(O, sh, person)
      const share = await readShare(person, sh)
      expect(share.caller_effective_permissions).toEqual(WRITE)
      expect(emails(share.members)).not.toContain(person.email)
      ok(
        await person.api
          .file('file of ' + person.first_name, sh, 'x')
          .then((id) => person.api.get(`/files/${id}`)),
        200,
      )
    }
    expect(await mountOf(E, sh)).toBe(mount)
    expect((await readShare(E, sh)).name).toBe('Ours')
  })

  it('lets everybody leave without MANAGE [MEMBER-44] [MEMBER-45] [MEMBER-46]', async () => {
    const { O, M, E, V, G, A, sh, grp } = await cast(server)
    await addToGroup(A, grp, E)
    for (const person of [E, V, G, O]) {
      const answer = await person.api.delete(`/shares/${sh}/members/me`)
      expectEmpty(answer, 204)
      expect(answer.headers.etag).toMatch(/^W\/"/)
      for (const [method, path] of [
        ...([
          ['GET', ''],
          ['GET', '/members'],
          ['GET', '/members/me'],
          ['DELETE', '/members/me'],
        ] as const),
        ...([
          ['GET', '/pending'],
          ['GET', '/groups'],
        ] as const),
      ]) {
        expectError(await person.api.call(method, `/shares/${sh}${path}`), 404, `${method} ${path}`)
      }
      expectError(await person.api.get(`/folders/${sh}`), 404)
      expect(await namesIn(person.api)).toEqual([])
      expect(list(await person.api.get('/users/me/shares'))).toEqual([])
    }
    const share = await readShare(M, sh)
    expect(share.members).toEqual([memberOf(M, MANAGE)])
    expect(share.groups.map(({ id }) => id)).toEqual([grp])
  })

  it('lets nobody else remove anybody [MEMBER-47] [MEMBER-48] [MEMBER-52]', async () => {
    const { O, M, E, V, G, P, L, S, A, A0, N, sh } = await cast(server)
    await unchanged(server, async () => {
      for (const { api } of [E, V, G]) {
        for (const person of [O, M])
          expectError(await api.delete(`/shares/${sh}/members/${person.email}`), 403)
      }
      for (const person of [P, L, S, A0]) {
        for (const email of [...emails([O, E, G, P, L]), person.email, 'me']) {
          expectError(await person.api.delete(`/shares/${sh}/members/${email}`), 404, email)
        }
      }
      for (const { api } of [O, M, A]) {
        for (const email of [...emails([G, P, L, S]), N]) {
          expectError(await api.delete(`/shares/${sh}/members/${email}`), 404, email)
        }
      }
    })
    const without = await Promise.all([O, E, V, G, A].map((person) => person.without('acl.write')))
    await unchanged(server, async () => {
      for (const api of without) {
        expectError(await api.delete(`/shares/${sh}/members/me`), 403)
        expectError(await api.delete(`/shares/${sh}/members/${V.email}`), 403)
      }
    })
    expect(await statusOf(G, sh)).toBe(200)
  })

  it('keeps the last owner while others are joined, and promotion helps [MEMBER-49] [ACL-18] [PEND-26]', async () => {
    const { O, M, V, A, P, sh } = await cast(server)
    await remove(O, sh, M)
    await invite(O, sh, P.email, MANAGE)
    await unchanged(server, async () => {
      expectError(await O.api.delete(`/shares/${sh}/members/me`), 409)
      expectError(await O.api.delete(`/shares/${sh}/members/me`, STALE), 412)
      expectError(await A.api.delete(`/shares/${sh}/members/${O.email}`), 409)
      expectError(await O.api.delete(`/folders/${sh}`), 409)
    })
    await setMember(O, sh, V, MANAGE)
    await leave(O, sh)
    expect((await readShare(V, sh)).caller_effective_permissions).toEqual(MANAGE)
  })

  it('takes a removed person back like a stranger [MEMBER-53] [MEMBER-54]', async () => {
    const { O, E, V, sh } = await cast(server)
    ok(await E.api.put(`/folders/${sh}`, { name: 'Ours' }), 200)
    await remove(O, sh, E)
    await remove(O, sh, V)
    await addMember(O, sh, E, VIEWER)
    await invite(O, sh, V.email, WRITE)
    expect(await statusOf(V, sh)).toBe(404)
    await accept(V, sh)
    expect(await readShare(E, sh)).toMatchObject({ name: 'Plans', caller_effective_permissions: VIEWER })
    expect(await readShare(V, sh)).toMatchObject({ name: 'Plans', caller_effective_permissions: WRITE })
    expect(await namesIn(E.api)).toEqual(['Plans'])
    await leave(E, sh)
    await invite(O, sh, E.email, OWNER)
    await accept(E, sh)
    expect((await readShare(E, sh)).members).toContainEqual(memberOf(E, OWNER))
  })
})
