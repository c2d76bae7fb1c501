import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Answer } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { expectError, opaque, unchanged } from '../support.js'
import { expectUnmodified } from '../tree/support.js'
import {
  addGroup,
  addMember,
  addShareGroup,
  addToGroup,
  cast,
  emails,
  invite,
  MANAGE,
  OWNER,
  readShare,
  remove,
  setMember,
  STALE,
  tagOf,
  takeOut,
  VIEWER,
  WEAK,
  WRITE,
  type Cast,
} from './cast.js'
import { ok } from './support.js'

const readsOf = ({ sh, E, P, grp }: Cast): string[] => [
  `/shares/${sh}`,
  `/shares/${sh}/members`,
  `/shares/${sh}/members/${E.email}`,
  `/shares/${sh}/members/me`,
  `/shares/${sh}/members/${grp}`,
  `/shares/${sh}/pending`,
  `/shares/${sh}/pending/${P.email}`,
  `/shares/${sh}/groups`,
  `/shares/${sh}/groups/${grp}`,
]

interface Write {
  readonly method: string
  readonly path: string
  readonly json?: unknown
  readonly status: number
}

/** Every kind of write below a share, in an order in which each of them changes something. */
const writesOf = ({ sh, E, V, S, P, N, grp }: Cast, other: string): Write[] => [
  { method: 'POST', path: `/shares/${sh}/members`, json: { email: S.email, permissions: [] }, status: 201 },
  { method: 'PUT', path: `/shares/${sh}/members/${E.email}`, json: { permissions: [] }, status: 200 },
  { method: 'DELETE', path: `/shares/${sh}/members/${V.email}`, status: 204 },
  { method: 'POST', path: `/shares/${sh}/pending`, json: { email: N, permissions: [] }, status: 201 },
  { method: 'DELETE', path: `/shares/${sh}/pending/${P.email}`, status: 204 },
  { method: 'POST', path: `/shares/${sh}/groups`, json: { id: other, permissions: [] }, status: 201 },
  { method: 'PUT', path: `/shares/${sh}/groups/${grp}`, json: { permissions: [] }, status: 200 },
  { method: 'DELETE', path: `/shares/${sh}/groups/${grp}`, status: 204 },
]

