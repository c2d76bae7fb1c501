import { Command, CommanderError } from 'commander'
import { valuesOf } from './context.js'
import { addSettings, leaf } from './leaf.js'
import { SERVE_SETTINGS, serveSettings, UsageError } from './settings.js'
import { Failure } from '../model/failures.js'

const EXIT_FAILED = 1
const EXIT_USAGE = 2

function addServeCommand(program: Command): void {
  const command = leaf(program, 'serve', 'run a node')
  addSettings(command, SERVE_SETTINGS)
  command.option('--welcome', 'on an empty data folder make an admin and say what a newcomer needs')
  command.action(async (options: Record<string, unknown>) => {
    const settings = serveSettings(valuesOf(command))
    const { serve } = await import('./serve.js')
    const { welcome } = await import('./welcome.js')
    const { showSetUpLink } = await import('./set-up-link.js')
    const onReady: Parameters<typeof serve>[1] = (origin, db) =>
      options['welcome'] === true ? welcome(settings, origin) : showSetUpLink(db, settings.baseUrl ?? origin)
    process.exitCode = await serve(settings, onReady)
  })
}

/** Runs the command line and settles the exit status. */
export async function runCommandLine(): Promise<void> {
  const program = new Command('starling').description('a self-hosted file sync service')
  await addCommands(program, process.argv[2] ?? '')
  strict(program)
  try {
    await program.parseAsync()
  } catch (error) {
    process.exitCode = exitStatus(error)
  }
}

/** The one that was asked for; all of them, with all their options, for who asks for help or for none that exists. */
async function addCommands(program: Command, word: string): Promise<void> {
  if (word === 'serve') return addServeCommand(program)
  const { COMMANDS } = await import('./commands.js')
  const chosen = COMMANDS.get(word)
  if (chosen !== undefined) return chosen(program)
  addServeCommand(program)
  for (const add of COMMANDS.values()) add(program)
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
