/** Signing in without a page: the service's own answer, asked beside the running server. */
import { commandDeps } from '../../../src/cli/installation.js'
import { Failure } from '../../../src/model/failures.js'
import type { ServiceDeps } from '../../../src/service/deps.js'
import type { LdapSettings } from '../../../src/service/directory.js'
import { signUps } from '../../../src/service/invitees-signup.js'
import { guesses } from '../../../src/service/guesses.js'
import { signIns } from '../../../src/service/passwords-signin.js'
import { signUpCodes } from '../../../src/service/sign-up-codes.js'
import type { TestServer } from '../../support/server.js'

interface Account {
  readonly id: string
  readonly password_hash: string | null
  readonly second_factor: string | null
}

async function accountOf(server: TestServer, email: string): Promise<Account> {
  const account = await server.installation.db.read((tx) =>
    tx.get<Account>('SELECT id, password_hash, second_factor FROM users WHERE email = $1', email),
  )
  if (account === undefined) throw new Error(`nobody is called ${email}`)
  return account
}

export interface Rules {
  readonly signUpPolicy?: ServiceDeps['signUpPolicy']
  readonly ldap?: LdapSettings
}

function depsOf(server: TestServer, { signUpPolicy = 'invited', ldap }: Rules): ServiceDeps {
  const deps = commandDeps(server.installation, () => undefined, { passwordLengthMin: 8, ldap })
  return { ...deps, signUpPolicy }
}

/** The address of the person whom the password lets in, as the page that signs people in asks it. */
export async function signIn(
  server: TestServer,
  email: string,
  password: string,
  rules: Rules = {},
): Promise<string | undefined> {
  const service = signIns(depsOf(server, rules), server.installation.db)
  return (await service.verifyPassword({ email, password, origin: '127.0.0.1' }))?.email
}

export async function passwordFits(server: TestServer, email: string, password: string): Promise<boolean> {
  return (await signIn(server, email, password)) === email
}

export interface Wish {
  readonly code?: string
  readonly email?: string
  readonly firstName?: string
  readonly lastName?: string
  readonly password?: string
}

/** The address of the new account, or the kind of refusal, as the page that signs people up asks it. */
export async function signUp(server: TestServer, wish: Wish, rules: Rules = {}): Promise<string> {
  const service = signUps(depsOf(server, rules), server.installation.db)
  try {
    const user = await service.signUp({
      firstName: 'Nina',
      lastName: 'New',
      password: 'long enough',
      ...wish,
      origin: '127.0.0.1',
    })
    return user.email
  } catch (error) {
    if (error instanceof Failure) return error.kind
    throw error
  }
}

/** The code that the mail to the address holds, 'none' if it holds none, or the kind of refusal. */
export async function confirmationOf(server: TestServer, email: string, rules: Rules): Promise<string> {
  const { db } = server.installation
  const counts = guesses(db, Date.now, { failuresMax: 1_000, windowMs: 1_000 })
  const service = signUpCodes(depsOf(server, rules), { db, guesses: counts, lifetimeMs: 60_000 })
  let code = 'none'
  const body = (made: string): string => (code = made)
  try {
    await service.send(email, { subject: 'Signing up', body, known: 'x', invited: 'x', external: 'x' })
    return code
  } catch (error) {
    if (error instanceof Failure) return error.kind
    throw error
  }
}

/** Whether no password at all signs the person in. */
export async function hasNoPassword(server: TestServer, email: string): Promise<boolean> {
  return (await accountOf(server, email)).password_hash === null
}

/** A second factor with recovery codes, as the person's own pages leave it. */
export async function setSecondFactor(server: TestServer, email: string): Promise<void> {
  const { id } = await accountOf(server, email)
  await server.installation.db.write(async (tx) => {
    await tx.run('UPDATE users SET second_factor = $1 WHERE id = $2', 'JBSWY3DPEHPK3PXP', id)
    for (const code of ['first', 'second'])
      await tx.run('INSERT INTO recovery_codes (user_id, hash) VALUES ($1, $2)', id, code)
  })
}

export interface SecondFactor {
  readonly isOn: boolean
  readonly recoveryCodes: number
}

export async function secondFactorOf(server: TestServer, email: string): Promise<SecondFactor> {
  const { id, second_factor: secret } = await accountOf(server, email)
  const codes = await server.installation.db.read((tx) =>
    tx.all('SELECT hash FROM recovery_codes WHERE user_id = $1', id),
  )
  return { isOn: secret !== null, recoveryCodes: codes.length }
}
