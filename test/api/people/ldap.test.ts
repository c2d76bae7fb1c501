import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Failure } from '../../../src/model/failures.js'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { hasDirectory, startDirectory, type Entry, type TestDirectory } from '../../support/slapd.js'
import { expectError, unchanged } from '../support.js'
import { passwordFits, setSecondFactor, signIn, signUp, type Rules } from './sign-in.js'
import {
  addGroup,
  addMember,
  administrator,
  expectEmpty,
  FULL,
  invite,
  listOf,
  newAddress,
  newGroup,
  newShare,
  ok,
  someone,
  without,
  withScopes,
  type Administrator,
  type Json,
} from './support.js'

const PASSWORD = 'Dora’s own password'
const NAMES = { first_name: 'From', last_name: 'Body' }

describe.runIf(hasDirectory()).each(ENGINES)('people of a directory on %s', (engine) => {
  let directory: TestDirectory
  let server: TestServer
  let admin: Administrator
  let entries = 0

  beforeAll(async () => {
    directory = await startDirectory()
    server = await startServer(engine, { args: ['--ldap', directory.setting], env: directory.env })
    admin = await administrator(server)
  })
  afterAll(async () => {
    await server.stop()
    await directory.stop()
  })

  /** A new person whom the directory knows; their entry has the name that comes with the address. */
  async function known(more: Partial<Entry> = {}): Promise<{ email: string; name: string }> {
    const [email, name] = [newAddress('dir'), `entry${(entries += 1)}`]
    await directory.add(name, {
      mail: email,
      password: PASSWORD,
      givenName: 'Dora',
      surname: 'Ives',
      ...more,
    })
    return { email, name }
  }
  const rules = (signUpPolicy: Rules['signUpPolicy'] = 'invited'): Rules => ({
    ...(signUpPolicy === undefined ? {} : { signUpPolicy }),
    ldap: directory.settings,
  })
  const enter = (
    email: string,
    password = PASSWORD,
    policy?: Rules['signUpPolicy'],
  ): Promise<string | undefined> => signIn(server, email, password, rules(policy))
  const make = async (email: string, names: Json = NAMES): Promise<Json> =>
    ok(await admin.api.post('/users', { email, ...names }), 201).json
  const apiOf = async (email: string): ReturnType<typeof withScopes> =>
    withScopes(server, { email, token: '', api: admin.api }, FULL)

  test('have the directory’s names and sign in with its password at once [LDAP-01] [LDAP-02]', async () => {
    const { email } = await known()
    expect(await make(email)).toEqual({
      email,
      first_name: 'Dora',
      last_name: 'Ives',
      shares: [],
      invitations: [],
    })
    expect(ok(await admin.api.get(`/users/${email}`), 200).json).toMatchObject({ first_name: 'Dora' })
    expect(await enter(email)).toBe(email)
    for (const wrong of ['wrong', `${PASSWORD} `, PASSWORD.toLowerCase()])
      expect(await enter(email, wrong)).toBeUndefined()
  })

  test('are not everybody: an address that it does not know is a local account [LDAP-03]', async () => {
    const email = newAddress('loc')
    expect(await make(email)).toMatchObject({ email, ...NAMES })
    expect(await enter(email)).toBeUndefined()
    expect(await enter(email, '')).toBeUndefined()
    expectEmpty(await admin.api.put(`/users/${email}/password`, 'long enough'), 200)
    expect(await enter(email, 'long enough')).toBe(email)
    expectEmpty(await admin.api.delete(`/users/${email}/password`), 200)
    expect(await enter(email, 'long enough')).toBeUndefined()
  })

  test('have no password here to change or disable [LDAP-04] [PASS-06]', async () => {
    const { email } = await known()
    await make(email)
    const own = await apiOf(email)
    await unchanged(server, async () => {
      for (const api of [own, admin.api]) {
        expectError(await api.put(`/users/${email}/password`, 'long enough'), 404)
        expectError(await api.delete(`/users/${email}/password`), 404)
      }
      expectError(await own.put('/users/me/password', 'long enough'), 404)
    })
    const scopeless = server.client(await server.addToken(email, without(FULL, 'user.password')))
    expectError(await scopeless.put('/users/me/password', 'long enough'), 403)
    expectError(await scopeless.delete('/users/me/password'), 403)
    expectError(await (await someone(server)).api.delete(`/users/${email}/password`), 403)
    expect(await enter(email)).toBe(email)
    expect(await passwordFits(server, email, 'long enough').catch(() => false)).toBe(false)
  })

  test('need names in the request all the same, and use them where the directory has none [LDAP-05] [LDAP-06]', async () => {
    const { email } = await known()
    await unchanged(server, async () => {
      for (const names of [{}, { first_name: 'A' }, { last_name: 'B' }, { first_name: '', last_name: 'B' }])
        expectError(await admin.api.post('/users', { email, ...names }), 400)
    })
    const noGiven = newAddress('dir')
    await directory.add('nogiven', { mail: noGiven, password: PASSWORD, surname: 'Ives' })
    expect(await make(noGiven)).toMatchObject({ first_name: 'From', last_name: 'Ives' })
    const noSurname = newAddress('dir')
    await directory.add('nosurname', { mail: noSurname, password: PASSWORD, givenName: 'Dora' })
    expect(await make(noSurname)).toMatchObject({ first_name: 'Dora', last_name: 'Body' })
  })

  test('stay what they were when made, whatever the directory learns or forgets [LDAP-08]', async () => {
    const local = newAddress('loc')
    await make(local)
    ok(await admin.api.put(`/users/${local}/password`, 'the local one'), 200)
    await directory.add('learnt', { mail: local, password: PASSWORD, givenName: 'Dora', surname: 'Ives' })
    expect(await enter(local)).toBeUndefined()
    expect(await enter(local, 'the local one')).toBe(local)
    expectEmpty(await admin.api.put(`/users/${local}/password`, 'another local one'), 200)
    const { email, name } = await known()
    await make(email)
    await directory.remove(name)
    expect(await enter(email)).toBeUndefined()
    expectError(await admin.api.put(`/users/${email}/password`, 'long enough'), 404)
    expect(ok(await admin.api.get(`/users/${email}`), 200).json).toMatchObject({ first_name: 'Dora' })
  })

  test('keep a name that was changed here [LDAP-09]', async () => {
    const { email } = await known()
    await make(email)
    ok(await (await apiOf(email)).put('/users/me', { first_name: 'Dorothea' }), 200)
    expect(await enter(email)).toBe(email)
    expect(ok(await admin.api.get(`/users/${email}`), 200).json).toMatchObject({
      first_name: 'Dorothea',
      last_name: 'Ives',
    })
  })

  test('are invited without a code and get their account by signing in [LDAP-10]', async () => {
    const { email } = await known()
    const invited = ok(await admin.api.post('/invitees', { email_to: email }), 201)
    expect(invited.json).toEqual({ email_to: email, email_from: admin.email })
    expect(ok(await admin.api.get(`/invitees/${email}`), 200).json).toEqual(invited.json)
    expect(await enter(email, 'wrong')).toBeUndefined()
    expectError(await admin.api.get(`/users/${email}`), 404)
    expect(await enter(email)).toBe(email)
    expect(ok(await admin.api.get(`/users/${email}`), 200).json).toMatchObject({
      first_name: 'Dora',
      last_name: 'Ives',
    })
    expectError(await admin.api.get(`/invitees/${email}`), 404)
  })

  test('who are neither users nor invited get in where registering is open, also after a deletion [LDAP-11] [LDAP-12]', async () => {
    const { email } = await known()
    for (let round = 0; round < 2; round += 1) {
      await unchanged(server, async () => {
        for (const policy of ['invited', 'admin'] as const)
          expect(await enter(email, PASSWORD, policy)).toBeUndefined()
        expect(await enter(email, 'wrong', 'open')).toBeUndefined()
      })
      expect(await enter(email, PASSWORD, 'open')).toBe(email)
      expect(ok(await admin.api.get(`/users/${email}`), 200).json).toMatchObject({ first_name: 'Dora' })
      ok(await admin.api.delete(`/users/${email}`), 200)
    }
    expect(await signUp(server, { email }, rules('open'))).toBe('forbidden')
  })

  test('never get in without a password, though the directory binds anybody without one [LDAP-13]', async () => {
    const { email } = await known()
    for (const policy of ['invited', 'open'] as const) expect(await enter(email, '', policy)).toBeUndefined()
    await make(email)
    expect(await enter(email, '')).toBeUndefined()
  })

  test('are found by their address alone, whatever stands in it [LDAP-14]', async () => {
    const { email } = await known()
    const [local = '', domain = ''] = email.split('@')
    for (const strange of [
      `*@${domain}`,
      `${local.slice(0, 3)}*@${domain}`,
      `x)(mail=${local}@${domain}`,
      `x\\2a@${domain}`,
      `${local}\\@${domain}`,
      `(@${domain}`,
    ]) {
      const answer = await admin.api.post('/users', { email: strange, ...NAMES })
      if (answer.status !== 400) expect(ok(answer, 201).json, strange).toMatchObject(NAMES)
      expect(await enter(strange, PASSWORD, 'open')).toBeUndefined()
    }
    expectError(await admin.api.post('/users', { email: `a\u0000@${domain}`, ...NAMES }), 400)
    expectError(await admin.api.get(`/users/${email}`), 404)
  })

  test('use everything as local people do [LDAP-15] [2FA-14]', async () => {
    const { email } = await known()
    await make(email)
    const api = await apiOf(email)
    const owner = await someone(server)
    const [joined, open, grouped] = [
      await newShare(owner.api, 'Joined'),
      await newShare(owner.api, 'Open'),
      await newShare(owner.api, 'Grouped'),
    ]
    await addMember(owner.api, joined, email, ['WRITE'])
    await invite(owner.api, open, email, [])
    await addGroup(owner.api, grouped, await newGroup(admin.api, email), [])
    ok(await api.post(`/users/me/invitations/${open}`, {}), 201)
    const own = await newShare(api, 'Own')
    const shares = listOf(await api.get('/users/me/shares')).map(({ id }) => id)
    expect(shares).toEqual([grouped, joined, open, own])
    await api.file('a.txt', joined, '12345')
    expect(ok(await api.get('/users/me/quota'), 200).json).toEqual({ bytes_used: 5 })
    expect(listOf(await api.get('/users/me/devices'))).toHaveLength(1)
    expect(listOf(await api.get('/users/me/groups'))).toHaveLength(1)
    expect(ok(await api.get('/users/me/two_factor'), 200).json).toEqual({ enforced: false, enforce: false })
    await setSecondFactor(server, email)
    expect(ok(await admin.api.get(`/users/${email}/two_factor`), 200).json['enforced']).toBe(true)
    expectEmpty(await api.delete('/users/me/two_factor'), 204)
    expect(ok(await api.get('/users/me/two_factor'), 200).json['enforced']).toBe(false)
    expectEmpty(await admin.api.delete(`/users/${email}`), 200)
  })

  test('have the address that was asked for when the directory has several, or others in case [LDAP-16]', async () => {
    const [first, second] = [newAddress('dir'), newAddress('dir')]
    await directory.add('several', {
      mail: [first.replace('dir', 'Dir'), second.toUpperCase()],
      password: PASSWORD,
      givenName: 'Dora',
      surname: 'Ives',
    })
    expect(await make(` ${second.replace('dir', 'DIR')} `)).toMatchObject({
      email: second,
      first_name: 'Dora',
    })
    expect(await enter(second)).toBe(second)
    expectError(await admin.api.get(`/users/${first}`), 404)
  })

  test('cannot be asked for while the directory is away; all others go on [LDAP-07]', async () => {
    const { email } = await known()
    await make(email)
    const [other, local] = [await known(), newAddress('loc')]
    await make(local)
    ok(await admin.api.put(`/users/${local}/password`, 'long enough'), 200)
    const api = await apiOf(email)
    await directory.halt()
    try {
      await unchanged(server, async () => {
        for (const address of [other.email, newAddress('loc')])
          expectError(await admin.api.post('/users', { email: address, ...NAMES }), 503)
        await expect(enter(email)).rejects.toMatchObject({ kind: 'unavailable' } satisfies Partial<Failure>)
      })
      expect(await enter(local, 'long enough')).toBe(local)
      ok(await api.get('/users/me'), 200)
      ok(await admin.api.put(`/users/${email}`, { first_name: 'Dodo' }), 200)
      ok(await admin.api.get('/users'), 200)
    } finally {
      await directory.start()
    }
    expect(await make(other.email)).toMatchObject({ first_name: 'Dora' })
    expect(await enter(email)).toBe(email)
  })
})
