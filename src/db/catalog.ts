/** What tables there are, from the engine's own books: a table of a later version is known here without a word of ours. */
import type { Tx } from './db.js'

export interface Table {
  readonly name: string
  readonly columns: readonly string[]
  /** The columns of the primary key, in its order. */
  readonly key: readonly string[]
  /** The column whose values the database counts up by itself. */
  readonly counted: string | undefined
  /** Columns that name another row of the same table and may be empty. */
  readonly inward: readonly string[]
}

/** How an engine is asked; the answers have the same form on both. */
export interface Catalog {
  /** table_name, column_name, key_position (0: not in the key) and is_required, in the order of the columns. */
  readonly columns: string
  /** table_name, column_name and target_name of every column of a foreign key. */
  readonly references: string
  /** table_name and column_name of the columns that the database counts up. */
  readonly counted: string
  /** Stands before VALUES where a row brings the value of such a column along. */
  readonly overriding: string
  /** The greatest value that was ever given out; 0 when there was none. */
  lastCounted(tx: Tx, table: string, column: string): Promise<number>
  /** The next value is the one after this. */
  countFrom(tx: Tx, table: string, column: string, last: number): Promise<void>
  /** Statements after many rows were written. */
  readonly afterLoad: readonly string[]
}

interface ColumnRow {
  table_name: string
  column_name: string
  key_position: number
  is_required: number
}

interface ReferenceRow {
  table_name: string
  column_name: string
  target_name: string
}

/** All tables, each after those that it refers to. */
export async function listTables(tx: Tx, catalog: Catalog): Promise<Table[]> {
  const columns = await tx.all<ColumnRow>(catalog.columns)
  const references = await tx.all<ReferenceRow>(catalog.references)
  const counted = await tx.all<{ table_name: string; column_name: string }>(catalog.counted)
  const names = [...new Set(columns.map((column) => column.table_name))]
  const tables = names.map((name) =>
    tableOf(
      name,
      columns.filter((column) => column.table_name === name),
      references.filter((reference) => reference.table_name === name && reference.target_name === name),
      counted.find((column) => column.table_name === name)?.column_name,
    ),
  )
  return inOrder(tables, references)
}

function tableOf(
  name: string,
  columns: readonly ColumnRow[],
  inward: readonly ReferenceRow[],
  counted: string | undefined,
): Table {
  const key = columns
    .filter((column) => column.key_position > 0)
    .sort((one, other) => one.key_position - other.key_position)
    .map((column) => column.column_name)
  if (key.length === 0) throw new Error(`the table ${name} has no primary key`)
  const isInward = (column: ColumnRow): boolean =>
    column.is_required === 0 && inward.some((reference) => reference.column_name === column.column_name)
  return {
    name,
    columns: columns.map((column) => column.column_name),
    key,
    counted,
    inward: columns.filter(isInward).map((column) => column.column_name),
  }
}

function inOrder(tables: readonly Table[], references: readonly ReferenceRow[]): Table[] {
  const waiting = [...tables].sort((one, other) => (one.name < other.name ? -1 : 1))
  const ordered: Table[] = []
  const isReady = (table: Table): boolean =>
    references
      .filter(({ table_name, target_name }) => table_name === table.name && target_name !== table.name)
      .every(({ target_name }) => ordered.some(({ name }) => name === target_name))
  while (waiting.length > 0) {
    const next = waiting.findIndex(isReady)
    if (next < 0) throw new Error('the foreign keys of the tables form a circle')
    ordered.push(...waiting.splice(next, 1))
  }
  return ordered
}
