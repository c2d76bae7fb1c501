import { describe, expect, test } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { useServer } from '../content/support.js'
import { expectError, unchanged } from '../support.js'
import { secondFactorOf, setSecondFactor } from './sign-in.js'
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

const ON = { enforced: true, enforce: true }
const OFF = { enforced: false, enforce: false }

describe.each(ENGINES)('the second factor on %s', (engine) => {
  const server = useServer(engine)

  test('is off at first and shown under both names [2FA-01] [2FA-02]', async () => {
    const person = await someone(server())
    const api = await withScopes(server(), person, 'user.read')
    for (const name of ['me', person.email]) {
      const answer = ok(await api.get(`/users/${name}/two_factor`), 200)
      expect(answer.json).toEqual(OFF)
      expect(Object.keys(answer.json)).toEqual(['enforced', 'enforce'])
    }
    await setSecondFactor(server(), person.email)
    expect(ok(await api.get('/users/me/two_factor'), 200).json).toEqual(ON)
  })

  test('is shown to an admin and to nobody else, whether the account exists or not [2FA-03] [2FA-04] [2FA-05] [AUTH-64]', async () => {
    const admin = await administrator(server())
    const { email } = await someone(server())
    const stranger = await someone(server())
    await setSecondFactor(server(), email)
    const api = await withScopes(server(), admin, 'user.read,organization.admin')
    expect(ok(await api.get(`/users/${email}/two_factor`), 200).json).toEqual(ON)
    expectError(await api.get(`/users/${newAddress()}/two_factor`), 404)
    for (const caller of [stranger.api, admin.ordinary]) {
      const answers = [
        await caller.get(`/users/${email}/two_factor`),
        await caller.get(`/users/${newAddress()}/two_factor`),
      ]
      for (const answer of answers) expectError(answer, 403)
      expect(answers[0]?.text).toBe(answers[1]?.text)
    }
    const blind = await withScopes(server(), stranger, without(FULL, 'user.read'))
    expectError(await blind.get('/users/me/two_factor'), 403)
  })

  test('goes with its recovery codes when the person or an admin takes it away, and again does no harm [2FA-06] [2FA-07] [2FA-08] [AUTH-31]', async () => {
    const admin = await administrator(server())
    const person = await someone(server())
    const own = await withScopes(server(), person, 'user.password')
    const boss = await withScopes(server(), admin, 'user.password,organization.admin')
    for (const take of [
      () => own.delete('/users/me/two_factor'),
      () => own.delete(`/users/${person.email}/two_factor`),
      () => boss.delete(`/users/${person.email}/two_factor`),
    ]) {
      await setSecondFactor(server(), person.email)
      expect(await secondFactorOf(server(), person.email)).toEqual({ isOn: true, recoveryCodes: 2 })
      expectEmpty(await take(), 204)
      expect(ok(await person.api.get('/users/me/two_factor'), 200).json).toEqual(OFF)
      expect(await secondFactorOf(server(), person.email)).toEqual({ isOn: false, recoveryCodes: 0 })
      expectEmpty(await take(), 204)
    }
  })

  test('stays for a caller without the right [2FA-09] [2FA-10] [2FA-11] [HTTP-80]', async () => {
    const admin = await administrator(server())
    const person = await someone(server())
    const stranger = await someone(server())
    await setSecondFactor(server(), person.email)
    const scopeless = [
      await withScopes(server(), person, without(FULL, 'user.password')),
      await withScopes(server(), admin, without(ADMIN, 'user.password')),
    ]
    await unchanged(server(), async () => {
      for (const api of scopeless) expectError(await api.delete(`/users/${person.email}/two_factor`), 403)
      for (const api of [stranger.api, admin.ordinary]) {
        const answers = [
          await api.delete(`/users/${person.email}/two_factor`),
          await api.delete(`/users/${newAddress()}/two_factor`),
        ]
        for (const answer of answers) expectError(answer, 403)
        expect(answers[0]?.text).toBe(answers[1]?.text)
      }
      expectError(await admin.api.delete(`/users/${newAddress()}/two_factor`), 404)
    })
    expect((await secondFactorOf(server(), person.email)).isOn).toBe(true)
  })

  test('is not asked of a token [2FA-13]', async () => {
    const { email, api } = await someone(server())
    await setSecondFactor(server(), email)
    for (const path of ['/users/me', '/folders/root', '/users/me/shares']) ok(await api.get(path), 200)
    ok(await api.put('/users/me', { first_name: 'Ann' }), 200)
    ok(await api.put('/users/me/password', 'long enough'), 200)
  })

  test('is not switched on through the API [2FA-15]', async () => {
    const { email, api } = await someone(server())
    for (const method of ['PUT', 'POST', 'PATCH']) {
      for (const caller of [api, server().client()]) {
        const answer = await caller.call(method, '/users/me/two_factor', { json: { enforced: true } })
        expectError(answer, 405, method)
        expect(String(answer.headers['allow'])).toMatch(/GET/)
        expect(String(answer.headers['allow'])).toMatch(/DELETE/)
      }
    }
    expect((await secondFactorOf(server(), email)).isOn).toBe(false)
  })
})
