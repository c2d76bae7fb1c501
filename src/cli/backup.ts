import { realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { hasDatabase } from '../db/sqlite-backup.js'
import { lockDataFolder, lockFile } from '../nodes/lock.js'
import { backUp, prepareTarget, type BackupReport } from '../service/backup.js'
import { valuesOf } from './context.js'
import { commandSettings } from './last-served.js'
import { leaf } from './leaf.js'
import { print } from './output.js'

const SHOWN_MAX = 10

/** It opens nothing that would bring the tables up to date: a backup is made before an upgrade, not by it. */
export function addBackupCommand(program: Command): void {
  leaf(
    program,
    'backup <folder>',
    'copy a data folder while its node runs; again into the same folder, what is new',
  ).action(async (folder: string, _: unknown, command: Command) => {
    const settings = await commandSettings(valuesOf(command))
    if (settings.database !== undefined || settings.content !== undefined)
      throw new Error('only a node with everything in its data folder is copied: see docs/operating.md')
    if (!hasDatabase(settings.dataDir)) throw new Error(`there is no database in ${settings.dataDir}`)
    const report = await backUpInto(await realpath(settings.dataDir), resolve(folder))
    print(command.optsWithGlobals()['json'] === true, report, () => [
      `${report.blobs} pieces of content, ${report.copied} of them new; ${report.removed} removed`,
    ])
    for (const place of report.missing.slice(0, SHOWN_MAX))
      process.stderr.write(`starling: the content ${place} was missing before; starling check says more\n`)
    process.exitCode = report.missing.length === 0 ? 0 : 1
  })
}

async function backUpInto(dataDir: string, target: string): Promise<BackupReport> {
  const lock = lockFile(join(dataDir, 'backup.lock'), `another backup of ${dataDir} is being made`)
  try {
    await prepareTarget(target)
    // A backup that a server was started on is no backup any more.
    const targetLock = lockDataFolder(target)
    try {
      return await backUp(dataDir, target)
    } finally {
      targetLock.release()
    }
  } finally {
    lock.release()
  }
}
