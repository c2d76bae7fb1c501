import type { Command } from 'commander'
import { listTokens } from '../db/tokens.js'
import { findUserByEmail } from '../db/users.js'
import { Failure } from '../model/failures.js'
import { minuteTime } from '../model/times.js'
import { normalEmail } from '../service/accounts.js'
import { COMMAND_LINE } from '../service/journal.js'
import { tokens } from '../service/tokens.js'
import { wholeNumber } from './arguments.js'
import { withInstallation } from './context.js'
import { leaf } from './leaf.js'
import { print } from './output.js'

export function addTokenCommands(program: Command): void {
  const token = program.command('token').description('access tokens, without a browser')

  leaf(token, 'add', 'issue an access token')
    .requiredOption('--user <email>', 'whose token it is')
    .requiredOption('--scope <list>', 'comma-separated scopes')
    .option('--app <client-id>', 'the application it belongs to')
    .option('--lifetime <seconds>', 'its life, 0 for ever')
    .action(async (options: Record<string, string | undefined>, command: Command) => {
      const lifetimeSeconds =
        options['lifetime'] === undefined ? undefined : wholeNumber(options['lifetime'], 'seconds')
      await withInstallation(command, async (context) => {
        const issued = await context.write((tx) =>
          tokens(context.deps).issue(tx, COMMAND_LINE, {
            email: options['user'] ?? '',
            scope: options['scope'] ?? '',
            appId: options['app'],
            lifetimeSeconds,
          }),
        )
        print(context.isJson, issued, () => [issued.access_token])
      })
    })

  leaf(token, 'list', 'the tokens of a user, without their values')
    .requiredOption('--user <email>', 'whose tokens')
    .action(async (options: Record<string, string>, command: Command) => {
      await withInstallation(command, async (context) => {
        const email = normalEmail(options['user'] ?? '')
        const found = await context.read(async (tx) => {
          const user = await findUserByEmail(tx, email)
          if (user === undefined) throw new Failure('notFound', `there is no user ${email}`)
          return listTokens(tx, user.id)
        })
        const rows = found.map((row) => ({
          device_id: row.device_id,
          client_id: row.app_id,
          application: row.app_name,
          scope: row.scopes,
          created: minuteTime(row.created_ms),
          ...(row.expires_ms === null ? {} : { expires: minuteTime(row.expires_ms) }),
        }))
        print(context.isJson, rows, () =>
          rows.map((row) => `${row.device_id}\t${row.application}\t${row.scope}`),
        )
      })
    })

  leaf(token, 'revoke <token>', 'end an access token').action(
    async (value: string, _: unknown, command: Command) => {
      await withInstallation(command, async (context) => {
        const revoked = await context.write((tx) => tokens(context.deps).revoke(tx, COMMAND_LINE, value))
        if (!revoked) throw new Failure('notFound', 'there is no such token')
        print(context.isJson, { revoked: true }, () => ['revoked'])
      })
    },
  )
}
