import { describe, expect, test } from 'vitest'
import type { Db } from '../../../src/db/db.js'
import { ENGINES } from '../../support/engines.js'
import { openRaw, requestHead } from '../../support/raw.js'
import { begin, bytesOf, contentOf, eventually, part, useServer } from '../content/support.js'
import { expectError, unchanged } from '../support.js'
import { setSecondFactor } from './sign-in.js'
import {
  addGroup,
  addMember,
  administrator,
  expectEmpty,
  expectSound,
  FULL,
  invite,
  listOf,
  newAddress,
  newGroup,
  newShare,
  ok,
  someone,
  type Administrator,
  type Json,
  type Someone,
} from './support.js'

const OWNER = ['WRITE', 'MANAGE']

describe.each(ENGINES)('deleting a user on %s', (engine) => {
  const server = useServer(engine)
  const db = (): Db => server().installation.db

  const remove = async (admin: Administrator, person: Someone): Promise<void> =>
    expectEmpty(await admin.api.delete(`/users/${person.email}`), 200)
  const rows = (sql: string, ...values: string[]): Promise<Json[]> =>
    db().read((tx) => tx.all<Json>(sql, ...values))
  const idOf = async (email: string): Promise<string> =>
    String((await rows('SELECT id FROM users WHERE email = $1', email))[0]?.['id'])
  const share = async (person: Someone, id: string): Promise<Json> =>
    ok(await person.api.get(`/shares/${id}`), 200).json
  const emails = (list: unknown): unknown[] => (list as Json[]).map(({ email }) => email)
  const mounts = async (person: Someone): Promise<Map<unknown, Json>> => {
    const { folders } = ok(await person.api.get('/folders/root/children'), 200).json as unknown as {
      folders: Json[]
    }
    return new Map(
      folders.filter(({ is_shared: is }) => is === true).map((folder) => [folder['sid'], folder]),
    )
  }

  test('ends tokens, codes and devices [DELUSER-01] [DELUSER-03] [DELUSER-14]', async () => {
    const admin = await administrator(server())
    const person = await someone(server())
    const app = await server().addApp()
    const ofApp = await server().addToken(person.email, 'files.read', { app: app.id })
    await setSecondFactor(server(), person.email)
    const id = await idOf(person.email)
    await db().write((tx) =>
      tx.run(
        `INSERT INTO codes (hash, user_id, app_id, redirect_uri, scopes, expires_ms)
         VALUES ($1, $2, $3, 'https://app.test/done', 'files.read', $4)`,
        'c'.repeat(64),
        id,
        app.id,
        Date.now() + 600_000,
      ),
    )
    const [device] = listOf(await person.api.get('/users/me/devices'))
    await remove(admin, person)
    for (const token of [person.token, ofApp]) {
      expectError(await server().client(token).get('/users/me'), 401)
      expectError(await server().client(token).get('/folders/root'), 401)
    }
    for (const table of [
      'tokens',
      'codes',
      'sessions',
      'recovery_codes',
      'resets',
      'uploads',
      'group_members',
    ])
      expect(await rows(`SELECT * FROM ${table} WHERE user_id = $1`, id), table).toEqual([])
    expectError(await admin.api.get(`/users/${person.email}/devices`), 404)
    expectError(await admin.api.get(`/devices/${String(device?.['id'])}`), 404)
    expectError(await admin.api.get(`/invitees/${person.email}`), 404)
  })

  test('takes the person out of groups, members and pending lists, under new tags [DELUSER-04] [DELUSER-05] [DELUSER-06]', async () => {
    const admin = await administrator(server())
    const [owner, person] = [await someone(server()), await someone(server())]
    const group = await newGroup(admin.api, person.email, owner.email)
    const [joined, invited, grouped] = [
      await newShare(owner.api, 'Joined'),
      await newShare(owner.api, 'Invited'),
      await newShare(owner.api, 'Grouped'),
    ]
    await addMember(owner.api, joined, person.email, ['WRITE'])
    await invite(owner.api, invited, person.email, [])
    await addGroup(owner.api, grouped, group, ['WRITE'])
    const tags = async (): Promise<unknown[]> =>
      Promise.all([joined, invited].map(async (id) => (await owner.api.get(`/shares/${id}`)).headers['etag']))
    const before = await tags()
    await remove(admin, person)
    const after = await tags()
    expect(after[0]).not.toBe(before[0])
    expect(after[1]).not.toBe(before[1])
    expect(emails((await share(owner, joined))['members'])).toEqual([owner.email])
    expect((await share(owner, invited))['pending']).toEqual([])
    expect(emails(ok(await owner.api.get(`/groups/${group}`), 200).json['members'])).toEqual([owner.email])
    expect((await share(owner, grouped))['groups']).toHaveLength(1)
  })

  test('leaves the invitations that the person sent [DELUSER-07]', async () => {
    const admin = await administrator(server())
    const [owner, person, guest] = [await someone(server()), await someone(server()), await someone(server())]
    const id = await newShare(owner.api)
    await addMember(owner.api, id, person.email, ['MANAGE'])
    await invite(person.api, id, guest.email, ['WRITE'])
    await remove(admin, person)
    const invitation = { share_id: id, share_name: 'Plans', invited_by: person.email, permissions: ['WRITE'] }
    expect(listOf(await guest.api.get('/users/me/invitations'))).toEqual([invitation])
    expect((await share(owner, id))['pending']).toMatchObject([{ invited_by: person.email }])
    ok(await guest.api.post(`/users/me/invitations/${id}`, {}), 201)
    expect((await share(guest, id))['caller_effective_permissions']).toEqual(['WRITE'])
  })

  test('hands a share whose last owner goes to the acting admin, who finds it in the root [DELUSER-08] [DELUSER-13]', async () => {
    const admin = await administrator(server())
    const [person, guest] = [await someone(server()), await someone(server())]
    await admin.api.folder('Plans')
    const id = await newShare(person.api)
    await addMember(person.api, id, guest.email, ['WRITE'])
    const file = await person.api.file('a.txt', id, 'from the one who goes')
    const before = ok(await guest.api.get(`/files/${file}`), 200).json
    await remove(admin, person)
    expect(emails((await share(admin, id))['members'])).toEqual([admin.email, guest.email].sort())
    const own = ok(await admin.api.get(`/shares/${id}/members/me`), 200).json
    expect(own['permissions']).toEqual(OWNER)
    expect((await share(admin, id))['caller_effective_permissions']).toEqual(OWNER)
    expect((await mounts(admin)).get(id)?.['name']).toBe('Plans (2)')
    expect((await mounts(guest)).get(id)?.['name']).toBe('Plans')
    expect((await share(guest, id))['caller_effective_permissions']).toEqual(['WRITE'])
    expect(ok(await guest.api.get(`/files/${file}`), 200).json).toEqual(before)
    for (const { api } of [admin, guest]) expect(await contentOf(api, file)).toBe('from the one who goes')
    await expectSound(server())
  })

  test('raises an admin who is in the share already, keeping mount and name [DELUSER-09]', async () => {
    const admin = await administrator(server())
    const person = await someone(server())
    const group = await newGroup(admin.api, admin.email)
    const [direct, grouped] = [await newShare(person.api, 'Direct'), await newShare(person.api, 'Grouped')]
    await addMember(person.api, direct, admin.email, [])
    await addGroup(person.api, grouped, group, ['WRITE'])
    for (const id of [direct, grouped]) {
      const mount = (await mounts(admin)).get(id)
      ok(await admin.api.put(`/folders/${String(mount?.['id'])}`, { name: `Mine ${id.slice(0, 4)}` }), 200)
    }
    const before = await mounts(admin)
    await remove(admin, person)
    expect(await mounts(admin)).toEqual(before)
    for (const id of [direct, grouped]) {
      expect(ok(await admin.api.get(`/shares/${id}/members/me`), 200).json['permissions']).toEqual(OWNER)
      expect(await share(admin, id)).toMatchObject({
        name: `Mine ${id.slice(0, 4)}`,
        caller_effective_permissions: OWNER,
      })
    }
  })

  test('leaves a share to its other owner, direct or through a group [DELUSER-10]', async () => {
    const admin = await administrator(server())
    const [person, other] = [await someone(server()), await someone(server())]
    const [direct, grouped] = [await newShare(person.api), await newShare(person.api)]
    await addMember(person.api, direct, other.email, ['MANAGE'])
    await addGroup(person.api, grouped, await newGroup(admin.api, other.email), ['MANAGE'])
    await remove(admin, person)
    expect(emails((await share(other, direct))['members'])).toEqual([other.email])
    expect((await share(other, grouped))['members']).toEqual([])
    expect((await mounts(admin)).size).toBe(0)
  })

  test('destroys what the person had alone: root, sandbox, uploads and shares without anybody [DELUSER-11] [DELUSER-12]', async () => {
    const admin = await administrator(server())
    const [person, guest, leaver] = [
      await someone(server()),
      await someone(server()),
      await someone(server()),
    ]
    const id = await newShare(person.api)
    await invite(person.api, id, guest.email, [])
    await addMember(person.api, id, leaver.email, [])
    ok(await leaver.api.delete(`/shares/${id}/members/me`), 204)
    const content = 'b'.repeat(100_000)
    const inside = await person.api.file('inside.bin', id, content)
    const file = await person.api.file('own.bin', 'root', content)
    const kept = await person.api.file('kept.bin', 'appdata', 'kept')
    const root = ok(await person.api.get('/folders/root'), 200).json.id
    const upload = await begin(person.api, await person.api.file('unfinished.bin'))
    ok(await person.api.upload(inside, 'x', part(0, 0, 5)), 204)
    await remove(admin, person)
    for (const { api } of [admin, guest, leaver]) {
      expectError(await api.get(`/shares/${id}`), 404)
      expectError(await api.get(`/folders/${id}`), 404)
      expectError(await api.get(`/folders/${root}`), 404)
      for (const object of [inside, file, kept]) {
        expectError(await api.get(`/files/${object}`), 404)
        expectError(await api.get(`/files/${object}/content`), 404)
      }
    }
    expect(listOf(await guest.api.get('/users/me/invitations'))).toEqual([])
    expect(await rows('SELECT id FROM uploads WHERE id = $1', upload)).toEqual([])
    for (const sid of [id, root.slice(0, 32)]) {
      expect(await rows('SELECT sid FROM stores WHERE sid = $1', sid)).toEqual([])
      expect(await rows('SELECT oid FROM objects WHERE sid = $1', sid)).toEqual([])
    }
    await eventually(() => expectSound(server()))
  })

  test('leaves no route that knows the address [DELUSER-15]', async () => {
    const admin = await administrator(server())
    const [owner, person] = [await someone(server()), await someone(server())]
    const id = await newShare(owner.api)
    await addMember(owner.api, id, person.email, [])
    const group = await newGroup(admin.api, person.email)
    await remove(admin, person)
    const name = person.email
    for (const path of ['', '/two_factor', '/shares', '/invitations', '/devices', '/quota', '/groups'])
      expectError(await admin.api.get(`/users/${name}${path}`), 404, path)
    expectError(await admin.api.put(`/users/${name}`, { first_name: 'X' }), 404)
    expectError(await admin.api.put(`/users/${name}/password`, 'long enough'), 404)
    for (const path of ['', '/password', '/two_factor', `/invitations/${id}`])
      expectError(await admin.api.delete(`/users/${name}${path}`), 404, path)
    for (const path of [`/shares/${id}/members`, `/shares/${id}/pending`, `/groups/${group}/members`]) {
      expectError(await admin.api.get(`${path}/${name}`), 404, path)
      expectError(await admin.api.delete(`${path}/${name}`), 404, path)
    }
    expectError(await admin.api.post(`/shares/${id}/members`, { email: name, permissions: [] }), 404)
    expectError(await admin.api.post(`/groups/${group}/members`, { email: name }), 404)
    const page = ok(await admin.api.get('/users?limit=0'), 200).json['data']
    expect(emails(page)).not.toContain(name)
  })

  test('of an admin by itself works unless somebody must inherit [DELUSER-16] [DELUSER-17]', async () => {
    await administrator(server())
    const admin = await administrator(server())
    const guest = await someone(server())
    const id = await newShare(admin.api)
    await addMember(admin.api, id, guest.email, [])
    await unchanged(server(), async () => {
      expectError(await admin.api.delete('/users/me'), 409)
      expectError(await admin.api.delete(`/users/${admin.email}`), 409)
    })
    ok(await admin.api.put(`/shares/${id}/members/${guest.email}`, { permissions: OWNER }), 200)
    await newShare(admin.api, 'Alone')
    expectEmpty(await admin.api.delete('/users/me'), 200)
    expectError(await admin.api.get('/users/me'), 401)
    expect(emails((await share(guest, id))['members'])).toEqual([guest.email])
  })

  test('makes room for a new account that has nothing of the old one [DELUSER-19]', async () => {
    const admin = await administrator(server())
    const [owner, person] = [await someone(server()), await someone(server())]
    const joined = await newShare(owner.api)
    await addMember(owner.api, joined, person.email, ['WRITE'])
    const invited = await newShare(owner.api)
    await invite(owner.api, invited, person.email, [])
    await newGroup(admin.api, person.email)
    await person.api.file('a.txt', 'root', 'old')
    ok(await person.api.put('/users/me/password', 'long enough'), 200)
    await setSecondFactor(server(), person.email)
    expect((await server().command('user', 'quota', person.email, '99')).status).toBe(0)
    const root = ok(await person.api.get('/folders/root'), 200).json.id
    await remove(admin, person)
    const names = { first_name: 'New', last_name: 'One' }
    const made = ok(await admin.api.post('/users', { email: person.email, ...names }), 201)
    expect(made.json).toEqual({ email: person.email, ...names, shares: [], invitations: [] })
    expectError(await person.api.get('/users/me'), 401)
    expect(listOf(await admin.api.get(`/users/${person.email}/devices`))).toEqual([])
    const api = server().client(await server().addToken(person.email, FULL))
    expect(ok(await api.get('/users/me/quota'), 200).json).toEqual({ bytes_used: 0 })
    expect(ok(await api.get('/users/me/two_factor'), 200).json).toEqual({ enforced: false, enforce: false })
    expect(listOf(await api.get('/users/me/groups'))).toEqual([])
    expect(ok(await api.get('/folders/root/children'), 200).json).toEqual({ folders: [], files: [] })
    expect(ok(await api.get('/folders/root'), 200).json.id).not.toBe(root)
    expect(
      await rows('SELECT password_hash, second_factor FROM users WHERE email = $1', person.email),
    ).toEqual([{ password_hash: null, second_factor: null }])
    expectError(await api.get(`/shares/${joined}`), 404)
    expectError(await api.post(`/users/me/invitations/${invited}`, {}), 404)
  })

  test('happens whole or not at all [DELUSER-20]', async () => {
    const admin = await administrator(server())
    const person = await someone(server())
    const id = await newShare(person.api)
    await addMember(person.api, id, (await someone(server())).email, [])
    const sid = ok(await person.api.get('/folders/root'), 200).json.id.slice(0, 32)
    // A row that the deletion does not know of and that must not be left without its user.
    const guard = `guard_${engine}`
    await db().write(async (tx) => {
      await tx.run(`CREATE TABLE ${guard} (sid VARCHAR(64) REFERENCES stores (sid))`)
      await tx.run(`INSERT INTO ${guard} (sid) VALUES ($1)`, sid)
    })
    try {
      await unchanged(server(), async () => {
        expectError(await admin.api.delete(`/users/${person.email}`), 500)
      })
      ok(await person.api.get(`/shares/${id}/members`), 200)
    } finally {
      await db().write((tx) => tx.run(`DROP TABLE ${guard}`))
    }
    await remove(admin, person)
    expect((await mounts(admin)).has(id)).toBe(true)
  })

  test('cuts what the person is downloading [DELUSER-23]', async () => {
    const admin = await administrator(server())
    const person = await someone(server())
    const file = await person.api.file('large.bin')
    const bytes = bytesOf(24 * 1024 * 1024)
    ok(await person.api.upload(file, bytes), 204)
    const raw = await openRaw(server())
    raw.send(requestHead('GET', `/api/v1.3/files/${file}/content`, person.token))
    await raw.receive(1000)
    raw.pause()
    await remove(admin, person)
    raw.resume()
    const answer = await raw.answer()
    expect(answer.status).toBe(200)
    if (answer.isWhole) expect(answer.body.equals(bytes)).toBe(true)
    else expect(answer.body.length).toBeLessThan(bytes.length)
    raw.drop()
  })
})

