/**
 * One look after the other at the database through one connection, each of them on one consistent snapshot.
 *
 * Rows that nearly every request asks for are kept from one look to the next. SQLite says cheaply whether any other
 * connection has committed anything since (`PRAGMA data_version`), and the first commit ends the life of all of them. A
 * look that finds everything among them opens no transaction. One that has used some and then needs more opens one,
 * and begins again if something was committed meanwhile: what it gives comes from one snapshot in any case.
 *
 * What a whole look gave is kept in the same way where it is wanted again: then one question to SQLite is the answer.
 */
import type { Value } from './db.js'
import type { Connection } from './sqlite-connection.js'
import type { Statements } from './body.js'

/** Beyond these the rows are forgotten and gathered anew. */
const KEPT_ROWS_MAX = 4_000
const KEPT_CHARS_MAX = 4_096
const KEPT_OUTCOMES_MAX = 4_000
const OUTCOME_NAME_CHARS_MAX = 512

/** The look has used rows that are not those of the snapshot it then opened. */
export class Outdated extends Error {}

export interface Looks extends Statements {
  /** Begins a look, with its transaction at once when it must not become outdated. */
  begin(atOnce: boolean): void
  end(): void
  /** Keeps what the look that is about to end has given. */
  keepOutcome(name: string, value: unknown): void
  /** Only between two looks. */
  recallOutcome(name: string): unknown
}

export function looksThrough(connection: Connection): Looks {
  const kept = new Map<string, Map<string, unknown>>()
  let keptRows = 0
  const outcomes = new Map<string, unknown>()
  /** The state of the database that everything kept is of. */
  let version: unknown
  let isCompared = false
  let isOpen = false
  let usedKept = false

  /** Asks for the state of the database, and forgets what is of any other. */
  function compare(): boolean {
    const { data_version: current } = connection.get('PRAGMA data_version', []) as { data_version: unknown }
    isCompared = true
    if (current === version) return true
    kept.clear()
    keptRows = 0
    outcomes.clear()
    version = current
    return false
  }

  function open(): void {
    if (isOpen) return
    connection.run('BEGIN', [])
    isOpen = true
    // The first statement of a transaction is what fixes its snapshot.
    if (!compare() && usedKept) throw new Outdated('something was committed in the middle of a look')
  }

  function keep(sql: string, key: string, row: Record<string, unknown>): void {
    if (!isSmall(row)) return
    if (keptRows >= KEPT_ROWS_MAX) {
      kept.clear()
      keptRows = 0
    }
    const rows = kept.get(sql) ?? new Map<string, unknown>()
    kept.set(sql, rows)
    rows.set(key, Object.freeze(row))
    keptRows += 1
  }

  /** Opens the transaction for whatever reads the database itself. */
  function opened<R>(statement: (sql: string, values: readonly Value[]) => R): typeof statement {
    return (sql, values) => {
      open()
      return statement(sql, values)
    }
  }

  return {
    begin(atOnce) {
      isCompared = false
      isOpen = false
      usedKept = false
      if (atOnce) open()
    },
    end() {
      if (connection.inTransaction) connection.run('ROLLBACK', [])
    },
    keepOutcome(name, value) {
      // A look that never compared has read nothing.
      if (!isCompared || name.length > OUTCOME_NAME_CHARS_MAX) return
      if (outcomes.size >= KEPT_OUTCOMES_MAX) outcomes.clear()
      outcomes.set(name, value)
    },
    recallOutcome(name) {
      const known = outcomes.get(name)
      return known !== undefined && compare() ? known : undefined
    },
    recall(sql, values) {
      if (!isCompared && keptRows > 0) compare()
      const key = values.join('\0')
      const known = kept.get(sql)?.get(key)
      if (known !== undefined) {
        usedKept = true
        return known
      }
      open()
      const row = connection.get(sql, values) as Record<string, unknown> | undefined
      if (row !== undefined) keep(sql, key, row)
      return row
    },
    get: opened(connection.get),
    all: opened(connection.all),
    lists: opened(connection.lists),
    run: opened(connection.run),
    lock() {
      throw new Error('a read transaction cannot hold rows')
    },
  }
}

/** Rows are kept by their number; one of them must not be worth thousands. */
function isSmall(row: Record<string, unknown>): boolean {
  let chars = 0
  for (const name in row) {
    const value = row[name]
    if (typeof value === 'string') chars += value.length
    else if (typeof value === 'object' && value !== null) return false
  }
  return chars <= KEPT_CHARS_MAX
}
