import type { Command } from 'commander'
import { setTimeout as delay } from 'node:timers/promises'
import { readLog, type AuditEntry, type AuditWish } from '../service/audit.js'
import { withInstallation, type Context } from './context.js'
import { leaf } from './leaf.js'
import { print } from './output.js'
import { UsageError } from './settings.js'

const ENTRIES = 100
const FOLLOW_EVERY_MS = 500
/** How many entries one look may bring while following. */
const FOLLOWED_MAX = 10_000

interface LogOptions {
  readonly user?: string
  readonly object?: string
  readonly action?: string
  readonly since?: string
  readonly limit?: string
  readonly follow?: boolean
}

export function addLogCommand(program: Command): void {
  leaf(program, 'log', 'who did what, when and from where: the change log')
    .option('--user <email>', 'what this person did, and what names them')
    .option('--object <id>', 'changes that name this folder, file, share, group, device or address')
    .option('--action <text>', 'changes of this kind, or of kinds that begin so: share.')
    .option('--since <time>', 'changes since a time (2024-05-17T09:30Z) or for a while (90s, 15m, 2h, 7d)')
    .option('--limit <count>', `at most the newest so many, 0 for all (default: ${ENTRIES})`)
    .option('--follow', 'go on and print what happens; with --json one value a line')
    .action(async (options: LogOptions, command: Command) => {
      const wish: AuditWish = {
        user: options.user,
        object: options.object,
        action: options.action,
        sinceMs: options.since === undefined ? undefined : timeOf(options.since, Date.now()),
      }
      const entriesMax = options.limit === undefined ? ENTRIES : countOf(options.limit)
      await withInstallation(command, async (context) => {
        const entries = await context.read((tx) => readLog(tx, wish, { afterSeq: 0, entriesMax }))
        if (options.follow === true) await follow(context, wish, entries)
        else print(context.isJson, entries, () => entries.map(lineOf))
      })
    })
}

/** Until somebody stops it, or nobody reads any more. */
async function follow(context: Context, wish: AuditWish, first: readonly AuditEntry[]): Promise<void> {
  const stopped = new AbortController()
  const stop = (): void => stopped.abort()
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  process.stdout.once('error', stop)
  let entries = first
  let afterSeq = entries.at(-1)?.seq ?? (await newestSeq(context))
  while (!stopped.signal.aborted) {
    for (const entry of entries) print(context.isJson, entry, () => [lineOf(entry)])
    afterSeq = Math.max(afterSeq, entries.at(-1)?.seq ?? 0)
    await delay(FOLLOW_EVERY_MS, undefined, { signal: stopped.signal }).catch(() => undefined)
    const range = { afterSeq, entriesMax: FOLLOWED_MAX }
    entries = await context.read((tx) => readLog(tx, wish, range))
  }
}

/** Where to go on from when nothing that fits has happened yet. */
async function newestSeq(context: Context): Promise<number> {
  const [newest] = await context.read((tx) => readLog(tx, {}, { afterSeq: 0, entriesMax: 1 }))
  return newest?.seq ?? 0
}

function lineOf(entry: AuditEntry): string {
  const who = entry.actor === '' ? 'somebody' : entry.actor
  const from = entry.origin === 'command line' ? '' : `from ${entry.origin}`
  const device = entry.device === '' ? '' : `device ${entry.device}`
  const details = [detail('was', entry.before), detail('now', entry.after)]
  return [entry.time, who, entry.action, entry.subject, ...details, from, device]
    .filter((part) => part !== '')
    .join('\t')
}

function detail(word: string, value: unknown): string {
  const text = JSON.stringify(value)
  return text === '{}' ? '' : `${word} ${text}`
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function timeOf(text: string, nowMs: number): number {
  const span = /^(\d{1,9})([smhd])$/.exec(text)
  if (span !== null) return Math.max(0, nowMs - Number(span[1]) * (UNITS_MS[span[2] ?? ''] ?? 0))
  const ms = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms)) throw new UsageError(`${text} is no time: say 2024-05-17T09:30Z, or 2h`)
  return ms
}

function countOf(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`${text} is no number of entries`)
  return text === '0' ? Number.MAX_SAFE_INTEGER : Number(text)
}
