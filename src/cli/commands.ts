import type { Command } from 'commander'
import { addAppCommands } from './apps.js'
import { addBackupCommand } from './backup.js'
import { addCheckCommand } from './check.js'
import { addInviteeCommands } from './invitees.js'
import { addLogCommand } from './log.js'
import { addGroupCommands } from './groups.js'
import { addMigrateCommand } from './migrate.js'
import { addNodeCommands } from './nodes.js'
import { addShareCommands } from './shares.js'
import { addTokenCommands } from './tokens.js'
import { addUserCommands } from './users.js'

/** Everything but serving, by the first word. */
export const COMMANDS: ReadonlyMap<string, (program: Command) => void> = new Map([
  ['user', addUserCommands],
  ['invitee', addInviteeCommands],
  ['app', addAppCommands],
  ['token', addTokenCommands],
  ['group', addGroupCommands],
  ['share', addShareCommands],
  ['node', addNodeCommands],
  ['log', addLogCommand],
  ['check', addCheckCommand],
  ['migrate', addMigrateCommand],
  ['backup', addBackupCommand],
])
