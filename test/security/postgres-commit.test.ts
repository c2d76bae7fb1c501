import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { OutcomeUnknown } from '../../src/db/db.js'
import { openTestDb, type TestDb } from '../support/engines.js'

describe('a COMMIT whose answer never came', () => {
  let test: TestDb

  beforeEach(async () => {
    test = await openTestDb('postgres')
    await test.db.write((tx) => tx.run('CREATE TABLE things (id TEXT PRIMARY KEY)'))
  })

  afterEach(async () => {
    vi.restoreAllMocks()
    await test.close()
  })

  it.each(['EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'ERR_STREAM_DESTROYED', 'ETIMEDOUT', ''])(
    'is of unknown outcome whatever the socket says (%s): what it names must not be removed',
    async (code) => {
      const query = pg.Client.prototype.query as (...args: unknown[]) => Promise<unknown>
      const answerLost: unknown = async function (this: pg.Client, ...args: unknown[]): Promise<unknown> {
        const result = await query.apply(this, args)
        if (args[0] !== 'COMMIT') return result
        throw Object.assign(new Error(`read ${code}`), code === '' ? {} : { code })
      }
      // The types see the overload that takes a callback; the driver uses the one with a promise.
      // eslint-disable-next-line @typescript-eslint/no-misused-promises
      vi.spyOn(pg.Client.prototype, 'query').mockImplementation(answerLost as typeof query)
      const write = test.db.write((tx) => tx.run(`INSERT INTO things VALUES ('a')`))
      await expect(write).rejects.toBeInstanceOf(OutcomeUnknown)
      vi.restoreAllMocks()
      expect(await test.db.read((tx) => tx.all('SELECT id FROM things'))).toEqual([{ id: 'a' }])
    },
  )
})
