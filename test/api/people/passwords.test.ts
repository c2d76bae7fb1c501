import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { runCommand, type CommandResult } from '../../support/server.js'
import { useServer } from '../content/support.js'
import { dump, expectError, unchanged } from '../support.js'
import { hasNoPassword, passwordFits } from './sign-in.js'
import {
  ADMIN,
  administrator,
  expectEmpty,
  FULL,
  newAddress,
  ok,
  someone,
  withScopes,
  without,
} from './support.js'

const OLD = 'the old password'
const NEW = 'the new password'
const JSON_TYPE = { 'Content-Type': 'application/json' }

describe.each(ENGINES)('passwords on %s', (engine) => {
  const server = useServer(engine)
  const fits = (email: string, password: string): Promise<boolean> => passwordFits(server(), email, password)
  const isOff = (email: string): Promise<boolean> => hasNoPassword(server(), email)

  test('are set by the person; the new one counts and the old one no longer does [PASS-01] [PASS-21] [AUTH-31]', async () => {
    const person = await someone(server())
    const api = await withScopes(server(), person, 'user.password')
    expect(await isOff(person.email)).toBe(true)
    for (const name of ['me', person.email]) {
      expectEmpty(await api.put(`/users/${name}/password`, OLD), 200)
      expectEmpty(await api.put(`/users/${name}/password`, OLD), 200)
      expect(await fits(person.email, OLD)).toBe(true)
      expectEmpty(await api.put(`/users/${name}/password`, NEW), 200)
      expect([await fits(person.email, OLD), await fits(person.email, NEW)]).toEqual([false, true])
    }
  })

  test('are set and disabled for others by an admin [PASS-02] [PASS-15] [PASS-17] [USER-38] [AUTH-31]', async () => {
    const admin = await administrator(server())
    const email = newAddress()
    ok(await admin.api.post('/users', { email, first_name: 'A', last_name: 'B' }), 201)
    expect(await isOff(email)).toBe(true)
    const made = await server().installation.db.read((tx) =>
      tx.get('SELECT is_admin, second_factor, is_external FROM users WHERE email = $1', email),
    )
    expect(made).toEqual({ is_admin: 0, second_factor: null, is_external: 0 })
    const api = await withScopes(server(), admin, 'user.password,organization.admin')
    expectEmpty(await api.put(`/users/${email}/password`, NEW), 200)
    expect(await fits(email, NEW)).toBe(true)
    expectEmpty(await api.delete(`/users/${email}/password`), 200)
    expect(await isOff(email)).toBe(true)
    expectEmpty(await api.put(`/users/${email}/password`, NEW), 200)
    expect(await fits(email, NEW)).toBe(true)
  })

  test('need user.password, and organization.admin for others, who exist or not [PASS-03] [PASS-04] [PASS-05] [HTTP-80]', async () => {
    const admin = await administrator(server())
    const { email } = await someone(server())
    const stranger = await someone(server())
    ok(await admin.api.put(`/users/${email}/password`, OLD), 200)
    const scopeless = [
      await withScopes(server(), stranger, without(FULL, 'user.password')),
      await withScopes(server(), admin, without(ADMIN, 'user.password')),
      await withScopes(server(), admin, 'organization.admin'),
    ]
    await unchanged(server(), async () => {
      for (const api of scopeless) {
        for (const name of ['me', email, newAddress()]) {
          expectError(await api.put(`/users/${name}/password`, NEW), 403, name)
          expectError(await api.delete(`/users/${name}/password`), 403, name)
        }
      }
      for (const api of [stranger.api, admin.ordinary]) {
        const put = [
          await api.put(`/users/${email}/password`, NEW),
          await api.put(`/users/${newAddress()}/password`, NEW),
        ]
        const gone = [
          await api.delete(`/users/${email}/password`),
          await api.delete(`/users/${newAddress()}/password`),
        ]
        for (const answer of [...put, ...gone]) expectError(answer, 403)
        expect(put[0]?.text).toBe(put[1]?.text)
        expect(gone[0]?.text).toBe(gone[1]?.text)
      }
      expectError(await admin.api.put(`/users/${newAddress()}/password`, NEW), 404)
      expectError(await admin.api.delete(`/users/${newAddress()}/password`), 404)
    })
  })

  test('are one JSON string and nothing else [PASS-07] [PASS-12] [HTTP-59]', async () => {
    const { email, api } = await someone(server())
    ok(await api.put('/users/me/password', OLD), 200)
    const put = (body: string, headers: Record<string, string> = JSON_TYPE): ReturnType<typeof api.call> =>
      api.call('PUT', '/users/me/password', { body, headers })
    for (const body of [
      '',
      '""',
      'null',
      '12345678',
      '{"password":"long enough"}',
      '["long enough"]',
      'long enough',
      '"long enough" more',
      '"long enough""',
      '"long enough',
      'true',
    ])
      expectError(await put(body), 400, body)
    expectError(await api.call('PUT', '/users/me/password'), 400)
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
      expectError(await put('"long enough"', { 'Content-Type': type }), 415, type)
    expect(await fits(email, OLD)).toBe(true)
    expectEmpty(await put('"first good one"', {}), 200)
    expect(await fits(email, 'first good one')).toBe(true)
    expectEmpty(await put('"second good one"'), 200)
    expect(await fits(email, 'second good one')).toBe(true)
  })

  test('have at least eight characters, counted as code points [PASS-08] [PASS-10] [LIMIT-14]', async () => {
    const { email, api } = await someone(server())
    ok(await api.put('/users/me/password', OLD), 200)
    for (const short of ['1234567', '\u{1f600}'.repeat(7), '\u{1f600}'.repeat(4)]) {
      const answer = await api.put('/users/me/password', short)
      expectError(answer, 400, short)
      expect(answer.text).not.toContain(short)
      expect(await fits(email, OLD)).toBe(true)
    }
    for (const good of ['12345678', '\u{1f600}'.repeat(8)]) {
      expectEmpty(await api.put('/users/me/password', good), 200)
      expect(await fits(email, good)).toBe(true)
    }
  })

  test('are taken exactly as the string says, blanks and quotes included [PASS-11] [FIELD-16]', async () => {
    const { email, api } = await someone(server())
    for (const password of [
      '  blanks around  ',
      '"secret"',
      "'secret!'",
      'back\\slash\\\\',
      'caf\u00e9 cafe\u0301',
      'tab\tnew\nline',
    ]) {
      expectEmpty(await api.put('/users/me/password', password), 200)
      expect(await fits(email, password), password).toBe(true)
      expect((await fits(email, password.trim())) && password !== password.trim(), password).toBe(false)
    }
    expectEmpty(await api.put('/users/me/password', '"secret"'), 200)
    expect(await fits(email, 'secret')).toBe(false)
  })

  test('are judged before the scope [PASS-13]', async () => {
    const api = await withScopes(server(), await someone(server()), 'files.read')
    expectError(await api.put('/users/me/password', 'short'), 400)
    expectError(await api.put('/users/me/password', 7), 400)
    expectError(await api.put('/users/me/password', 'long enough'), 403)
  })

  test('are disabled by the person, also again and where there never was one [PASS-14] [PASS-16]', async () => {
    const { email, api } = await someone(server())
    expectEmpty(await api.delete('/users/me/password'), 200)
    ok(await api.put('/users/me/password', OLD), 200)
    for (let time = 0; time < 2; time += 1) {
      expectEmpty(await api.delete('/users/me/password'), 200)
      expect(await isOff(email)).toBe(true)
    }
  })

  test('change and go without an end to tokens [PASS-20]', async () => {
    const admin = await administrator(server())
    const { email, api } = await someone(server())
    for (const change of [
      () => api.put('/users/me/password', OLD),
      () => api.delete('/users/me/password'),
      () => admin.api.put(`/users/${email}/password`, NEW),
      () => admin.api.delete(`/users/${email}/password`),
    ]) {
      expectEmpty(await change(), 200)
      ok(await api.get('/users/me'), 200)
    }
    expect((await passwd(email, NEW)).status).toBe(0)
    ok(await api.get('/users/me'), 200)
  })

  test('are nowhere in clear: not in answers, logs, the database or the data folder [PASS-22]', async () => {
    const admin = await administrator(server())
    const { email, api } = await someone(server())
    const secret = 'Xq7-unmistakable-password'
    const answers = [
      await api.put('/users/me/password', secret),
      await api.call('PUT', '/users/me/password', { body: `"${secret}" x`, headers: JSON_TYPE }),
      await api.call('PUT', '/users/me/password', { body: secret, headers: JSON_TYPE }),
      await (await withScopes(server(), admin, 'files.read')).put(`/users/${email}/password`, secret),
      await admin.api.put(`/users/${newAddress()}/password`, secret),
      await admin.api.get(`/users/${email}`),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 400, 403, 404, 200])
    expect((await passwd(email, secret)).stdout).not.toContain(secret)
    for (const answer of answers) expect(answer.text + answer.rawHeaders.join()).not.toContain(secret)
    expect(server().log()).not.toContain(secret)
    expect(await dump(server())).not.toContain(secret)
    const log = await server().command('log', '--json')
    expect(log.stdout + log.stderr).not.toContain(secret)
    for (const entry of await readdir(server().dataDir, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const bytes = await readFile(join(entry.parentPath, entry.name))
      expect(bytes.includes(secret), entry.name).toBe(false)
    }
    expect(await fits(email, secret)).toBe(true)
  })

  function passwd(email: string, password: string): Promise<CommandResult> {
    const database = server().databaseUrl === undefined ? [] : ['--database', String(server().databaseUrl)]
    return runCommand(
      ['user', 'passwd', email, '--password-stdin', '--data', server().dataDir, ...database],
      {
        stdin: password,
      },
    )
  }

  test('are set on the command line; a short one or an unknown address changes nothing [PASS-23]', async () => {
    const { email } = await someone(server())
    expect(await passwd(email, NEW)).toMatchObject({ status: 0, stderr: '' })
    expect(await fits(email, NEW)).toBe(true)
    await unchanged(server(), async () => {
      expect((await passwd(email, 'short')).status).toBe(1)
      expect((await passwd(newAddress(), NEW)).status).toBe(1)
    })
    expect(await fits(email, NEW)).toBe(true)
  })
})

describe('a longer minimum of the operator', () => {
  const server = useServer('sqlite', { args: ['--password-min', '12'] })

  test('holds for the API [PASS-09] [LIMIT-14]', async () => {
    const { email, api } = await someone(server())
    expectError(await api.put('/users/me/password', 'x'.repeat(11)), 400)
    expectEmpty(await api.put('/users/me/password', 'x'.repeat(12)), 200)
    expect(await passwordFits(server(), email, 'x'.repeat(12))).toBe(true)
  })
})
