/** Accounts by the command line, with a server running beside it and without one. */
import { describe, expect, test } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { runCommand, type CommandResult, type TestServer } from '../../support/server.js'
import { expectRefusal, printedJson } from '../../cli/support.js'
import { useServer } from '../content/support.js'
import { expectError, unchanged } from '../support.js'
import { hasNoPassword, passwordFits } from './sign-in.js'
import { administrator, newAddress, ok, someone, type Json } from './support.js'

const NAMES = ['--first-name', 'Ada', '--last-name', 'Lovelace']

describe.each(ENGINES)('the command line for users on %s', (engine) => {
  const server = useServer(engine)
  const add = (email: string, ...rest: string[]): Promise<CommandResult> =>
    server().command('user', 'add', email, ...NAMES, ...rest)

  test('add prints one User whom a running server knows at once, and refuses what it cannot take [USER-64]', async () => {
    const { api } = await someone(server())
    const email = newAddress('cli')
    const user = { email, first_name: 'Ada', last_name: 'Lovelace', shares: [], invitations: [] }
    expect(printedJson(await add(` ${email.toUpperCase()}`, '--json'))).toEqual(user)
    expect(ok(await api.get(`/users/${email}`), 200).json).toEqual({
      email,
      first_name: 'Ada',
      last_name: 'Lovelace',
    })
    await unchanged(server(), async () => {
      expectRefusal(await add(email), 1)
      for (const bad of ['nobody', 'a@b@c', 'me', 'a b@x.test']) {
        expectRefusal(await add(bad), 1, /address/)
      }
    })
  })

  test('add sets a password when it gets one [USER-65]', async () => {
    const [plain, known] = [newAddress('cli'), newAddress('cli')]
    expect((await add(plain)).status).toBe(0)
    expect(await hasNoPassword(server(), plain)).toBe(true)
    expect((await withPassword(server(), 'long enough', 'user', 'add', known, ...NAMES)).status).toBe(0)
    expect(await passwordFits(server(), known, 'long enough')).toBe(true)
    expect((await withPassword(server(), 'long enough', 'user', 'passwd', plain)).status).toBe(0)
    expect(await passwordFits(server(), plain, 'long enough')).toBe(true)
  })

  test('admin gives the right of admins and takes it away at once, but from the last one [USER-66] [USER-67]', async () => {
    const email = newAddress('cli')
    expect((await add(email, '--admin')).status).toBe(0)
    const other = await someone(server())
    expectRefusal(await grant(other.email), 1)
    expect((await server().command('user', 'admin', other.email, 'on')).status).toBe(0)
    const tokens = [await grantedToken(email), await grantedToken(other.email)]
    for (const token of tokens) ok(await server().client(token).post('/groups', { name: 'G' }), 201)
    expect((await server().command('user', 'admin', other.email, 'off')).status).toBe(0)
    expectError(await server().client(tokens[1]).post('/groups', { name: 'G' }), 403)
    expectError(await server().client(tokens[1]).get('/invitees/x@x.test'), 403)
    const admins = printedJson<Json[]>(await server().command('user', 'list', '--json'))
      .filter((user) => user['is_admin'] === true)
      .map((user) => String(user['email']))
    for (const each of admins.filter((each) => each !== email))
      expect((await server().command('user', 'admin', each, 'off')).status).toBe(0)
    await unchanged(server(), async () => {
      expectRefusal(await server().command('user', 'admin', email, 'off'), 1, /last admin/)
    })
    ok(await server().client(tokens[0]).post('/groups', { name: 'G' }), 201)
  })

  const grant = (email: string): Promise<CommandResult> =>
    server().command('token', 'add', '--user', email, '--scope', 'organization.admin', '--json')
  const grantedToken = async (email: string): Promise<string> => {
    const issued = printedJson<Json>(await grant(email))
    expect(issued['scope']).toBe('organization.admin')
    return String(issued['access_token'])
  }

  test('list prints everybody by address [USER-68]', async () => {
    await administrator(server())
    for (const mark of ['zz', 'AA', 'mm+x']) expect((await add(newAddress(mark))).status).toBe(0)
    const told = printedJson<Json[]>(await server().command('user', 'list', '--json')).map(
      ({ email }) => email,
    )
    const stored = await server().installation.db.read((tx) => tx.all<Json>('SELECT email FROM users'))
    expect(told).toEqual(stored.map(({ email }) => String(email)).sort())
  })

  test('add ends the invitation to register [USER-70]', async () => {
    const admin = await administrator(server())
    const email = newAddress('cli')
    ok(await admin.api.post('/invitees', { email_to: email }), 201)
    expect((await add(email)).status).toBe(0)
    expectError(await admin.api.get(`/invitees/${email}`), 404)
    expectError(await admin.api.post('/invitees', { email_to: email }), 409)
  })

  test('works while no server runs [USER-64]', async () => {
    const email = newAddress('cli')
    const { token } = await someone(server())
    await server().terminate()
    expect(printedJson(await add(email, '--json'))).toMatchObject({ email, shares: [], invitations: [] })
    await server().restart()
    ok(await server().client(token).get(`/users/${email}`), 200)
  })
})

function withPassword(server: TestServer, password: string, ...args: string[]): Promise<CommandResult> {
  const database = server.databaseUrl === undefined ? [] : ['--database', server.databaseUrl]
  return runCommand([...args, '--password-stdin', '--data', server.dataDir, ...database], { stdin: password })
}