describe.each(ENGINES)('deleting admins on %s', (engine) => {
  const server = useServer(engine)

  test('stops at the last one, by API and command line; the command line lets the lowest address inherit [DELUSER-18] [DELUSER-22] [USER-62]', async () => {
    const admin = await administrator(server(), 'mm-admin@x.test')
    const person = await someone(server())
    const guest = await someone(server())
    const id = await newShare(person.api)
    await addMember(person.api, id, guest.email, [])
    await unchanged(server(), async () => {
      expectError(await admin.api.delete('/users/me'), 409)
      expectError(await admin.api.delete(`/users/${admin.email}`), 409)
      for (const email of [admin.email, newAddress()]) {
        const result = await server().command('user', 'remove', email)
        expect(result.status).toBe(1)
        expect(result.stderr).toMatch(/^starling: [^\n]+\n$/)
      }
    })
    const lower = await administrator(server(), 'aa-admin@x.test')
    expect((await server().command('user', 'remove', person.email)).status).toBe(0)
    expectError(await person.api.get('/users/me'), 401)
    const members = listOf(await guest.api.get(`/shares/${id}/members`))
    expect(members.map(({ email }) => email)).toEqual([lower.email, guest.email].sort())
    ok(await lower.api.get(`/shares/${id}/members/me`), 200)
    // Of the two admins the one who goes is the last owner: the other inherits.
    expect((await server().command('user', 'remove', lower.email)).status).toBe(0)
    ok(await admin.api.get(`/shares/${id}/members/me`), 200)
    await expectSound(server())
  })

  test('by the command line changes nothing when there is nobody to inherit [DELUSER-22]', async () => {
    const person = await someone(server())
    const guest = await someone(server())
    const id = await newShare(person.api)
    await addMember(person.api, id, guest.email, [])
    await server().installation.db.write((tx) => tx.run('UPDATE users SET is_admin = 0'))
    try {
      await unchanged(server(), async () => {
        expect((await server().command('user', 'remove', person.email)).status).toBe(1)
      })
    } finally {
      await administrator(server())
    }
    expect((await server().command('user', 'remove', person.email)).status).toBe(0)
  })
})
