/** What decides over signing in, looked at beside the running server. */
import { randomBytes } from 'node:crypto'
import { verify } from '@node-rs/argon2'
import { expect } from 'vitest'
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

/** Whether this password is the one of a local account. */
export async function passwordFits(server: TestServer, email: string, password: string): Promise<boolean> {
  const { password_hash: hash } = await accountOf(server, email)
  return hash !== null && (await verify(hash, password))
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

/** A web session as signing in leaves it; the function that comes back tells whether it is still there. */
export async function openSession(server: TestServer, email: string): Promise<() => Promise<boolean>> {
  const { id } = await accountOf(server, email)
  const hash = randomBytes(32).toString('hex')
  const { db } = server.installation
  const later = Date.now() + 3_600_000
  const made = await db.write((tx) =>
    tx.run(
      `INSERT INTO sessions (hash, user_id, stage, created_ms, used_ms, expires_ms, origin, agent)
       VALUES ($1, $2, 'full', $3, $3, $4, '127.0.0.1', 'a browser')`,
      hash,
      id,
      Date.now(),
      later,
    ),
  )
  expect(made).toBe(1)
  return async () =>
    (await db.read((tx) => tx.get('SELECT hash FROM sessions WHERE hash = $1', hash))) !== undefined
}
