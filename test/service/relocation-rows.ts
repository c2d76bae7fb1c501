/**
 * Rows that no installation would have, in every table there is: each column gets values at the edges of its type, each
 * foreign key some row that exists. What tables, columns and keys there are is read from a SQLite database, so a table
 * of a later version gets its rows too; one with a CHECK of its own needs a line in CHOICES.
 */
import fc from 'fast-check'
import type { Db, Tx, Value } from '../../src/db/db.js'

type Cells = Record<string, Value>

interface Column {
  readonly name: string
  readonly type: string
  readonly isRequired: boolean
}

interface Reference {
  readonly target: string
  readonly from: readonly string[]
  readonly to: readonly string[]
}

export interface Form {
  readonly name: string
  readonly columns: readonly Column[]
  readonly references: readonly Reference[]
}

const CHOICES: Readonly<Record<string, readonly string[]>> = {
  'stores.kind': ['root', 'share'],
  'objects.kind': ['folder', 'file', 'mount'],
  'memberships.state': ['joined', 'left'],
  'sessions.stage': ['half', 'full'],
}

/** Constraints of more than one column. */
const MENDED: Readonly<Record<string, (cells: Cells) => void>> = {
  blobs(cells) {
    if (cells['place'] === null) cells['data'] ??= Buffer.alloc(0)
    else cells['data'] = null
  },
  objects(cells) {
    if (cells['content'] === null) cells['size'] = null
    else cells['size'] ??= 0
  },
}

/** The tables of a SQLite database that has them all, as SQLite describes them. */
export function readForms(db: Db): Promise<Form[]> {
  return db.read(async (tx) => {
    const tables = await tx.all<{ name: string }>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('sqlite_sequence', 'schema_version')`,
    )
    const forms: Form[] = []
    for (const { name } of tables) forms.push(await readForm(tx, name))
    return forms
  })
}

async function readForm(tx: Tx, name: string): Promise<Form> {
  const columns = await tx.all<{ name: string; type: string; notnull: number; pk: number }>(
    `SELECT name, type, "notnull", pk FROM pragma_table_info('${name}')`,
  )
  const keys = await tx.all<{ id: number; table: string; from: string; to: string }>(
    `SELECT id, "table", "from", "to" FROM pragma_foreign_key_list('${name}') ORDER BY id, seq`,
  )
  return {
    name,
    columns: columns.map(({ name: column, type, notnull, pk }) => ({
      name: column,
      type,
      isRequired: notnull === 1 || pk > 0,
    })),
    references: [...new Set(keys.map(({ id }) => id))].map((id) => {
      const parts = keys.filter((key) => key.id === id)
      return {
        target: parts[0]?.table ?? '',
        from: parts.map(({ from }) => from),
        to: parts.map(({ to }) => to),
      }
    }),
  }
}

const TEXTS = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    "it's",
    '"',
    '\\',
    '\\x00',
    'NULL',
    'a\nb\tc',
    '😀é',
    '\ufeff',
    '\uffff',
    '$1',
    '--',
  ),
  fc.string({ unit: 'grapheme', maxLength: 30 }).map((text) => text.replaceAll('\0', '')),
)
const NUMBERS = fc.oneof(
  fc.constantFrom(0, 1, -1, 2 ** 31, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
  fc.maxSafeInteger(),
)
const BYTES = fc.oneof(
  fc.constantFrom(Buffer.alloc(0), Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))),
  fc.constant(Buffer.alloc(65_536, 7)),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
)
const POOL_SIZE = 300

/** Picks by a seed, so that a run that failed can be repeated. */
function picker(seed: number): { below(limit: number): number; of<T>(list: readonly T[]): T | undefined } {
  let state = seed >>> 0
  const below = (limit: number): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }
  return { below, of: (list) => list[below(Math.max(1, list.length))] }
}

/** Fills every table of a SQLite database; the same seed gives the same rows. */
export async function fillTables(
  db: Db,
  forms: readonly Form[],
  seed: number,
  rowsOf: (table: string) => number,
): Promise<void> {
  const pick = picker(seed)
  const texts = fc.sample(TEXTS, { seed, numRuns: POOL_SIZE })
  const numbers = fc.sample(NUMBERS, { seed, numRuns: POOL_SIZE })
  const bytes = fc.sample(BYTES, { seed, numRuns: POOL_SIZE })
  const made = new Map<string, Cells[]>()
  let serial = 0

  function valueOf(form: Form, column: Column): Value {
    const choices = CHOICES[`${form.name}.${column.name}`]
    if (choices !== undefined) return pick.of(choices) ?? null
    if (!column.isRequired && pick.below(2) === 0) return null
    if (column.type === 'BLOB') return pick.of(bytes) ?? null
    if (column.type === 'INTEGER') return (serial += 1 + pick.below(1000))
    if (column.type === 'BIGINT') return pick.of(numbers) ?? null
    return `${pick.of(texts) ?? ''}${pick.below(2 ** 30)}-${(serial += 1)}`
  }

  function rowOf(form: Form): Cells | undefined {
    const cells: Cells = Object.fromEntries(
      form.columns.map((column) => [column.name, valueOf(form, column)]),
    )
    for (const { target, from, to } of inwardLast(form)) {
      const isOpen = form.columns.some(({ name, isRequired }) => from.includes(name) && !isRequired)
      const candidates = (made.get(target) ?? []).filter(
        (row) => target !== form.name || row[to[0] ?? ''] === cells[from[0] ?? ''],
      )
      const chosen = isOpen && pick.below(4) === 0 ? undefined : pick.of(candidates)
      if (chosen !== undefined) from.forEach((name, index) => (cells[name] = chosen[to[index] ?? ''] ?? null))
      else if (isOpen) cells[from.at(-1) ?? ''] = null
      else return undefined
    }
    MENDED[form.name]?.(cells)
    return cells
  }

  for (const form of inOrder(forms)) {
    const rows: Cells[] = []
    made.set(form.name, rows)
    await db.write(async (tx) => {
      for (let count = rowsOf(form.name); count > 0; count -= 1) {
        const cells = rowOf(form)
        if (cells !== undefined && (await insert(tx, form, cells)) > 0) rows.push(cells)
      }
    })
  }
}

/** Which rows of the same table may be named depends on the columns that are shared with other keys. */
function inwardLast({ name, references }: Form): Reference[] {
  return [...references].sort((one, other) => Number(one.target === name) - Number(other.target === name))
}

function inOrder(forms: readonly Form[]): Form[] {
  const waiting = [...forms]
  const ordered: Form[] = []
  while (waiting.length > 0) {
    const next = waiting.findIndex(({ name, references }) =>
      references.every(({ target }) => target === name || ordered.some((form) => form.name === target)),
    )
    if (next < 0) throw new Error('the foreign keys form a circle')
    ordered.push(...waiting.splice(next, 1))
  }
  return ordered
}

/** Two rows that picked the same key are one. */
function insert(tx: Tx, form: Form, cells: Cells): Promise<number> {
  const names = form.columns.map(({ name }) => `"${name}"`)
  const marks = names.map((_, index) => `$${index + 1}`)
  return tx.run(
    `INSERT INTO "${form.name}" (${names.join(', ')}) VALUES (${marks.join(', ')}) ON CONFLICT DO NOTHING`,
    ...form.columns.map(({ name }) => cells[name] ?? null),
  )
}
