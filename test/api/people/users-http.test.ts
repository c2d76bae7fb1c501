/** What every route about people has in common: tokens, versions, addresses in paths, bodies, methods. */
import { describe, expect, test } from 'vitest'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { ask, bearer, requestText } from '../../support/wire.js'
import { useServer } from '../content/support.js'
import { expectError, unchanged } from '../support.js'
import {
  addGroup,
  addMember,
  administrator,
  invite,
  locationOf,
  newAddress,
  newGroup,
  newShare,
  ok,
  someone,
  type Administrator,
  type Json,
  type Someone,
} from './support.js'

interface Stage {
  readonly owner: Someone
  readonly admin: Administrator
  readonly guest: Someone
  readonly invited: string
  readonly invitee: string
  readonly share: string
  readonly group: string
  readonly device: string
}

const NAMES = { first_name: 'Ann', last_name: 'Ames' }

/** Everything about people that can be read, for an admin who is in the share. */
function reads({ guest, invitee, invited, share, group, device }: Stage): string[] {
  return [
    '/users',
    '/users/me',
    `/users/${guest.email}`,
    '/users/me/two_factor',
    '/users/me/shares',
    '/users/me/invitations',
    '/users/me/devices',
    '/users/me/quota',
    '/users/me/groups',
    `/invitees/${invitee}`,
    `/shares/${share}`,
    `/shares/${share}/members`,
    `/shares/${share}/members/${guest.email}`,
    `/shares/${share}/pending`,
    `/shares/${share}/pending/${invited}`,
    `/shares/${share}/groups`,
    `/shares/${share}/groups/${group}`,
    '/groups',
    `/groups/${group}`,
    `/groups/${group}/members`,
    `/groups/${group}/members/${guest.email}`,
    `/groups/${group}/shares`,
    `/devices/${device}`,
    `/devices/${device}/status`,
  ]
}

/** Every write about people that takes a body, with one that is refused for no other reason than a missing target. */
function writes({ share, group, device }: Stage): [method: string, path: string][] {
  return [
    ['POST', '/users'],
    ['PUT', '/users/me'],
    ['PUT', '/users/me/password'],
    ['POST', '/invitees'],
    ['POST', '/shares'],
    ['POST', `/shares/${share}/members`],
    ['PUT', `/shares/${share}/members/me`],
    ['POST', `/shares/${share}/pending`],
    ['POST', `/shares/${share}/groups`],
    ['PUT', `/shares/${share}/groups/${group}`],
    ['POST', '/groups'],
    ['POST', `/groups/${group}/members`],
    ['PUT', `/devices/${device}`],
  ]
}

