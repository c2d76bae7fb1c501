import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { expectError, unchanged } from '../support.js'
import { listing, namesIn, rootOf } from '../tree/support.js'
import {
  addGroup,
  addToGroup,
  asShare,
  cast,
  emails,
  invite,
  list,
  makePeople,
  makeShare,
  memberOf,
  mountOf,
  OWNER,
  readShare,
  remove,
  SHARE_ID,
  UNKNOWN_SHARE,
  VIEWER,
  WEAK,
  type Person,
  type Share,
} from './cast.js'
import { locationOf, ok } from './support.js'

const ONLY_OWNER = { groups: [], pending: [], caller_effective_permissions: OWNER }

describe.each(ENGINES)('shared folders on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  const made = async (person: Person, json: Record<string, unknown>): Promise<Share> =>
    asShare(ok(await person.api.post('/shares', json), 201))

  describe('making one', () => {
    it('makes the caller its only member and owner [SHARE-01] [SHARE-02] [SHARE-08] [SHARE-15] [SHAPE-04]', async () => {
      const { O } = await makePeople(server, 'O')
      const answer = ok(await O.api.post('/shares', { name: 'Plans' }), 201)
      const share = asShare(answer)
      expect(locationOf(server, answer)).toBe(`/shares/${share.id}`)
      expect(answer.headers.etag).toMatch(WEAK)
      expect(share).toEqual({
        ...ONLY_OWNER,
        id: share.id,
        name: 'Plans',
        members: [memberOf(O, OWNER)],
        is_external: false,
        external: false,
      })
      const read = ok(await O.api.get(`/shares/${share.id}`), 200)
      expect(read.json).toEqual(share)
      expect(read.headers.etag).toBe(answer.headers.etag)
      const root = await rootOf(O.api)
      expect((await listing(O.api)).folders).toEqual([
        {
          id: root.slice(0, 32) + share.id,
          name: 'Plans',
          parent: root,
          is_shared: true,
          sid: share.id,
        },
      ])
      const again = await made(O, { name: 'Plans' })
      expect(again.id).not.toBe(share.id)
      expect(again.name).toBe('Plans (2)')
    })

    it('makes an admin a member in person [SHARE-03]', async () => {
      const { A } = await makePeople(server, 'A')
      const share = await made(A, { name: 'Plans' })
      expect(share.members).toEqual([memberOf(A, OWNER)])
      expect(share.caller_effective_permissions).toEqual(OWNER)
      expect(await namesIn(A.api)).toEqual(['Plans'])
    })

    it('needs acl.write, and a good name before that [SHARE-04] [SHARE-05] [LIMIT-14]', async () => {
      const { O } = await makePeople(server, 'O')
      const reader = await O.without('acl.write')
      const bad = [
        undefined,
        null,
        5,
        ['Plans'],
        '',
        '.',
        '..',
        'a/b',
        'a\u0000b',
        'a\nb',
        'a\u007fb',
        'x'.repeat(256),
        '\u{1f600}'.repeat(256),
      ]
      await unchanged(server, async () => {
        expectError(await reader.post('/shares', { name: 'Plans' }), 403)
        for (const name of bad) {
          for (const api of [O.api, reader]) {
            const answer = await api.post('/shares', { name })
            expectError(answer, 400, JSON.stringify(name))
            expect(answer.json.message).toContain('name')
          }
        }
        const surrogate = { body: '{"name":"a\\ud800b"}', headers: { 'Content-Type': 'application/json' } }
        expectError(await O.api.call('POST', '/shares', surrogate), 400)
        expectError(await reader.call('POST', '/shares', surrogate), 400)
        expectError(await O.api.put('/users/me/password', '1234567'), 400)
      })
      for (const name of ['x', 'x'.repeat(255), '\u{1f600}'.repeat(255), ' Plans ']) {
        expect((await made(O, { name })).name).toBe(name)
      }
      ok(await O.api.put('/users/me/password', '12345678'), 200)
    })

    it('makes it external when asked to, under either key [SHARE-06] [SHARE-09] [SHARE-14] [FIELD-9]', async () => {
      const { O } = await makePeople(server, 'O')
      await O.api.folder('Plans')
      for (const json of [{ is_external: true }, { external: true }, { is_external: true, external: true }]) {
        const share = await made(O, { name: 'Plans', ...json })
        expect(share).toMatchObject({ name: 'Plans', is_external: true, external: true })
        ok(await O.api.get(`/folders/${share.id}`), 200)
      }
      expect(await namesIn(O.api)).toEqual(['Plans'])
      expect(await made(O, { name: 'Inside', is_external: false, external: false })).toMatchObject({
        is_external: false,
        external: false,
      })
      await unchanged(server, async () => {
        for (const json of [
          { is_external: 'true' },
          { is_external: 1 },
          { external: 0 },
          { external: {} },
          { is_external: true, external: false },
          { is_external: false, external: true },
        ]) {
          expectError(await O.api.post('/shares', { name: 'Plans', ...json }), 400, JSON.stringify(json))
        }
      })
      const factor = ok(await O.api.get('/users/me/two_factor'), 200).json
      expect(factor['enforce']).toBe(factor['enforced'])
    })

    it('ignores all other keys of the body [SHARE-07]', async () => {
      const { O, S } = await makePeople(server, 'O', 'S')
      const share = await made(O, {
        name: 'Plans',
        id: UNKNOWN_SHARE,
        members: [memberOf(S, OWNER)],
        groups: [{ id: '5', permissions: OWNER }],
        pending: [{ email: S.email, permissions: OWNER }],
        caller_effective_permissions: [],
        colour: null,
      })
      expect(share.id).not.toBe(UNKNOWN_SHARE)
      expect(share).toMatchObject({ ...ONLY_OWNER, members: [memberOf(O, OWNER)] })
    })

    it('numbers a name that is taken in the root, before its extension [SHARE-10] [SHARE-11] [MOVE-36]', async () => {
      const { O } = await makePeople(server, 'O')
      await O.api.file('Plans')
      await O.api.folder('report.v1.txt')
      await O.api.file('.plans')
      await O.api.folder('X')
      await O.api.folder('photo.d')
      const names: string[] = []
      for (const name of [
        ...['Plans', 'Plans', 'Plans', 'Plans (2)', 'report.v1.txt', '.plans', 'X', 'photo.d'],
        ...['X', 'photo.d'],
      ]) {
        const share = await made(O, { name })
        expect((await listing(O.api)).folders.find(({ sid }) => sid === share.id)?.name).toBe(share.name)
        names.push(share.name)
      }
      expect(names).toEqual([
        ...['Plans (2)', 'Plans (3)', 'Plans (4)', 'Plans (2) (2)', 'report.v1 (2).txt', '.plans (2)'],
        ...['X (2)', 'photo (2).d', 'X (3)', 'photo (3).d'],
      ])
    })

    it('cuts a long name so that the number fits [SHARE-12]', async () => {
      const { O } = await makePeople(server, 'O')
      const long = 'x'.repeat(255)
      const dotted = `${'y'.repeat(251)}.txt`
      await O.api.folder(long)
      await O.api.folder(dotted)
      expect((await made(O, { name: long })).name).toBe(`${'x'.repeat(251)} (2)`)
      expect((await made(O, { name: dotted })).name).toBe(`${'y'.repeat(247)} (2).txt`)
      expect((await made(O, { name: long })).name).toBe(`${'x'.repeat(251)} (3)`)
    })

    it('takes two normal forms of a name for the same one, and two cases for two [SHARE-13]', async () => {
      const { O } = await makePeople(server, 'O')
      await O.api.folder('Pl\u00e4ne')
      expect((await made(O, { name: 'Pla\u0308ne' })).name).toBe('Pla\u0308ne (2)')
      expect((await made(O, { name: 'PL\u00c4NE' })).name).toBe('PL\u00c4NE')
    })

    it('has no list, no change and no deletion of shares under 1.3 [SHARE-16]', async () => {
      const { O } = await makePeople(server, 'O')
      const id = await makeShare(O, 'Plans')
      await unchanged(server, async () => {
        for (const api of [O.api, server.client()]) {
          for (const [method, path, allowed] of [
            ['GET', '/shares', 'POST'],
            ['DELETE', `/shares/${id}`, 'GET'],
            ['PUT', `/shares/${id}`, 'GET'],
            ['PATCH', `/shares/${id}`, 'GET'],
          ] as const) {
            const answer = await api.call(method, path, method === 'GET' ? {} : { json: { name: 'x' } })
            expectError(answer, 405, `${method} ${path}`)
            expect(answer.headers.allow).toContain(allowed)
          }
        }
      })
    })

    it('has no other routes below a share under 1.3 [SHARE-49]', async () => {
      const id = UNKNOWN_SHARE
      for (const path of [
        ...[`/shares/${id}/name`, `/shares/${id}/urls`, '/organizations/x', '/stats/x', '/links'],
      ]) {
        for (const method of ['GET', 'PUT', 'POST', 'DELETE']) {
          expectError(await server.client().call(method, path), 404, `${method} ${path}`)
        }
      }
    })
  })

  describe('reading one', () => {
    it('shows it to every member, each with what they may do [SHARE-17] [SHARE-24] [SHAPE-02] [FIELD-17]', async () => {
      const { O, M, E, V, G, P, sh, grp } = await cast(server)
      for (const [person, permissions] of [
        [O, OWNER],
        [M, ['MANAGE']],
        [E, ['WRITE']],
        [V, VIEWER],
        [G, ['WRITE']],
      ] as const) {
        const answer = ok(await person.api.get(`/shares/${sh}`), 200)
        expect(answer.headers.etag).toMatch(WEAK)
        expect(answer.text).not.toContain('null')
        expect(asShare(answer)).toEqual({
          id: sh,
          name: 'Plans',
          members: [memberOf(E, ['WRITE']), memberOf(M, ['MANAGE']), memberOf(O, OWNER), memberOf(V, VIEWER)],
          groups: [{ id: grp, name: 'Design', permissions: ['WRITE'] }],
          pending: [
            {
              email: P.email,
              first_name: P.first_name,
              last_name: P.last_name,
              invited_by: O.email,
              permissions: ['WRITE'],
            },
          ],
          is_external: false,
          external: false,
          caller_effective_permissions: permissions,
        })
        expect(Object.keys(ok(await person.api.get(`/folders/${sh}`), 200).json)).toContain('sid')
      }
      const invitee = ok(await O.api.post('/invitees', { email_to: `new.${P.email}` }), 201).json
      expect(Object.keys(invitee)).toEqual(['email_to', 'email_from', 'signup_code'])
      const [invitation] = list(await P.api.get('/users/me/invitations'))
      expect(invitation).toMatchObject({ invited_by: O.email })
    })

    it('hides it from everybody else, as if it did not exist [SHARE-18]', async () => {
      const { O, E, P, L, S, A0, sh } = await cast(server)
      await remove(O, sh, E)
      const unknown = await S.api.get(`/shares/${UNKNOWN_SHARE}`)
      expectError(unknown, 404)
      for (const person of [P, L, S, A0, E]) {
        const answer = await person.api.get(`/shares/${sh}`)
        expectError(answer, 404, person.email)
        expect(answer.text.replaceAll(sh, UNKNOWN_SHARE)).toBe(unknown.text)
        expect(answer.headers.etag).toBeUndefined()
      }
    })

    it('shows it to an admin without making them a member [SHARE-19]', async () => {
      const { A, O, sh } = await cast(server)
      const share = await readShare(A, sh)
      expect(share.caller_effective_permissions).toEqual([])
      expect(share.members).toEqual((await readShare(O, sh)).members)
    })

    it('needs acl.read, of an admin too [SHARE-20]', async () => {
      const { O, A, sh } = await cast(server)
      for (const person of [O, A]) {
        const api = await person.without('acl.read')
        for (const id of [sh, UNKNOWN_SHARE]) expectError(await api.get(`/shares/${id}`), 403)
      }
    })

    it('refuses what is no share id, on every route [SHARE-21]', async () => {
      const { O, A } = await makePeople(server, 'O', 'A')
      const id = await makeShare(O, 'Plans')
      const member = { email: O.email, permissions: [] }
      const group = { id: '5', permissions: [] }
      await unchanged(server, async () => {
        for (const bad of [
          id.slice(1),
          `${id}0`,
          id.replace(/./, 'A'),
          id.replace(/./, 'g'),
          id + id,
          id + '0'.repeat(32),
          'root',
          'appdata',
          O.email,
        ]) {
          for (const [method, path, json] of [
            ['GET', ''],
            ['GET', '/members'],
            ['POST', '/members', member],
            ['GET', '/members/me'],
            ['PUT', '/members/me', member],
            ['DELETE', '/members/me'],
            ['GET', '/pending'],
            ['POST', '/pending', member],
            ['GET', '/pending/me'],
            ['DELETE', '/pending/me'],
            ['GET', '/groups'],
            ['POST', '/groups', group],
            ['GET', '/groups/5'],
            ['PUT', '/groups/5', group],
            ['DELETE', '/groups/5'],
          ] as const) {
            const options = json === undefined ? {} : { json }
            expectError(await A.api.call(method, `/shares/${bad}${path}`, options), 400, `${method} ${path}`)
          }
        }
      })
    })

    it('does not take a root for a share [SHARE-22]', async () => {
      const { O, A } = await makePeople(server, 'O', 'A')
      const root = (await rootOf(O.api)).slice(0, 32)
      for (const { api } of [O, A]) expectError(await api.get(`/shares/${root}`), 404)
    })

    it('adds what groups give to what was granted directly [SHARE-23]', async () => {
      const { A, V, sh, grp } = await cast(server)
      await addToGroup(A, grp, V)
      const share = await readShare(V, sh)
      expect(share.caller_effective_permissions).toEqual(['WRITE'])
      expect(share.members).toContainEqual(memberOf(V, VIEWER))
    })

    it('lists nobody who left, ignored or was removed [SHARE-25]', async () => {
      const { O, M, E, V, P, sh } = await cast(server)
      await remove(O, sh, V)
      ok(await P.api.delete(`/users/me/invitations/${sh}`), 204)
      const share = await readShare(O, sh)
      expect(emails(share.members)).toEqual(emails([E, M, O]))
      expect(share.pending).toEqual([])
    })
  })

  describe('shapes', () => {
    it('has the same keys in the same order, and none that is null [SHAPE-01]', async () => {
      const { O, E, V, P, A, N, sh, grp } = await cast(server)
      await invite(O, sh, N, VIEWER)
      const user = ['email', 'first_name', 'last_name']
      const everything = [...user, 'shares', 'invitations']
      const share = ['id', 'name', 'members', 'groups', 'pending']
      const view = ['is_external', 'external', 'caller_effective_permissions']
      const [device] = list(await O.api.get('/users/me/devices'))
      for (const [api, path, keys] of [
        [O.api, '/users?limit=1', ['has_more', 'data']],
        [O.api, '/users/me', everything],
        [A.api, `/users/${O.email}`, everything],
        [V.api, `/users/${O.email}`, user],
        [O.api, '/users/me/two_factor', ['enforced', 'enforce']],
        [A.api, `/invitees/${N}`, ['email_to', 'email_from', 'signup_code']],
        [V.api, `/shares/${sh}`, [...share, ...view]],
        [A.api, `/shares/${sh}`, [...share, ...view]],
        [V.api, `/shares/${sh}/members/${E.email}`, [...user, 'permissions']],
        [V.api, `/shares/${sh}/groups/${grp}`, ['id', 'name', 'permissions']],
        [V.api, `/shares/${sh}/pending/${P.email}`, [...user, 'invited_by', 'permissions']],
        [V.api, `/shares/${sh}/pending/${N}`, ['email', 'invited_by', 'permissions']],
        [P.api, `/users/me/invitations/${sh}`, ['share_id', 'share_name', 'invited_by', 'permissions']],
        [V.api, `/groups/${grp}`, ['id', 'name', 'members']],
        [O.api, `/devices/${device?.['id'] as string}`, ['id', 'owner', 'name', 'os_family', 'install_date']],
        [O.api, `/devices/${device?.['id'] as string}/status`, ['online', 'last_seen']],
        [O.api, '/users/me/quota', ['bytes_used']],
        [O.api, `/shares/${UNKNOWN_SHARE}`, ['type', 'message']],
      ] as const) {
        const answer = await api.get(path)
        expect(Object.keys(answer.json), path).toEqual(keys)
        expect(answer.text, path).not.toContain('null')
      }
      const [first] = ok(await O.api.get('/users?limit=1'), 200).json['data'] as object[]
      expect(Object.keys(first ?? {})).toEqual(user)
      const [member] = list(await V.api.get(`/groups/${grp}/members`))
      expect(Object.keys(member ?? {})).toEqual(user)
    })

    it('shows addresses trimmed and in lower case [SHAPE-03]', async () => {
      const { O, S, A, tag } = await makePeople(server, 'O', 'S', 'A')
      const id = await makeShare(O, 'Plans')
      const shout = (email: string): string => ` ${email.toUpperCase()}\t`
      const member = ok(
        await O.api.post(`/shares/${id}/members`, { email: shout(S.email), permissions: [] }),
        201,
      )
      expect(member.json['email']).toBe(S.email)
      const pending = { email: shout(`n.${tag}@x.test`), permissions: [] }
      const invited = ok(await O.api.post(`/shares/${id}/pending`, pending), 201)
      expect(invited.json['email']).toBe(`n.${tag}@x.test`)
      const group = await addGroup(A, 'Group')
      const grouped = ok(await A.api.post(`/groups/${group}/members`, { email: shout(S.email) }), 201)
      expect(grouped.json['email']).toBe(S.email)
      const share = await readShare(O, id)
      expect(emails([...share.members, ...share.pending])).toEqual([O.email, S.email, `n.${tag}@x.test`])
      const path = encodeURIComponent(shout(S.email))
      expect(ok(await O.api.get(`/shares/${id}/members/${path}`), 200).json['email']).toBe(S.email)
    })

    it('has the id of a share on its mount, and minutes in its times [SHAPE-04] [SHAPE-06] [SHAPE-11]', async () => {
      const { O } = await makePeople(server, 'O')
      const id = await makeShare(O, 'Plans')
      expect(id).toMatch(SHARE_ID)
      expect(ok(await O.api.get(`/folders/${await mountOf(O, id)}`), 200).json['sid']).toBe(id)
      const file = await O.api.file('file', id, 'hello')
      const time = /^\d{4}-\d\d-\d\dT\d\d:\d\dZ$/
      expect(ok(await O.api.get(`/files/${file}`), 200).json['last_modified']).toMatch(time)
      for (let more = 0; more < 4; more += 1) await O.holding('files.read')
      const devices = list(await O.api.get('/users/me/devices'))
      expect(devices).toHaveLength(5)
      for (const device of devices) {
        expect(Object.keys(device)).toEqual(['id', 'owner', 'name', 'os_family', 'install_date'])
        expect(device['install_date']).toMatch(time)
        expect(Math.abs(Date.now() - Date.parse(String(device['install_date'])))).toBeLessThan(3_600_000)
      }
      const keys = devices.map((device) => `${String(device['install_date'])} ${String(device['id'])}`)
      expect(keys).toEqual([...keys].sort())
    })

    it('lists people by address and groups by id [SHAPE-05] [SHAPE-07] [SHAPE-08]', async () => {
      const people = await makePeople(server, 'V', 'O', 'A', 'M', 'E')
      const { O, A, V, M, E, tag } = people
      const id = await makeShare(V, 'Plans')
      for (const person of [O, A, M, E]) {
        ok(await V.api.post(`/shares/${id}/members`, { email: person.email, permissions: [] }), 201)
      }
      const sorted = emails([A, E, M, O, V])
      expect(emails((await readShare(V, id)).members)).toEqual(sorted)
      expect(emails(list<{ email: string }>(await V.api.get(`/shares/${id}/members`)))).toEqual(sorted)
      for (const name of ['z', 'b', 'k', 'b-', 'b0']) await invite(V, id, `${name}.${tag}@x.test`, [])
      const invited = ['b-', 'b.', 'b0.', 'k.', 'z.'].map((name) =>
        name === 'b-' ? `b-.${tag}@x.test` : `${name}${tag}@x.test`,
      )
      expect(emails((await readShare(V, id)).pending)).toEqual(invited)
      expect(emails(list<{ email: string }>(await V.api.get(`/shares/${id}/pending`)))).toEqual(invited)
      const group = await addGroup(A, 'Group', V, E, O)
      const members = list<{ email: string }>(await V.api.get(`/groups/${group}/members`))
      expect(emails(members)).toEqual(emails([E, O, V]))
      const ids: string[] = []
      for (let more = 0; more < 8; more += 1) {
        ids.push(await addGroup(A, 'Group'))
        ok(await V.api.post(`/shares/${id}/groups`, { id: ids[more], permissions: [] }), 201)
      }
      expect(new Set(ids).size).toBe(8)
      expect((await readShare(V, id)).groups.map((one) => one.id)).toEqual([...ids].sort())
      const listed = list(await V.api.get(`/shares/${id}/groups`)).map((one) => one['id'])
      expect(listed).toEqual([...ids].sort())
      const users = ok(await V.api.get('/users?limit=0'), 200).json['data'] as { email: string }[]
      expect(emails(users)).toEqual([...emails(users)].sort())
      expect(emails(users)).toEqual(expect.arrayContaining(sorted))
    })

    it('lists shares, invitations and groups by name, then id [SHAPE-09] [SHAPE-10]', async () => {
      const { O, P, A, tag } = await makePeople(server, 'O', 'P', 'A')
      const names = ['b', 'B', 'a', '\uff5e', '\u{1f600}', 'b', 'a b', 'B', 'b']
      const outside = { is_external: true }
      for (const name of names) await invite(O, await makeShare(O, name, outside), P.email, [])
      const shares = list<Share>(await O.api.get('/users/me/shares'))
      expect(shares.map(({ name }) => name)).toEqual([...names].sort())
      const keys = shares.map(({ name, id }) => ({ name, id }))
      const byNameAndId = [...keys].sort((one, other) =>
        one.name === other.name ? (one.id < other.id ? -1 : 1) : one.name < other.name ? -1 : 1,
      )
      expect(keys).toEqual(byNameAndId)
      const invitations = list(await P.api.get('/users/me/invitations'))
      expect(invitations.map((one) => ({ name: one['share_name'], id: one['share_id'] }))).toEqual(keys)
      for (const name of names) await addGroup(A, `${tag} ${name}`)
      const groups = list<{ id: string; name: string }>(await A.api.get('/groups?results=1000'))
      const ours = groups.filter(({ name }) => name.startsWith(tag))
      expect(ours.map(({ name }) => name)).toEqual([...names].sort().map((name) => `${tag} ${name}`))
      for (const [index, group] of ours.entries()) {
        const next = ours[index + 1]
        if (next?.name === group.name) expect(group.id < next.id).toBe(true)
      }
    })

    it('shows name, place and permissions as the caller has them, wherever the share is shown [SHAPE-12]', async () => {
      const { O, E, A, S, G, sh, grp } = await cast(server)
      ok(await O.api.put(`/folders/${sh}`, { name: 'Mine' }), 200)
      ok(await E.api.put(`/folders/${sh}`, { name: 'Ours' }), 200)
      const view = (share: Share | undefined): unknown => [
        share?.name,
        share?.is_external,
        share?.caller_effective_permissions,
      ]
      const [ofO] = list<Share>(await A.api.get(`/users/${O.email}/shares`))
      expect(view(ofO)).toEqual(['Plans', false, []])
      const [ofGroup] = list<Share>(await A.api.get(`/groups/${grp}/shares`))
      expect(view(ofGroup)).toEqual(['Plans', false, []])
      const [seenByE] = list<Share>(await E.api.get(`/groups/${grp}/shares`))
      expect(view(seenByE)).toEqual(['Ours', false, ['WRITE']])
      expect(view(await readShare(G, sh))).toEqual(['Plans', false, ['WRITE']])
      await invite(O, sh, A.email, OWNER)
      ok(await A.api.call('POST', `/users/me/invitations/${sh}?external=1`), 201)
      const [again] = list<Share>(await A.api.get(`/users/${O.email}/shares`))
      expect(view(again)).toEqual(['Plans', true, OWNER])
      await invite(O, sh, S.email, VIEWER)
      const accepted = asShare(ok(await A.api.call('POST', `/users/${S.email}/invitations/${sh}`), 201))
      expect(view(accepted)).toEqual(['Plans', true, OWNER])
    })
  })
})
