import { access } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { openStaging } from '../blob/staging.js'
import { startCheckpointer } from '../db/checkpointer.js'
import { openBare, SQLITE_FILE_NAME, type BareDatabase } from '../db/open.js'
import { knownIdentity } from '../nodes/identity.js'
import { lockDataFolder } from '../nodes/lock.js'
import {
  readFacts,
  relocate,
  type InstallationFacts,
  type Relocated,
  type Report,
} from '../service/relocation.js'
import { valuesOf } from './context.js'
import { openStore } from './installation.js'
import { noteServed } from './last-served.js'
import { addSettings, leaf } from './leaf.js'
import { MIGRATE_SETTINGS, migrateSettings, type MigrateSettings } from './migrate-settings.js'
import { print } from './output.js'
import { commonSettings } from './settings.js'

const PROGRESS_EVERY_MS = 2_000

export function addMigrateCommand(program: Command): void {
  const command = leaf(program, 'migrate', 'move the installation to another database or content store')
  addSettings(command, MIGRATE_SETTINGS)
  command.action(async (options: Record<string, unknown>) => {
    const settings = settingsOf(command)
    const relocated = await migrate(settings)
    const summary = summaryOf(settings, relocated)
    print(options['json'] === true, summary, () => linesOf(summary))
  })
}

function settingsOf(command: Command): MigrateSettings {
  const values = valuesOf(command)
  return migrateSettings(values, commonSettings(values))
}

/** Nothing is made in a folder that turns out to be no node's. */
async function migrate(settings: MigrateSettings): Promise<Relocated> {
  const dataDir = resolve(settings.dataDir)
  const ownNodeId = await knownIdentity(dataDir)
  if (ownNodeId === undefined) throw new Error(`the folder ${dataDir} is not the data folder of a node`)
  if (settings.database === undefined) await requireFile(join(dataDir, SQLITE_FILE_NAME))
  const lock = lockDataFolder(dataDir)
  try {
    const source = await openBare({ url: settings.database, dataDir })
    try {
      const relocated = await migrateFrom(source, settings, dataDir, ownNodeId)
      await noteServed(dataDir, settings.nextPlaces)
      return relocated
    } finally {
      await source.db.close()
    }
  } finally {
    lock.release()
  }
}

async function requireFile(path: string): Promise<void> {
  try {
    await access(path)
  } catch (error) {
    throw new Error(`there is no database ${path}; --database names one elsewhere`, { cause: error })
  }
}

async function migrateFrom(
  source: BareDatabase,
  settings: MigrateSettings,
  dataDir: string,
  ownNodeId: string,
): Promise<Relocated> {
  const facts = await readFacts(source)
  refuseWrongContent(facts, settings)
  const { toDatabase } = settings
  const target = toDatabase === undefined ? undefined : await openBare({ url: toDatabase.url, dataDir })
  // Without it the log of SQLite would grow by all that is copied.
  const checkpointer =
    toDatabase !== undefined && toDatabase.url === undefined ? startCheckpointer(dataDir) : undefined
  try {
    return await relocate({
      source,
      facts,
      target,
      content: await contentMove(settings, dataDir, facts),
      ownNodeId,
      now: Date.now,
      report: reporter(),
    })
  } finally {
    await checkpointer?.stop()
    await target?.db.close()
  }
}

function refuseWrongContent({ content }: InstallationFacts, settings: MigrateSettings): void {
  if ((content === 's3') === (settings.content !== undefined)) return
  throw new Error(
    content === 's3'
      ? 'this installation keeps its content in an S3 store: --content must say which'
      : 'this installation keeps its content in files of the data folder, not in an S3 store',
  )
}

async function contentMove(
  settings: MigrateSettings,
  dataDir: string,
  { installation }: InstallationFacts,
): Promise<Parameters<typeof relocate>[0]['content']> {
  if (settings.toContent === undefined) return undefined
  // What fails in passing is tried again; what fails for good is told as the error of the command.
  const log = (): undefined => undefined
  const { address, credentials } = settings.toContent
  return {
    kind: address === undefined ? 'disk' : 's3',
    from: await openStore(settings, dataDir, installation, log),
    to: await openStore({ content: address, contentCredentials: credentials }, dataDir, installation, log),
    staging: await openStaging(join(dataDir, 'staging')),
  }
}

function reporter(): Report {
  let saidMs = performance.now()
  const step = (text: string): void => {
    saidMs = performance.now()
    process.stderr.write(`${text}\n`)
  }
  return {
    step,
    progress(text) {
      if (performance.now() - saidMs >= PROGRESS_EVERY_MS) step(text())
    },
  }
}

interface Summary {
  readonly tables?: Readonly<Record<string, number>>
  readonly rows?: number
  readonly content?: { readonly blobs: number; readonly bytes: number; readonly copied: number }
  /** What `serve` is to be started with from now on. */
  readonly settings: Readonly<Record<string, string>>
}

function summaryOf(settings: MigrateSettings, { tables, content }: Relocated): Summary {
  const rows = Object.values(tables ?? {}).reduce((sum, count) => sum + count, 0)
  return {
    ...(tables === undefined ? {} : { tables, rows }),
    ...(content === undefined ? {} : { content }),
    settings: settings.next,
  }
}

function linesOf({ tables, rows, content, settings }: Summary): string[] {
  const flags = Object.entries(settings).map(([name, value]) => `--${name} ${quoted(value)}`)
  return [
    ...(tables === undefined
      ? []
      : [`${rows ?? 0} rows of ${Object.keys(tables).length} tables are the same in both databases`]),
    ...(content === undefined
      ? []
      : [
          `${content.blobs} blobs of ${content.bytes} bytes are in the target, ${content.copied} of them new`,
        ]),
    `now run  starling serve ${flags.join(' ')}`,
    'what was moved is still where it was; nobody may serve it any more',
  ]
}

/** For a shell. */
function quoted(value: string): string {
  return /^[\w./:@,+-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`
}
