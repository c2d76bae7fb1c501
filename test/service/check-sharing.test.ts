import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { UserRow } from '../../src/db/users.js'
import { WRITE } from '../../src/model/permissions.js'
import { ENGINES } from '../support/engines.js'
import { openSharingWorld, type SharingWorld } from './sharing-world.js'

interface Filled {
  readonly owner: UserRow
  readonly editor: UserRow
  readonly visitor: UserRow
  readonly gone: UserRow
  readonly sid: string
  readonly group: string
}

/** What is broken, and what must be found: invariant and subject. */
const CASES: readonly (readonly [
  title: string,
  damage: (filled: Filled) => string[],
  found: (filled: Filled) => string[][],
])[] = [
  [
    'permissions that do not add up',
    ({ editor }) => [`UPDATE memberships SET effective = 3 WHERE user_id = '${editor.id}'`],
    ({ sid, editor }) => [['membership-effective', `${sid} ${editor.id}`]],
  ],
  [
    'permissions of a group that were not counted',
    ({ group }) => [`UPDATE share_groups SET permissions = 2 WHERE group_id = '${group}'`],
    ({ sid, visitor }) => [['membership-effective', `${sid} ${visitor.id}`]],
  ],
  [
    'a person whom nothing lets in',
    ({ visitor }) => [`DELETE FROM group_members WHERE user_id = '${visitor.id}'`],
    ({ sid, visitor }) => [['membership-basis', `${sid} ${visitor.id}`]],
  ],
  [
    'a person who left and kept permissions',
    ({ gone }) => [`UPDATE memberships SET effective = 1 WHERE user_id = '${gone.id}'`],
    ({ sid, gone }) => [['membership-left', `${sid} ${gone.id}`]],
  ],
  [
    'a person of a group who is not in its share',
    ({ group, owner, gone }) => [
      `DELETE FROM memberships WHERE user_id = '${gone.id}'`,
      `INSERT INTO group_members (group_id, user_id) VALUES ('${group}', '${owner.id}')`,
      `UPDATE share_groups SET permissions = 1 WHERE group_id = '${group}'`,
    ],
    ({ sid, gone }) => [['membership-missing', `${sid} ${gone.id}`]],
  ],
  [
    'a share that nobody may manage',
    ({ owner }) => [`UPDATE memberships SET direct = 1, effective = 1 WHERE user_id = '${owner.id}'`],
    ({ sid }) => [['share-owner', sid]],
  ],
  [
    'an invitation of a member',
    ({ sid, editor }) => [
      `INSERT INTO invitations (sid, email, invited_by, permissions, created_ms)
       VALUES ('${sid}', '${editor.email}', 'a@x.test', 0, 0)`,
    ],
    ({ sid }) => [['invitation-member', sid]],
  ],
  [
    'permissions beyond the known ones',
    ({ sid }) => [
      `INSERT INTO invitations (sid, email, invited_by, permissions, created_ms)
       VALUES ('${sid}', 'new@x.test', 'a@x.test', 4, 0)`,
    ],
    ({ sid }) => [['permission-bits', `${sid} new@x.test`]],
  ],
  [
    'a group that no request can name',
    () => [`INSERT INTO org_groups (id, name, created_ms) VALUES ('007', 'x', 0)`],
    () => [['group-id', '007']],
  ],
  [
    'a share without people',
    ({ sid }) => [
      `DELETE FROM memberships WHERE sid = '${sid}'`,
      `DELETE FROM share_groups WHERE sid = '${sid}'`,
      `DELETE FROM objects WHERE oid = '${sid}'`,
    ],
    ({ sid }) => [['share-empty', sid]],
  ],
  [
    'the store of a share that is gone',
    ({ sid }) => [
      `DELETE FROM memberships WHERE sid = '${sid}'`,
      `DELETE FROM share_groups WHERE sid = '${sid}'`,
      `DELETE FROM objects WHERE oid = '${sid}'`,
      `DELETE FROM shares WHERE sid = '${sid}'`,
    ],
    ({ sid }) => [['share-store', sid]],
  ],
]

for (const engine of ENGINES) {
  describe(`the check of shared folders on ${engine}`, () => {
    let world: SharingWorld
    let filled: Filled

    beforeEach(async () => {
      world = await openSharingWorld(engine)
      const owner = await world.addUser('owner@x.test')
      const [editor, visitor, gone] = await world.addPeople(3, 'p')
      if (editor === undefined || visitor === undefined || gone === undefined) throw new Error('no people')
      const sid = await world.newShare(owner, 'Plans')
      const group = await world.newGroup('friends', [visitor, gone])
      await world.addMember(owner, sid, editor.email, WRITE)
      await world.addGroup(owner, sid, group, WRITE)
      await world.leave(gone, sid)
      filled = { owner, editor, visitor, gone, sid, group }
    })

    afterEach(() => world.close())

    it('finds nothing where nothing is broken', async () => {
      expect(await world.findings()).toEqual([])
    })

    for (const [title, damage, found] of CASES) {
      it(`names ${title}`, async () => {
        await world.breakTables(...damage(filled))
        const findings = await world.findings()
        expect(findings.map(({ invariant, subject }) => [invariant, subject])).toEqual(found(filled))
        for (const { detail } of findings) expect(detail).toMatch(/^[A-Z0-9a-z].*\.$/)
      })
    }
  })
}
