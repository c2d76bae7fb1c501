/** Signing in without a page: the service's own answer, asked beside the running server. */
import { commandDeps } from '../../../src/cli/installation.js'
import { signIns } from '../../../src/service/passwords-signin.js'
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

/** Whether the password lets the person in, as the page that signs people in asks it. */
export async function passwordFits(server: TestServer, email: string, password: string): Promise<boolean> {
  const deps = commandDeps(server.installation, () => undefined)
  const user = await signIns(deps, server.installation.db).verifyPassword({
    email,
    password,
    origin: '127.0.0.1',
  })
  return user?.email === email
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
