/** Rows of one database written into another, and both compared, a page at a time whatever the size of a table. */
import { marks, pieces, rowMarks } from './batches.js'
import type { Catalog, Table } from './catalog.js'
import type { Db, Tx, Value } from './db.js'

/** Small content is in its row, so a page is at most 32 MiB. */
const PAGE_ROWS = 500

type Cells = Value[]

/** Rows that each side has for itself. */
export interface Exempt {
  readonly table: string
  readonly column: string
  readonly values: readonly string[]
}

export interface CopyTarget {
  readonly db: Db
  readonly catalog: Catalog
}

/** The table must be empty in the target. Resolves to the number of rows. */
export async function copyTable(
  source: Tx,
  target: CopyTarget,
  table: Table,
  exempt: Exempt,
  onPage: (rows: number) => void,
): Promise<number> {
  let rows = 0
  for await (const page of pagesOf(source, table, exempt)) {
    await insertPage(target, table, page.map(table.inward.length === 0 ? same : withoutInward(table)), '')
    rows += page.length
    onPage(rows)
  }
  // A row may refer to one that comes after it, so such columns are filled when all rows are there.
  if (table.inward.length > 0) {
    const fill = `ON CONFLICT (${names(table.key)}) DO UPDATE SET ${table.inward
      .map((column) => `${name(column)} = excluded.${name(column)}`)
      .join(', ')}`
    const indexes = indexesOf(table, table.inward)
    for await (const page of pagesOf(source, table, exempt)) {
      const referring = page.filter((cells) => indexes.some((index) => cells[index] !== null))
      await insertPage(target, table, referring, fill)
      onPage(rows)
    }
  }
  return rows
}

/** Throws when the rows of the two are not the same. Resolves to their number. */
export async function compareTable(source: Tx, target: Tx, table: Table, exempt: Exempt): Promise<number> {
  const others = pagesOf(target, table, exempt)
  let rows = 0
  for await (const page of pagesOf(source, table, exempt)) {
    const step = await others.next()
    const other = step.done === true ? [] : step.value
    const isSame = page.length === other.length && page.every((cells, row) => areSame(cells, other[row]))
    if (!isSame) throw new TablesDiffer(table.name)
    rows += page.length
  }
  if ((await others.next()).done !== true) throw new TablesDiffer(table.name)
  return rows
}

export class TablesDiffer extends Error {
  constructor(table: string) {
    super(`the rows of the table ${table} are not the same in both databases`)
    this.name = 'TablesDiffer'
  }
}

async function* pagesOf(tx: Tx, table: Table, exempt: Exempt): AsyncGenerator<Cells[], void> {
  const keyIndexes = indexesOf(table, table.key)
  const left = exempt.table === table.name ? exempt.values : []
  let after: Cells | undefined
  for (;;) {
    const conditions = [
      ...(left.length === 0 ? [] : [`${name(exempt.column)} NOT IN (${marks(left.length)})`]),
      ...(after === undefined
        ? []
        : [`(${names(table.key)}) > (${marks(table.key.length, left.length + 1)})`]),
    ]
    const page = await tx.lists<Cells>(
      `SELECT ${names(table.columns)} FROM ${name(table.name)}
       ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`}
       ORDER BY ${names(table.key)} LIMIT ${PAGE_ROWS}`,
      ...left,
      ...(after ?? []),
    )
    if (page.length > 0) yield page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_ROWS) return
    after = keyIndexes.map((index) => last[index] ?? null)
  }
}

async function insertPage(
  { db, catalog }: CopyTarget,
  table: Table,
  page: readonly Cells[],
  onConflict: string,
): Promise<void> {
  for (const cells of page) checkNumbers(table, cells)
  const overriding = table.counted === undefined ? '' : catalog.overriding
  await db.write(async (tx) => {
    for (const piece of pieces(page)) {
      await tx.run(
        `INSERT INTO ${name(table.name)} (${names(table.columns)}) ${overriding}
         VALUES ${rowMarks(piece.length, table.columns.length)} ${onConflict}`,
        ...piece.flat(),
      )
    }
  })
}

/** A number that lost digits on its way from the database must not be taken for what is stored. */
function checkNumbers(table: Table, cells: Cells): void {
  const index = cells.findIndex((cell) => typeof cell === 'number' && !Number.isSafeInteger(cell))
  if (index < 0) return
  throw new Error(`the column ${table.columns[index] ?? ''} of the table ${table.name} holds no whole number`)
}

function same(cells: Cells): Cells {
  return cells
}

function withoutInward(table: Table): (cells: Cells) => Cells {
  const indexes = new Set(indexesOf(table, table.inward))
  return (cells) => cells.map((cell, index) => (indexes.has(index) ? null : cell))
}

function areSame(cells: Cells, other: Cells | undefined): boolean {
  return cells.every((cell, index) => {
    const counterpart = other?.[index]
    return Buffer.isBuffer(cell) && Buffer.isBuffer(counterpart)
      ? cell.equals(counterpart)
      : cell === counterpart
  })
}

function indexesOf(table: Table, columns: readonly string[]): number[] {
  return columns.map((column) => table.columns.indexOf(column))
}

function name(text: string): string {
  return `"${text}"`
}

function names(list: readonly string[]): string {
  return list.map(name).join(', ')
}
