import type { Catalog } from './catalog.js'

const OURS = `FROM pg_class AS tables JOIN pg_attribute AS columns
    ON columns.attrelid = tables.oid AND columns.attnum > 0 AND NOT columns.attisdropped`
const WHERE_OURS = `tables.relkind IN ('r', 'p') AND tables.relnamespace = current_schema()::regnamespace`

export const POSTGRES_CATALOG: Catalog = {
  columns: `SELECT tables.relname AS table_name, columns.attname AS column_name,
      COALESCE(array_position(keys.indkey, columns.attnum) + 1, 0) AS key_position,
      columns.attnotnull AS is_required
    ${OURS} LEFT JOIN pg_index AS keys ON keys.indrelid = tables.oid AND keys.indisprimary
    WHERE ${WHERE_OURS} ORDER BY tables.relname, columns.attnum`,
  references: `SELECT tables.relname AS table_name, columns.attname AS column_name, targets.relname AS target_name
    ${OURS} JOIN pg_constraint AS keys
      ON keys.contype = 'f' AND keys.conrelid = tables.oid AND columns.attnum = ANY (keys.conkey)
    JOIN pg_class AS targets ON targets.oid = keys.confrelid
    WHERE ${WHERE_OURS}`,
  counted: `SELECT tables.relname AS table_name, columns.attname AS column_name
    ${OURS} WHERE ${WHERE_OURS} AND columns.attidentity <> ''`,
  overriding: 'OVERRIDING SYSTEM VALUE ',
  async lastCounted(tx, table, column) {
    const row = await tx.get<{ last: number | null }>(
      'SELECT pg_sequence_last_value(pg_get_serial_sequence($1, $2)::regclass) AS last',
      table,
      column,
    )
    return row?.last ?? 0
  },
  async countFrom(tx, table, column, last) {
    if (last > 0) await tx.get('SELECT setval(pg_get_serial_sequence($1, $2), $3)', table, column, last)
  },
  // Until the engine has looked at the new rows by itself it would plan as if there were none.
  afterLoad: ['ANALYZE'],
}
