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
  expectGroup,
  expectGroupId,
  leave,
  list,
  makePeople,
  makeShare,
  MANAGE,
  OWNER,
  readShare,
  remove,
  statusOf,
  takeOut,
  VIEWER,
  WRITE,
  type Share,
} from './cast.js'
import { expectEmpty, locationOf, ok } from './support.js'

interface Group {
  readonly [key: string]: unknown
  readonly id: string
  readonly name: string
  readonly members: readonly { email: string }[]
}

const groups = (answer: Parameters<typeof list>[0]): Group[] => list<Group>(answer)

describe.each(ENGINES)('groups on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  it('are listed in slices, by name [GROUP-01] [GROUP-02] [GROUP-03] [LIMIT-4] [SHAPE-10] [GROUP-29]', async () => {
    const { A, S, O } = await makePeople(server, 'A', 'S', 'O')
    const ids = new Set<string>()
    for (let index = 0; index < 13; index += 1) {
      ids.add(await addGroup(A, `Group ${String.fromCharCode(90 - index)}`, ...(index === 0 ? [S, O] : [])))
    }
    expect(ids.size).toBe(13)
    ids.forEach(expectGroupId)
    const all = groups(await S.api.get('/groups?results=1000'))
    all.forEach(expectGroup)
    expect(all.map(({ id }) => id)).toEqual(expect.arrayContaining([...ids]))
    expect(all.find(({ name }) => name === 'Group Z')?.members).toEqual(
      [O, S].map(({ email, first_name, last_name }) => ({ email, first_name, last_name })),
    )
    const names = all.map(({ name }) => name)
    expect(names).toEqual([...names].sort())
    for (const [query, expected] of [
      ['', all.slice(0, 10)],
      ['?offset=3', all.slice(3, 13)],
      ['?results=2', all.slice(0, 2)],
      ['?offset=11&results=5', all.slice(11, 16)],
      [`?offset=${all.length - 1}`, all.slice(-1)],
      [`?offset=${all.length}`, []],
      ['?offset=4000000000', []],
      ['?results=0', []],
    ] as const) {
      const answer = await S.api.get(`/groups${query}`)
      expect(groups(answer), query).toEqual(expected)
      expect(answer.headers.etag).toBeUndefined()
    }
  })

  it('refuse bad slices before the scope is looked at [GROUP-04] [LIMIT-4]', async () => {
    const { S } = await makePeople(server, 'S')
    const blind = await S.without('groups.read')
    for (const key of ['results', 'offset']) {
      for (const value of ['-1', '1.5', '', 'abc', '1e2', ...(key === 'results' ? ['1001'] : [])]) {
        for (const api of [S.api, blind]) {
          const answer = await api.get(`/groups?${key}=${value}`)
          expectError(answer, 400, `${key}=${value}`)
          expect(answer.json.message).toContain(key)
        }
      }
    }
  })

  it('are for everybody with groups.read [GROUP-05] [GROUP-06] [GROUP-18] [GROUP-30] [AUTH-35]', async () => {
    const { A, S, G, O, E } = await makePeople(server, 'A', 'S', 'G', 'O', 'E')
    const id = await addGroup(A, 'Group', G, E)
    const people = [E, G].map(({ email, first_name, last_name }) => ({ email, first_name, last_name }))
    for (const { api } of [S, G, A]) {
      const group = ok(await api.get(`/groups/${id}`), 200)
      expect(group.json).toEqual({ id, name: 'Group', members: people })
      expectGroup(group.json)
      const members = await api.get(`/groups/${id}/members`)
      expect(list(members)).toEqual(people)
      const one = ok(await api.get(`/groups/${id}/members/${G.email}`), 200)
      expect(one.json).toEqual(people[1])
      for (const answer of [group, members, one]) expect(answer.headers.etag).toBeUndefined()
      for (const email of [O.email, 'nobody@x.test']) {
        expectError(await api.get(`/groups/${id}/members/${email}`), 404)
      }
    }
    expect(ok(await G.api.get(`/groups/${id}/members/me`), 200).json).toEqual(people[1])
    expectError(await S.api.get(`/groups/${id}/members/me`), 404)
    for (const api of [await S.without('groups.read'), await A.holding('organization.admin')]) {
      for (const path of [
        '',
        `/${id}`,
        `/${id}/members`,
        `/${id}/members/${G.email}`,
        `/${id}/shares`,
        '/7',
      ]) {
        expectError(await api.get(`/groups${path}`), 403, path)
      }
    }
  })

  it('are found by their ids [GROUP-07]', async () => {
    const { A } = await makePeople(server, 'A')
    const calls = (id: string): Promise<{ status: number }>[] => [
      A.api.get(`/groups/${id}`),
      A.api.delete(`/groups/${id}`),
      A.api.get(`/groups/${id}/members`),
      A.api.post(`/groups/${id}/members`, { email: A.email }),
      A.api.get(`/groups/${id}/members/me`),
      A.api.delete(`/groups/${id}/members/me`),
      A.api.get(`/groups/${id}/shares`),
    ]
    for (const id of ['7', '4294967295']) {
      for (const call of calls(id)) expect((await call).status).toBe(404)
    }
    for (const id of ['0', '-5', '%2B5', '007', '4294967296', 'abc']) {
      for (const call of calls(id)) expect((await call).status, id).toBe(400)
    }
  })

  it('are made by admins, with any name [GROUP-08] [GROUP-09] [GROUP-10] [GROUP-11] [GROUP-12] [AUTH-35]', async () => {
    const { A, S, G } = await makePeople(server, 'A', 'S', 'G')
    const admin = await A.holding('organization.admin')
    const A0 = await A.without('organization.admin')
    const answer = ok(await admin.post('/groups', { name: ' Design ', id: '5', members: [S.email] }), 201)
    const { id } = answer.json
    expect(answer.json).toEqual({ id, name: 'Design', members: [] })
    expectGroup(answer.json)
    expect(id).not.toBe('5')
    expect(locationOf(server, answer)).toBe(`/groups/${id}`)
    expect(answer.headers.etag).toBeUndefined()
    expect(ok(await S.api.get(`/groups/${id}`), 200).json).toEqual(answer.json)
    const twin = ok(await admin.post('/groups', { name: 'Design' }), 201).json
    expect(twin.id).not.toBe(id)
    ok(await admin.post(`/groups/${id}/members`, { email: G.email }), 201)
    await unchanged(server, async () => {
      for (const api of [S.api, A0]) {
        for (const group of [id, '7']) {
          expectError(await api.delete(`/groups/${group}`), 403)
          expectError(await api.post(`/groups/${group}/members`, { email: S.email }), 403)
          expectError(await api.delete(`/groups/${group}/members/${G.email}`), 403)
        }
        expectError(await api.post('/groups', { name: 'Design' }), 403)
      }
      for (const name of [undefined, null, 5, {}, '', '  ', 'x'.repeat(256), 'a\u0000b', 'a\nb']) {
        const refused = await admin.post('/groups', { name })
        expectError(refused, 400, JSON.stringify(name))
        expect(refused.json.message).toContain('name')
      }
    })
    ok(await admin.post('/groups', { name: 'x'.repeat(255) }), 201)
    ok(await admin.delete(`/groups/${id}/members/${G.email}`), 204)
    ok(await admin.delete(`/groups/${id}`), 204)
  })

  it('answer careless requests with clean errors [FIELD-31] [GROUP-28] [GROUP-17]', async () => {
    const { A, S } = await makePeople(server, 'A', 'S')
    const id = await addGroup(A, 'Group')
    const headers = { 'Content-Type': 'application/json' }
    await unchanged(server, async () => {
      expectError(await A.api.call('POST', '/groups', { body: 'Design', headers }), 400)
      expectError(await A.api.post(`/groups/${id}/name`, { name: 'x' }), 404)
      expectError(await A.api.put(`/groups/${id}/name`, { name: 'x' }), 404)
      for (const body of [
        { name: S.email },
        { email: null },
        { email: '' },
        { email: ' ' },
        { email: 5 },
        { email: 'me' },
        { email: 'nobody' },
        { email: 'a@b@c' },
      ]) {
        const answer = await A.api.post(`/groups/${id}/members`, body)
        expectError(answer, 400, JSON.stringify(body))
        expect(answer.json.message).toContain('email')
      }
      for (const method of ['PUT', 'PATCH']) {
        const answer = await A.api.call(method, `/groups/${id}`, { json: { name: 'x' } })
        expectError(answer, 405)
        expect(answer.headers.allow).toContain('DELETE')
      }
    })
  })

  it('let people in and into all their shares at once [GROUP-13] [GROUP-14] [GROUP-15] [GROUP-16] [GROUP-32]', async () => {
    const { O, A, S, L, N, sh, grp } = await cast(server)
    const second = await makeShare(O, 'Second')
    await addShareGroup(O, second, grp, MANAGE)
    const answer = ok(await A.api.post(`/groups/${grp}/members`, { email: S.email }), 201)
    const { email, first_name, last_name } = S
    expect(answer.json).toEqual({ email, first_name, last_name })
    expect(locationOf(server, answer)).toBe(`/groups/${grp}/members/${S.email}`)
    expect(answer.headers.etag).toBeUndefined()
    expect(await namesIn(S.api)).toEqual(['Plans', 'Second'])
    expect((await readShare(S, sh)).caller_effective_permissions).toEqual(WRITE)
    expect((await readShare(S, second)).caller_effective_permissions).toEqual(MANAGE)
    expect(list(await S.api.get('/users/me/invitations'))).toEqual([])
    expect(emails((await readShare(S, sh)).members)).not.toContain(S.email)
    await unchanged(server, async () => {
      expectError(await A.api.post(`/groups/${grp}/members`, { email: S.email }), 409)
      for (const nobody of [N, 'nobody@x.test']) {
        expectError(await A.api.post(`/groups/${grp}/members`, { email: nobody }), 404)
      }
    })
    const both = await Promise.all([0, 1].map(() => A.api.post(`/groups/${grp}/members`, { email: L.email })))
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409])
    expect(await namesIn(L.api)).toEqual(['Plans', 'Second'])
  })

  it('take away what they gave when somebody is taken out [GROUP-19] [GROUP-20]', async () => {
    const { O, A, G, V, S, sh, grp } = await cast(server)
    const file = await O.api.file('file', sh, 'hello')
    for (const person of [V, S]) await addToGroup(A, grp, person)
    const second = await addGroup(A, 'Second', S)
    await addShareGroup(O, sh, second, MANAGE)
    for (const person of [G, V, S]) {
      expectEmpty(await A.api.delete(`/groups/${grp}/members/${person.email}`), 204)
      expectError(await A.api.delete(`/groups/${grp}/members/${person.email}`), 404)
      expectError(await A.api.get(`/groups/${grp}/members/${person.email}`), 404)
    }
    expect(await statusOf(G, sh)).toBe(404)
    expectError(await G.api.get(`/files/${file}`), 404)
    expectError(await G.api.get(`/folders/${sh}`), 404)
    expect(await namesIn(G.api)).toEqual([])
    expect((await readShare(V, sh)).caller_effective_permissions).toEqual(VIEWER)
    expect((await readShare(S, sh)).caller_effective_permissions).toEqual(MANAGE)
    expect(await namesIn(S.api)).toEqual(['Plans'])
  })

  it('keep the last owner of a share in [GROUP-21] [GROUP-24] [ACL-17]', async () => {
    const { O, M, E, G, A, sh, grp } = await cast(server)
    const other = await makeShare(O, 'Other')
    await addShareGroup(O, other, grp, WRITE)
    ok(await O.api.put(`/shares/${sh}/groups/${grp}`, { permissions: OWNER }), 200)
    await remove(O, sh, M)
    await leave(O, sh)
    await unchanged(server, async () => {
      expectError(await A.api.delete(`/groups/${grp}/members/${G.email}`), 409)
      expectError(await A.api.delete(`/groups/${grp}`), 409)
      expectError(await G.api.delete(`/shares/${sh}/members/me`), 409)
      expectError(await G.api.delete(`/folders/${sh}`), 409)
    })
    ok(await A.api.get(`/groups/${grp}`), 200)
    ok(await G.api.put(`/shares/${sh}/members/${E.email}`, { permissions: MANAGE }), 200)
    await takeOut(A, grp, G)
    expect(await statusOf(G, sh)).toBe(404)
  })

  it('destroy a share with its only person, and are destroyed themselves [GROUP-22] [GROUP-23]', async () => {
    const { O, V, G, S, A } = await makePeople(server, 'O', 'V', 'G', 'S', 'A')
    const group = await addGroup(A, 'Group', G)
    const alone = await makeShare(O, 'Alone')
    await addShareGroup(O, alone, group, OWNER)
    await leave(O, alone)
    await takeOut(A, group, G)
    for (const person of [O, G, A]) expect(await statusOf(person, alone)).toBe(404)
    await addToGroup(A, group, G)
    await addToGroup(A, group, S)
    await addToGroup(A, group, V)
    const kept = await makeShare(O, 'Kept')
    await addMember(O, kept, V, VIEWER)
    await addShareGroup(O, kept, group, OWNER)
    const gone = await makeShare(O, 'Gone')
    await addShareGroup(O, gone, group, OWNER)
    await leave(O, gone)
    expectEmpty(await A.api.delete(`/groups/${group}`), 204)
    for (const path of ['', '/members', `/members/${G.email}`, '/shares']) {
      expectError(await A.api.get(`/groups/${group}${path}`), 404)
    }
    expectError(await A.api.delete(`/groups/${group}`), 404)
    expect((await readShare(O, kept)).groups).toEqual([])
    expect((await readShare(V, kept)).caller_effective_permissions).toEqual(VIEWER)
    for (const person of [G, S]) {
      expect(await statusOf(person, kept)).toBe(404)
      expect(await namesIn(person.api)).toEqual([])
    }
    for (const person of [O, G, S, V, A]) expect(await statusOf(person, gone)).toBe(404)
    expect(await namesIn(V.api)).toEqual(['Kept'])
  })

  it('let those who left in again when they come anew [GROUP-25]', async () => {
    const { A, G, sh, grp } = await cast(server)
    await leave(G, sh)
    await takeOut(A, grp, G)
    expect(await statusOf(G, sh)).toBe(404)
    await addToGroup(A, grp, G)
    expect((await readShare(G, sh)).caller_effective_permissions).toEqual(WRITE)
    expect(await namesIn(G.api)).toEqual(['Plans'])
  })

  it('show those of their shares that the caller may read [GROUP-26] [GROUP-27] [GROUP-30]', async () => {
    const { O, E, G, P, S, A, A0, sh, grp } = await cast(server)
    const second = await makeShare(O, 'Second')
    await addShareGroup(O, second, grp, VIEWER)
    const seen = async (api: typeof O.api): Promise<string[]> => {
      const answer = await api.get(`/groups/${grp}/shares`)
      expect(answer.headers.etag).toBeUndefined()
      return list<Share>(answer).map(({ id }) => id)
    }
    for (const { api } of [O, G, A]) expect(await seen(api)).toEqual([sh, second])
    expect(await seen(E.api)).toEqual([sh])
    for (const { api } of [P, S, A0]) expect(await seen(api)).toEqual([])
    for (const person of [O, A]) {
      expect(await seen(await person.without('acl.read'))).toEqual([])
    }
    expect(await seen(await O.holding(`groups.read,acl.read:${sh}`))).toEqual([sh])
    expect(await seen(await S.holding(`groups.read,acl.read:${sh}`))).toEqual([])
    const [share] = list<Share>(await G.api.get(`/groups/${grp}/shares`))
    expect(share).toEqual(await readShare(G, sh))
  })

  it('are made on the command line beside a running server [GROUP-31]', async () => {
    const { O, S } = await makePeople(server, 'O', 'S')
    const added = await server.command('group', 'add', 'By hand', '--json')
    expect(added.stderr).toBe('')
    const group = JSON.parse(added.stdout) as Group
    expectGroup(group)
    expect(ok(await S.api.get(`/groups/${group.id}`), 200).json).toEqual(group)
    const sh = await makeShare(O, 'Plans')
    await addShareGroup(O, sh, group.id, WRITE)
    const member = await server.command('group', 'member', 'add', group.id, S.email, '--json')
    const { email, first_name, last_name } = S
    expect(JSON.parse(member.stdout)).toEqual({ email, first_name, last_name })
    expect((await readShare(S, sh)).caller_effective_permissions).toEqual(WRITE)
    expect(await namesIn(S.api)).toEqual(['Plans'])
    const listed = JSON.parse((await server.command('group', 'list', '--json')).stdout) as Group[]
    expect(listed).toEqual(groups(await S.api.get('/groups?results=1000')))
    for (const args of [
      ['7', S.email],
      [group.id, 'nobody@x.test'],
      [group.id, S.email],
    ]) {
      const refused = await server.command('group', 'member', 'add', ...args)
      expect(refused).toMatchObject({ status: 1, stdout: '' })
      expect(refused.stderr.trim().split('\n')).toHaveLength(1)
    }
    expect(ok(await O.api.get(`/groups/${group.id}/members`), 200).text).toContain(S.email)
  })
})
