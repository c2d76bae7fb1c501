import type { Db } from '../../src/db/db.js'

/** Puts many empty folders into each of these, faster than requests could. */
export async function fillFolders(db: Db, parents: readonly string[], each: number): Promise<void> {
  const rows = Array.from({ length: each }, (_, row) => {
    const [oid, name] = [row * 2 + 4, row * 2 + 5]
    return `($1, $${oid}, $2, 'folder', $${name}, $${name}, $3)`
  })
  const sql = `INSERT INTO objects (sid, oid, parent, kind, name, name_key, created_ms) VALUES ${rows.join(', ')}`
  await db.write(async (tx) => {
    for (const parent of parents) {
      const values = rows.flatMap((_, row) => [
        parent.slice(32, 56) + row.toString(16).padStart(8, '0'),
        `folder ${row}`,
      ])
      await tx.run(sql, parent.slice(0, 32), parent.slice(32), 0, ...values)
    }
  })
}
