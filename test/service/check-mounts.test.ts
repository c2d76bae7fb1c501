import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { insertShare } from '../../src/db/shares.js'
import { formatId } from '../../src/model/ids.js'
import { OWNER } from '../../src/model/permissions.js'
import { admit } from '../../src/service/sharing.js'
import { createStore } from '../../src/service/stores.js'
import { ENGINES } from '../support/engines.js'
import { openWorld, type World } from './check-world.js'

for (const engine of ENGINES) {
  describe(`the check of mounts on ${engine}`, () => {
    let world: World
    let sid: string
    let mount: string

    beforeEach(async () => {
      world = await openWorld(engine)
      const { id: userId, root_sid: rootSid } = world.user
      sid = await world.write(async (tx) => {
        const made = await createStore(tx, { kind: 'share', name: 'Plans' }, 1)
        await insertShare(tx, { sid: made, name: 'Plans' }, 1)
        await admit(
          tx,
          [{ userId, rootSid, sid: made, shareName: 'Plans', direct: OWNER, isExternal: false }],
          1,
        )
        return made
      })
      mount = formatId(rootSid, sid)
    })

    afterEach(() => world.close())

    async function broken(): Promise<(readonly [string, string])[]> {
      const found = await world.findings()
      return found.map(({ invariant, subject }) => [invariant, subject] as const)
    }

    it('finds nothing where all is well', async () => {
      expect(await broken()).toEqual([])
    })

    it('finds a mount of a share that is external, left or of others', async () => {
      for (const change of [`is_external = 1`, `is_external = 0, state = 'left'`]) {
        await world.breakTables(`UPDATE memberships SET ${change}`)
        expect(await broken()).toContainEqual(['mount-stray', mount])
      }
      const { root_sid: other } = await world.addUser('bob@example.org')
      await world.breakTables(
        `UPDATE memberships SET state = 'joined'`,
        `UPDATE objects SET sid = '${other}' WHERE oid = '${sid}'`,
      )
      const found = await broken()
      expect(found).toContainEqual(['mount-stray', formatId(other, sid)])
      expect(found).toContainEqual(['mount-missing', mount])
    })

    it('finds a share without its mount', async () => {
      await world.breakTables(`DELETE FROM objects WHERE oid = '${sid}'`)
      expect(await broken()).toEqual([['mount-missing', mount]])
    })

    it('finds a mount under another name than the one that the person gave', async () => {
      await world.breakTables(`UPDATE memberships SET name = 'Others'`)
      expect(await broken()).toEqual([['mount-name', mount]])
    })

    it('finds a mount among the folders of applications, however deep', async () => {
      const { oid } = await world.sandbox()
      const inner = await world.folder('inner', oid)
      for (const parent of [oid, inner.oid]) {
        await world.breakTables(`UPDATE objects SET parent = '${parent}' WHERE oid = '${sid}'`)
        expect(await broken()).toEqual([['mount-place', mount]])
      }
    })

    it('finds an object that lies below a mount instead of in its share', async () => {
      const folder = await world.folder('folder')
      await world.breakTables(`UPDATE objects SET parent = '${sid}' WHERE oid = '${folder.oid}'`)
      expect(await broken()).toContainEqual(['parent-not-folder', formatId(world.sid, folder.oid)])
    })

    it('finds a share that counts wrong', async () => {
      await world.breakTables(`UPDATE stores SET used = 1 WHERE sid = '${sid}'`)
      expect(await broken()).toEqual([['store-used', sid]])
      await world.breakTables(`UPDATE stores SET used = 0`, `DELETE FROM objects WHERE sid = '${sid}'`)
      expect(await broken()).toEqual([['store-root', sid]])
    })
  })
}
