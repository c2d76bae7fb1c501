import type { Command } from 'commander'
import { normalAddress } from '../model/addresses.js'
import { minuteTime } from '../model/times.js'
import { invitees, type InviteeRow } from '../service/invitees.js'
import { COMMAND_LINE } from '../service/journal.js'
import { withInstallation } from './context.js'
import { leaf } from './leaf.js'
import { print } from './output.js'

export function addInviteeCommands(program: Command): void {
  const invitee = program.command('invitee').description('people who were asked to become users')

  leaf(invitee, 'add <email>', 'invite somebody; the code works once')
    .option('--from <email>', 'who invites (default: nobody in particular)')
    .action(async (email: string, options: { from?: string }, command: Command) => {
      const emailTo = normalAddress(email)
      const emailFrom = options.from === undefined ? '' : normalAddress(options.from, '--from')
      await withInstallation(command, async (context) => {
        const isExternal = (await context.deps.directory?.find(emailTo)) !== undefined
        const made = await context.write((tx) =>
          invitees(context.deps).add(tx, COMMAND_LINE, { emailTo, emailFrom, isExternal }),
        )
        print(context.isJson, valueOf(made), () => [made.code ?? `${made.email} signs in by the directory`])
      })
    })

  leaf(invitee, 'list', 'the invited people with their codes').action(
    async (_: unknown, command: Command) => {
      await withInstallation(command, async (context) => {
        const found = await context.read((tx) => invitees(context.deps).list(tx))
        const rows = found.map((row) => ({ ...valueOf(row), created: minuteTime(row.created_ms) }))
        print(context.isJson, rows, () =>
          found.map((row) => [row.email, row.code ?? '', row.email_from].join('\t').trimEnd()),
        )
      })
    },
  )

  leaf(invitee, 'remove <email>', 'take an invitation back').action(
    async (email: string, _: unknown, command: Command) => {
      const address = normalAddress(email)
      await withInstallation(command, async (context) => {
        await context.write((tx) => invitees(context.deps).remove(tx, COMMAND_LINE, address))
        print(context.isJson, { removed: address }, () => [`removed ${address}`])
      })
    },
  )
}

function valueOf(row: InviteeRow): Record<string, string> {
  return {
    email_to: row.email,
    email_from: row.email_from,
    ...(row.code === null ? {} : { signup_code: row.code }),
  }
}
