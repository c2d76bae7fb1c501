/** The change log as people read it: who did what to what, when, and from where. */
import type { Tx } from '../db/db.js'
import { listAccountChanges, listChanges, type AuditFilter, type AuditRow } from '../db/audit.js'
import { findUserByEmail } from '../db/users.js'
import { normalAddress } from '../model/addresses.js'

export interface AuditWish {
  /** An address: what the person did, and every change that names the person. */
  readonly user?: string | undefined
  /** Anything that a change names: the id of a folder, file, share, group or device, an address. */
  readonly object?: string | undefined
  /** An action, or the beginning of one: `share.` */
  readonly action?: string | undefined
  readonly sinceMs?: number | undefined
}

export interface AuditEntry {
  readonly seq: number
  readonly time: string
  /** An address, an id where the address is not known, or `command line`. */
  readonly actor: string
  readonly device: string
  readonly origin: string
  readonly action: string
  readonly subject: string
  readonly before: unknown
  readonly after: unknown
}

/** Entries behind `afterSeq`, at most the newest so many, in the order in which they happened. */
export async function readLog(
  tx: Tx,
  wish: AuditWish,
  range: { afterSeq: number; entriesMax: number },
): Promise<AuditEntry[]> {
  const rows = await listChanges(tx, await filterOf(tx, wish), range.afterSeq, range.entriesMax)
  const isUnknown = rows.some((row) => row.actor !== '' && row.actor_email === null)
  const former = isUnknown ? await formerAddresses(tx) : new Map<string, string>()
  return rows.reverse().map((row) => entryOf(row, former))
}

async function filterOf(tx: Tx, wish: AuditWish): Promise<AuditFilter> {
  const email = wish.user === undefined ? undefined : normalAddress(wish.user)
  return {
    person: email === undefined ? undefined : { ids: await idsOf(tx, email), email },
    object: wish.object,
    action: wish.action,
    sinceMs: wish.sinceMs ?? 0,
  }
}

/** An address may have had several accounts, one after the other. */
async function idsOf(tx: Tx, email: string): Promise<string[]> {
  const ids = new Set<string>()
  const user = await findUserByEmail(tx, email)
  if (user !== undefined) ids.add(user.id)
  for (const [id, address] of await formerAddresses(tx)) if (address === email) ids.add(id)
  return [...ids]
}

async function formerAddresses(tx: Tx): Promise<Map<string, string>> {
  const addresses = new Map<string, string>()
  for (const { subject, before, after } of await listAccountChanges(tx)) {
    for (const details of [before, after]) {
      const { id } = JSON.parse(details) as { id?: unknown }
      if (typeof id === 'string') addresses.set(id, subject)
    }
  }
  return addresses
}

function entryOf(row: AuditRow, former: ReadonlyMap<string, string>): AuditEntry {
  const actor = row.actor === '' ? 'command line' : (row.actor_email ?? former.get(row.actor) ?? row.actor)
  return {
    seq: row.seq,
    time: new Date(row.at_ms).toISOString(),
    // A person who signs up acts before they are anybody.
    actor: row.actor === '' && row.origin !== 'command line' ? '' : actor,
    device: row.device,
    origin: row.origin,
    action: row.action,
    subject: row.subject,
    before: JSON.parse(row.before) as unknown,
    after: JSON.parse(row.after) as unknown,
  }
}
