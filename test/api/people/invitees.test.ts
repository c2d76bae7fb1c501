import { describe, expect, test } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { useServer } from '../content/support.js'
import { expectError, unchanged } from '../support.js'
import {
  administrator,
  expectEmpty,
  FULL,
  invite,
  listOf,
  locationOf,
  newAddress,
  newShare,
  ok,
  someone,
  withScopes,
  type Json,
} from './support.js'

const KEYS = ['email_to', 'email_from', 'signup_code']

describe.each(ENGINES)('invitees on %s', (engine) => {
  const server = useServer(engine)

  test('are made by anyone with a token, whatever its scopes [INV-01] [INV-07] [AUTH-37]', async () => {
    const admin = await administrator(server())
    const person = await someone(server())
    for (const scopes of ['files.read', 'files.appdata', 'groups.read', FULL]) {
      const email = newAddress()
      const api = await withScopes(server(), person, scopes)
      const made = ok(await api.post('/invitees', { email_to: ` ${email.toUpperCase()} ` }), 201)
      expect(Object.keys(made.json)).toEqual(KEYS)
      expect(made.json).toMatchObject({ email_to: email, email_from: person.email })
      expect(made.json['signup_code']).toMatch(/./)
      expect(locationOf(server(), made)).toBe(`/invitees/${email}`)
      const only = await withScopes(server(), admin, 'organization.admin')
      expect(ok(await only.get(`/invitees/${email}`), 200).json).toEqual(made.json)
    }
  })

  test('take nothing but the address from the body, and no bad one [INV-02] [INV-03] [FIELD-8]', async () => {
    const { email, api } = await someone(server())
    const made = ok(
      await api.post('/invitees', { email_to: newAddress(), email_from: 'else@x.test', signup_code: 'mine' }),
      201,
    )
    expect(made.json['email_from']).toBe(email)
    expect(made.json['signup_code']).not.toBe('mine')
    await unchanged(server(), async () => {
      for (const bad of [undefined, '', '  ', null, 7, [], {}, 'me', 'nobody', 'a@b@c', 'a b@x.test']) {
        const answer = await api.post('/invitees', { email_to: bad })
        expectError(answer, 400, JSON.stringify(bad))
        expect(answer.json.message).toContain('email_to')
      }
    })
  })

  test('are refused for people who have an account or were asked before [INV-04] [INV-05]', async () => {
    const admin = await administrator(server())
    const { email, api } = await someone(server())
    const other = await someone(server())
    const invited = newAddress()
    const made = ok(await api.post('/invitees', { email_to: invited }), 201)
    await unchanged(server(), async () => {
      for (const address of [email, email.toUpperCase(), other.email, invited, ` ${invited.toUpperCase()}`]) {
        expectError(await api.post('/invitees', { email_to: address }), 409, address)
        expectError(await other.api.post('/invitees', { email_to: address }), 409, address)
        expectError(await admin.api.post('/invitees', { email_to: address }), 409, address)
      }
    })
    expect((await admin.api.get(`/invitees/${invited}`)).json).toEqual(made.json)
  })

  test('made twice at the same moment are made once [INV-06]', async () => {
    const [one, two] = [await someone(server()), await someone(server())]
    for (let round = 0; round < 4; round += 1) {
      const email_to = newAddress('twin')
      const answers = await Promise.all([one, two].map(({ api }) => api.post('/invitees', { email_to })))
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409])
    }
  })

  test('are read and deleted by admins alone, whether they exist or not [INV-08] [INV-09] [INV-10] [INV-11] [INV-12] [AUTH-36]', async () => {
    const admin = await administrator(server())
    const inviter = await someone(server())
    const stranger = await someone(server())
    const email = newAddress()
    const made = ok(await inviter.api.post('/invitees', { email_to: email }), 201)
    await unchanged(server(), async () => {
      for (const api of [inviter.api, stranger.api, admin.ordinary]) {
        for (const method of ['GET', 'DELETE']) {
          const answers = [
            await api.call(method, `/invitees/${email}`),
            await api.call(method, `/invitees/${newAddress()}`),
          ]
          for (const answer of answers) expectError(answer, 403)
          expect(answers[0]?.text).toBe(answers[1]?.text)
        }
      }
      for (const address of [newAddress(), 'me', inviter.email]) {
        expectError(await admin.api.get(`/invitees/${address}`), 404)
        expectError(await admin.api.delete(`/invitees/${address}`), 404)
      }
    })
    expect((await admin.api.get(`/invitees/${email}`)).json).toEqual(made.json)
    const only = await withScopes(server(), admin, 'organization.admin')
    expectEmpty(await only.delete(`/invitees/${email}`), 204)
    expectError(await admin.api.get(`/invitees/${email}`), 404)
    expectError(await only.delete(`/invitees/${email}`), 404)
    const codes = await server().installation.db.read((tx) =>
      tx.all('SELECT email FROM invitees WHERE code = $1', String(made.json['signup_code'])),
    )
    expect(codes).toEqual([])
    const again = ok(await inviter.api.post('/invitees', { email_to: email }), 201)
    expect(again.json['signup_code']).not.toBe(made.json['signup_code'])
  })

  test('have no list [INV-13]', async () => {
    const admin = await administrator(server())
    for (const method of ['GET', 'PUT', 'DELETE']) {
      for (const api of [admin.api, server().client()]) {
        const answer = await api.call(method, '/invitees', { json: {} })
        expectError(answer, 405, method)
        expect(answer.headers['allow']).toMatch(/\bPOST\b/)
      }
    }
  })

  test('are named by an address however it is encoded [INV-14] [FIELD-4]', async () => {
    const admin = await administrator(server())
    const email = newAddress('a+b')
    ok(await admin.api.post('/invitees', { email_to: email }), 201)
    for (const form of [
      email,
      email.replace('+', '%2B'),
      encodeURIComponent(email),
      email.replace('@', '%40'),
    ])
      expect(ok(await admin.api.get(`/invitees/${form}`), 200).json['email_to']).toBe(email)
    ok(await admin.api.delete(`/invitees/${encodeURIComponent(email)}`), 204)
  })

  test('have codes that nobody can guess, each its own [INV-28]', async () => {
    const { api } = await someone(server())
    const codes = new Set<string>()
    for (let count = 0; count < 40; count += 1) {
      const made = ok(await api.post('/invitees', { email_to: newAddress() }), 201)
      codes.add(String(made.json['signup_code']))
    }
    expect(codes.size).toBe(40)
    for (const code of codes) {
      const bits = /^[0-9a-f]+$/.test(code) ? 4 : 5
      expect(code.length * bits).toBeGreaterThanOrEqual(128)
    }
    // Every place varies over the codes: none is a counter or a fixed part.
    const length = Math.min(...[...codes].map((code) => code.length))
    const varied = Array.from({ length }, (_, at) => new Set([...codes].map((code) => code[at])).size)
    expect(Math.min(...varied)).toBeGreaterThan(4)
  })

  test('show their code to nobody but the inviter, once, and to admins [INV-29]', async () => {
    const admin = await administrator(server())
    const inviter = await someone(server())
    const other = await someone(server())
    const email = newAddress()
    const code = String(ok(await inviter.api.post('/invitees', { email_to: email }), 201).json['signup_code'])
    const share = await newShare(inviter.api)
    await invite(inviter.api, share, email, [])
    const paths = [
      '/users?limit=0',
      '/users/me',
      '/users/me/invitations',
      `/users/${email}`,
      `/invitees/${email}`,
      `/shares/${share}`,
      `/shares/${share}/pending`,
      `/shares/${share}/pending/${email}`,
    ]
    for (const { api } of [inviter, other]) {
      for (const path of paths) {
        const answer = await api.get(path)
        expect(answer.text + answer.rawHeaders.join(), path).not.toContain(code)
      }
      expect((await api.post('/invitees', { email_to: email })).text).not.toContain(code)
    }
    for (const path of paths.filter((path) => !path.startsWith('/invitees')))
      expect((await admin.api.get(path)).text, path).not.toContain(code)
    expect(server().log()).not.toContain(code)
  })

  test('outlive the account of the one who asked [INV-30]', async () => {
    const admin = await administrator(server())
    const inviter = await someone(server())
    const email = newAddress()
    const made = ok(await inviter.api.post('/invitees', { email_to: email }), 201)
    ok(await admin.api.delete(`/users/${inviter.email}`), 200)
    expect(ok(await admin.api.get(`/invitees/${email}`), 200).json).toEqual(made.json)
  })

  test('become users, and then their invitations to shares are there and open [INV-26] [INV-27]', async () => {
    const admin = await administrator(server())
    const owner = await someone(server())
    const email = newAddress()
    const shares = [await newShare(owner.api, 'A'), await newShare(owner.api, 'B')]
    for (const share of shares) await invite(owner.api, share, email, ['WRITE'])
    ok(await admin.api.get(`/invitees/${email}`), 200)
    ok(await admin.api.post('/users', { email, first_name: 'N', last_name: 'N' }), 201)
    const api = server().client(await server().addToken(email, FULL))
    expect(listOf(await api.get('/users/me/invitations')).map((entry) => entry['share_id'])).toEqual(shares)
    expect(listOf(await api.get('/users/me/shares'))).toEqual([])
    for (const share of shares) {
      expectError(await api.get(`/shares/${share}`), 404)
      const pending = listOf(await owner.api.get(`/shares/${share}/pending`))
      expect(pending.map((entry: Json) => entry['email'])).toEqual([email])
      ok(await api.post(`/users/me/invitations/${share}`, {}), 201)
    }
  })
})

