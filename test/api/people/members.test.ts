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
  expectMember,
  leave,
  list,
  MANAGE,
  memberOf,
  OWNER,
  readShare,
  remove,
  setMember,
  STALE,
  statusOf,
  tagOf,
  VIEWER,
  WEAK,
  WRITE,
  type Member,
  type Share,
} from './cast.js'
import { locationOf, ok } from './support.js'

const BAD_EMAILS = [
  undefined,
  null,
  '',
  '   ',
  5,
  {},
  ['a@x.test'],
  'nobody',
  'a@',
  '@x.test',
  'a@b@c',
  'a b@c',
  'me',
]
const BAD_PERMISSIONS = [
  undefined,
  null,
  'WRITE',
  {},
  [5],
  [null],
  [['WRITE']],
  ['READ'],
  ['write'],
  ['OWNER'],
  [''],
]
const SETS = [[], WRITE, MANAGE, OWNER]

describe.each(ENGINES)('members of shared folders on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  describe('reading them', () => {
    it('lists the direct members with what was granted directly [MEMBER-01] [MEMBER-02]', async () => {
      const { O, M, E, V, G, A, sh } = await cast(server)
      const expected = [memberOf(E, WRITE), memberOf(M, MANAGE), memberOf(O, OWNER), memberOf(V, VIEWER)]
      for (const { api } of [O, M, E, V, G, A]) {
        const answer = await api.get(`/shares/${sh}/members`)
        expect(list(answer)).toEqual(expected)
        expect(answer.headers.etag).toMatch(WEAK)
        for (const member of expected) {
          const one = ok(await api.get(`/shares/${sh}/members/${member.email}`), 200)
          expect(one.json).toEqual(member)
        }
      }
    })

    it('shows one of them, the caller as me, and nobody else [MEMBER-03] [MEMBER-04]', async () => {
      const { O, M, E, V, G, P, L, S, A, N, sh } = await cast(server)
      for (const person of [O, M, E, V]) {
        const answer = ok(await person.api.get(`/shares/${sh}/members/me`), 200)
        expect(answer.json['email']).toBe(person.email)
        expect(answer.headers.etag).toMatch(WEAK)
        expectMember(answer.json as unknown as Member)
      }
      for (const address of [...emails([G, P, L, S]), N, 'nobody@x.test']) {
        for (const { api } of [O, V, A])
          expectError(await api.get(`/shares/${sh}/members/${address}`), 404, address)
      }
      expectError(await G.api.get(`/shares/${sh}/members/me`), 404)
      expectError(await A.api.get(`/shares/${sh}/members/me`), 404)
    })

    it('shows direct permissions, not effective ones [MEMBER-05]', async () => {
      const { A, O, V, sh, grp } = await cast(server)
      await addToGroup(A, grp, V)
      for (const { api } of [V, O]) {
        expect(ok(await api.get(`/shares/${sh}/members/${V.email}`), 200).json).toEqual(memberOf(V, VIEWER))
      }
      expect((await readShare(V, sh)).caller_effective_permissions).toEqual(WRITE)
    })

    it('shows nothing to those who are not in the share, and needs acl.read [MEMBER-06] [MEMBER-07] [PEND-04] [SGROUP-07]', async () => {
      const { O, E, P, L, S, A, A0, sh, grp } = await cast(server)
      const paths = [
        ...['members', 'pending', 'groups', `members/${E.email}`, 'members/me', `members/${S.email}`],
        ...[`members/${grp}`, `pending/${P.email}`, 'pending/me', `pending/${S.email}`],
        ...[`groups/${grp}`, 'groups/7'],
      ]
      const blind = await Promise.all([O, A, S].map((person) => person.without('acl.read')))
      for (const path of paths) {
        for (const { api } of [P, L, S, A0]) {
          expectError(await api.get(`/shares/${sh}/${path}`), 404, path)
        }
        for (const api of blind) expectError(await api.get(`/shares/${sh}/${path}`), 403, path)
      }
    })

    it('refuses segments that are neither address, me nor group [MEMBER-09] [MEMBER-55]', async () => {
      const { O, sh, grp } = await cast(server)
      const json = { permissions: [] }
      await unchanged(server, async () => {
        for (const bad of [
          'Me',
          'nobody',
          'a@',
          '@b',
          'a@b@c',
          'a%20b@c',
          '007',
          '-5',
          '4294967296',
          '%00',
        ]) {
          expectError(await O.api.get(`/shares/${sh}/members/${bad}`), 400, bad)
          expectError(await O.api.put(`/shares/${sh}/members/${bad}`, json), 400, bad)
          expectError(await O.api.delete(`/shares/${sh}/members/${bad}`), 400, bad)
        }
        for (const group of [grp, '7']) {
          expectError(await O.api.put(`/shares/${sh}/members/${group}`, json), 400)
          expectError(await O.api.delete(`/shares/${sh}/members/${group}`), 400)
        }
      })
    })

    it('has no other methods [MEMBER-56] [PEND-25]', async () => {
      const { O, E, P, sh, grp } = await cast(server)
      await unchanged(server, async () => {
        for (const [method, path, allowed] of [
          ['PUT', 'members', 'POST'],
          ['DELETE', 'members', 'GET'],
          ['PATCH', 'members', 'GET'],
          ['POST', `members/${E.email}`, 'PUT'],
          ['PATCH', `members/${E.email}`, 'DELETE'],
          ['PUT', 'pending', 'POST'],
          ['PUT', `pending/${P.email}`, 'DELETE'],
          ['PUT', 'groups', 'POST'],
          ['POST', `groups/${grp}`, 'PUT'],
        ] as const) {
          const answer = await O.api.call(method, `/shares/${sh}/${path}`, { json: { permissions: [] } })
          expectError(answer, 405, `${method} ${path}`)
          expect(answer.headers.allow).toContain(allowed)
        }
      })
    })
  })

  describe('adding them', () => {
    it('lets somebody in without an invitation [MEMBER-10] [MEMBER-11] [MEMBER-27]', async () => {
      const { O, S, sh } = await cast(server)
      const body = { email: S.email, permissions: WRITE, first_name: 'X', last_name: 'Y' }
      const answer = ok(await O.api.post(`/shares/${sh}/members`, body), 201)
      expect(answer.json).toEqual(memberOf(S, WRITE))
      expect(locationOf(server, answer)).toBe(`/shares/${sh}/members/${S.email}`)
      expect(answer.headers.etag).toBe(await tagOf(O, sh))
      expect(ok(await O.api.get(`/shares/${sh}/members/${S.email}`), 200).json).toEqual(answer.json)
      const shares = list<Share>(await S.api.get('/users/me/shares'))
      expect(shares.map(({ id }) => id)).toEqual([sh])
      expect(await namesIn(S.api)).toEqual(['Plans'])
      expect(list(await S.api.get('/users/me/invitations'))).toEqual([])
      expect((await readShare(S, sh)).caller_effective_permissions).toEqual(WRITE)
    })

    it('is for everybody who manages, and for no one else [MEMBER-12] [MEMBER-13] [MEMBER-14] [MEMBER-15] [MEMBER-16]', async () => {
      const { O, M, E, V, G, P, L, S, A, A0, sh } = await cast(server)
      const others = await Promise.all([0, 1, 2].map(async () => server.addUser()))
      const reading = await Promise.all([O, A].map((person) => person.without('acl.write')))
      const body = (email: string | undefined): unknown => ({ email, permissions: VIEWER })
      await unchanged(server, async () => {
        for (const { api } of [E, V, G]) {
          expectError(await api.post(`/shares/${sh}/members`, body(S.email)), 403)
        }
        for (const person of [P, L, S, A0]) {
          expectError(await person.api.post(`/shares/${sh}/members`, body(others[0])), 404)
          expectError(await person.api.post(`/shares/${sh}/members`, body(person.email)), 404)
        }
        for (const api of reading) expectError(await api.post(`/shares/${sh}/members`, body(S.email)), 403)
      })
      ok(await M.api.post(`/shares/${sh}/members`, body(others[0])), 201)
      await addShareGroup(O, sh, await addGroup(A, 'Managers', S), MANAGE)
      ok(await S.api.post(`/shares/${sh}/members`, body(others[1])), 201)
      ok(await A.api.post(`/shares/${sh}/members`, body(others[2])), 201)
      expect(ok(await A.api.post(`/shares/${sh}/members`, body(A.email)), 201).json).toEqual(
        memberOf(A, VIEWER),
      )
      expect(await namesIn(A.api)).toEqual(['Plans'])
    })

    it('takes only people with an account who are no direct members yet [MEMBER-17] [MEMBER-18]', async () => {
      const { O, E, V, A, N, sh } = await cast(server)
      await unchanged(server, async () => {
        expectError(await O.api.post(`/shares/${sh}/members`, { email: N, permissions: [] }), 404)
        for (const person of [O, E, V]) {
          for (const permissions of SETS) {
            expectError(await O.api.post(`/shares/${sh}/members`, { email: person.email, permissions }), 409)
          }
        }
      })
      expectError(await O.api.get(`/shares/${sh}/pending/${N}`), 404)
      expectError(await A.api.get(`/invitees/${N}`), 404)
    })

    it('takes people who were invited, left or are in through a group [MEMBER-19] [MEMBER-20] [MEMBER-21] [MEMBER-54]', async () => {
      const { O, P, L, G, sh } = await cast(server)
      await addMember(O, sh, P, OWNER)
      expect((await readShare(P, sh)).pending).toEqual([])
      expect(list(await P.api.get('/users/me/invitations'))).toEqual([])
      expectError(await P.api.call('POST', `/users/me/invitations/${sh}`), 404)
      await addMember(O, sh, L, MANAGE)
      expect(await readShare(L, sh)).toMatchObject({ name: 'Plans', caller_effective_permissions: MANAGE })
      ok(await L.api.put(`/folders/${sh}`, { name: 'Mine' }), 200)
      await leave(L, sh)
      await addMember(O, sh, L, VIEWER)
      expect(await readShare(L, sh)).toMatchObject({ name: 'Plans', caller_effective_permissions: VIEWER })
      expect(await namesIn(L.api)).toEqual(['Plans'])
      ok(await O.api.post(`/shares/${sh}/members`, { email: G.email, permissions: [] }), 201)
      const share = await readShare(G, sh)
      expect(share.caller_effective_permissions).toEqual(WRITE)
      expect(share.members).toEqual(
        expect.arrayContaining([memberOf(P, OWNER), memberOf(L, VIEWER), memberOf(G, VIEWER)]),
      )
    })

    it('refuses bad addresses and permissions [MEMBER-22] [MEMBER-23] [MEMBER-24] [MEMBER-36] [PEND-11] [PEND-10]', async () => {
      const { O, E, S, sh } = await cast(server)
      await unchanged(server, async () => {
        for (const list of ['members', 'pending']) {
          for (const email of BAD_EMAILS) {
            const answer = await O.api.post(`/shares/${sh}/${list}`, { email, permissions: [] })
            expectError(answer, 400, JSON.stringify(email))
            expect(answer.json.message).toContain('email')
          }
          for (const permissions of BAD_PERMISSIONS) {
            const answer = await O.api.post(`/shares/${sh}/${list}`, { email: S.email, permissions })
            expectError(answer, 400, JSON.stringify(permissions))
            expect(answer.json.message).toContain('permissions')
          }
        }
        for (const permissions of BAD_PERMISSIONS) {
          const answer = await O.api.put(`/shares/${sh}/members/${E.email}`, { email: S.email, permissions })
          expectError(answer, 400, JSON.stringify(permissions))
        }
        for (const note of [5, {}, [], true]) {
          const body = { email: S.email, permissions: [], note }
          expectError(await O.api.post(`/shares/${sh}/pending`, body), 400, JSON.stringify(note))
        }
      })
      ok(await O.api.post(`/shares/${sh}/pending`, { email: S.email, permissions: [], note: null }), 201)
    })

    it('takes every set of permissions, in any order and more than once [MEMBER-25] [MEMBER-26] [PEND-11] [SHAPE-02]', async () => {
      const { O, E, S, N, sh } = await cast(server)
      for (const permissions of SETS) {
        const member = ok(await O.api.post(`/shares/${sh}/members`, { email: S.email, permissions }), 201)
        expect(member.json['permissions']).toEqual(permissions)
        expect((await readShare(S, sh)).caller_effective_permissions).toEqual(permissions)
        await remove(O, sh, S)
        const changed = ok(await O.api.put(`/shares/${sh}/members/${E.email}`, { permissions }), 200)
        expect(changed.json).toEqual(memberOf(E, permissions))
        const invited = ok(await O.api.post(`/shares/${sh}/pending`, { email: N, permissions }), 201)
        expect(invited.json['permissions']).toEqual(permissions)
      }
      const permissions = ['MANAGE', 'WRITE', 'WRITE']
      const added = ok(await O.api.post(`/shares/${sh}/members`, { email: S.email, permissions }), 201)
      expect(added.json['permissions']).toEqual(OWNER)
      const changed = ok(await O.api.put(`/shares/${sh}/members/${E.email}`, { permissions }), 200)
      expect(changed.json['permissions']).toEqual(OWNER)
      const invited = ok(await O.api.post(`/shares/${sh}/pending`, { email: N, permissions }), 201)
      expect(invited.json['permissions']).toEqual(OWNER)
    })

    it('lets one of two through who add the same person [MEMBER-28]', async () => {
      const { O, M, S, sh } = await cast(server)
      for (let round = 0; round < 3; round += 1) {
        const answers = await Promise.all([
          O.api.post(`/shares/${sh}/members`, { email: S.email, permissions: WRITE }),
          M.api.post(`/shares/${sh}/members`, { email: S.email, permissions: MANAGE }),
        ])
        expect(answers.map(({ status }) => status).sort()).toEqual([201, 409])
        const winner = answers.find(({ status }) => status === 201)
        expect(ok(await O.api.get(`/shares/${sh}/members/${S.email}`), 200).json).toEqual(winner?.json)
        expect(await namesIn(S.api)).toEqual(['Plans'])
        await remove(O, sh, S)
      }
    })
  })

  describe('changing them', () => {
    it('counts from the next request on [MEMBER-29] [MEMBER-37]', async () => {
      const { O, M, E, A, sh } = await cast(server)
      const file = await E.api.file('file', sh, 'hello')
      const before = await tagOf(O, sh)
      const answer = ok(await O.api.put(`/shares/${sh}/members/${E.email}`, { permissions: [] }), 200)
      expect(answer.json).toEqual(memberOf(E, VIEWER))
      expect(answer.headers.etag).not.toBe(before)
      expect(answer.headers.etag).toBe(await tagOf(O, sh))
      expectError(await E.api.upload(file, 'other'), 403)
      expect(ok(await E.api.get(`/files/${file}/content`), 200).text).toBe('hello')
      for (const { api } of [M, A]) {
        ok(await api.put(`/shares/${sh}/members/${E.email}`, { permissions: WRITE }), 200)
        ok(await E.api.upload(file, 'hello'), 204)
        ok(await api.put(`/shares/${sh}/members/${E.email}`, { permissions: [] }), 200)
      }
    })

    it('lets an owner step down while another remains [MEMBER-30] [MEMBER-31] [ACL-19]', async () => {
      const { O, M, E, sh } = await cast(server)
      const file = await O.api.file('file', sh, 'hello')
      await setMember(O, sh, O, MANAGE)
      expectError(await O.api.upload(file, 'other'), 403)
      await setMember(O, sh, E, VIEWER)
      const own = ok(await O.api.put(`/shares/${sh}/members/me`, { permissions: WRITE }), 200)
      expect(own.json).toEqual(memberOf(O, WRITE))
      await unchanged(server, async () => {
        expectError(await O.api.put(`/shares/${sh}/members/${E.email}`, { permissions: WRITE }), 403)
        expectError(await O.api.put(`/shares/${sh}/members/me`, { permissions: OWNER }), 403)
        // M, an owner with MANAGE alone, is the last one now.
        expectError(await M.api.put(`/shares/${sh}/members/me`, { permissions: WRITE }), 409)
      })
      ok(await O.api.upload(file, 'other'), 204)
    })

    it('lets a manager and an admin grant anything [MEMBER-32] [MEMBER-33]', async () => {
      const { O, M, V, A, sh } = await cast(server)
      await setMember(M, sh, M, OWNER)
      await setMember(M, sh, V, OWNER)
      await setMember(A, sh, O, VIEWER)
      expect((await readShare(O, sh)).caller_effective_permissions).toEqual([])
      expect((await readShare(V, sh)).caller_effective_permissions).toEqual(OWNER)
      const file = await M.api.file('file', sh, 'hello')
      ok(await V.api.delete(`/files/${file}`), 204)
    })

    it('is for managers, of direct members alone [MEMBER-34] [MEMBER-35]', async () => {
      const { O, M, E, V, G, P, L, S, A, A0, N, sh } = await cast(server)
      const put = async (by: { api: typeof O.api }, email: string, status: number): Promise<void> =>
        expectError(await by.api.put(`/shares/${sh}/members/${email}`, { permissions: OWNER }), status, email)
      await unchanged(server, async () => {
        for (const by of [E, V]) {
          for (const email of [...emails([O, M, E, V]), 'me']) await put(by, email, 403)
        }
        for (const by of [P, L, S, A0]) {
          for (const email of [...emails([O, E, G, P, L, S]), 'me']) await put(by, email, 404)
        }
        for (const by of [O, M, A]) {
          for (const email of [...emails([G, P, L, S]), N]) await put(by, email, 404)
        }
      })
    })

    it('ignores what else is in the body [MEMBER-36]', async () => {
      const { O, E, S, sh } = await cast(server)
      const body = { email: S.email, first_name: 'X', last_name: 'Y', permissions: OWNER }
      expect(ok(await O.api.put(`/shares/${sh}/members/${E.email}`, body), 200).json).toEqual(
        memberOf(E, OWNER),
      )
      expect(await statusOf(S, sh)).toBe(404)
    })

    it('never takes MANAGE from the last owner [MEMBER-39] [MEMBER-40]', async () => {
      const { O, M, S, A, sh } = await cast(server)
      await remove(O, sh, M)
      const alone = ok(await S.api.post('/shares', { name: 'Alone' }), 201).json.id
      await unchanged(server, async () => {
        for (const { api } of [O, A]) {
          for (const permissions of [VIEWER, WRITE]) {
            expectError(await api.put(`/shares/${sh}/members/${O.email}`, { permissions }), 409)
            expectError(await api.put(`/shares/${sh}/members/${O.email}`, { permissions }, STALE), 412)
          }
        }
        for (const { api } of [S, A]) {
          expectError(await api.put(`/shares/${alone}/members/${S.email}`, { permissions: WRITE }), 409)
        }
      })
      await setMember(O, sh, O, MANAGE)
    })
  })
})
