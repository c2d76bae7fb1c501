import type { Command } from 'commander'
import { listUsers, type UserRow } from '../db/users.js'
import { normalAddress } from '../model/addresses.js'
import { Failure } from '../model/failures.js'
import { accounts } from '../service/accounts.js'
import { COMMAND_LINE } from '../service/journal.js'
import { hashPassword } from '../service/passwords.js'
import { wholeNumber } from './arguments.js'
import { withInstallation, type Context } from './context.js'
import { print, readPassword } from './output.js'
import { UsageError } from './settings.js'
import { leaf } from './leaf.js'

export function addUserCommands(program: Command): void {
  const user = program.command('user').description('the people of the installation')

  leaf(user, 'add <email>', 'make a user')
    .requiredOption('--first-name <name>', 'first name')
    .requiredOption('--last-name <name>', 'last name')
    .option('--admin', 'an admin of the organization')
    .option('--password-stdin', 'read a password from standard input')
    .action(async (email: string, options: Record<string, unknown>, command: Command) => {
      await withPeople(command, async (context) => {
        const password = options['passwordStdin'] === true ? await readPassword() : undefined
        const passwordHash =
          password === undefined ? null : await hashPassword(password, context.settings.passwordLengthMin)
        const entry = await context.deps.directory?.find(normalAddress(email))
        if (entry !== undefined && passwordHash !== null)
          throw new Failure('conflict', `the directory holds the password of ${email}`)
        const made = await context.write((tx) =>
          accounts(context.deps).add(tx, COMMAND_LINE, {
            email,
            firstName: entry?.firstName ?? String(options['firstName']),
            lastName: entry?.lastName ?? String(options['lastName']),
            isAdmin: options['admin'] === true,
            passwordHash,
            isExternal: entry !== undefined,
          }),
        )
        print(context.isJson, { ...personOf(made), shares: [], invitations: [] }, () => [
          `made ${made.email}`,
        ])
      })
    })

  leaf(user, 'list', 'the users by address').action(async (_: unknown, command: Command) => {
    await withPeople(command, async (context) => {
      const users = await context.read(listUsers)
      const rows = users.map((row) => ({
        ...personOf(row),
        is_admin: row.is_admin === 1,
        has_password: row.password_hash !== null,
        ...(row.quota === null ? {} : { quota: row.quota }),
      }))
      print(context.isJson, rows, () =>
        rows.map((row) => `${row.email}\t${row.first_name} ${row.last_name}${row.is_admin ? '\tadmin' : ''}`),
      )
    })
  })

  leaf(user, 'remove <email>', 'remove a user with everything that is theirs alone').action(
    async (email: string, _: unknown, command: Command) => {
      await withPeople(command, async (context) => {
        await context.write((tx) => accounts(context.deps).remove(tx, COMMAND_LINE, email))
        print(context.isJson, { removed: email }, () => [`removed ${email}`])
      })
    },
  )

  leaf(user, 'passwd <email>', 'set a password')
    .requiredOption('--password-stdin', 'read the password from standard input')
    .action(async (email: string, _: unknown, command: Command) => {
      await withPeople(command, async (context) => {
        const passwordHash = await hashPassword(await readPassword(), context.settings.passwordLengthMin)
        await context.write((tx) => accounts(context.deps).setPassword(tx, COMMAND_LINE, email, passwordHash))
        print(context.isJson, { email }, () => [`the password of ${email} is set`])
      })
    })

  leaf(user, 'admin <email> <on|off>', 'make a user an admin, or no longer one').action(
    async (email: string, wish: string, _: unknown, command: Command) => {
      if (wish !== 'on' && wish !== 'off') throw new UsageError('say on or off')
      await withPeople(command, async (context) => {
        await context.write((tx) => accounts(context.deps).setAdmin(tx, COMMAND_LINE, email, wish === 'on'))
        print(context.isJson, { email, is_admin: wish === 'on' }, () => [
          `${email} is ${wish === 'on' ? 'an' : 'no'} admin`,
        ])
      })
    },
  )

  leaf(user, 'quota <email> <bytes|none>', 'set how much a user may keep').action(
    async (email: string, wish: string, _: unknown, command: Command) => {
      const bytes = wish === 'none' ? null : wholeNumber(wish, 'bytes')
      await withPeople(command, async (context) => {
        await context.write((tx) => accounts(context.deps).setQuota(tx, COMMAND_LINE, email, bytes))
        print(context.isJson, { email, quota: wish === 'none' ? 'none' : bytes }, () => [
          `the quota of ${email} is ${wish}`,
        ])
      })
    },
  )
}

/** An address, name or password that is refused is a failure, not wrong usage: scripts pass on what people typed. */
async function withPeople(command: Command, body: (context: Context) => Promise<void>): Promise<void> {
  try {
    await withInstallation(command, body)
  } catch (error) {
    if (error instanceof Failure && error.kind === 'badArgs') throw new Error(error.message, { cause: error })
    throw error
  }
}

function personOf(row: UserRow): { email: string; first_name: string; last_name: string } {
  return { email: row.email, first_name: row.first_name, last_name: row.last_name }
}