describe.each(ENGINES)('routes about people on %s', (engine) => {
  const server = useServer(engine)

  async function stage(): Promise<Stage> {
    const [owner, admin, guest] = [
      await someone(server()),
      await administrator(server()),
      await someone(server()),
    ]
    const share = await newShare(owner.api)
    await addMember(owner.api, share, admin.email, ['WRITE', 'MANAGE'])
    await addMember(owner.api, share, guest.email, [])
    const invited = newAddress('invited')
    await invite(owner.api, share, invited, [])
    const invitee = newAddress('invitee')
    ok(await owner.api.post('/invitees', { email_to: invitee }), 201)
    const group = await newGroup(admin.api, guest.email)
    await addGroup(owner.api, share, group, [])
    const devices = (await guest.api.get('/users/me/devices')).json as unknown as Json[]
    return { owner, admin, guest, invited, invitee, share, group, device: String(devices[0]?.['id']) }
  }

  test('ask for a token, exactly one [USER-01]', async () => {
    const set = await stage()
    const calls = [...reads(set).map((path) => ['GET', path]), ...writes(set)] as [string, string][]
    for (const [method, path] of calls) {
      const refusals = [
        await server().client().call(method, path, { json: {} }),
        await server().client('not a token').call(method, path, { json: {} }),
        await ask(
          server(),
          requestText(
            `${method} /api/v1.3${path}`,
            [bearer(set.admin.token), bearer(set.admin.token), 'Content-Length: 2'],
            '{}',
          ),
        ),
      ]
      for (const answer of refusals) {
        expectError(answer, 401, `${method} ${path}`)
        expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="/)
      }
    }
  })

  test('are unknown to version 1.0, and to 1.1 and 1.2 unless they are turned on [USER-02] [USER-03]', async () => {
    const set = await stage()
    const calls = [...reads(set).map((path) => ['GET', path]), ...writes(set)] as [string, string][]
    for (const [method, path] of calls) {
      for (const token of [undefined, set.admin.token])
        expectError(await server().client(token, '1.0').call(method, path, { json: {} }), 404, path)
    }
    for (const version of ['1.1', '1.2'])
      expectError(await server().client(undefined, version).get('/users/me'), 404, version)
  })

  test('hold in 1.4 as in 1.3, and Location names the version [USER-05] [VER-28] [VER-29]', async () => {
    const set = await stage()
    const newer = server().client(set.admin.token, '1.4')
    for (const path of reads(set)) {
      const [told, newerTold] = [await set.admin.api.get(path), await newer.get(path)]
      expect([newerTold.status, newerTold.text], path).toEqual([200, told.text])
    }
    const guest = server().client(set.guest.token, '1.4')
    for (const api of [set.guest.api, guest]) {
      ok(await api.get('/groups'), 200)
      ok(await api.get('/folders/appdata'), 200)
    }
    const email = newAddress()
    expect(locationOf(server(), await newer.post('/users', { email, ...NAMES }), '1.4')).toBe(
      `/users/${email}`,
    )
    const share = await newer.post('/shares', { name: 'New' })
    expect(locationOf(server(), share, '1.4')).toBe(`/shares/${share.json.id}`)
    for (const [version, api] of [
      ['1.3', server().client(set.owner.token, '1.3')],
      ['1.4', server().client(set.owner.token, '1.4')],
    ] as const) {
      ok(await api.put(`/devices/${await ownDevice(api)}`, { name: `Laptop ${version}` }), 200)
      const address = newAddress()
      const pending = ok(
        await api.post(`/shares/${set.share}/pending`, { email: address, permissions: [] }),
        201,
      )
      expect(locationOf(server(), pending, version)).toBe(`/shares/${set.share}/pending/${address}`)
      ok(await api.delete(`/shares/${set.share}/pending/${address}`), 204)
    }
  })

  async function ownDevice(api: Client): Promise<string> {
    const devices = ok(await api.get('/users/me/devices'), 200).json as unknown as Json[]
    return String(devices[0]?.['id'])
  }

  test('know an address in any case, with blanks around it and however it is encoded [USER-06] [USER-07] [FIELD-4]', async () => {
    const admin = await administrator(server())
    const email = newAddress('ann+x')
    const { api } = await someone(server(), email)
    const forms = [
      email,
      email.replace('+', '%2B'),
      encodeURIComponent(email),
      encodeURIComponent(` ${email.toUpperCase()} `),
    ]
    for (const form of forms) {
      expect(ok(await admin.api.get(`/users/${form}`), 200).json['email']).toBe(email)
      ok(await admin.api.get(`/users/${form}/quota`), 200)
      ok(await api.get(`/users/${form}/invitations`), 200)
    }
    const share = await newShare(admin.api)
    const added = await admin.api.post(`/shares/${share}/members`, {
      email: ` ${email.toUpperCase()}\t`,
      permissions: [],
    })
    expect(ok(added, 201).json['email']).toBe(email)
    for (const form of forms) ok(await api.get(`/shares/${share}/members/${form}`), 200)
  })

  test('refuse an address that is none, in paths and bodies [USER-08]', async () => {
    const set = await stage()
    const bad = [
      'nobody',
      '@x.test',
      'a@',
      'a@@b',
      'a@b@c',
      'a b@x.test',
      `${'x'.repeat(314)}@x.test`,
      'a\u0001@x.test',
    ]
    const { api } = set.admin
    for (const text of bad) {
      const segment = encodeURIComponent(text)
      for (const path of ['', '/two_factor', '/shares', '/quota', '/devices', '/groups', '/invitations'])
        expectError(await api.get(`/users/${segment}${path}`), 400, text + path)
      expectError(await api.get(`/invitees/${segment}`), 400, text)
      expectError(await api.get(`/shares/${set.share}/pending/${segment}`), 400, text)
      expectError(await api.put(`/users/${segment}`, NAMES), 400, text)
      expectError(await api.put(`/users/${segment}/password`, 'long enough'), 400, text)
      expectError(await api.post('/invitees', { email_to: text }), 400, text)
      expectError(await api.post(`/groups/${set.group}/members`, { email: text }), 400, text)
    }
    const longest = `${'x'.repeat(313)}@x.test`
    expectError(await api.get(`/users/${longest}`), 404)
  })

  test('ignore what a request carries in excess [USER-12] [USER-13]', async () => {
    const set = await stage()
    for (const path of reads(set)) {
      const plain = ok(await set.admin.api.get(path), 200)
      const loaded = await set.admin.api.call('GET', `${path}?t=1&nonsense=%20`, {
        headers: { 'Content-Type': 'application/json', 'If-Match': '', 'If-None-Match': '' },
        body: '{"some',
      })
      expect([loaded.status, loaded.text], path).toEqual([200, plain.text])
      expect((await set.admin.api.get(`${path}/`)).text, path).toBe(plain.text)
    }
    const loaded = { headers: { 'Content-Type': 'application/json', 'If-Match': '' }, body: '""' }
    for (const path of [
      `/invitees/${set.invitee}/?x=1`,
      `/shares/${set.share}/pending/${set.invited}?x=1`,
      `/shares/${set.share}/groups/${set.group}/`,
      `/groups/${set.group}/members/${set.guest.email}?x`,
      `/groups/${set.group}/?x=1`,
      '/users/me/two_factor?x=1',
      `/shares/${set.share}/members/${set.guest.email}/?x=1`,
    ])
      ok(await set.admin.api.call('DELETE', path, loaded), 204)
    ok(await set.admin.api.call('DELETE', `/users/${set.guest.email}/?x=1`, loaded), 200)
    const email = newAddress()
    ok(await set.admin.api.post('/users/', { email, ...NAMES }), 201)
    ok(await set.admin.api.post('/invitees/', { email_to: newAddress() }), 201)
    ok(await set.admin.api.post('/shares/', { name: 'Slash' }), 201)
    ok(await set.admin.api.post('/groups/', { name: 'Slash' }), 201)
  })

  test('answer HEAD as GET without the body [USER-14]', async () => {
    const set = await stage()
    for (const path of [...reads(set), `/users/${newAddress()}`, '/users?limit=x']) {
      const [get, head] = [await set.admin.api.get(path), await set.admin.api.head(path)]
      expect(head.status, path).toBe(get.status)
      expect({ ...head.headers, date: '' }, path).toEqual({ ...get.headers, date: '' })
      expect(head.body, path).toHaveLength(0)
    }
  })

  test('refuse a body that is missing, broken, null or of the wrong shape, and one of another type [USER-15] [USER-16]', async () => {
    const set = await stage()
    const { api } = set.admin
    await unchanged(server(), async () => {
      for (const [method, path] of writes(set)) {
        const isPassword = path.endsWith('/password')
        const bodies = ['', '{', 'null', '[]', '{"name":"x"} x', 'nonsense', isPassword ? '{}' : '"text"']
        for (const body of bodies)
          expectError(
            await api.call(method, path, { body, headers: { 'Content-Type': 'application/json' } }),
            400,
            `${method} ${path} ${body}`,
          )
        expectError(await api.call(method, path), 400, `${method} ${path} without a body`)
        const body = isPassword ? '"long enough"' : JSON.stringify({ name: 'x' })
        for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
          expectError(await api.call(method, path, { body, headers: { 'Content-Type': type } }), 415, path)
      }
    })
    for (const type of [undefined, 'application/json', 'application/json; charset=utf-8']) {
      const headers = type === undefined ? {} : { 'Content-Type': type }
      ok(await api.call('PUT', '/users/me', { body: JSON.stringify(NAMES), headers }), 200)
      const body = JSON.stringify({ email_to: newAddress() })
      ok(await api.call('POST', '/invitees', { body, headers }), 201)
      ok(await api.call('POST', '/shares', { body: '{"name":"x"}', headers }), 201)
    }
  })

  test('know their methods before any token [USER-18]', async () => {
    const set = await stage()
    for (const [method, path, allowed] of [
      ['PATCH', '/users/me', ['GET', 'PUT', 'DELETE']],
      ['POST', '/users/me', ['GET', 'PUT', 'DELETE']],
      ['PUT', '/users', ['GET', 'POST']],
      ['DELETE', '/users', ['GET', 'POST']],
      ['POST', '/users/me/password', ['PUT', 'DELETE']],
      ['PUT', '/users/me/quota', ['GET']],
      ['PUT', '/invitees', ['POST']],
      ['PUT', `/devices/${set.device}/status`, ['GET']],
    ] as const) {
      const answer = await server().client().call(method, path, { json: {} })
      expectError(answer, 405, `${method} ${path}`)
      const allow = String(answer.headers['allow']).split(/, */)
      for (const name of allowed) expect(allow, path).toContain(name)
      expect(allow).not.toContain(method)
    }
  })

  test('name what they made by an address that leads there as it stands [USER-69] [HTTP-93]', async () => {
    const set = await stage()
    const { api } = set.admin
    const email = newAddress('\u00e5sa+b')
    const other = newAddress('bj\u00f6rn+x')
    const made: [string, unknown][] = [
      ['/users', { email, ...NAMES }],
      ['/invitees', { email_to: other }],
      ['/shares', { name: 'New' }],
      [`/shares/${set.share}/members`, { email, permissions: [] }],
      [`/shares/${set.share}/pending`, { email: other, permissions: [] }],
      ['/groups', { name: 'New' }],
      [`/groups/${set.group}/members`, { email }],
    ]
    const group = await newGroup(api)
    made.push([`/shares/${set.share}/groups`, { id: group, permissions: [] }])
    for (const [path, body] of made) {
      const answer = ok(await api.post(path, body), 201)
      const location = new URL(String(answer.headers['location']))
      expect(location.origin).toBe(server().origin)
      expect(location.href).toBe(answer.headers['location'])
      const read = ok(await api.call('GET', location.pathname, { absolute: true }), 200)
      expect(read.json, path).toEqual(answer.json)
    }
  })
})

