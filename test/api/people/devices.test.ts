import { describe, expect, test } from 'vitest'
import { hashSecret } from '../../../src/model/secrets.js'
import { ENGINES } from '../../support/engines.js'
import { eventually, useServer } from '../content/support.js'
import { expectError, unchanged } from '../support.js'
import {
  ADMIN,
  administrator,
  FULL,
  listOf,
  newAddress,
  ok,
  someone,
  withScopes,
  without,
  type Json,
  type Someone,
} from './support.js'

const KEYS = ['id', 'owner', 'name', 'os_family', 'install_date']
const MINUTES = /^\d{4}-\d\d-\d\dT\d\d:\d\dZ$/
const UNKNOWN = 'abcdef0123456789'.repeat(2)

function minutes(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16)}Z`
}

describe.each(ENGINES)('devices on %s', (engine) => {
  const server = useServer(engine)

  const idOf = async (token: string): Promise<string> => {
    const row = await server().installation.db.read((tx) =>
      tx.get<{ device_id: string }>('SELECT device_id FROM tokens WHERE hash = $1', hashSecret(token)),
    )
    return row?.device_id ?? ''
  }
  const devicesOf = async (person: Someone, name = 'me'): Promise<Json[]> =>
    listOf(await person.api.get(`/users/${name}/devices`))
  const ids = (devices: readonly Json[]): unknown[] => devices.map(({ id }) => id)

  test('are the live tokens of a person, each with an id of its own [DEV-01] [DEV-02] [DEV-16] [SHAPE-11]', async () => {
    const startMs = Date.now()
    const person = await someone(server())
    const app = await server().addApp('A fine application')
    const second = await server().addToken(person.email, 'files.read', { app: app.id })
    const api = await withScopes(server(), person, 'user.read')
    const devices = listOf(await api.get('/users/me/devices'))
    expect(devices).toHaveLength(3)
    for (const device of devices) {
      expect(Object.keys(device)).toEqual(KEYS)
      expect(device['id']).toMatch(/^[0-9a-f]{32}$/)
      expect(device).toMatchObject({ owner: person.email, os_family: 'API Client' })
      expect(device['name']).toMatch(/./)
      expect(device['install_date']).toMatch(MINUTES)
      expect([minutes(startMs), minutes(Date.now())]).toContain(device['install_date'])
      expectError(await server().client(String(device['id'])).get('/users/me'), 401)
    }
    const byDate = [...devices].sort((a, b) =>
      `${String(a['install_date'])}${String(a['id'])}` < `${String(b['install_date'])}${String(b['id'])}`
        ? -1
        : 1,
    )
    expect(devices).toEqual(byDate)
    const own = await Promise.all([person.token, second, String(api.token)].map(idOf))
    expect(ids(devices).sort()).toEqual(own.sort())
    for (const [index, token] of [person.token, second].entries()) {
      expect(hashSecret(token)).not.toContain(own[index])
      expect(token).not.toContain(own[index])
    }
    const ofApp = devices.filter(({ name }) => name === 'A fine application')
    expect(ids(ofApp)).toEqual([await idOf(second)])
  })

  test('come and go with their tokens [DEV-03]', async () => {
    const person = await someone(server())
    const count = async (): Promise<number> => (await devicesOf(person)).length
    expect(await count()).toBe(1)
    const [revoked, expired] = [
      await server().addToken(person.email, 'files.read'),
      await server().addToken(person.email, 'files.read', { lifetime: 60 }),
    ]
    expect(await count()).toBe(3)
    const [revokedId, expiredId] = [await idOf(revoked), await idOf(expired)]
    ok(await person.api.get(`/devices/${revokedId}`), 200)
    await server().revoke(revoked)
    expect(await count()).toBe(2)
    await server().installation.db.write((tx) =>
      tx.run('UPDATE tokens SET expires_ms = 1 WHERE hash = $1', hashSecret(expired)),
    )
    expect(await count()).toBe(1)
    for (const id of [revokedId, expiredId]) {
      expectError(await person.api.get(`/devices/${id}`), 404)
      expectError(await person.api.get(`/devices/${id}/status`), 404)
      expectError(await person.api.put(`/devices/${id}`, { name: 'Ghost' }), 404)
    }
  })

  test('of others are for admins with the scope; to everybody else they do not exist [DEV-04] [DEV-05] [DEV-06] [DEV-07] [DEV-08] [AUTH-65] [AUTH-40]', async () => {
    const admin = await administrator(server())
    const person = await someone(server())
    const stranger = await someone(server())
    const id = await idOf(person.token)
    expect(ids(await devicesOf(admin, person.email))).toEqual([id])
    expectError(await admin.api.get(`/users/${newAddress()}/devices`), 404)
    for (const api of [person.api, admin.api]) {
      const answer = ok(await api.get(`/devices/${id}`), 200)
      expect(Object.keys(answer.json)).toEqual(KEYS)
      expect(answer.json).toMatchObject({ id, owner: person.email })
      ok(await api.get(`/devices/${id}/status`), 200)
    }
    await unchanged(server(), async () => {
      for (const api of [stranger.api, admin.ordinary]) {
        for (const name of [person.email, newAddress()])
          expectError(await api.get(`/users/${name}/devices`), 404)
        for (const [method, path] of [
          ['GET', ''],
          ['PUT', ''],
          ['GET', '/status'],
        ] as const) {
          const call = (device: string): ReturnType<typeof api.call> =>
            api.call(method, `/devices/${device}${path}`, method === 'PUT' ? { json: { name: 'X' } } : {})
          const [seen, unseen] = [await call(id), await call(UNKNOWN)]
          expectError(seen, 404)
          expectError(unseen, 404)
          expect(seen.text.replaceAll(id, '')).toBe(unseen.text.replaceAll(UNKNOWN, ''))
        }
      }
    })
    const blind = await withScopes(server(), admin, without(ADMIN, 'user.read'))
    for (const path of [
      '/users/me/devices',
      `/users/${person.email}/devices`,
      `/devices/${id}`,
      `/devices/${id}/status`,
      `/devices/${UNKNOWN}`,
    ])
      expectError(await blind.get(path), 403, path)
  })

  test('are named by 32 lower-case hex digits [DEV-09]', async () => {
    const { api } = await someone(server())
    for (const id of ['a'.repeat(31), 'a'.repeat(33), 'A'.repeat(32), 'g'.repeat(32), 'me', '0'.repeat(64)]) {
      expectError(await api.get(`/devices/${id}`), 400, id)
      expectError(await api.get(`/devices/${id}/status`), 400, id)
      expectError(await api.put(`/devices/${id}`, { name: 'X' }), 400, id)
    }
  })

  test('are renamed by their owner or an admin with user.write [DEV-10] [DEV-11] [DEV-12] [AUTH-40]', async () => {
    const admin = await administrator(server())
    const person = await someone(server())
    const id = await idOf(person.token)
    const before = (await person.api.get(`/devices/${id}`)).json
    const writer = await withScopes(server(), person, 'user.write')
    for (const [api, name] of [
      [writer, 'Laptop'],
      [admin.api, 'Phone of an admin’s choice'],
    ] as const) {
      const answer = ok(
        await api.put(`/devices/${id}`, { name: `  ${name} `, owner: 'x', id: UNKNOWN, os_family: 'Z' }),
        200,
      )
      expect(answer.json).toEqual({ ...before, name })
      expect((await person.api.get(`/devices/${id}`)).json).toEqual({ ...before, name })
      expect((await devicesOf(person)).find((device) => device['id'] === id)).toEqual({ ...before, name })
    }
    const reader = await withScopes(server(), person, without(FULL, 'user.write'))
    await unchanged(server(), async () => {
      expectError(await reader.put(`/devices/${id}`, { name: 'X' }), 403)
      for (const name of [undefined, '', '  ', null, 7, [], 'x'.repeat(256), 'a\u0000b', 'a\nb'])
        expectError(await person.api.put(`/devices/${id}`, { name }), 400, String(name))
    })
    ok(await person.api.put(`/devices/${id}`, { name: 'x'.repeat(255) }), 200)
  })

  test('tell when they were last seen, if ever [DEV-13] [DEV-14] [SHAPE-06]', async () => {
    const admin = await administrator(server())
    const person = await someone(server())
    const [used, unused] = [
      await server().addToken(person.email, 'user.read'),
      await server().addToken(person.email, 'user.read'),
    ]
    const status = async (token: string): Promise<Json> =>
      ok(await person.api.get(`/devices/${await idOf(token)}/status`), 200).json
    for (const token of [used, unused]) expect(await status(token)).toEqual({ online: false })

    const startMs = Date.now()
    ok(await server().client(used).get('/users/me'), 200)
    await eventually(async () => expect((await status(used))['online']).toBe(true))
    const seen = await status(used)
    expect(Object.keys(seen)).toEqual(['online', 'last_seen'])
    expect([minutes(startMs), minutes(Date.now())]).toContain(seen['last_seen'])
    expect((await admin.api.get(`/devices/${await idOf(used)}/status`)).json).toEqual(seen)

    for (const [agoMs, online] of [
      [280_000, true],
      [320_000, false],
      [86_400_000, false],
    ] as const) {
      const usedMs = Date.now() - agoMs
      await server().installation.db.write((tx) =>
        tx.run('UPDATE tokens SET used_ms = $1 WHERE hash = $2', usedMs, hashSecret(unused)),
      )
      expect(await status(unused)).toEqual({ online, last_seen: minutes(usedMs) })
    }
  })

  test('are neither listed as a whole, made nor deleted [DEV-15]', async () => {
    const person = await someone(server())
    const id = await idOf(person.token)
    for (const api of [person.api, server().client()]) {
      expectError(await api.get('/devices'), 404)
      expectError(await api.post('/devices', { name: 'X' }), 404)
      const answer = await api.delete(`/devices/${id}`)
      expectError(answer, 405)
      expect(answer.headers['allow']).toMatch(/GET/)
      expect(answer.headers['allow']).toMatch(/PUT/)
    }
    ok(await person.api.get('/users/me'), 200)
  })
})
