import type { Tx } from './db.js'

export interface AuditRow {
  seq: number
  at_ms: number
  actor: string
  /** NULL: the actor is no user any more, or it was the command line. */
  actor_email: string | null
  device: string
  origin: string
  action: string
  subject: string
  before: string
  after: string
}

export interface AuditFilter {
  /** What a person did, and what names them. */
  readonly person: { readonly ids: readonly string[]; readonly email: string } | undefined
  /** Any text that the subject or the details hold. */
  readonly object: string | undefined
  readonly action: string | undefined
  readonly sinceMs: number
}

/** The changes behind `afterSeq`, the newest first. A row passes when it fits the person and every other wish. */
export function listChanges(
  tx: Tx,
  filter: AuditFilter,
  afterSeq: number,
  rowsMax: number,
): Promise<AuditRow[]> {
  const values: (string | number)[] = [afterSeq, filter.sinceMs, rowsMax]
  const parameter = (value: string): string => `$${values.push(value)}`
  const conditions = ['c.seq > $1', 'c.at_ms >= $2']
  const holds = (columns: readonly string[], text: string): string => {
    const pattern = parameter(`%${likeText(text)}%`)
    return columns.map((column) => `c.${column} LIKE ${pattern} ESCAPE '!'`).join(' OR ')
  }
  if (filter.person !== undefined) {
    const { ids, email } = filter.person
    const ways = [
      ...ids.map((id) => `c.actor = ${parameter(id)}`),
      `c.subject = ${parameter(email)}`,
      holds(['before', 'after'], JSON.stringify(email)),
    ]
    conditions.push(`(${ways.join(' OR ')})`)
  }
  if (filter.object !== undefined) {
    conditions.push(`(${holds(['subject', 'before', 'after'], filter.object)})`)
  }
  if (filter.action !== undefined) {
    conditions.push(`c.action LIKE ${parameter(`${likeText(filter.action)}%`)} ESCAPE '!'`)
  }
  return tx.all<AuditRow>(
    `SELECT c.seq, c.at_ms, c.actor, u.email AS actor_email, c.device, c.origin, c.action, c.subject, c.before, c.after
     FROM changes c LEFT JOIN users u ON u.id = c.actor
     WHERE ${conditions.join(' AND ')} ORDER BY c.seq DESC LIMIT $3`,
    ...values,
  )
}

/** What was written down when accounts came and went: the address of an id, the ids of an address. */
export function listAccountChanges(
  tx: Tx,
): Promise<{ subject: string; action: string; before: string; after: string }[]> {
  return tx.all(
    `SELECT subject, action, before, after FROM changes WHERE action IN ('user.create', 'user.delete') ORDER BY seq`,
  )
}

function likeText(text: string): string {
  return text.replaceAll(/[!%_]/g, '!$&')
}
