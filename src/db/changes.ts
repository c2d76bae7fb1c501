import type { Tx } from './db.js'

export interface Change {
  atMs: number
  actor: string
  device: string
  origin: string
  action: string
  subject: string
  before: unknown
  after: unknown
}

export async function appendChange(tx: Tx, change: Change): Promise<void> {
  await tx.run(
    `INSERT INTO changes (epoch, at_ms, actor, device, origin, action, subject, before, after)
     VALUES ((SELECT value FROM meta WHERE key = 'epoch'), $1, $2, $3, $4, $5, $6, $7, $8)`,
    change.atMs,
    change.actor,
    change.device,
    change.origin,
    change.action,
    change.subject,
    JSON.stringify(change.before ?? {}),
    JSON.stringify(change.after ?? {}),
  )
}

/** A fact about the installation that holds from the first time on: what was said first is what comes back. */
export async function settleFact(tx: Tx, key: string, value: string): Promise<string> {
  await tx.run('INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING', key, value)
  return (await tx.get<{ value: string }>('SELECT value FROM meta WHERE key = $1', key))?.value ?? value
}

export async function ensureEpoch(tx: Tx, epoch: string): Promise<void> {
  await tx.run(`INSERT INTO meta (key, value) VALUES ('epoch', $1) ON CONFLICT (key) DO NOTHING`, epoch)
}

export interface LoggedChange {
  readonly seq: number
  readonly action: string
  readonly before: string
  readonly after: string
}

export async function newestSequence(tx: Tx): Promise<number> {
  const row = await tx.get<{ seq: number }>('SELECT COALESCE(MAX(seq), 0) AS seq FROM changes')
  return row?.seq ?? 0
}

/** The log behind a number, the oldest first. */
export function listChangesBehind(tx: Tx, seq: number, rowsMax: number): Promise<LoggedChange[]> {
  return tx.all<LoggedChange>(
    'SELECT seq, action, before, after FROM changes WHERE seq > $1 ORDER BY seq LIMIT $2',
    seq,
    rowsMax,
  )
}
