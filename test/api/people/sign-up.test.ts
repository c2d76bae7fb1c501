/** Codes of invitees at work, asked of the service that the sign-up page asks. */
import { describe, expect, test } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { useServer } from '../content/support.js'
import { expectError, unchanged } from '../support.js'
import { confirmationOf, passwordFits, signUp, type Rules } from './sign-in.js'
import {
  administrator,
  FULL,
  invite,
  listOf,
  newAddress,
  newShare,
  ok,
  someone,
  type Administrator,
} from './support.js'

const OPEN: Rules = { signUpPolicy: 'open' }

describe.each(ENGINES)('signing up on %s', (engine) => {
  const server = useServer(engine)

  const invited = async (admin: Administrator): Promise<{ email: string; code: string }> => {
    const email = newAddress('invited')
    const made = ok(await admin.api.post('/invitees', { email_to: email }), 201)
    return { email, code: String(made.json['signup_code']) }
  }

  test('with a code makes an ordinary account that can sign in at once, and uses the code up [INV-17] [INV-18] [INV-19]', async () => {
    const admin = await administrator(server())
    const { email, code } = await invited(admin)
    expect(await signUp(server(), { code })).toBe(email)
    expect(ok(await admin.api.get(`/users/${email}`), 200).json).toEqual({
      email,
      first_name: 'Nina',
      last_name: 'New',
      shares: [],
      invitations: [],
    })
    expect(await passwordFits(server(), email, 'long enough')).toBe(true)
    const row = await server().installation.db.read((tx) =>
      tx.get('SELECT is_admin, is_external, second_factor FROM users WHERE email = $1', email),
    )
    expect(row).toEqual({ is_admin: 0, is_external: 0, second_factor: null })
    expectError(await admin.api.get(`/invitees/${email}`), 404)
    const deleted = await invited(admin)
    ok(await admin.api.delete(`/invitees/${deleted.email}`), 204)
    const madeByAdmin = await invited(admin)
    ok(await admin.api.post('/users', { email: madeByAdmin.email, first_name: 'A', last_name: 'B' }), 201)
    await unchanged(server(), async () => {
      for (const worthless of [code, deleted.code, madeByAdmin.code, 'unknown', `${code}x`])
        expect(await signUp(server(), { code: worthless, password: 'another password' })).toBe('forbidden')
    })
    expect(await passwordFits(server(), email, 'long enough')).toBe(true)
  })

  test('twice with one code at the same moment makes one account [INV-20]', async () => {
    const admin = await administrator(server())
    for (let round = 0; round < 3; round += 1) {
      const { email, code } = await invited(admin)
      const told = await Promise.all([1, 2].map(() => signUp(server(), { code })))
      expect(told.filter((each) => each === email)).toHaveLength(1)
      expect(['forbidden', 'conflict']).toContain(told.find((each) => each !== email))
      ok(await admin.api.get(`/users/${email}`), 200)
    }
  })

  test('refused for another address, a name or a password leaves the code good [INV-21] [INV-22] [INV-11]', async () => {
    const admin = await administrator(server())
    const stranger = await someone(server())
    const { email, code } = await invited(admin)
    expectError(await stranger.api.delete(`/invitees/${email}`), 403)
    await unchanged(server(), async () => {
      expect(await signUp(server(), { code, email: newAddress() })).toBe('forbidden')
      for (const bad of [
        { firstName: '' },
        { lastName: '   ' },
        { firstName: 'x'.repeat(256) },
        { password: 'short' },
        { password: '' },
      ])
        expect(await signUp(server(), { code, ...bad })).toBe('badArgs')
    })
    expect(await signUp(server(), { code, email: ` ${email.toUpperCase()} ` })).toBe(email)
  })

  test('without a code is for an open installation, and not for an address that is expected [INV-23] [INV-24]', async () => {
    const admin = await administrator(server())
    const owner = await someone(server())
    await unchanged(server(), async () => {
      for (const signUpPolicy of ['invited', 'admin'] as const)
        expect(await signUp(server(), { email: newAddress() }, { signUpPolicy })).toBe('forbidden')
    })
    const email = newAddress('open')
    await unchanged(server(), async () => {
      expect(await signUp(server(), { email }, OPEN)).toBe('forbidden')
      expect(await confirmationOf(server(), email, { signUpPolicy: 'invited' })).toBe('forbidden')
    })
    const confirmation = await confirmationOf(server(), email, OPEN)
    await unchanged(server(), async () => {
      for (const signUpPolicy of ['invited', 'admin'] as const)
        expect(await signUp(server(), { code: confirmation }, { signUpPolicy })).toBe('forbidden')
    })
    expect(await signUp(server(), { code: confirmation }, OPEN)).toBe(email)
    expect(await passwordFits(server(), email, 'long enough')).toBe(true)

    const { email: expected, code } = await invited(admin)
    const pending = newAddress('pending')
    await invite(owner.api, await newShare(owner.api), pending, [])
    await server().installation.db.write((tx) => tx.run('DELETE FROM invitees WHERE email = $1', pending))
    await unchanged(server(), async () => {
      for (const address of [expected, pending]) {
        expect(await signUp(server(), { email: address }, OPEN)).toBe('forbidden')
        expect(await confirmationOf(server(), address, OPEN)).toBe('none')
      }
    })
    expect(await signUp(server(), { code }, OPEN)).toBe(expected)
  })

  test('with an address that is a user is refused under every policy, and the password stays [INV-25]', async () => {
    const person = await someone(server())
    ok(await person.api.put('/users/me/password', 'the old password'), 200)
    await unchanged(server(), async () => {
      for (const signUpPolicy of ['open', 'invited', 'admin'] as const) {
        const told = await signUp(server(), { email: person.email }, { signUpPolicy })
        expect(['forbidden', 'conflict']).toContain(told)
      }
      expect(await confirmationOf(server(), person.email, OPEN)).toBe('none')
    })
    expect(await passwordFits(server(), person.email, 'the old password')).toBe(true)
  })

  test('leaves the invitations to shares open [INV-26] [INV-27]', async () => {
    const admin = await administrator(server())
    const owner = await someone(server())
    const email = newAddress('both')
    const shares = [await newShare(owner.api, 'A'), await newShare(owner.api, 'B')]
    for (const share of shares) await invite(owner.api, share, email, ['WRITE'])
    const code = String(ok(await admin.api.get(`/invitees/${email}`), 200).json['signup_code'])
    expect(await signUp(server(), { code })).toBe(email)
    const api = server().client(await server().addToken(email, FULL))
    expect(listOf(await api.get('/users/me/invitations')).map((each) => each['share_id'])).toEqual(shares)
    expect(listOf(await api.get('/users/me/shares'))).toEqual([])
    for (const share of shares) {
      expectError(await api.get(`/shares/${share}`), 404)
      expect(listOf(await owner.api.get(`/shares/${share}/pending`)).map((each) => each['email'])).toEqual([
        email,
      ])
    }
  })

  test('works with the code of somebody whose account is gone since [INV-30] [DELUSER-19]', async () => {
    const admin = await administrator(server())
    const inviter = await someone(server())
    const email = newAddress('left')
    const made = ok(await inviter.api.post('/invitees', { email_to: email }), 201)
    ok(await admin.api.delete(`/users/${inviter.email}`), 200)
    expect(await signUp(server(), { code: String(made.json['signup_code']) })).toBe(email)
    ok(await admin.api.delete(`/users/${email}`), 200)
    const again = ok(await admin.api.post('/invitees', { email_to: email }), 201)
    expect(await signUp(server(), { code: String(again.json['signup_code']) })).toBe(email)
    expect(ok(await admin.api.get(`/users/${email}`), 200).json['shares']).toEqual([])
  })
})
