/** Requests that meet, over a node of two processes: whoever comes first, nothing is lost and nothing left over. */
import { describe, expect, test } from 'vitest'
import type { Answer, Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { holdUpload, useServer } from '../content/support.js'
import { expectError } from '../support.js'
import {
  addGroup,
  addMember,
  administrator,
  expectSound,
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

const ROUNDS = 4
const OWNER = ['WRITE', 'MANAGE']

const statuses = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status).sort()

describe.each(ENGINES)('requests at the same moment on %s', (engine) => {
  const server = useServer(engine, { workers: 2 })

  async function newAdmin(): Promise<Administrator> {
    return administrator(server())
  }

  /** Everybody who has the share, asked by an admin who is not in it. */
  async function owners(admin: Client, share: string): Promise<string[]> {
    const members = listOf(await admin.get(`/shares/${share}/members`))
    const isOwner = (member: Json): boolean => (member['permissions'] as string[]).includes('MANAGE')
    return members.filter(isOwner).map(({ email }) => String(email))
  }

  test('two owners who demote, remove or leave each other: one of them stays [ACL-16] [ACL-15]', async () => {
    const admin = await newAdmin()
    const [one, two, guest] = [await someone(server()), await someone(server()), await someone(server())]
    const demote = (by: Someone, of: Someone, share: string): Promise<Answer> =>
      by.api.put(`/shares/${share}/members/${of.email}`, { permissions: [] })
    const remove = (by: Someone, of: Someone, share: string): Promise<Answer> =>
      by.api.delete(`/shares/${share}/members/${of.email}`)
    const leave = (by: Someone, _: Someone, share: string): Promise<Answer> =>
      by.api.delete(`/shares/${share}/members/me`)
    for (const [act, success] of [
      [demote, 200],
      [remove, 204],
      [leave, 204],
    ] as const) {
      for (let round = 0; round < ROUNDS; round += 1) {
        const share = await newShare(one.api)
        await addMember(one.api, share, two.email, OWNER)
        await addMember(one.api, share, guest.email, [])
        const answers = await Promise.all([act(one, two, share), act(two, one, share)])
        const [first, second] = statuses(answers)
        expect(first).toBe(success)
        expect([403, 404, 409]).toContain(second)
        expect((await owners(admin.api, share)).length).toBe(1)
      }
    }
  })

  test('one invitation accepted twice makes one member [INVITATION-20]', async () => {
    const [owner, guest] = [await someone(server()), await someone(server())]
    for (let round = 0; round < ROUNDS; round += 1) {
      const share = await newShare(owner.api)
      await invite(owner.api, share, guest.email, ['WRITE'])
      const accept = (): Promise<Answer> => guest.api.call('POST', `/users/me/invitations/${share}`)
      expect(statuses(await Promise.all([accept(), accept()]))).toEqual([201, 404])
      const members = listOf(await owner.api.get(`/shares/${share}/members`))
      expect(members.filter(({ email }) => email === guest.email)).toHaveLength(1)
      const root = ok(await guest.api.get('/folders/root/children'), 200).json as unknown as {
        folders: Json[]
      }
      expect(root.folders.filter(({ sid }) => sid === share)).toHaveLength(1)
    }
  })

  test('an invitation revoked while it is accepted is one or the other [PEND-27]', async () => {
    const [owner, guest] = [await someone(server()), await someone(server())]
    for (let round = 0; round < ROUNDS * 2; round += 1) {
      const share = await newShare(owner.api)
      await invite(owner.api, share, guest.email, [])
      const calls = [
        () => guest.api.call('POST', `/users/me/invitations/${share}`),
        () => owner.api.delete(`/shares/${share}/pending/${guest.email}`),
      ] as const
      const order = round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)
      const answers = await Promise.all(order.map((index) => calls[index]()))
      const [accepted, revoked] = round % 2 === 0 ? answers : [...answers].reverse()
      const isIn = accepted?.status === 201
      expect([accepted?.status, revoked?.status]).toEqual(isIn ? [201, 404] : [404, 204])
      expect((await guest.api.get(`/shares/${share}`)).status).toBe(isIn ? 200 : 404)
      expect(listOf(await guest.api.get('/users/me/invitations'))).toEqual([])
    }
  })

  test('one person added twice, to a share or a group, is added once [MEMBER-28] [GROUP-32]', async () => {
    const admin = await newAdmin()
    const [owner, guest] = [await someone(server()), await someone(server())]
    for (let round = 0; round < ROUNDS; round += 1) {
      const share = await newShare(owner.api)
      const body = { email: guest.email, permissions: [] }
      const add = (): Promise<Answer> => owner.api.post(`/shares/${share}/members`, body)
      expect(statuses(await Promise.all([add(), add()]))).toEqual([201, 409])
      const group = await newGroup(admin.api)
      const enter = (): Promise<Answer> => admin.api.post(`/groups/${group}/members`, { email: guest.email })
      expect(statuses(await Promise.all([enter(), enter()]))).toEqual([201, 409])
    }
  })

  test('of writes with the same condition one goes through [SHARE-45]', async () => {
    const [owner, guest] = [await someone(server()), await someone(server())]
    for (let round = 0; round < ROUNDS; round += 1) {
      const share = await newShare(owner.api)
      await addMember(owner.api, share, guest.email, [])
      const tag = String(ok(await owner.api.get(`/shares/${share}`), 200).headers['etag'])
      const condition = { 'If-Match': tag }
      const members = `/shares/${share}/members`
      const answers = await Promise.all([
        owner.api.put(`${members}/${guest.email}`, { permissions: ['WRITE'] }, condition),
        owner.api.put(`${members}/${guest.email}`, { permissions: ['MANAGE'] }, condition),
        owner.api.post(`/shares/${share}/pending`, { email: newAddress(), permissions: [] }, condition),
      ])
      const [first, second, third] = statuses(answers)
      expect([200, 201]).toContain(first)
      expect([second, third]).toEqual([412, 412])
    }
  })

  test('an upload under way ends without effect when its right has gone meanwhile [ACL-07]', async () => {
    const admin = await newAdmin()
    const [owner, guest] = [await someone(server()), await someone(server())]
    const group = await newGroup(admin.api, guest.email)
    const body = Buffer.alloc(200_000, 'n')
    const ends: [take: (share: string) => Promise<Answer>, status: number][] = [
      [(share) => owner.api.delete(`/shares/${share}/groups/${group}`), 404],
      [(share) => owner.api.put(`/shares/${share}/groups/${group}`, { permissions: [] }), 403],
      [() => admin.api.delete(`/groups/${group}/members/${guest.email}`), 404],
    ]
    for (const [take, status] of ends) {
      const share = await newShare(owner.api)
      await addGroup(owner.api, share, group, ['WRITE'])
      const file = await owner.api.file('a.bin', share, 'old')
      const held = await holdUpload(server(), { token: guest.token, id: file, body, sent: 100_000 })
      expect([200, 204]).toContain((await take(share)).status)
      const answer = await held.finish()
      expect(answer.status, answer.body.toString()).toBe(status)
      held.raw.drop()
      expect((await owner.api.get(`/files/${file}/content`)).text).toBe('old')
    }
  })

  test('a group taken out of a share while its people upload leaves whole files or none [ACL-07]', async () => {
    const admin = await newAdmin()
    const [owner, guest] = [await someone(server()), await someone(server())]
    const group = await newGroup(admin.api, guest.email)
    for (let round = 0; round < ROUNDS; round += 1) {
      const share = await newShare(owner.api)
      await addGroup(owner.api, share, group, ['WRITE'])
      const files = await Promise.all([1, 2, 3].map((index) => owner.api.file(`${index}.bin`, share, 'old')))
      const [taken, ...uploads] = await Promise.all([
        owner.api.delete(`/shares/${share}/groups/${group}`),
        ...files.map((file) => guest.api.upload(file, 'new content')),
      ])
      expect(taken?.status).toBe(204)
      for (const [index, upload] of uploads.entries()) {
        expect([204, 404]).toContain(upload.status)
        const { text } = await owner.api.get(`/files/${files[index]}/content`)
        expect(text).toBe(upload.status === 204 ? 'new content' : 'old')
      }
      expectError(await guest.api.get(`/shares/${share}`), 404)
    }
  })

  test('a user deleted while uploading, accepting, sharing and being added leaves nothing over [DELUSER-21]', async () => {
    const admin = await newAdmin()
    const owner = await someone(server())
    const { db } = server().installation
    for (let round = 0; round < ROUNDS; round += 1) {
      const person = await someone(server())
      const [invited, joined] = [await newShare(owner.api, 'Invited'), await newShare(owner.api, 'Joined')]
      await invite(owner.api, invited, person.email, OWNER)
      await addMember(owner.api, joined, person.email, ['WRITE'])
      const group = await newGroup(admin.api)
      await addGroup(owner.api, joined, group, [])
      const [mine, theirs] = [await person.api.file('a.txt'), await person.api.file('b.txt', joined)]
      const row = await db.read((tx) =>
        tx.get<{ id: string; root_sid: string }>(
          'SELECT id, root_sid FROM users WHERE email = $1',
          person.email,
        ),
      )
      const { id = '', root_sid: root = '' } = row ?? {}
      const calls: (() => Promise<Answer>)[] = [
        () => person.api.upload(mine, 'x'.repeat(70_000)),
        () => person.api.upload(theirs, 'y'.repeat(70_000)),
        () => person.api.call('POST', `/users/me/invitations/${invited}`),
        () => person.api.post('/shares', { name: 'Late' }),
        () => person.api.post('/folders', { name: 'Late', parent: joined }),
        () => owner.api.post(`/shares/${invited}/members`, { email: person.email, permissions: [] }),
        () => admin.api.post(`/groups/${group}/members`, { email: person.email }),
        () => admin.api.post(`/shares/${joined}/pending`, { email: person.email, permissions: [] }),
      ]
      const position = (round * 3) % calls.length
      const all = [
        ...calls.slice(0, position),
        () => admin.api.delete(`/users/${person.email}`),
        ...calls.slice(position),
      ]
      const answers = await Promise.all(all.map((call) => call()))
      expect(answers[position]?.status, answers[position]?.text).toBe(200)
      for (const answer of answers) expect(answer.status, answer.text).toBeLessThan(500)
      const left = async (sql: string, value: string): Promise<number> =>
        (await db.read((tx) => tx.all(sql, value))).length
      expect(await left('SELECT 1 AS one FROM users WHERE id = $1', id)).toBe(0)
      expect(await left('SELECT 1 AS one FROM tokens WHERE user_id = $1', id)).toBe(0)
      expect(await left('SELECT 1 AS one FROM memberships WHERE user_id = $1', id)).toBe(0)
      expect(await left('SELECT 1 AS one FROM group_members WHERE user_id = $1', id)).toBe(0)
      expect(await left('SELECT 1 AS one FROM stores WHERE sid = $1', root)).toBe(0)
      expect(await left('SELECT 1 AS one FROM shares WHERE name = $1', 'Late')).toBe(0)
      for (const share of [invited, joined]) {
        const members = listOf(await owner.api.get(`/shares/${share}/members`))
        expect(members.map(({ email }) => email)).not.toContain(person.email)
      }
      expectError(await person.api.get('/users/me'), 401)
    }
  })

  test('a last owner deleted while somebody joins or leaves leaves a share with an owner or none [DELUSER-21] [ACL-15]', async () => {
    const admin = await newAdmin()
    for (let round = 0; round < ROUNDS; round += 1) {
      const [owner, guest, other] = [
        await someone(server()),
        await someone(server()),
        await someone(server()),
      ]
      const share = await newShare(owner.api)
      await invite(owner.api, share, guest.email, [])
      await addMember(owner.api, share, other.email, [])
      await Promise.all([
        admin.api.delete(`/users/${owner.email}`),
        guest.api.call('POST', `/users/me/invitations/${share}`),
        other.api.delete(`/shares/${share}/members/me`),
      ])
      const answer = await admin.api.get(`/shares/${share}`)
      if (answer.status === 200) expect((await owners(admin.api, share)).length).toBeGreaterThan(0)
      else expectError(answer, 404)
    }
  })

  test('two admins who delete each other: one of them stays [USER-63] [DELUSER-18]', async () => {
    const { db } = server().installation
    for (let round = 0; round < ROUNDS; round += 1) {
      await db.write((tx) => tx.run('UPDATE users SET is_admin = 0'))
      const pair = [await newAdmin(), await newAdmin()] as const
      const answers = await Promise.all([
        pair[0].api.delete(`/users/${pair[1].email}`),
        pair[1].api.delete(`/users/${pair[0].email}`),
      ])
      const [first, second] = statuses(answers)
      expect(first).toBe(200)
      expect([401, 403, 404, 409]).toContain(second)
      const admins = await db.read((tx) => tx.all('SELECT id FROM users WHERE is_admin = 1'))
      expect(admins).toHaveLength(1)
    }
  })

  test('two admins who take the right from each other: one of them keeps it [USER-67]', async () => {
    const { db } = server().installation
    await db.write((tx) => tx.run('UPDATE users SET is_admin = 0'))
    const pair = [await newAdmin(), await newAdmin()] as const
    const results = await Promise.all(
      pair.map(({ email }) => server().command('user', 'admin', email, 'off')),
    )
    expect(results.map(({ status }) => status).sort()).toEqual([0, 1])
    expect(await db.read((tx) => tx.all('SELECT id FROM users WHERE is_admin = 1'))).toHaveLength(1)
  })

  test('shares of one name that come at the same moment get names of their own [SHARE-28]', async () => {
    const [owner, guest] = [await someone(server()), await someone(server())]
    for (let round = 0; round < ROUNDS; round += 1) {
      const shares = await Promise.all([1, 2, 3].map(() => newShare(owner.api, `Plans ${round}`)))
      for (const share of shares) await invite(owner.api, share, guest.email, [])
      const accept = (share: string): Promise<Answer> =>
        guest.api.call('POST', `/users/me/invitations/${share}`)
      expect(statuses(await Promise.all(shares.map(accept)))).toEqual([201, 201, 201])
      for (const { api } of [owner, guest]) {
        const told = listOf(await api.get('/users/me/shares')).filter(({ id }) => shares.includes(String(id)))
        expect(told.map(({ name }) => name)).toEqual(
          ['', ' (2)', ' (3)'].map((end) => `Plans ${round}${end}`),
        )
      }
    }
  })

  test('a person who enters a group while it comes into a share is in, one who goes is out [ACL-15] [GROUP-14]', async () => {
    const admin = await newAdmin()
    const owner = await someone(server())
    for (let round = 0; round < ROUNDS; round += 1) {
      const [comer, goer] = [await someone(server()), await someone(server())]
      const group = await newGroup(admin.api, goer.email)
      const share = await newShare(owner.api)
      const calls = [
        () => admin.api.post(`/groups/${group}/members`, { email: comer.email }),
        () => admin.api.delete(`/groups/${group}/members/${goer.email}`),
        () => owner.api.post(`/shares/${share}/groups`, { id: group, permissions: ['WRITE'] }),
      ]
      const order = round % 2 === 0 ? calls : [...calls].reverse()
      expect(statuses(await Promise.all(order.map((call) => call())))).toEqual([201, 201, 204])
      const seen = ok(await comer.api.get(`/shares/${share}`), 200).json
      expect(seen['caller_effective_permissions']).toEqual(['WRITE'])
      expectError(await goer.api.get(`/shares/${share}`), 404)
    }
  })

  test('the last one who leaves and the first one who comes: the share ends, or it keeps its owner [ACL-15] [SHARE-48]', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const [owner, guest] = [await someone(server()), await someone(server())]
      const share = await newShare(owner.api)
      const file = await owner.api.file('a.bin', share)
      await invite(owner.api, share, guest.email, [])
      const [left, came, uploaded] = await Promise.all([
        owner.api.delete(`/shares/${share}/members/me`),
        guest.api.call('POST', `/users/me/invitations/${share}`),
        owner.api.upload(file, 'x'.repeat(70_000)),
      ])
      expect([204, 404]).toContain(uploaded.status)
      if (left.status === 204) {
        expect(came.status).toBe(404)
        expectError(await guest.api.get(`/shares/${share}`), 404)
      } else {
        expect([left.status, came.status]).toEqual([409, 201])
        ok(await owner.api.get(`/shares/${share}/members/me`), 200)
        ok(await guest.api.get(`/shares/${share}/members/me`), 200)
      }
    }
  })

  test('an address that becomes a user while it is invited is a user and no invitee [USER-37] [INV-04]', async () => {
    const admin = await newAdmin()
    const owner = await someone(server())
    const share = await newShare(owner.api)
    for (let round = 0; round < ROUNDS; round += 1) {
      const email = newAddress('both')
      const answers = await Promise.all([
        admin.api.post('/users', { email, first_name: 'A', last_name: 'B' }),
        owner.api.post('/invitees', { email_to: email }),
        owner.api.post(`/shares/${share}/pending`, { email, permissions: [] }),
      ])
      expect(answers[0].status).toBe(201)
      expect([201, 409]).toContain(answers[1].status)
      expect(answers[2].status).toBe(201)
      expectError(await admin.api.get(`/invitees/${email}`), 404)
      const person = ok(await admin.api.get(`/users/${email}`), 200).json
      expect(person['invitations']).toMatchObject([{ share_id: share }])
    }
  })

  test('and all that is stored is sound afterwards [DELUSER-21]', () => expectSound(server()))
})
