import type { Command } from 'commander'
import { COMMON_SETTINGS, type Setting } from './settings.js'

/** A command that does something, with the options that every command takes. */
export function leaf(parent: Command, usage: string, description: string): Command {
  const command = parent.command(usage).description(description)
  addSettings(command, COMMON_SETTINGS)
  return command
    .option('--config <file>', 'a TOML file with settings')
    .option('--json', 'print exactly one JSON value')
}

export function addSettings(command: Command, settings: readonly Setting[]): void {
  for (const { name, kind, help, fallback, secret } of settings) {
    if (secret === true) continue
    command.option(kind === 'switch' ? `--${name}` : `--${name} <value>`, `${help} (default: ${fallback})`)
  }
}