describe.each(ENGINES)('who may invite on %s', (engine) => {
  describe('when admins alone may', () => {
    const server = useServer(engine, { args: ['--signup', 'admin'] })

    test('others are refused before anything is said of the address [INV-15] [AUTH-37]', async () => {
      const admin = await administrator(server())
      const person = await someone(server())
      const invited = newAddress()
      ok(await admin.api.post('/invitees', { email_to: invited }), 201)
      await unchanged(server(), async () => {
        for (const api of [person.api, admin.ordinary]) {
          for (const email_to of [newAddress(), invited, person.email])
            expectError(await api.post('/invitees', { email_to }), 403, email_to)
          expectError(await api.post('/invitees', { email_to: 'nonsense' }), 400)
        }
      })
      const only = await withScopes(server(), admin, 'organization.admin')
      ok(await only.post('/invitees', { email_to: newAddress() }), 201)
    })
  })

  describe('when registering is open', () => {
    const server = useServer(engine, { args: ['--signup', 'open'] })

    test('everybody may, as by default [INV-16]', async () => {
      const admin = await administrator(server())
      const person = await someone(server())
      const api = await withScopes(server(), person, 'files.read')
      const email = newAddress()
      const made = ok(await api.post('/invitees', { email_to: email }), 201)
      expect(Object.keys(made.json)).toEqual(KEYS)
      expectError(await api.post('/invitees', { email_to: email }), 409)
      expectError(await api.post('/invitees', { email_to: person.email }), 409)
      expect(ok(await admin.api.get(`/invitees/${email}`), 200).json).toEqual(made.json)
    })
  })
})
