import { describe, expect, test } from 'vitest'
import { commandDeps } from '../../../src/cli/installation.js'
import { accounts } from '../../../src/service/accounts.js'
import { COMMAND_LINE } from '../../../src/service/journal.js'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { begin, contentOf, part, putRaw, total, useServer } from '../content/support.js'
import { expectError, unchanged } from '../support.js'
import {
  addMember,
  ADMIN,
  administrator,
  expectSound,
  invite,
  newAddress,
  newShare,
  ok,
  someone,
  withScopes,
  without,
  type Someone,
} from './support.js'

describe.each(ENGINES)('quota on %s', (engine) => {
  const server = useServer(engine)

  const used = async (api: Client, name = 'me'): Promise<unknown> =>
    ok(await api.get(`/users/${name}/quota`), 200).json['bytes_used']

  async function limit(person: Someone, bytes: number | 'none'): Promise<void> {
    const deps = commandDeps(server().installation, () => undefined)
    const quota = bytes === 'none' ? null : bytes
    await server().installation.db.write((tx) =>
      accounts(deps).setQuota(tx, COMMAND_LINE, person.email, quota),
    )
  }

  test('shows what is used, and what is allowed when there is a limit [QUOTA-01] [QUOTA-02] [QUOTA-06]', async () => {
    const person = await someone(server())
    const api = await withScopes(server(), person, 'user.read')
    expect(ok(await api.get('/users/me/quota'), 200).json).toEqual({ bytes_used: 0 })
    await person.api.file('empty.txt')
    expect(await used(api)).toBe(0)
    for (const bytes of [0, 1, 2 ** 40, Number.MAX_SAFE_INTEGER]) {
      await limit(person, bytes)
      const answer = ok(await api.get('/users/me/quota'), 200)
      expect(answer.text).toBe(`{"bytes_used":0,"bytes_allowed":${bytes}}`)
    }
    await limit(person, 'none')
    expect((await api.get('/users/me/quota')).json).toEqual({ bytes_used: 0 })
  })

  test('is for oneself and for admins, with user.read, and only to be read [QUOTA-03] [QUOTA-04] [QUOTA-05] [QUOTA-15] [AUTH-65]', async () => {
    const admin = await administrator(server())
    const person = await someone(server())
    await person.api.file('a.txt', 'root', '12345')
    await limit(person, 10)
    expect((await admin.api.get(`/users/${person.email}/quota`)).json).toEqual({
      bytes_used: 5,
      bytes_allowed: 10,
    })
    expectError(await admin.api.get(`/users/${newAddress()}/quota`), 404)
    const stranger = await someone(server())
    for (const api of [stranger.api, admin.ordinary]) {
      const answers = [
        await api.get(`/users/${person.email}/quota`),
        await api.get(`/users/${newAddress()}/quota`),
      ]
      for (const answer of answers) expectError(answer, 404)
    }
    const blind = await withScopes(server(), admin, without(ADMIN, 'user.read'))
    for (const name of ['me', person.email]) expectError(await blind.get(`/users/${name}/quota`), 403)
    for (const method of ['PUT', 'DELETE', 'POST']) {
      const answer = await person.api.call(method, '/users/me/quota', { json: { bytes_allowed: 9 } })
      expectError(answer, 405, method)
      expect(answer.headers['allow']).toMatch(/GET/)
    }
  })

  test('counts the root with its appdata and every joined share in full, at once after each change [QUOTA-07] [QUOTA-08]', async () => {
    const owner = await someone(server())
    const guest = await someone(server())
    const both = async (): Promise<unknown[]> => [await used(owner.api), await used(guest.api)]
    const file = await owner.api.file('a.txt', 'root', 'x'.repeat(100))
    await owner.api.file('kept.txt', 'appdata', 'x'.repeat(7))
    expect(await both()).toEqual([107, 0])
    const share = await newShare(owner.api)
    const inside = await owner.api.file('b.txt', share, 'x'.repeat(30))
    await invite(owner.api, share, guest.email, ['WRITE'])
    expect(await both()).toEqual([137, 0])
    ok(await guest.api.post(`/users/me/invitations/${share}`, {}), 201)
    expect(await both()).toEqual([137, 30])
    await guest.api.file('c.txt', share, 'x'.repeat(4))
    expect(await both()).toEqual([141, 34])
    ok(await owner.api.upload(inside, 'x'.repeat(10)), 204)
    expect(await both()).toEqual([121, 14])
    ok(await owner.api.upload(file, 'x'.repeat(50), part(0, 49, 90)), 204)
    expect(await both()).toEqual([121, 14])
    const moved = ok(await owner.api.put(`/files/${file}`, { parent: share }), 200).json.id
    expect(await both()).toEqual([121, 114])
    ok(await owner.api.delete(`/files/${moved}`), 204)
    expect(await both()).toEqual([21, 14])
    ok(await guest.api.delete(`/shares/${share}/members/me`), 204)
    expect(await both()).toEqual([21, 0])
    await addMember(owner.api, share, guest.email, [])
    expect(await both()).toEqual([21, 14])
    ok(await owner.api.delete(`/shares/${share}/members/${guest.email}`), 204)
    expect(await both()).toEqual([21, 0])
    ok(await owner.api.delete(`/shares/${share}/members/me`), 204)
    expect(await both()).toEqual([7, 0])
  })

  test('holds back an upload that would pass it, in the root and in shares, before the body when its length is known [QUOTA-09] [QUOTA-10]', async () => {
    const person = await someone(server())
    const owner = await someone(server())
    const share = await newShare(owner.api)
    await addMember(owner.api, share, person.email, ['WRITE'])
    for (const parent of ['root', share]) {
      const file = await person.api.file('old.txt', parent, 'old')
      const before = Number(await used(person.api))
      await limit(person, before + 5)
      await unchanged(server(), async () => {
        expectError(await person.api.upload(file, 'x'.repeat(9)), 507)
        const refused = await putRaw(server(), {
          token: person.token,
          id: file,
          headers: { 'Content-Length': 9, Expect: '100-continue' },
        })
        expect([refused.status, JSON.parse(refused.body.toString())]).toMatchObject([
          507,
          { type: 'INSUFFICIENT_STORAGE' },
        ])
        const older = server().client(person.token, '1.0')
        expectError(await older.upload(file, 'x'.repeat(9)), 500)
        // Of unknown length: refused while it streams.
        async function* stream(): AsyncGenerator<Buffer> {
          for (let count = 0; count < 9; count += 1) yield await Promise.resolve(Buffer.from('x'))
        }
        const answer = await person.api.call('PUT', `/files/${file}/content`, {
          body: stream(),
          headers: { 'Transfer-Encoding': 'chunked' },
        })
        expectError(answer, 507)
      })
      expect(await contentOf(person.api, file)).toBe('old')
      expect(await used(person.api)).toBe(before)
      ok(await person.api.upload(file, 'x'.repeat(8)), 204)
      expect(await used(person.api)).toBe(before + 5)
      expectError(await person.api.upload(await person.api.file('one.txt', parent), 'x'), 507)
      await limit(person, 'none')
    }
  })

  test('holds for uploads in pieces and for several at the same moment [QUOTA-11]', async () => {
    const person = await someone(server())
    await limit(person, 100)
    const file = await person.api.file('pieces.bin')
    const id = await begin(person.api, file)
    let refusedAt = -1
    for (let at = 0; at < 150 && refusedAt < 0; at += 10) {
      const answer = await person.api.upload(file, 'x'.repeat(10), {
        'Upload-ID': id,
        ...part(at, at + 9),
      })
      if (answer.status === 507) refusedAt = at
      else ok(answer, 204)
    }
    if (refusedAt < 0) expectError(await person.api.upload(file, '', { 'Upload-ID': id, ...total(150) }), 507)
    else expect(refusedAt).toBe(100)
    expect(await used(person.api)).toBe(0)
    expectError(await person.api.upload(file, 'x'.repeat(10), part(0, 9, 101)), 507)

    for (let round = 0; round < 3; round += 1) {
      const files = await Promise.all(
        Array.from({ length: 8 }, (_, index) => person.api.file(`${round}-${index}.bin`)),
      )
      const answers = await Promise.all(files.map((each) => person.api.upload(each, 'x'.repeat(30))))
      const statuses = answers.map(({ status }) => status).sort()
      expect(statuses).toEqual([204, 204, 204, 507, 507, 507, 507, 507])
      expect(await used(person.api)).toBe(90)
      await Promise.all(files.map((each) => person.api.delete(`/files/${each}`)))
      expect(await used(person.api)).toBe(0)
    }
    const uploads = await Promise.all(
      Array.from({ length: 4 }, async (_, index) => {
        const each = await person.api.file(`chunked-${index}.bin`)
        const answer = await person.api.upload(each, 'x'.repeat(20), part(0, 19, 40))
        return { each, upload: String(answer.headers['upload-id']), status: answer.status }
      }),
    )
    const ends = await Promise.all(
      uploads.map(({ each, upload }) =>
        person.api.upload(each, 'x'.repeat(20), { 'Upload-ID': upload, ...part(20, 39, 40) }),
      ),
    )
    expect(ends.filter(({ status }) => status === 204).length).toBeLessThanOrEqual(2)
    expect(Number(await used(person.api))).toBeLessThanOrEqual(100)
    await expectSound(server())
  })

  test('over it, everything but new content still works [QUOTA-12] [QUOTA-13]', async () => {
    const person = await someone(server())
    const owner = await someone(server())
    const share = await newShare(owner.api)
    await owner.api.file('big.bin', share, 'x'.repeat(500))
    await invite(owner.api, share, person.email, ['WRITE'])
    const file = await person.api.file('mine.txt', 'root', 'x'.repeat(50))
    await limit(person, 10)
    ok(await person.api.upload(file, 'x'.repeat(49)), 204)
    ok(await person.api.upload(file, 'x'.repeat(48)), 204)
    expectError(await person.api.upload(file, 'x'.repeat(49)), 507)
    const folder = await person.api.folder('New')
    ok(await person.api.put(`/files/${file}`, { name: 'renamed.txt', parent: folder }), 200)
    ok(await person.api.post(`/users/me/invitations/${share}`, {}), 201)
    expect(await used(person.api)).toBe(548)
    const moved = ok(await person.api.put(`/files/${file}`, { parent: share }), 200).json.id
    ok(await person.api.post('/files', { name: 'empty.txt', parent: 'root' }), 201)
    ok(await person.api.upload(moved, 'x'), 204)
    ok(await person.api.delete(`/files/${moved}`), 204)
    ok(await person.api.delete(`/folders/${folder}`), 204)
    expect(await used(person.api)).toBe(500)
  })

  test('is that of the uploader alone [QUOTA-14]', async () => {
    const owner = await someone(server())
    const editor = await someone(server())
    const share = await newShare(owner.api)
    await addMember(owner.api, share, editor.email, ['WRITE'])
    await owner.api.file('a.txt', share, 'x'.repeat(10))
    await limit(editor, 10)
    await owner.api.file('b.txt', share, 'x'.repeat(10))
    expect((await editor.api.get('/users/me/quota')).json).toEqual({ bytes_used: 20, bytes_allowed: 10 })
    expectError(await editor.api.upload(await editor.api.file('c.txt', share), 'x'), 507)
    ok(await owner.api.upload(await owner.api.file('d.txt', share), 'x'), 204)
  })
})

describe('a quota for everybody', () => {
  const server = useServer('sqlite', { args: ['--quota', '20'] })

  test('holds unless a person has one of their own [QUOTA-02] [QUOTA-10]', async () => {
    const person = await someone(server())
    const file = await person.api.file('a.txt')
    expect((await person.api.get('/users/me/quota')).json).toEqual({ bytes_used: 0, bytes_allowed: 20 })
    expectError(await person.api.upload(file, 'x'.repeat(21)), 507)
    ok(await person.api.upload(file, 'x'.repeat(20)), 204)
    await server().command('user', 'quota', person.email, '30')
    expect((await person.api.get('/users/me/quota')).json).toEqual({ bytes_used: 20, bytes_allowed: 30 })
    ok(await person.api.upload(file, 'x'.repeat(30)), 204)
    await server().command('user', 'quota', person.email, 'none')
    expect((await person.api.get('/users/me/quota')).json).toEqual({ bytes_used: 30, bytes_allowed: 20 })
  })
})
