import { describe, expect, test } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { useServer } from '../content/support.js'
import { expectError, unchanged } from '../support.js'
import {
  addGroup,
  ADMIN,
  administrator,
  expectEmpty,
  FULL,
  invite,
  listOf,
  locationOf,
  newAddress,
  newGroup,
  newShare,
  ok,
  PLAIN_KEYS,
  someone,
  USER_KEYS,
  withScopes,
  without,
  type Json,
} from './support.js'

describe.each(ENGINES)('accounts on %s', (engine) => {
  const server = useServer(engine)

  describe('reading one', () => {
    test('shows oneself whole, by `me` and by address; without shares and invitations both are empty [USER-19]', async () => {
      const { email, api } = await someone(server())
      for (const name of ['me', email]) {
        const answer = ok(await api.get(`/users/${name}`), 200)
        expect(Object.keys(answer.json)).toEqual(USER_KEYS)
        expect(answer.json).toEqual({
          email,
          first_name: 'Test',
          last_name: 'Person',
          shares: [],
          invitations: [],
        })
      }
    })

    test('needs user.read, of an admin too [USER-20] [AUTH-27]', async () => {
      const admin = await administrator(server())
      const api = await withScopes(server(), admin, without(ADMIN, 'user.read'))
      for (const path of ['/users', '/users/me', `/users/${newAddress()}`, '/users/me/two_factor'])
        expectError(await api.get(path), 403, path)
      for (const path of ['/users/me/devices', '/users/me/quota']) expectError(await api.get(path), 403, path)
      const only = await withScopes(server(), admin, 'user.read')
      for (const path of ['', '/me', '/me/two_factor', '/me/devices', '/me/quota'])
        ok(await only.get(`/users${path}`), 200)
    })

    test('shares need acl.read and invitations acl.invitations, for oneself and for an admin [USER-21] [USER-22] [USER-24] [AUTH-28]', async () => {
      const admin = await administrator(server())
      const owner = await someone(server())
      const guest = await someone(server())
      const [joined, open] = [await newShare(guest.api, 'Mine'), await newShare(owner.api, 'Open')]
      await invite(owner.api, open, guest.email, ['WRITE'])
      const look = async (scopes: string, caller = guest): Promise<Json> =>
        ok(await (await withScopes(server(), caller, scopes)).get(`/users/${guest.email}`), 200).json
      const invitation = {
        share_id: open,
        share_name: 'Open',
        invited_by: owner.email,
        permissions: ['WRITE'],
      }
      for (const [caller, scopes] of [
        [guest, FULL],
        [admin, ADMIN],
      ] as const) {
        const whole = await look(scopes, caller)
        expect((whole['shares'] as Json[]).map(({ id }) => id)).toEqual([joined])
        expect(whole['invitations']).toEqual([invitation])
        const blind = await look(without(scopes, 'acl.read'), caller)
        expect([blind['shares'], blind['invitations']]).toEqual([[], [invitation]])
        const uninvited = await look(without(scopes, 'acl.invitations'), caller)
        expect((uninvited['shares'] as Json[]).map(({ id }) => id)).toEqual([joined])
        expect(uninvited['invitations']).toEqual([])
      }
    })

    test('of another person shows address and names, and no more without the admin’s scope [USER-23] [USER-25] [AUTH-63]', async () => {
      const owner = await someone(server())
      await newShare(owner.api)
      const admin = await administrator(server())
      for (const api of [(await someone(server())).api, admin.ordinary]) {
        const answer = ok(await api.get(`/users/${owner.email}`), 200)
        expect(Object.keys(answer.json)).toEqual(PLAIN_KEYS)
        expect(answer.json['email']).toBe(owner.email)
      }
      expect(Object.keys((await admin.api.get(`/users/${owner.email}`)).json)).toEqual(USER_KEYS)
    })

    test('of nobody is 404, of an invitee too, and no answer has a tag [USER-26] [USER-27]', async () => {
      const [{ api, email }, admin] = [await someone(server()), await administrator(server())]
      const invited = newAddress('invited')
      ok(await api.post('/invitees', { email_to: invited }), 201)
      for (const caller of [api, admin.api]) {
        for (const address of [invited, newAddress()])
          expectError(await caller.get(`/users/${address}`), 404, address)
        expect((await caller.get('/users/me')).headers['etag']).toBeUndefined()
        expect((await caller.get(`/users/${email}`)).headers['etag']).toBeUndefined()
      }
    })
  })

  describe('making one', () => {
    const body = (email: string): Json => ({ email, first_name: 'Ann', last_name: 'Ames' })

    test('answers 201 with the whole user and where it is [USER-28] [USER-29]', async () => {
      const admin = await administrator(server())
      const owner = await someone(server())
      const email = newAddress()
      const share = await newShare(owner.api)
      await invite(owner.api, share, email, [])
      const api = await withScopes(server(), admin, 'user.write,user.read,organization.admin,acl.invitations')
      const made = ok(await api.post('/users', body(email)), 201)
      expect(Object.keys(made.json)).toEqual(USER_KEYS)
      expect(made.json).toEqual({
        ...body(email),
        shares: [],
        invitations: [{ share_id: share, share_name: 'Plans', invited_by: owner.email, permissions: [] }],
      })
      expect(locationOf(server(), made)).toBe(`/users/${email}`)
      expect(ok(await api.get(`/users/${email}`), 200).json).toEqual(made.json)
      const blind = await withScopes(server(), admin, 'user.write,organization.admin')
      const second = newAddress()
      await invite(owner.api, share, second, [])
      expect(ok(await blind.post('/users', body(second)), 201).json['invitations']).toEqual([])
    })

    test('takes the address trimmed and in lower case, the names trimmed [USER-30] [USER-34]', async () => {
      const admin = await administrator(server())
      const email = newAddress()
      const made = ok(
        await admin.api.post('/users', {
          email: `  ${email.toUpperCase()} `,
          first_name: '  Ann ',
          last_name: ' Ames B.  ',
        }),
        201,
      )
      expect(made.json).toMatchObject({ email, first_name: 'Ann', last_name: 'Ames B.' })
      expect(locationOf(server(), made)).toBe(`/users/${email}`)
      const changed = ok(await admin.api.put(`/users/${email}`, { first_name: ' Bea  ' }), 200)
      expect(changed.json['first_name']).toBe('Bea')
    })

    test('of a taken address is 409 in any case, and nothing changes [USER-31]', async () => {
      const admin = await administrator(server())
      const { email } = await someone(server())
      await unchanged(server(), async () => {
        for (const address of [email, email.toUpperCase(), ` ${email}`])
          expectError(await admin.api.post('/users', body(address)), 409, address)
      })
    })

    test('needs user.write and organization.admin, whether the address is taken or not [USER-32] [AUTH-30]', async () => {
      const admin = await administrator(server())
      const { email, api } = await someone(server())
      const refused = [
        api,
        admin.ordinary,
        await withScopes(server(), admin, without(ADMIN, 'user.write')),
        await withScopes(server(), admin, 'organization.admin'),
      ]
      await unchanged(server(), async () => {
        for (const caller of refused) {
          expectError(await caller.post('/users', body(newAddress())), 403)
          expectError(await caller.post('/users', body(email)), 403)
          expectError(await caller.delete(`/users/${email}`), 403)
        }
      })
    })

    test('refuses what is missing or no proper value, by name and before any scope [USER-33] [USER-35] [USER-08] [USER-11]', async () => {
      const admin = await administrator(server())
      const powerless = await withScopes(server(), admin, 'files.read')
      const good = body(newAddress())
      const bad: unknown[] = [undefined, '', '   ', 7, null, [], {}, true]
      const names = ['x'.repeat(256), 'a\u0000b', 'a\nb', '\u007f']
      const addresses = [
        'me',
        'nobody',
        '@x.test',
        'a@',
        'a@b@c',
        'a b@x.test',
        'a\tb@x.test',
        'a\u0000@x.test',
        `${'x'.repeat(320)}@x.test`,
      ]
      await unchanged(server(), async () => {
        for (const caller of [admin.api, powerless]) {
          for (const [key, values] of [
            ['email', [...bad, ...addresses]],
            ['first_name', [...bad, ...names]],
            ['last_name', [...bad, ...names]],
          ] as const) {
            for (const value of values) {
              const answer = await caller.post('/users', { ...good, [key]: value })
              expectError(answer, 400, `${key} ${String(value)}`)
              expect(answer.json.message).toContain(key)
            }
          }
        }
      })
      ok(await admin.api.post('/users', { ...good, first_name: 'x'.repeat(255) }), 201)
    })

    test('takes nothing else from the body [USER-36] [USER-17]', async () => {
      const admin = await administrator(server())
      const owner = await someone(server())
      const share = await newShare(owner.api)
      const extra = {
        shares: [{ id: share }],
        invitations: [{ share_id: share }],
        is_admin: true,
        id: 'x',
        quota: 1,
      }
      const email = newAddress()
      const made = ok(await admin.api.post('/users', { ...body(email), ...extra }), 201)
      expect(made.json).toEqual({ ...body(email), shares: [], invitations: [] })
      const put = ok(await admin.api.put(`/users/${email}`, { first_name: 'Bea', ...extra }), 200)
      expect(put.json).toEqual({ ...body(email), first_name: 'Bea', shares: [], invitations: [] })
      expectError(
        await server()
          .client(await server().addToken(email, FULL))
          .post('/groups', { name: 'x' }),
        403,
      )
    })

    test('ends the invitation to register [USER-37]', async () => {
      const admin = await administrator(server())
      const email = newAddress()
      ok(await admin.api.post('/invitees', { email_to: email }), 201)
      ok(await admin.api.post('/users', body(email)), 201)
      expectError(await admin.api.get(`/invitees/${email}`), 404)
      const left = await server().installation.db.read((tx) =>
        tx.all('SELECT code FROM invitees WHERE email = $1', email),
      )
      expect(left).toEqual([])
    })

    test('twice at the same moment makes one [USER-39]', async () => {
      const admin = await administrator(server())
      for (let round = 0; round < 4; round += 1) {
        const email = newAddress('twin')
        const answers = await Promise.all([1, 2].map(() => admin.api.post('/users', body(email))))
        expect(answers.map(({ status }) => status).sort()).toEqual([201, 409])
        const page = (await admin.api.get('/users?limit=0')).json['data'] as Json[]
        expect(page.filter((user) => user['email'] === email)).toHaveLength(1)
      }
    })
  })

  describe('changing one', () => {
    test('changes one’s own names, one or both, again and again [USER-40] [USER-41] [USER-47] [AUTH-29]', async () => {
      const { email, api } = await someone(server())
      const put = async (names: Json): Promise<Json> => ok(await api.put('/users/me', names), 200).json
      const both = await put({ first_name: 'Ann', last_name: 'Ames' })
      expect(Object.keys(both)).toEqual(USER_KEYS)
      expect(both).toMatchObject({ email, first_name: 'Ann', last_name: 'Ames' })
      expect(await put({ first_name: 'Bea' })).toMatchObject({ first_name: 'Bea', last_name: 'Ames' })
      expect(await put({ last_name: 'Byrd' })).toMatchObject({ first_name: 'Bea', last_name: 'Byrd' })
      const again = await put({ first_name: 'Bea', last_name: 'Byrd' })
      expect(await put({ first_name: 'Bea', last_name: 'Byrd' })).toEqual(again)
      expect((await api.get(`/users/${email}`)).json).toEqual(again)
    })

    test('refuses a name that is none, and then changes neither [USER-42] [USER-35]', async () => {
      const { api } = await someone(server())
      await unchanged(server(), async () => {
        for (const names of [{}, { email: 'a@x.test' }]) expectError(await api.put('/users/me', names), 400)
        for (const bad of ['', '  ', null, 7, [], 'x'.repeat(256), 'a\u0007']) {
          expectError(await api.put('/users/me', { first_name: bad, last_name: 'Good' }), 400, String(bad))
          expectError(await api.put('/users/me', { first_name: 'Good', last_name: bad }), 400, String(bad))
        }
      })
    })

    test('never changes the address [USER-43] [FIELD-8]', async () => {
      const { email, api } = await someone(server())
      const other = newAddress()
      for (const address of [other, 'nonsense', null]) {
        const answer = ok(await api.put('/users/me', { email: address, first_name: 'Bea' }), 200)
        expect(answer.json['email']).toBe(email)
      }
      expectError(await api.get(`/users/${other}`), 404)
      const invited = ok(await api.post('/invitees', { email_to: other, email_from: 'z@x.test' }), 201)
      expect(invited.json['email_from']).toBe(email)
    })

    test('of others takes an admin; to everybody else it is forbidden, existing or not [USER-44] [USER-45] [USER-46] [AUTH-29] [AUTH-62]', async () => {
      const admin = await administrator(server())
      const { email } = await someone(server())
      const stranger = await someone(server())
      const names = { first_name: 'New' }
      const changed = ok(await admin.api.put(`/users/${email}`, names), 200)
      expect(changed.json).toMatchObject({ email, first_name: 'New' })
      expectError(await admin.api.put(`/users/${newAddress()}`, names), 404)
      const unwriting = await withScopes(server(), stranger, without(FULL, 'user.write'))
      const weak = await withScopes(server(), admin, without(ADMIN, 'user.write'))
      await unchanged(server(), async () => {
        for (const api of [stranger.api, admin.ordinary]) {
          const answers = [
            await api.put(`/users/${email}`, names),
            await api.put(`/users/${newAddress()}`, names),
          ]
          for (const answer of answers) expectError(answer, 403)
          expect(answers[0]?.text).toBe(answers[1]?.text)
        }
        expectError(await unwriting.put('/users/me', names), 403)
        expectError(await weak.put(`/users/${email}`, names), 403)
      })
    })

    test('shows in shares and groups at once, under a new tag [USER-48]', async () => {
      const admin = await administrator(server())
      const { email, api } = await someone(server())
      const share = await newShare(api)
      const group = await newGroup(admin.api, email)
      const before = (await api.get(`/shares/${share}`)).headers['etag']
      ok(await api.put('/users/me', { first_name: 'Renamed' }), 200)
      const after = ok(await api.get(`/shares/${share}`), 200)
      expect(after.json['members']).toMatchObject([{ email, first_name: 'Renamed' }])
      expect(after.headers['etag']).not.toBe(before)
      expect((await api.get(`/groups/${group}`)).json['members']).toMatchObject([{ first_name: 'Renamed' }])
    })
  })

  describe('shares and groups of one', () => {
    test('lists the shares that one has joined, with a tag that follows every change [USER-49] [USER-50] [USER-51]', async () => {
      const admin = await administrator(server())
      const owner = await someone(server())
      const { email, api } = await someone(server())
      const other = await someone(server())
      expect(listOf(await api.get('/users/me/shares'))).toEqual([])
      const direct = await newShare(api, 'Direct')
      const external = await newShare(api, 'External', { is_external: true })
      const throughGroup = await newShare(owner.api, 'Grouped')
      await addGroup(owner.api, throughGroup, await newGroup(admin.api, email), [])
      const pending = await newShare(owner.api, 'Pending')
      await invite(owner.api, pending, email, [])
      const left = await newShare(owner.api, 'Left')
      ok(await owner.api.post(`/shares/${left}/members`, { email, permissions: [] }), 201)
      ok(await api.delete(`/shares/${left}/members/me`), 204)

      let tag = ''
      const ids = async (): Promise<unknown[]> => {
        const answer = await api.get('/users/me/shares')
        const list = listOf(answer)
        expect(answer.headers['etag']).toMatch(/^W\/".+"$/)
        expect(answer.headers['etag']).not.toBe(tag)
        tag = String(answer.headers['etag'])
        const same = await api.get('/users/me/shares', { 'If-None-Match': tag })
        expect([same.status, same.body.length, same.headers['etag']]).toEqual([304, 0, tag])
        return list.map(({ id }) => id)
      }
      expect(await ids()).toEqual([direct, external, throughGroup])
      const changes: (() => Promise<unknown>)[] = [
        () => api.post(`/users/me/invitations/${pending}`, {}),
        () => api.delete(`/shares/${pending}/members/me`),
        () => api.post(`/shares/${direct}/members`, { email: other.email, permissions: [] }),
        () => api.put(`/shares/${direct}/members/${other.email}`, { permissions: ['WRITE'] }),
        () => api.put(`/folders/${direct}`, { name: 'My own name' }),
        () => other.api.put('/users/me', { first_name: 'Nemo' }),
        () => api.post(`/shares/${direct}/pending`, { email: newAddress(), permissions: [] }),
      ]
      for (const [index, change] of changes.entries()) {
        await change()
        const told = await ids()
        expect(told.includes(pending)).toBe(index === 0)
      }
    })

    test('needs acl.read and nothing else; of others an admin [USER-52] [USER-53] [USER-54] [AUTH-65]', async () => {
      const admin = await administrator(server())
      const owner = await someone(server())
      const share = await newShare(owner.api)
      const stranger = await someone(server())
      ok(await (await withScopes(server(), owner, 'acl.read')).get('/users/me/shares'), 200)
      const blind = await withScopes(server(), owner, without(FULL, 'acl.read'))
      expectError(await blind.get('/users/me/shares'), 403)
      for (const api of [stranger.api, admin.ordinary]) {
        for (const part of ['shares', 'invitations', 'devices', 'quota', 'groups']) {
          const seen = await api.get(`/users/${owner.email}/${part}`)
          const unseen = await api.get(`/users/${newAddress()}/${part}`)
          expectError(seen, 404, part)
          expectError(unseen, 404, part)
        }
      }
      expect(listOf(await admin.api.get(`/users/${owner.email}/shares`)).map(({ id }) => id)).toEqual([share])
      expectError(await admin.api.get(`/users/${newAddress()}/shares`), 404)
    })

    test('lists the groups one is in, with user.read and groups.read [USER-55] [USER-56] [USER-57] [AUTH-40]', async () => {
      const admin = await administrator(server())
      const { email, api } = await someone(server())
      const stranger = await someone(server())
      expect(listOf(await api.get('/users/me/groups'))).toEqual([])
      const id = await newGroup(admin.api, email, stranger.email)
      const groups = listOf(await api.get('/users/me/groups'))
      expect(groups).toEqual([
        {
          id,
          name: 'Group',
          members: [email, stranger.email].sort().map((address) => ({
            email: address,
            first_name: 'Test',
            last_name: 'Person',
          })),
        },
      ])
      for (const scope of ['user.read', 'groups.read']) {
        const lacking = await withScopes(server(), { email, api, token: '' }, without(FULL, scope))
        expectError(await lacking.get('/users/me/groups'), 403, scope)
      }
      ok(
        await (
          await withScopes(server(), { email, api, token: '' }, 'user.read,groups.read')
        ).get('/users/me/groups'),
        200,
      )
      expectError(await stranger.api.get(`/users/${email}/groups`), 404)
      expect(listOf(await admin.api.get(`/users/${email}/groups`))).toEqual(groups)
      expectError(await admin.api.get(`/users/${newAddress()}/groups`), 404)
    })
  })

  describe('deleting one', () => {
    test('takes an admin with user.write, works once, and is forbidden to everybody else [USER-58] [USER-59] [USER-60] [USER-61] [AUTH-30] [HTTP-80]', async () => {
      const admin = await administrator(server())
      const { email, api } = await someone(server())
      const stranger = await someone(server())
      const weak = await withScopes(server(), admin, without(ADMIN, 'user.write'))
      await unchanged(server(), async () => {
        expectError(await api.delete('/users/me'), 403)
        expectError(await api.delete(`/users/${email}`), 403)
        for (const caller of [stranger.api, admin.ordinary, weak]) {
          const answers = [
            await caller.delete(`/users/${email}`),
            await caller.delete(`/users/${newAddress()}`),
          ]
          for (const answer of answers) expectError(answer, 403)
          expect(answers[0]?.text).toBe(answers[1]?.text)
        }
        expectError(await admin.api.delete(`/users/${newAddress()}`), 404)
      })
      expectEmpty(await admin.api.delete(`/users/${email}`), 200)
      expectError(await admin.api.get(`/users/${email}`), 404)
      expectError(await admin.api.delete(`/users/${email}`), 404)
    })
  })

  test('`me` is the caller wherever an address stands, of an admin too, and in paths alone [USER-09] [USER-10] [USER-11] [AUTH-66]', async () => {
    const admin = await administrator(server())
    const { email, api } = await someone(server())
    const share = await newShare(api)
    expect((await admin.api.get('/users/me')).json['email']).toBe(admin.email)
    expect((await api.get('/users/me')).json['email']).toBe(email)
    expect((await api.get(`/shares/${share}/members/me`)).json['email']).toBe(email)
    expectError(await api.get(`/shares/${share}/pending/me`), 404)
    await invite(api, share, admin.email, [])
    expect((await admin.api.get(`/shares/${share}/pending/me`)).json['email']).toBe(admin.email)
    expectError(await admin.api.get('/invitees/me'), 404)
    for (const part of ['shares', 'invitations', 'groups', 'devices'])
      listOf(await admin.api.get(`/users/me/${part}`))
    expectEmpty(await api.put('/users/me/password', 'a new password'), 200)
    expectEmpty(await api.delete('/users/me/two_factor'), 204)
    expectEmpty(await api.delete('/users/me/password'), 200)
    await unchanged(server(), async () => {
      expectError(await api.post('/invitees', { email_to: 'me' }), 400)
      expectError(await api.post(`/shares/${share}/members`, { email: 'me', permissions: [] }), 400)
      expectError(await api.post(`/shares/${share}/pending`, { email: 'me', permissions: [] }), 400)
    })
  })

  test('an admin’s token without the scope is an ordinary one everywhere [AUTH-67]', async () => {
    const { ordinary } = await administrator(server())
    const owner = await someone(server())
    const share = await newShare(owner.api)
    for (const address of [owner.email, newAddress()]) {
      expectError(await ordinary.get(`/invitees/${address}`), 403)
      expectError(await ordinary.delete(`/invitees/${address}`), 403)
      expectError(await ordinary.put(`/users/${address}`, { first_name: 'X' }), 403)
      expectError(await ordinary.put(`/users/${address}/password`, 'long enough'), 403)
      expectError(await ordinary.get(`/users/${address}/two_factor`), 403)
      expectError(await ordinary.delete(`/users/${address}`), 403)
    }
    expectError(await ordinary.post('/groups', { name: 'G' }), 403)
    for (const part of ['', '/members', '/pending', '/groups'])
      expectError(await ordinary.get(`/shares/${share}${part}`), 404)
  })

  test('a token of the application’s own folder alone opens nothing about people [AUTH-55]', async () => {
    const owner = await someone(server())
    const share = await newShare(owner.api)
    const api = await withScopes(server(), owner, 'files.appdata')
    for (const path of [
      '/users',
      '/users/me',
      '/users/me/shares',
      '/users/me/groups',
      '/users/me/quota',
      `/shares/${share}`,
      `/shares/${share}/members`,
      '/groups',
      '/users/me/invitations',
    ])
      expectError(await api.get(path), 403, path)
    expectError(await api.post('/shares', { name: 'x' }), 403)
  })

  test('a right of admins counts while the person is one and through nothing else [AUTH-18] [AUTH-19] [AUTH-72]', async () => {
    const admin = await administrator(server())
    await administrator(server())
    const owner = await someone(server())
    const share = await newShare(owner.api)
    const set = (wish: string): Promise<unknown> => server().command('user', 'admin', admin.email, wish)
    for (const [wish, share404, forbidden] of [
      ['off', 404, 403],
      ['on', 200, 201],
    ] as const) {
      await set(wish)
      expect((await admin.api.get(`/shares/${share}`)).status).toBe(share404)
      expect((await admin.api.post('/groups', { name: 'G' })).status).toBe(forbidden)
      expect((await admin.api.get('/users/me')).status).toBe(200)
    }
    const plain = await someone(server())
    await server().installation.db.write((tx) =>
      tx.run(
        'UPDATE tokens SET scopes = $1 WHERE user_id = (SELECT id FROM users WHERE email = $2)',
        ADMIN,
        plain.email,
      ),
    )
    expectError(await plain.api.get(`/shares/${share}`), 404)
    expectError(await plain.api.delete(`/users/${owner.email}`), 403)
    expectError(await plain.api.post('/groups', { name: 'G' }), 403)
  })
})
