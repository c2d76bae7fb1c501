import { randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hashOf } from '../../src/blob/hashing.js'
import type { Tx } from '../../src/db/db.js'
import { formatId, ZERO_OID } from '../../src/model/ids.js'
import { ENGINES } from '../support/engines.js'
import { age, blobPath, CONTENT, NO_HASH, TABLES, UPLOADS } from './check-cases.js'
import { fill, openWorld, type World } from './check-world.js'

for (const engine of ENGINES) {
  describe(`the check on ${engine}`, () => {
    let world: World

    beforeEach(async () => {
      world = await openWorld(engine)
    })

    afterEach(() => world.close())

    it('finds nothing in a new store and nothing in a store that is well used', async () => {
      expect(await world.findings()).toEqual([])
      await fill(world)
      expect(await world.findings()).toEqual([])
    })

    it('finds nothing in a store of more objects and contents than a page holds', async () => {
      await world.folder('many')
      await world.write((tx) => insertMany(tx, world.sid))
      expect(await world.findings()).toEqual([])
      const last = MANY.toString(16).padStart(32, '0')
      await world.breakTables(`UPDATE objects SET name = '..', name_key = '..' WHERE oid = '${last}'`)
      expect(pairs(await world.findings())).toEqual([['name-rules', formatId(world.sid, last)]])
    })

    it('finds nothing in a change log with gaps', async () => {
      await fill(world)
      await world.breakTables('DELETE FROM changes WHERE seq = 3')
      expect(await world.findings()).toEqual([])
    })

    it('takes no young file for a leftover, and none that goes while it looks', async () => {
      const { large } = await fill(world)
      const young = world.staging.path('c'.repeat(32))
      await writeFile(young, 'being received')
      await world.blobs.put(young, NO_HASH, 14)
      const path = await blobPath(world, large.hash)
      await age(path)
      await world.breakTables(
        `DELETE FROM objects WHERE oid = '${large.oid}'`,
        `DELETE FROM blobs WHERE hash = '${large.hash}'`,
        'UPDATE stores SET used = used - 200000',
        'UPDATE nodes SET used = used - 200000',
      )
      const removal = setTimeout(() => void rm(path), 500)
      expect(await world.findings()).toEqual([])
      clearTimeout(removal)
    })

    it('finds nothing while files and uploads come and go', { timeout: 120_000 }, async () => {
      await fill(world)
      let isOver = false
      async function work(name: string): Promise<void> {
        for (let round = 0; !isOver; round += 1) {
          const folder = await world.folder(`${name} ${round}`)
          const file = await world.file('large', randomBytes(70_000 + round), folder.oid)
          await world.put(file.oid, randomBytes(66_000))
          await world.upload(
            (await world.emptyFile(`${name} upload ${round}`)).oid,
            randomBytes(1000 + round),
          )
          await world.remove(folder.oid)
        }
      }
      const workers = ['a', 'b', 'c'].map((name) => work(name))
      for (let round = 0; round < 10; round += 1) expect(await world.findings()).toEqual([])
      isOver = true
      await Promise.all(workers)
      expect(await world.findings()).toEqual([])
    })

    it('leaves the bytes alone when it is told to, and still misses a file', async () => {
      const { small, large } = await fill(world)
      await writeFile(await blobPath(world, large.hash), randomBytes(200_000))
      await world.write((tx) =>
        tx.run('UPDATE blobs SET data = $2 WHERE hash = $1', small.hash, randomBytes(100)),
      )
      expect(await world.findings({ content: false })).toEqual([])
      await rm(await blobPath(world, large.hash))
      expect(pairs(await world.findings({ content: false }))).toEqual([['blob-missing', large.hash]])
    })

    for (const { title, damage } of [...TABLES, ...CONTENT, ...UPLOADS]) {
      it(`names ${title}`, async () => {
        const filled = await fill(world)
        const expected = await damage(world, filled)
        const findings = await world.findings()
        expect(pairs(findings)).toEqual([...expected].map(([...pair]) => pair).sort())
        for (const { detail } of findings) expect(detail).toMatch(/^[A-Z0-9].*\.$/)
      })
    }
  })
}

function pairs(findings: readonly { invariant: string; subject: string }[]): string[][] {
  return findings.map(({ invariant, subject }) => [invariant, subject]).sort()
}

const MANY = 2500

/** Written straight into the tables, since the verbs would take long. */
async function insertMany(tx: Tx, sid: string): Promise<void> {
  let bytes = 0
  for (let number = 0; number < MANY; number += 1) {
    const data = Buffer.from(`content ${number}`)
    const name = `file ${number}`
    const oid = (number + 1).toString(16).padStart(32, '0')
    const hash = hashOf(data)
    bytes += data.length
    await tx.run(
      'INSERT INTO blobs (hash, size, data, created_ms) VALUES ($1, $2, $3, 0)',
      hash,
      data.length,
      data,
    )
    await tx.run(
      `INSERT INTO objects (sid, oid, parent, name, name_key, kind, content, size, created_ms)
       VALUES ($1, $2, $3, $4, $4, 'file', $5, $6, 0)`,
      sid,
      oid,
      ZERO_OID,
      name,
      hash,
      data.length,
    )
  }
  await tx.run('UPDATE stores SET used = used + $1', bytes)
  await tx.run('UPDATE nodes SET used = used + $1', bytes)
}
