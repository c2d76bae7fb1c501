import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addShareGroup, cast, makeShare, readShare, WRITE, type Share } from '../api/people/cast.js'
import { ENGINES } from '../support/engines.js'
import { startServer, type TestServer } from '../support/server.js'
import { expectRefusal, printedJson } from './support.js'

interface Group {
  readonly id: string
  readonly name: string
  readonly members: readonly { readonly email: string }[]
}

for (const engine of ENGINES) {
  describe(`groups and shares at the command line on ${engine}`, () => {
    let server: TestServer

    beforeAll(async () => {
      server = await startServer(engine)
    })

    afterAll(() => server.stop())

    it('lets people into a group and out of it again, and with that in and out of its shares', async () => {
      const { O, S } = await cast(server)
      const group = printedJson<Group>(await server.command('group', 'add', ' By hand ', '--json'))
      expect(group).toEqual({ id: group.id, name: 'By hand', members: [] })
      const sid = await makeShare(O, 'Papers')
      await addShareGroup(O, sid, group.id, WRITE)
      const path = `/shares/${sid}`
      await server.command('group', 'member', 'add', group.id, S.email)
      expect((await S.api.get(path)).status).toBe(200)
      const { email, first_name, last_name } = S
      const people = await server.command('group', 'member', 'list', group.id, '--json')
      expect(printedJson(people)).toEqual([{ email, first_name, last_name }])
      const out = await server.command('group', 'member', 'remove', group.id, S.email, '--json')
      expect(printedJson(out)).toEqual({ removed: email })
      expect((await S.api.get(path)).status).toBe(404)
      expectRefusal(
        await server.command('group', 'member', 'remove', group.id, S.email),
        1,
        /not in the group/,
      )
      expect(printedJson(await server.command('group', 'remove', group.id, '--json'))).toEqual({
        removed: group.id,
      })
      expectRefusal(await server.command('group', 'remove', group.id), 1, /no such group/)
      expectRefusal(await server.command('group', 'member', 'list', 'abc'), 2, /identifier/)
      expectRefusal(await server.command('group', 'add', ' '), 2, /name/)
    })

    it('refuses to take the last owner out of a group', async () => {
      const { O, S } = await cast(server)
      const group = printedJson<Group>(await server.command('group', 'add', 'Owners', '--json'))
      await server.command('group', 'member', 'add', group.id, S.email)
      const sid = await makeShare(O, 'Papers')
      await addShareGroup(O, sid, group.id, ['MANAGE'])
      const demoted = await O.api.put(`/shares/${sid}/members/me`, { permissions: [] })
      expect(demoted.status).toBe(200)
      expectRefusal(await server.command('group', 'member', 'remove', group.id, S.email), 1, /manage/)
      expectRefusal(await server.command('group', 'remove', group.id), 1, /manage/)
      expect((await S.api.get(`/shares/${sid}`)).status).toBe(200)
    })

    it('shows shares as somebody sees them who is not in them', async () => {
      const { A, sh } = await cast(server)
      const shown = printedJson<Share>(await server.command('share', 'show', sh, '--json'))
      expect(shown).toEqual(await readShare(A, sh))
      const listed = printedJson<Share[]>(await server.command('share', 'list', '--json'))
      expect(listed.find(({ id }) => id === sh)).toEqual(shown)
      const lines = (await server.command('share', 'show', sh)).stdout
      for (const { email } of [...shown.members, ...shown.pending]) expect(lines).toContain(email)
      expectRefusal(await server.command('share', 'show', 'f'.repeat(32)), 1, /no shared folder/)
    })
  })
}
