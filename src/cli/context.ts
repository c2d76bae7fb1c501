import type { Command } from 'commander'
import type { Tx } from '../db/db.js'
import type { ServiceDeps } from '../service/deps.js'
import { commandDeps, openInstallation, type Installation } from './installation.js'
import { commandSettings } from './last-served.js'
import { gatherValues, type CommonSettings, type Values } from './settings.js'

/** What a command works with; the stored state is opened for it and closed after it. */
export interface Context {
  readonly settings: CommonSettings
  readonly installation: Installation
  readonly deps: ServiceDeps
  readonly isJson: boolean
  write<T>(body: (tx: Tx) => Promise<T>): Promise<T>
  read<T>(body: (tx: Tx) => Promise<T>): Promise<T>
}

/** The options of a command and of those above it. */
export function valuesOf(command: Command): Values {
  const options = command.optsWithGlobals()
  const config = typeof options['config'] === 'string' ? options['config'] : process.env['STARLING_CONFIG']
  return gatherValues(options, process.env, config)
}

export async function withInstallation<T>(
  command: Command,
  body: (context: Context) => Promise<T>,
): Promise<T> {
  const settings = await commandSettings(valuesOf(command))
  const complain = (message: string): void => {
    process.stderr.write(`starling: ${message}\n`)
  }
  const installation = await openInstallation(settings, complain, 'command')
  try {
    return await body({
      settings,
      installation,
      deps: commandDeps(installation, complain, settings),
      isJson: command.optsWithGlobals()['json'] === true,
      write: (work) => installation.db.write(work),
      read: (work) => installation.db.read(work),
    })
  } finally {
    await installation.close()
  }
}
