import type { Catalog } from './catalog.js'

const OURS = `FROM sqlite_schema AS tables JOIN`
const WHERE_OURS = `tables.type = 'table' AND tables.name NOT LIKE 'sqlite~_%' ESCAPE '~'`

export const SQLITE_CATALOG: Catalog = {
  columns: `SELECT tables.name AS table_name, columns.name AS column_name, columns.pk AS key_position,
      (columns."notnull" <> 0 OR columns.pk > 0) AS is_required
    ${OURS} pragma_table_info(tables.name) AS columns WHERE ${WHERE_OURS} ORDER BY tables.name, columns.cid`,
  references: `SELECT tables.name AS table_name, keys."from" AS column_name, keys."table" AS target_name
    ${OURS} pragma_foreign_key_list(tables.name) AS keys WHERE ${WHERE_OURS}`,
  counted: `SELECT tables.name AS table_name, columns.name AS column_name
    ${OURS} pragma_table_info(tables.name) AS columns
    WHERE ${WHERE_OURS} AND columns.pk > 0 AND tables.sql LIKE '%AUTOINCREMENT%'`,
  overriding: '',
  async lastCounted(tx, table) {
    const row = await tx.get<{ seq: number }>('SELECT seq FROM sqlite_sequence WHERE name = $1', table)
    return row?.seq ?? 0
  },
  async countFrom(tx, table, _column, last) {
    await tx.run('DELETE FROM sqlite_sequence WHERE name = $1', table)
    await tx.run('INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)', table, last)
  },
  afterLoad: [],
}