describe.each(ENGINES)('tags of shared folders on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  const write = (
    api: Cast['O']['api'],
    { method, path, json }: Write,
    headers: Record<string, string>,
  ): Promise<Answer> => api.call(method, path, json === undefined ? { headers } : { json, headers })

  it('has one weak tag for a share and all that is below it [SHARE-35] [SHARE-36] [MEMBER-01] [MEMBER-03] [PEND-01] [SGROUP-01]', async () => {
    const everybody = await cast(server)
    const { O, M, E, V, G, A } = everybody
    for (const { api } of [O, M, E, V, A]) {
      const tags = new Set<unknown>()
      for (const path of readsOf(everybody)) {
        if (api === A.api && path.endsWith('/me')) continue
        const answer = ok(await api.get(path), 200)
        expect(answer.headers.etag).toMatch(WEAK)
        tags.add(answer.headers.etag)
      }
      expect(tags.size).toBe(1)
    }
    expectError(await G.api.get(`/shares/${everybody.sh}/members/me`), 404)
  })

  it('answers 304 to a current tag, in whatever form it comes [SHARE-37] [SHARE-38] [MEMBER-08] [PEND-06] [SGROUP-05]', async () => {
    const everybody = await cast(server)
    const { O, V, S, sh } = everybody
    const old = await tagOf(O, sh)
    await addMember(O, sh, S, VIEWER)
    const tag = await tagOf(O, sh)
    expect(tag).not.toBe(old)
    for (const path of readsOf(everybody)) {
      for (const value of [
        ...[tag, `"other", ${tag}`, `${old}, W/"b", ${tag}`, '*'],
        ...[`"${opaque(tag)}"`, opaque(tag)],
      ]) {
        expectUnmodified(await O.api.get(path, { 'If-None-Match': value }), tag)
      }
      for (const value of [old, '"deadbeef"', '']) {
        const answer = ok(await O.api.get(path, { 'If-None-Match': value }), 200)
        expect(answer.headers.etag).toBe(tag)
      }
      const head = await O.api.head(path, { 'If-None-Match': tag })
      expectUnmodified(head, tag)
    }
    expect(await tagOf(V, sh)).toMatch(WEAK)
  })

  it('does not take an unknown thing for an unchanged one [SHARE-39]', async () => {
    const { O, S, sh } = await cast(server)
    for (const path of [`members/${S.email}`, `pending/${S.email}`, 'groups/7', 'members/7']) {
      expectError(await O.api.get(`/shares/${sh}/${path}`, { 'If-None-Match': '*' }), 404, path)
    }
  })

  it('gives a new tag for every change that the caller can see [SHARE-40]', async () => {
    const { O, M, E, V, G, P, S, A, N, sh, grp } = await cast(server)
    const empty = await addGroup(A, 'Empty')
    let before = await tagOf(O, sh)
    const expectNew = async (about: string): Promise<void> => {
      const after = await tagOf(O, sh)
      expect(after, about).not.toBe(before)
      before = after
    }
    const expectSame = async (about: string): Promise<void> => {
      expect(await tagOf(O, sh), about).toBe(before)
    }
    await addMember(O, sh, S, VIEWER)
    await expectNew('a member more')
    await setMember(O, sh, S, WRITE)
    await expectNew('permissions of a member')
    await remove(O, sh, S)
    await expectNew('a member less')
    await invite(O, sh, N, VIEWER)
    await expectNew('somebody invited')
    await invite(O, sh, N, WRITE)
    await expectNew('invited again with other permissions')
    ok(await O.api.delete(`/shares/${sh}/pending/${N}`), 204)
    await expectNew('an invitation revoked')
    ok(await P.api.call('POST', `/users/me/invitations/${sh}`), 201)
    await expectNew('an invitation accepted')
    await addShareGroup(O, sh, empty, VIEWER)
    await expectNew('a group more')
    ok(await O.api.put(`/shares/${sh}/groups/${empty}`, { permissions: WRITE }), 200)
    await expectNew('permissions of a group')
    ok(await O.api.delete(`/shares/${sh}/groups/${empty}`), 204)
    await expectNew('a group less')
    ok(await O.api.put(`/folders/${sh}`, { name: 'Mine' }), 200)
    await expectNew('the personal name')
    ok(await E.api.put('/users/me', { first_name: 'Evelyn' }), 200)
    await expectNew('the name of a member')
    await setMember(O, sh, O, MANAGE)
    await expectNew('own direct permissions')
    await addToGroup(A, grp, O)
    expect((await readShare(O, sh)).caller_effective_permissions).toEqual(OWNER)
    await expectNew('own effective permissions')
    await takeOut(A, grp, O)
    expect((await readShare(O, sh)).caller_effective_permissions).toEqual(MANAGE)
    await expectNew('own effective permissions again')
    ok(await M.api.delete(`/shares/${sh}/members/me`), 204)
    await expectNew('somebody left')
    await expectSame('nothing')
    expect(await tagOf(V, sh)).toMatch(WEAK)
    expect(await tagOf(G, sh)).toMatch(WEAK)
  })

  it('keeps the tag where the caller sees no change [SHARE-41] [MEMBER-38] [SGROUP-19]', async () => {
    const { O, E, V, sh, grp } = await cast(server)
    const before = await tagOf(O, sh)
    ok(await E.api.put(`/folders/${sh}`, { name: 'Ours' }), 200)
    ok(await V.api.put(`/folders/${sh}`, { parent: await V.api.folder('deep') }), 200)
    const member = ok(await O.api.put(`/shares/${sh}/members/${E.email}`, { permissions: WRITE }), 200)
    expect(member.headers.etag).toBe(before)
    const group = ok(await O.api.put(`/shares/${sh}/groups/${grp}`, { permissions: WRITE }), 200)
    expect(group.headers.etag).toBe(before)
    expect(await tagOf(O, sh)).toBe(before)
  })

  it('takes every write under a current tag [SHARE-35] [SHARE-42] [MEMBER-37] [MEMBER-51] [PEND-22] [SGROUP-22] [FIELD-42]', async () => {
    const everybody = await cast(server)
    const { O, A, sh } = everybody
    const other = await addGroup(A, 'Other')
    for (const [index, request] of writesOf(everybody, other).entries()) {
      const tag = await tagOf(O, sh)
      const forms = [tag, `W/"a", ${tag}`, '*', opaque(tag)]
      const answer = await write(O.api, request, { 'If-Match': forms[index % 4] ?? '*' })
      ok(answer, request.status)
      const after = await tagOf(O, sh)
      expect(after).not.toBe(tag)
      const isSilent = request.status === 204 && !request.path.includes('/members/')
      expect(answer.headers.etag, request.path).toBe(isSilent ? undefined : after)
      expectUnmodified(await O.api.get(`/shares/${sh}`, { 'If-None-Match': `W/"a", ${after}` }), after)
    }
  })

  it('refuses every write under another tag and tells the current one [SHARE-43] [MEMBER-37] [MEMBER-51] [PEND-22] [SGROUP-22]', async () => {
    const everybody = await cast(server)
    const { O, A, S, sh } = everybody
    const other = await addGroup(A, 'Other')
    const old = await tagOf(O, sh)
    await addMember(O, sh, S, VIEWER)
    await remove(O, sh, S)
    const tag = await tagOf(O, sh)
    await unchanged(server, async () => {
      for (const request of writesOf(everybody, other)) {
        for (const stale of ['"deadbeef"', old]) {
          const answer = await write(O.api, request, { 'If-Match': stale })
          expectError(answer, 412, `${request.method} ${request.path}`)
          expect(answer.headers.etag).toBe(tag)
        }
      }
    })
    expect(await tagOf(O, sh)).toBe(tag)
  })

  it('takes an empty condition for none [SHARE-44]', async () => {
    const everybody = await cast(server)
    const other = await addGroup(everybody.A, 'Other')
    for (const request of writesOf(everybody, other)) {
      ok(await write(everybody.O.api, request, { 'If-Match': '' }), request.status)
    }
  })

  it('lets one of two writes under the same tag through [SHARE-45]', async () => {
    const { O, M, S, N, sh } = await cast(server)
    for (let round = 0; round < 3; round += 1) {
      const condition = { 'If-Match': await tagOf(O, sh) }
      const ofM = { 'If-Match': await tagOf(M, sh) }
      const answers = await Promise.all([
        O.api.post(`/shares/${sh}/pending`, { email: `${round}${S.email}`, permissions: [] }, condition),
        M.api.post(`/shares/${sh}/pending`, { email: `${round}${N}`, permissions: [] }, ofM),
      ])
      const statuses = answers.map(({ status }) => status).sort()
      expect(statuses).toEqual([201, 412])
      const pending = emails((await readShare(O, sh)).pending)
      expect(pending.filter((email) => email.startsWith(String(round)))).toHaveLength(1)
    }
  })

  it('looks at the condition after the privilege and before the state [ACL-37] [ACL-38] [MEMBER-40] [HTTP-76]', async () => {
    const { O, M, E, V, S, sh, grp, P } = await cast(server)
    await unchanged(server, async () => {
      const demotion = { permissions: [] }
      for (const { api } of [V, E]) {
        expectError(await api.put(`/shares/${sh}/members/${V.email}`, demotion, STALE), 403)
        expectError(await api.delete(`/shares/${sh}/members/${O.email}`, STALE), 403)
        expectError(await api.delete(`/shares/${sh}/pending/${P.email}`, STALE), 403)
        expectError(await api.delete(`/shares/${sh}/groups/${grp}`, STALE), 403)
      }
      expectError(await O.api.put(`/shares/${sh}/members/${S.email}`, demotion, STALE), 404)
      expectError(await O.api.post(`/shares/${sh}/members`, { email: V.email, permissions: [] }, STALE), 412)
      expectError(await O.api.post(`/shares/${sh}/groups`, { id: grp, permissions: [] }, STALE), 412)
    })
    await remove(O, sh, M)
    await unchanged(server, async () => {
      expectError(await O.api.put(`/shares/${sh}/members/me`, { permissions: [] }, STALE), 412)
      expectError(await O.api.put(`/shares/${sh}/members/me`, { permissions: [] }), 409)
      expectError(await O.api.delete(`/shares/${sh}/members/me`, STALE), 412)
    })
  })
})
