import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { commandDeps, openInstallation, type Installation } from '../../src/cli/installation.js'
import { insertBlob } from '../../src/db/blobs.js'
import type { Tx, Value } from '../../src/db/db.js'
import { insertObject, setContent } from '../../src/db/objects.js'
import { insertStore } from '../../src/db/stores.js'
import { ZERO_OID } from '../../src/model/ids.js'
import { releaseContents } from '../../src/service/release.js'
import { ENGINES, openTestDb, type TestDb } from '../support/engines.js'

const COUNT = 1_000

/** Counts what the body asks of the database. */
function counting(tx: Tx): { tx: Tx; statements(): number } {
  let statements = 0
  const counted: Tx = {
    get: <T>(sql: string, ...values: Value[]) => ((statements += 1), tx.get<T>(sql, ...values)),
    recall: <T>(sql: string, ...values: string[]) => ((statements += 1), tx.recall<T>(sql, ...values)),
    all: <T>(sql: string, ...values: Value[]) => ((statements += 1), tx.all<T>(sql, ...values)),
    lists: <T extends unknown[]>(sql: string, ...values: Value[]) => (
      (statements += 1),
      tx.lists<T>(sql, ...values)
    ),
    run: (sql, ...values) => ((statements += 1), tx.run(sql, ...values)),
    lock: (table, ...keys) => ((statements += 1), tx.lock(table, ...keys)),
    afterCommit: (effect) => tx.afterCommit(effect),
  }
  return { tx: counted, statements: () => statements }
}

describe.each(ENGINES)('the content of a large folder that is deleted on %s', (engine) => {
  let test: TestDb
  let installation: Installation

  beforeEach(async () => {
    test = await openTestDb(engine)
    installation = await openInstallation({ dataDir: test.dataDir, database: test.url }, () => undefined)
  })

  afterEach(async () => {
    await installation.close()
    await test.close()
  })

  it('goes by hundreds, not one by one, so that the time of a transaction is enough; what is named elsewhere stays', async () => {
    const { db } = installation
    const hashes = Array.from({ length: COUNT }, (_, index) => index.toString(16).padStart(64, '0'))
    const kept = hashes[500] ?? ''
    const sid = 'a'.repeat(32)
    await db.write(async (tx) => {
      for (const hash of hashes)
        await insertBlob(tx, { hash, size: 1, place: null, data: Buffer.from('x') }, 0)
      await insertStore(tx, sid, 'root', 0)
      const row = {
        sid,
        oid: ZERO_OID,
        parent: null,
        name: 'n',
        nameKey: 'n',
        kind: 'file',
        nowMs: 0,
      } as const
      await setContent(tx, await insertObject(tx, row), { hash: kept, size: 1, modifiedMs: 0 })
    })
    const statements = await db.write(async (tx) => {
      const counted = counting(tx)
      await releaseContents(
        counted.tx,
        commandDeps(installation, () => undefined),
        hashes,
      )
      return counted.statements()
    })
    expect(statements).toBeLessThan(COUNT)
    expect(await db.read((tx) => tx.all('SELECT hash FROM blobs'))).toEqual([{ hash: kept }])
  })
})
