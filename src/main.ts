import { Command, CommanderError } from 'commander'
import { addAppCommands } from './cli/apps.js'
import { addBackupCommand } from './cli/backup.js'
import { addCheckCommand } from './cli/check.js'
import { valuesOf } from './cli/context.js'
import { addSettings, leaf } from './cli/leaf.js'
import { addInviteeCommands } from './cli/invitees.js'
import { addLogCommand } from './cli/log.js'
import { addGroupCommands } from './cli/groups.js'
import { addMigrateCommand } from './cli/migrate.js'
import { addNodeCommands } from './cli/nodes.js'
import { workerSettings } from './cli/worker-settings.js'
import { SERVE_SETTINGS, serveSettings, UsageError } from './cli/settings.js'
import { addShareCommands } from './cli/shares.js'
import { addTokenCommands } from './cli/tokens.js'
import { addUserCommands } from './cli/users.js'
import { Failure } from './model/failures.js'

const EXIT_FAILED = 1
const EXIT_USAGE = 2

function addServeCommand(program: Command): void {
  const command = leaf(program, 'serve', 'run a node')
  addSettings(command, SERVE_SETTINGS)
  command.option('--welcome', 'on an empty data folder make an admin and say what a newcomer needs')
  command.action(async (options: Record<string, unknown>) => {
    const settings = serveSettings(valuesOf(command))
    const { serve } = await import('./cli/serve.js')
    const { welcome } = await import('./cli/welcome.js')
    const { showSetUpLink } = await import('./cli/set-up-link.js')
    const onReady: Parameters<typeof serve>[1] = (origin, db) =>
      options['welcome'] === true ? welcome(settings, origin) : showSetUpLink(db, settings.baseUrl ?? origin)
    process.exitCode = await serve(settings, onReady)
  })
}

/** Runs the command line and settles the exit status. */
async function main(): Promise<void> {
  const program = new Command('starling').description('a self-hosted file sync service')
  addServeCommand(program)
  addUserCommands(program)
  addInviteeCommands(program)
  addAppCommands(program)
  addTokenCommands(program)
  addGroupCommands(program)
  addShareCommands(program)
  addNodeCommands(program)
  addLogCommand(program)
  addCheckCommand(program)
  addMigrateCommand(program)
  addBackupCommand(program)
  strict(program)
  try {
    await program.parseAsync()
  } catch (error) {
    process.exitCode = exitStatus(error)
  }
}

/** Every command throws instead of ending the process, so that output is flushed and the state closed. */
function strict(command: Command): void {
  command.exitOverride().configureOutput({ writeErr: () => undefined })
  for (const child of command.commands) strict(child)
}

function exitStatus(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0
    complain(
      error.message === '(outputHelp)' ? 'say what to do; starling --help lists the commands' : error.message,
    )
    return EXIT_USAGE
  }
  complain(error instanceof Error ? error.message : String(error))
  const isUsage = error instanceof UsageError || (error instanceof Failure && error.kind === 'badArgs')
  return isUsage ? EXIT_USAGE : EXIT_FAILED
}

function complain(message: string): void {
  process.stderr.write(`starling: ${message.replace(/^error: /, '').split('\n')[0] ?? ''}\n`)
}

// A command that serves nothing does not load what serving needs.
const settings = workerSettings()
if (settings === undefined) await main()
else await (await import('./cli/serve.js')).runWorker(settings)
