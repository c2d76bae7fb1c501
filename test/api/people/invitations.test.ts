import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { expectError, unchanged } from '../support.js'
import { ask, bearer, requestText } from '../../support/wire.js'
import { namesIn } from '../tree/support.js'
import {
  accept,
  addGroup,
  addMember,
  addShareGroup,
  asShare,
  cast,
  emails,
  expectInvitation,
  invite,
  leave,
  list,
  makePeople,
  makeShare,
  memberOf,
  OWNER,
  readShare,
  statusOf,
  UNKNOWN_SHARE,
  VIEWER,
  WRITE,
} from './cast.js'
import { expectEmpty, locationOf, ok } from './support.js'

const METHODS = ['GET', 'POST', 'DELETE'] as const

describe.each(ENGINES)('invitations to shared folders on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  it('shows each person their own, and none to others [INVITATION-01] [INVITATION-02] [INVITATION-03] [INVITATION-24] [SHAPE-01]', async () => {
    const { O, E, G, P, L, S, sh } = await cast(server)
    const expected = { share_id: sh, share_name: 'Plans', invited_by: O.email, permissions: WRITE }
    const all = await P.api.get('/users/me/invitations')
    expect(list(all)).toEqual([expected])
    list(all).forEach(expectInvitation)
    for (const name of ['me', P.email]) {
      const one = ok(await P.api.get(`/users/${name}/invitations/${sh}`), 200)
      expect(one.json).toEqual(expected)
      expect(one.headers.etag).toBeUndefined()
    }
    expect(all.headers.etag).toBeUndefined()
    await addMember(O, sh, S, VIEWER)
    ok(await O.api.delete(`/shares/${sh}/members/${S.email}`), 204)
    for (const person of [O, E, G, L, S]) {
      const none = await person.api.get('/users/me/invitations')
      expect(list(none)).toEqual([])
      expect(none.headers.etag).toBeUndefined()
    }
    expect(ok(await P.api.get('/users/me'), 200).json['invitations']).toEqual([expected])
  })

  it('shows the name given at creation and the inviter, also when that one has gone [INVITATION-04]', async () => {
    const { O, M, A, P, S, sh } = await cast(server)
    await invite(M, sh, P.email, WRITE)
    await invite(M, sh, S.email, WRITE)
    ok(await O.api.put(`/folders/${sh}`, { name: 'Mine' }), 200)
    await leave(M, sh)
    const expected = { share_id: sh, share_name: 'Plans', invited_by: M.email, permissions: WRITE }
    expect(list(await P.api.get('/users/me/invitations'))).toEqual([expected])
    ok(await A.api.delete(`/users/${M.email}`), 200)
    expect(list(await P.api.get('/users/me/invitations'))).toEqual([expected])
    expect(ok(await S.api.get(`/users/me/invitations/${sh}`), 200).json).toEqual(expected)
  })

  it('needs acl.invitations, and is the affair of that person and admins [INVITATION-05] [INVITATION-06] [INVITATION-07] [AUTH-34]', async () => {
    const { O, P, S, A, A0, N, sh } = await cast(server)
    const without = await Promise.all([P, S, A].map((person) => person.without('acl.invitations')))
    await unchanged(server, async () => {
      for (const api of without) {
        for (const name of ['me', P.email]) {
          expectError(await api.get(`/users/${name}/invitations`), 403)
          for (const method of METHODS) {
            expectError(await api.call(method, `/users/${name}/invitations/${sh}`), 403)
          }
        }
      }
      for (const { api } of [S, A0, O]) {
        for (const name of [P.email, N]) {
          expectError(await api.get(`/users/${name}/invitations`), 404)
          for (const method of METHODS) {
            expectError(await api.call(method, `/users/${name}/invitations/${sh}`), 404)
          }
        }
      }
      expectError(await A.api.get(`/users/${N}/invitations`), 404)
      for (const method of METHODS) {
        expectError(await A.api.call(method, `/users/${N}/invitations/${sh}`), 404)
      }
    })
    expect(list(await A.api.get(`/users/${P.email}/invitations`))).toHaveLength(1)
    ok(await A.api.get(`/users/${P.email}/invitations/${sh}`), 200)
    const share = asShare(ok(await A.api.call('POST', `/users/${P.email}/invitations/${sh}`), 201))
    expect(share).toMatchObject({ name: 'Plans', is_external: false, caller_effective_permissions: [] })
    expect(share.members).toContainEqual(memberOf(P, WRITE))
    expect((await readShare(P, sh)).caller_effective_permissions).toEqual(WRITE)
    await invite(O, sh, S.email, WRITE)
    ok(await A.api.delete(`/users/${S.email}/invitations/${sh}`), 204)
    expect(list(await S.api.get('/users/me/invitations'))).toEqual([])
  })

  it('is accepted with acl.invitations alone [INVITATION-08] [INVITATION-09] [INVITATION-10] [INVITATION-21]', async () => {
    const { P, sh } = await cast(server)
    const api = await P.holding('acl.invitations')
    const answer = ok(await api.call('POST', `/users/me/invitations/${sh}`), 201)
    const share = asShare(answer)
    expect(locationOf(server, answer)).toBe(`/shares/${sh}`)
    expect(answer.headers.etag).toBeUndefined()
    expect(share).toMatchObject({
      id: sh,
      name: 'Plans',
      pending: [],
      is_external: false,
      external: false,
      caller_effective_permissions: WRITE,
    })
    expect(share.members).toContainEqual(memberOf(P, WRITE))
    expect(await namesIn(P.api)).toEqual(['Plans'])
    expect(list(await P.api.get('/users/me/invitations'))).toEqual([])
    expectError(await api.get(`/shares/${sh}`), 403)
    expect(await readShare(P, sh)).toEqual(share)
  })

  it('is accepted inside or outside the tree [INVITATION-11] [INVITATION-12]', async () => {
    const { O, P, S, sh } = await cast(server)
    await invite(O, sh, S.email, VIEWER)
    await unchanged(server, async () => {
      for (const query of [
        'external=2',
        'external=',
        'external=true',
        'external=0&external=1',
        'external=-1',
      ]) {
        for (const share of [sh, UNKNOWN_SHARE]) {
          const answer = await P.api.call('POST', `/users/me/invitations/${share}?${query}`)
          expectError(answer, 400, query)
          expect(answer.json.message).toContain('external')
        }
      }
    })
    const outside = asShare(ok(await P.api.call('POST', `/users/me/invitations/${sh}?external=1`), 201))
    expect(outside).toMatchObject({ is_external: true, external: true, name: 'Plans' })
    expect(await namesIn(P.api)).toEqual([])
    const inside = asShare(ok(await S.api.call('POST', `/users/me/invitations/${sh}?external=0`), 201))
    expect(inside).toMatchObject({ is_external: false, external: false })
    expect(await namesIn(S.api)).toEqual(['Plans'])
  })

  it('is accepted whatever stands in the body [INVITATION-13] [FIELD-7]', async () => {
    const { O, P } = await cast(server)
    const json = { 'Content-Type': 'application/json' }
    const target = async (): Promise<string> => {
      const share = await makeShare(O, 'More')
      await invite(O, share, P.email, WRITE)
      return `/users/me/invitations/${share}?external=0`
    }
    for (const options of [
      {},
      { headers: { 'Content-Length': '0' } },
      { body: '', headers: { ...json, 'Content-Length': '0' } },
      { json: {} },
      { json: '' },
      { body: '""', headers: json },
    ]) {
      ok(await P.api.call('POST', await target(), options), 201)
    }
    const bare = await ask(
      server,
      requestText(`POST /api/v1.3${await target()}`, [bearer(P.api.token ?? '')]),
    )
    expect(bare.status).toBe(201)
  })

  it('is nothing once it is answered or revoked [INVITATION-14] [INVITATION-15] [INVITATION-18]', async () => {
    const { O, E, L, P, S, A, sh } = await cast(server)
    const gone = async (person: typeof P, share = sh): Promise<void> => {
      for (const method of METHODS) {
        expectError(await person.api.call(method, `/users/me/invitations/${share}`), 404, method)
      }
    }
    for (const person of [O, E, L, S, A]) await gone(person)
    await gone(P, UNKNOWN_SHARE)
    ok(await P.api.delete(`/users/me/invitations/${sh}`), 204)
    await gone(P)
    await invite(O, sh, P.email, WRITE)
    await accept(P, sh)
    await unchanged(server, () => gone(P))
    const other = await makeShare(S, 'Other')
    await invite(S, other, P.email, OWNER)
    await leave(S, other)
    await gone(P, other)
    for (const bad of [sh.slice(1), `${sh}0`, sh.replace(/./, 'A'), 'root', 'x', sh + sh]) {
      for (const method of METHODS) {
        expectError(await P.api.call(method, `/users/me/invitations/${bad}`), 400, bad)
      }
    }
  })

  it('may be ignored, and made anew [INVITATION-16] [INVITATION-17]', async () => {
    const { O, P, sh } = await cast(server)
    const answer = await P.api.delete(`/users/me/invitations/${sh}`)
    expectEmpty(answer, 204)
    expect(answer.headers.etag).toBeUndefined()
    const share = await readShare(O, sh)
    expect(emails([...share.pending, ...share.members])).not.toContain(P.email)
    expect(await statusOf(P, sh)).toBe(404)
    await invite(O, sh, P.email, VIEWER)
    expect(list(await P.api.get('/users/me/invitations'))).toMatchObject([{ permissions: [] }])
  })

  it('is accepted once when two accept at the same moment [INVITATION-20]', async () => {
    const { O, P, sh } = await cast(server)
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all(
        [0, 1].map(() => P.api.call('POST', `/users/me/invitations/${sh}?external=${round % 2}`)),
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 404])
      const { members } = await readShare(O, sh)
      expect(members.filter(({ email }) => email === P.email)).toHaveLength(1)
      ok(await O.api.delete(`/shares/${sh}/members/${P.email}`), 204)
      expect(await namesIn(P.api)).toEqual([])
      await invite(O, sh, P.email, WRITE)
    }
  })

  it('survives joining through a group, and no direct joining [INVITATION-22] [SGROUP-16]', async () => {
    const { O, P, S, L, A, sh } = await cast(server)
    await invite(O, sh, S.email, OWNER)
    await addMember(O, sh, P, VIEWER)
    expect(list(await P.api.get('/users/me/invitations'))).toEqual([])
    const group = await addGroup(A, 'Late', S, L)
    await invite(O, sh, L.email, OWNER)
    await addShareGroup(O, sh, group, WRITE)
    expect((await readShare(S, sh)).caller_effective_permissions).toEqual(WRITE)
    expect(emails((await readShare(S, sh)).pending)).toEqual(emails([L, S]))
    expect(list(await S.api.get('/users/me/invitations'))).toHaveLength(1)
    await accept(S, sh)
    expect((await readShare(S, sh)).caller_effective_permissions).toEqual(OWNER)
    expect(await namesIn(S.api)).toEqual(['Plans'])
    ok(await L.api.delete(`/users/me/invitations/${sh}`), 204)
    expect((await readShare(L, sh)).caller_effective_permissions).toEqual(WRITE)
    expect(await namesIn(L.api)).toEqual(['Plans'])
  })

  it('has no other methods [INVITATION-23]', async () => {
    const { P } = await makePeople(server, 'P')
    for (const [method, path, allowed] of [
      ['PUT', '', 'GET'],
      ['POST', '', 'GET'],
      ['DELETE', '', 'GET'],
      ['PUT', `/${UNKNOWN_SHARE}`, 'POST'],
      ['PATCH', `/${UNKNOWN_SHARE}`, 'DELETE'],
    ] as const) {
      const answer = await P.api.call(method, `/users/me/invitations${path}`, { json: {} })
      expectError(answer, 405, `${method} ${path}`)
      expect(answer.headers.allow).toContain(allowed)
    }
  })
})
