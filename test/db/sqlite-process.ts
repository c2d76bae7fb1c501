/** A process of its own that writes to a SQLite file: `increment FILE COUNT` or `reopen FILE COUNT`. */
import { openSqlite } from '../../src/db/sqlite.js'

const [mode, file = '', count = '0'] = process.argv.slice(2)
const log = (message: string): void => void process.stderr.write(`${message}\n`)

if (mode === 'increment') {
  const db = await openSqlite({ file, log })
  const increment = () =>
    db.write((tx) => tx.run('UPDATE counters SET value = value + 1 WHERE name = $1', 'main'))
  // Half of them at once and half one after the other: groups and single writes compete.
  const half = Number(count) / 2
  await Promise.all(Array.from({ length: half }, increment))
  for (let index = 0; index < half; index++) await increment()
  await db.close()
} else {
  for (let index = 0; index < Number(count); index++) {
    const db = await openSqlite({ file, log })
    await db.write(async (tx) => {
      await tx.run('CREATE TABLE IF NOT EXISTS visits (id INTEGER PRIMARY KEY)')
      await tx.run('INSERT INTO visits DEFAULT VALUES')
    })
    await db.close()
  }
}
process.disconnect()
