import { describe, expect, it } from 'vitest'
import { setTimeout as delay } from 'node:timers/promises'
import { randomBytes } from 'node:crypto'
import { deleteUnnamedBlob } from '../../src/db/blobs.js'
import { ENGINES } from '../support/engines.js'
import { fill, openWorld } from './check-world.js'
for (const engine of ENGINES) describe(engine, () => {
  it('skew', async () => {
    const w = await openWorld(engine)
    const c = randomBytes(100)
    const a = await w.file('a', c); const b = await w.file('b', c)
    const gone = (oid: string) => w.write(async (tx) => {
      await tx.run('DELETE FROM objects WHERE oid = $1', oid)
      await delay(200)
      await deleteUnnamedBlob(tx, a.hash)
      await delay(200)
    })
    await Promise.all([gone(a.oid), gone(b.oid)])
    console.log(engine, (await w.findings()).map((f) => f.invariant))
    await w.close()
  })
  it('million', { timeout: 600000 }, async () => {
    const w = await openWorld(engine)
    await fill(w)
    const t0 = Date.now()
    await w.breakTables(`INSERT INTO objects (sid, oid, parent, name, name_key, kind, created_ms)
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
      SELECT '${w.sid}', 'a' || (100000000 + i), CASE WHEN i <= 1000 THEN '${'0'.repeat(32)}' ELSE 'a' || (100000000 + i / 1000) END, 'n' || i, 'n' || i, 'folder', 0 FROM n`)
    const t1 = Date.now()
    const found = await w.findings()
    console.log(engine, 'insert', t1 - t0, 'check', Date.now() - t1, 'rss', Math.round(process.memoryUsage().rss / 1e6), found.slice(0, 3))
    await w.close()
  })
})