describe.each(ENGINES)('older versions on %s', (engine) => {
  const server = useServer(engine, { args: ['--legacy-versions'] })

  test('1.1 serves single users, shares, members and invitations as 1.3 does, 1.2 the quota too; neither serves the rest [USER-04] [VER-30] [VER-31]', async () => {
    const owner = await someone(server())
    const admin = await administrator(server())
    const guest = await someone(server())
    const share = await newShare(owner.api)
    await invite(owner.api, share, guest.email, [])
    const group = await newGroup(admin.api)
    for (const version of ['1.1', '1.2']) {
      const api = server().client(owner.token, version)
      const boss = server().client(admin.token, version)
      for (const path of [
        '/users/me',
        `/users/${guest.email}`,
        '/users/me/shares',
        '/users/me/invitations',
        `/shares/${share}`,
        `/shares/${share}/members`,
        `/shares/${share}/members/me`,
        `/shares/${share}/pending`,
        `/shares/${share}/pending/${guest.email}`,
      ])
        expect(ok(await api.get(path), 200).text, path).toBe((await owner.api.get(path)).text)
      const email = newAddress()
      const made = ok(await boss.post('/users', { email, ...NAMES }), 201)
      expect(locationOf(server(), made, version)).toBe(`/users/${email}`)
      ok(await boss.put(`/users/${email}`, { first_name: 'X' }), 200)
      ok(await boss.put(`/users/${email}/password`, 'long enough'), 200)
      ok(await api.post(`/shares/${share}/members`, { email, permissions: [] }), 201)
      ok(await api.delete(`/shares/${share}/members/${email}`), 204)
      ok(await boss.delete(`/users/${email}`), 200)
      const quota = await api.get('/users/me/quota')
      if (version === '1.1') expectError(quota, 404)
      else ok(quota, 200)
      for (const path of [
        '/users',
        '/users/me/two_factor',
        '/users/me/devices',
        '/users/me/groups',
        '/groups',
        `/groups/${group}`,
        `/invitees/${newAddress()}`,
        `/shares/${share}/groups`,
      ])
        expectError(await server().client(undefined, version).get(path), 404, `${version} ${path}`)
    }
  })
})
