import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { UserRow } from '../../src/db/users.js'
import { ZERO_OID } from '../../src/model/ids.js'
import { MANAGE, WRITE } from '../../src/model/permissions.js'
import { ENGINES } from '../support/engines.js'
import { openSharingWorld, type SharingWorld } from './sharing-world.js'

/** A statement a person would be a thousand and more. */
const STATEMENTS_MAX = 200

for (const engine of ENGINES) {
  describe(`sharing on ${engine}`, () => {
    let world: SharingWorld
    let owner: UserRow

    beforeEach(async () => {
      world = await openSharingWorld(engine)
      owner = await world.addUser('owner@x.test')
    })

    afterEach(() => world.close())

    const mountsOf = (sid: string): Promise<{ sid: string; name: string }[]> =>
      world.all(`SELECT sid, name FROM objects WHERE oid = $1 AND kind = 'mount'`, sid)

    it(
      'lets a group of a thousand in and out again in a few statements, each with a free name [SGROUP-10] [SGROUP-21]',
      { timeout: 120_000 },
      async () => {
        const people = await world.addPeople(1000, 'p')
        const sid = await world.newShare(owner, 'Plans')
        const crowd = await world.newGroup('crowd', people)
        const taken = new Map([
          [people[3]?.root_sid, ['Plans']],
          [people[7]?.root_sid, ['Plans', 'Plans (2)', 'Plans (4)']],
        ])
        await world.write(async (tx) => {
          for (const [root, names] of taken) {
            for (const [index, name] of names.entries()) {
              await tx.run(
                `INSERT INTO objects (sid, oid, parent, name, name_key, kind, created_ms)
                 VALUES ($1, $2, $3, $4, $4, 'folder', 0)`,
                root ?? '',
                String(index + 1).padStart(32, '0'),
                ZERO_OID,
                name,
              )
            }
          }
        })
        const added = await world.addGroup(owner, sid, crowd, WRITE)
        expect(added.statements).toBeLessThan(STATEMENTS_MAX)
        const mounts = await mountsOf(sid)
        expect(mounts).toHaveLength(1001)
        const nameIn = (person: UserRow | undefined): string | undefined =>
          mounts.find((mount) => mount.sid === person?.root_sid)?.name
        expect([people[3], people[7], people[8]].map(nameIn)).toEqual(['Plans (2)', 'Plans (3)', 'Plans'])
        expect(await world.findings({ content: false })).toEqual([])

        const removed = await world.removeGroup(owner, sid, crowd)
        expect(removed.statements).toBeLessThan(STATEMENTS_MAX)
        expect(await mountsOf(sid)).toEqual([{ sid: owner.root_sid, name: 'Plans' }])
        expect(await world.findings({ content: false })).toEqual([])
      },
    )

    it(
      'mounts any number of shares of one name in one root at once [GROUP-14] [SHARE-28]',
      { timeout: 120_000 },
      async () => {
        const [newcomer] = await world.addPeople(1, 'n')
        const id = await world.newGroup('friends', [])
        for (let number = 0; number < 12; number += 1) {
          const sid = await world.newShare(owner, number % 2 === 0 ? 'a.txt' : '.appdata')
          await world.addGroup(owner, sid, id, MANAGE)
        }
        const { statements } = await world.addToGroup(owner, id, newcomer?.email ?? '')
        expect(statements).toBeLessThan(50)
        const names = await world.all<{ name: string }>(
          `SELECT name FROM objects WHERE sid = $1 AND kind = 'mount'`,
          newcomer?.root_sid ?? '',
        )
        expect(names.map(({ name }) => name).sort()).toEqual(
          [2, 3, 4, 5, 6, 7]
            .map((number) => `.appdata (${number})`)
            .concat('a.txt', ...[2, 3, 4, 5, 6].map((number) => `a (${number}).txt`))
            .sort(),
        )
        expect(await world.findings({ content: false })).toEqual([])
        await world.removeFromGroup(owner, id, newcomer?.email ?? '')
        expect(await world.findings({ content: false })).toEqual([])
      },
    )

    it('keeps an owner whatever two people do at once [ACL-15]', { timeout: 120_000 }, async () => {
      const people = await world.addPeople(4, 'o')
      for (let round = 0; round < 8; round += 1) {
        const sid = await world.newShare(owner, `round ${round}`)
        for (const person of people) await world.addMember(owner, sid, person.email)
        const outcomes = await Promise.allSettled(
          [owner, ...people].map((person) => world.leave(person, sid)),
        )
        // The last one to go takes the share along: nobody is ever left behind in it.
        expect(outcomes.every(({ status }) => status === 'fulfilled')).toBe(true)
        expect(await world.all('SELECT sid FROM shares WHERE sid = $1', sid)).toEqual([])
        expect(await world.all('SELECT sid FROM stores WHERE sid = $1', sid)).toEqual([])
      }
      expect(await world.findings({ content: false })).toEqual([])
    })

    it('refuses to the last owner of others, and changes nothing then [ACL-17]', async () => {
      const [viewer] = await world.addPeople(1, 'v')
      const sid = await world.newShare(owner, 'Plans')
      await world.addMember(owner, sid, viewer?.email ?? '', 0)
      const before = await world.all('SELECT * FROM memberships ORDER BY user_id')
      await expect(world.leave(owner, sid)).rejects.toMatchObject({ kind: 'conflict' })
      expect(await world.all('SELECT * FROM memberships ORDER BY user_id')).toEqual(before)
      expect(await mountsOf(sid)).toHaveLength(2)
    })
  })
}
