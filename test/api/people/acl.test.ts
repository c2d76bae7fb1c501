import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandDeps } from '../../../src/cli/installation.js'
import { accounts } from '../../../src/service/accounts.js'
import { COMMAND_LINE } from '../../../src/service/journal.js'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { expectError, unchanged } from '../support.js'
import { namesIn, rootOf } from '../tree/support.js'
import {
  accept,
  addGroup,
  addMember,
  addShareGroup,
  addToGroup,
  cast,
  emails,
  invite,
  leave,
  list,
  makePeople,
  makeShare,
  MANAGE,
  memberOf,
  OWNER,
  readShare,
  remove,
  setMember,
  statusOf,
  takeOut,
  VIEWER,
  WRITE,
  type Person,
} from './cast.js'
import { ok } from './support.js'

describe.each(ENGINES)('rights in shared folders on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine, { workers: 2 })
  })
  afterAll(() => server.stop())

  const demote = (person: Person): Promise<void> =>
    server.installation.db.write((tx) =>
      accounts(commandDeps(server.installation, () => undefined)).setAdmin(
        tx,
        COMMAND_LINE,
        person.email,
        false,
      ),
    )

  describe('effective permissions', () => {
    it('are the union of what was granted and what groups give [ACL-01] [ACL-02] [ACL-03] [FOLDER-17]', async () => {
      const { O, E, V, G, A, S, sh, grp } = await cast(server)
      const file = await O.api.file('file', sh, 'hello')
      ok(await G.api.post('/folders', { name: 'by group', parent: sh }), 201)
      ok(await G.api.upload(file, 'by group'), 204)
      expectError(await V.api.upload(file, 'other'), 403)
      await addToGroup(A, grp, V)
      ok(await V.api.upload(file, 'other'), 204)
      await takeOut(A, grp, V)
      expectError(await V.api.upload(file, 'again'), 403)
      expect(ok(await V.api.get(`/files/${file}/content`), 200).text).toBe('other')
      const managers = await addGroup(A, 'Managers', E)
      await addShareGroup(O, sh, managers, MANAGE)
      expect((await readShare(E, sh)).caller_effective_permissions).toEqual(OWNER)
      ok(await E.api.upload(file, 'more'), 204)
      await addMember(E, sh, S, VIEWER)
      const both = await addGroup(A, 'Writers', S)
      await addShareGroup(O, sh, both, WRITE)
      await addToGroup(A, managers, S)
      expect((await readShare(S, sh)).caller_effective_permissions).toEqual(OWNER)
      ok(await O.api.delete(`/shares/${sh}/groups/${both}`), 204)
      expect((await readShare(S, sh)).caller_effective_permissions).toEqual(MANAGE)
      await addShareGroup(O, sh, both, WRITE)
      ok(await O.api.delete(`/shares/${sh}/groups/${managers}`), 204)
      expect((await readShare(S, sh)).caller_effective_permissions).toEqual(WRITE)
    })

    it('let viewers and managers read files, and editors write them [ACL-04] [ACL-05] [ACL-06] [AUTH-61] [FOLDER-16] [FILE-15] [DEL-6] [MOVE-13] [CHILD-16] [DOWN-11] [UP-10]', async () => {
      const { O, M, E, V, S, N, P, sh, grp } = await cast(server)
      const folder = await O.api.folder('folder', sh)
      const file = await O.api.file('file', folder, 'hello')
      for (const { api } of [V, M, E]) {
        for (const path of [
          ...[`/folders/${sh}`, `/folders/${sh}/children`, `/folders/${folder}`, `/folders/${folder}/path`],
          ...[`/files/${file}`, `/files/${file}/path`, `/files/${file}/content`],
        ]) {
          ok(await api.get(path), 200)
        }
      }
      await unchanged(server, async () => {
        for (const { api } of [V, M]) {
          for (const parent of [sh, folder]) {
            expectError(await api.post('/folders', { name: 'new', parent }), 403)
            expectError(await api.post('/files', { name: 'new', parent }), 403)
          }
          expectError(await api.upload(file, 'other'), 403)
          for (const object of [`/folders/${folder}`, `/files/${file}`]) {
            expectError(await api.put(object, { name: 'new' }), 403)
            expectError(await api.put(object, { parent: sh, name: 'new' }), 403)
            expectError(await api.put(object, { parent: 'root' }), 403)
            expectError(await api.delete(object), 403)
          }
        }
        for (const { api } of [E, V]) {
          const member = { email: S.email, permissions: [] }
          expectError(await api.post(`/shares/${sh}/members`, member), 403)
          expectError(await api.put(`/shares/${sh}/members/${V.email}`, member), 403)
          expectError(await api.delete(`/shares/${sh}/members/${O.email}`), 403)
          expectError(await api.post(`/shares/${sh}/pending`, { email: N, permissions: [] }), 403)
          expectError(await api.delete(`/shares/${sh}/pending/${P.email}`), 403)
          expectError(await api.post(`/shares/${sh}/groups`, { id: '7', permissions: [] }), 403)
          expectError(await api.put(`/shares/${sh}/groups/${grp}`, { permissions: [] }), 403)
          expectError(await api.delete(`/shares/${sh}/groups/${grp}`), 403)
        }
      })
      await addMember(M, sh, S, VIEWER)
      await remove(M, sh, S)
      for (const { api } of [E, O]) {
        const own = await api.folder('own', folder)
        const written = await api.file('written', own, 'hello')
        ok(await api.upload(written, 'other'), 204)
        ok(await api.put(`/files/${written}`, { name: 'renamed', parent: sh }), 200)
        ok(await api.delete(`/files/${written}`), 204)
        ok(await api.delete(`/folders/${own}`), 204)
      }
    })

    it('count from the next request on, and at the end of an upload [ACL-07] [UP-51] [UP-11]', async () => {
      const { O, E, S, sh } = await cast(server)
      const file = await O.api.file('file', sh, 'hello')
      await addMember(O, sh, S, WRITE)
      const slowly = async (person: Person, change: () => Promise<void>): Promise<number> => {
        let open = (): void => undefined
        const opened = new Promise<void>((resolve) => (open = resolve))
        async function* body(): AsyncGenerator<Buffer> {
          yield Buffer.from('he')
          await opened
          yield Buffer.from('llo again')
        }
        const upload = person.api.call('PUT', `/files/${file}/content`, { body: body() })
        await sleep(100)
        await change()
        open()
        return (await upload).status
      }
      const begun = await Promise.all(
        [E, S].map(({ api }) => api.upload(file, 'ab', { 'Content-Range': 'bytes 0-1/4' })),
      )
      const rest = begun.map((answer) => ({
        'Content-Range': 'bytes 2-3/4',
        'Upload-ID': String(ok(answer, 204).headers['upload-id']),
      }))
      expect(await slowly(E, () => setMember(O, sh, E, VIEWER))).toBe(403)
      expect(await slowly(S, () => remove(O, sh, S))).toBe(404)
      expectError(await E.api.upload(file, 'cd', rest[0]), 403)
      expectError(await S.api.upload(file, 'cd', rest[1]), 404)
      const unknown = { 'Content-Range': 'bytes 0-1/2', 'Upload-ID': 'f'.repeat(64) }
      expectError(await E.api.upload(file, 'cd', unknown), 403)
      expect(ok(await O.api.get(`/files/${file}/content`), 200).text).toBe('hello')
      for (let round = 0; round < 8; round += 1) {
        await setMember(O, sh, E, round % 2 === 0 ? WRITE : VIEWER)
        const statuses = await Promise.all(
          [0, 1, 2, 3].map(async () => (await E.api.upload(file, 'x')).status),
        )
        expect(new Set(statuses)).toEqual(new Set([round % 2 === 0 ? 204 : 403]))
      }
    })

    it('are nothing for those who are not in the share [ACL-08] [ID-18]', async () => {
      const { O, E, P, L, S, sh } = await cast(server)
      const folder = await O.api.folder('folder', sh)
      const file = await O.api.file('file', folder, 'hello')
      await remove(O, sh, E)
      await unchanged(server, async () => {
        for (const { api } of [P, L, S, E]) {
          const own = (await rootOf(api)).slice(0, 32) + sh
          for (const id of [sh, sh + '0'.repeat(32), own, folder]) {
            expectError(await api.get(`/folders/${id}`), 404)
            expectError(await api.get(`/folders/${id}/children`), 404)
            expectError(await api.get(`/folders/${id}/path`), 404)
            expectError(await api.post('/folders', { name: 'new', parent: id }), 404)
            expectError(await api.post('/files', { name: 'new', parent: id }), 404)
            expectError(await api.put(`/folders/${id}`, { name: 'new' }), 404)
            expectError(await api.delete(`/folders/${id}`), 404)
          }
          for (const method of ['GET', 'DELETE']) expectError(await api.call(method, `/files/${file}`), 404)
          expectError(await api.get(`/files/${file}/content`), 404)
          expectError(await api.put(`/files/${file}`, { name: 'new' }), 404)
          expectError(await api.upload(file, 'other'), 404)
        }
      })
    })
  })

  describe('the states of a person', () => {
    const impossible = async (by: Person, person: Person, sh: string): Promise<void> => {
      expectError(await by.api.put(`/shares/${sh}/members/${person.email}`, { permissions: [] }), 404)
      expectError(await by.api.delete(`/shares/${sh}/members/${person.email}`), 404)
    }
    const cannotAnswer = async (person: Person, sh: string): Promise<void> => {
      expectError(await person.api.call('POST', `/users/me/invitations/${sh}`), 404)
      expectError(await person.api.delete(`/users/me/invitations/${sh}`), 404)
    }

    it('go from none to pending or joined [ACL-09]', async () => {
      const { O, S, A, G, L, sh } = await cast(server)
      const others = await makePeople(server, 'S', 'V')
      await unchanged(server, async () => {
        await impossible(O, S, sh)
        await cannotAnswer(S, sh)
        expectError(await O.api.delete(`/shares/${sh}/pending/${S.email}`), 404)
      })
      await invite(O, sh, S.email, WRITE)
      expect(emails((await readShare(O, sh)).pending)).toContain(S.email)
      await addMember(O, sh, others.S, VIEWER)
      await addShareGroup(O, sh, await addGroup(A, 'More', others.V), VIEWER)
      for (const person of [others.S, others.V, G]) expect(await statusOf(person, sh)).toBe(200)
      for (const person of [S, L]) expect(await statusOf(person, sh)).toBe(404)
    })

    it('go from pending to joined or none [ACL-10]', async () => {
      const { O, P, sh } = await cast(server)
      await unchanged(server, () => impossible(O, P, sh))
      await invite(O, sh, P.email, MANAGE)
      expect((await readShare(O, sh)).pending).toMatchObject([{ permissions: MANAGE }])
      ok(await P.api.delete(`/users/me/invitations/${sh}`), 204)
      expect((await readShare(O, sh)).pending).toEqual([])
      await invite(O, sh, P.email, WRITE)
      ok(await O.api.delete(`/shares/${sh}/pending/${P.email}`), 204)
      await cannotAnswer(P, sh)
      await invite(O, sh, P.email, WRITE)
      await addMember(O, sh, P, VIEWER)
      await remove(O, sh, P)
      await invite(O, sh, P.email, OWNER)
      await accept(P, sh)
      expect((await readShare(P, sh)).members).toContainEqual(memberOf(P, OWNER))
    })

    it('go from joined to left or none [ACL-11]', async () => {
      const { O, E, V, A, sh, grp } = await cast(server)
      await unchanged(server, async () => {
        for (const list of ['members', 'pending']) {
          const body = { email: E.email, permissions: OWNER }
          expectError(await O.api.post(`/shares/${sh}/${list}`, body), 409)
        }
        await cannotAnswer(E, sh)
      })
      await leave(E, sh)
      await addToGroup(A, grp, E)
      expect(await statusOf(E, sh)).toBe(200)
      await remove(O, sh, V)
      await unchanged(server, () => impossible(O, V, sh))
      expect(await statusOf(V, sh)).toBe(404)
    })

    it('go from left to pending or joined, and never by themselves [ACL-12]', async () => {
      const { O, L, A, G, sh, grp } = await cast(server)
      await unchanged(server, async () => {
        await impossible(O, L, sh)
        await cannotAnswer(L, sh)
        expectError(await L.api.delete(`/shares/${sh}/members/me`), 404)
        const body = { email: L.email, permissions: [] }
        expectError(await L.api.post(`/shares/${sh}/members`, body), 404)
      })
      await invite(O, sh, L.email, WRITE)
      await accept(L, sh)
      await leave(L, sh)
      await addMember(O, sh, L, WRITE)
      await leave(L, sh)
      await addShareGroup(O, sh, await addGroup(A, 'More', L), VIEWER)
      expect((await readShare(L, sh)).caller_effective_permissions).toEqual(VIEWER)
      await leave(L, sh)
      await addToGroup(A, grp, L)
      expect((await readShare(L, sh)).caller_effective_permissions).toEqual(WRITE)
      await leave(G, sh)
      expect(await statusOf(G, sh)).toBe(404)
    })

    it('end with the share and with the account [ACL-13]', async () => {
      const { O, E, P, L, A, S, sh, grp } = await cast(server)
      const own = await makeShare(S, 'Own')
      await invite(S, own, P.email, OWNER)
      await addMember(S, own, L, OWNER)
      await leave(L, own)
      await leave(S, own)
      for (const person of [S, L, P]) {
        expect(await statusOf(person, own)).toBe(404)
        await cannotAnswer(person, own)
      }
      for (const { email } of [E, P, L]) ok(await A.api.delete(`/users/${email}`), 200)
      const share = await readShare(O, sh)
      expect(emails([...share.members, ...share.pending])).not.toEqual(expect.arrayContaining([E.email]))
      expect(share.pending).toEqual([])
      for (const { email, first_name, last_name } of [E, P, L]) {
        ok(await A.api.post('/users', { email, first_name, last_name }), 201)
        const api = server.client(await server.addToken(email, 'acl.read,acl.invitations,files.read'))
        expectError(await api.get(`/shares/${sh}`), 404)
        expect(list(await api.get('/users/me/invitations'))).toEqual([])
        expect(list(await api.get('/users/me/shares'))).toEqual([])
      }
      await addToGroup(A, grp, L)
      const again = server.client(await server.addToken(L.email, 'acl.read'))
      ok(await again.get(`/shares/${sh}`), 200)
    })
  })

  describe('the last owner', () => {
    it('stays, whatever would end it [ACL-17] [ACL-18]', async () => {
      const { O, M, V, G, A, sh, grp } = await cast(server)
      await remove(O, sh, M)
      await unchanged(server, async () => {
        for (const { api } of [O, A]) {
          expectError(await api.put(`/shares/${sh}/members/${O.email}`, { permissions: WRITE }), 409)
          expectError(await api.delete(`/shares/${sh}/members/${O.email}`), 409)
        }
        expectError(await O.api.delete(`/shares/${sh}/members/me`), 409)
        expectError(await O.api.delete(`/folders/${sh}`), 409)
      })
      ok(await O.api.put(`/shares/${sh}/groups/${grp}`, { permissions: MANAGE }), 200)
      await leave(O, sh)
      await unchanged(server, async () => {
        expectError(await G.api.delete(`/shares/${sh}/members/me`), 409)
        expectError(await G.api.delete(`/folders/${sh}`), 409)
        for (const { api } of [G, A]) {
          expectError(await api.put(`/shares/${sh}/groups/${grp}`, { permissions: WRITE }), 409)
          expectError(await api.delete(`/shares/${sh}/groups/${grp}`), 409)
        }
        expectError(await A.api.delete(`/groups/${grp}/members/${G.email}`), 409)
        expectError(await A.api.delete(`/groups/${grp}`), 409)
      })
      ok(await A.api.delete(`/users/${G.email}`), 200)
      expect((await readShare(A, sh)).members).toContainEqual(memberOf(A, OWNER))
      await setMember(A, sh, V, OWNER)
      await leave(A, sh)
      expect((await readShare(V, sh)).caller_effective_permissions).toEqual(OWNER)
    })
  })

  describe('admins', () => {
    it('read and manage every share without being in it [ACL-20] [ACL-21] [ACL-22] [AUTH-68]', async () => {
      const { O, E, P, S, A, N, sh, grp } = await cast(server)
      const admin = await A.holding('organization.admin,acl.read')
      for (const path of [
        ...['', '/members', `/members/${E.email}`, '/pending', `/pending/${P.email}`],
        ...['/groups', `/groups/${grp}`],
      ]) {
        ok(await admin.get(`/shares/${sh}${path}`), 200)
      }
      await unchanged(server, async () => {
        expectError(await admin.delete(`/shares/${sh}/members/${E.email}`), 403)
      })
      const writer = await A.holding('organization.admin,acl.write')
      ok(await writer.post(`/shares/${sh}/members`, { email: S.email, permissions: WRITE }), 201)
      ok(await writer.put(`/shares/${sh}/members/${S.email}`, { permissions: OWNER }), 200)
      ok(await writer.delete(`/shares/${sh}/members/${E.email}`), 204)
      ok(await writer.post(`/shares/${sh}/pending`, { email: N, permissions: [] }), 201)
      ok(await writer.delete(`/shares/${sh}/pending/${P.email}`), 204)
      ok(await writer.put(`/shares/${sh}/groups/${grp}`, { permissions: [] }), 200)
      ok(await writer.delete(`/shares/${sh}/groups/${grp}`), 204)
      ok(await writer.post(`/shares/${sh}/groups`, { id: grp, permissions: WRITE }), 201)
      const share = await readShare(O, sh)
      expect(emails(share.members)).not.toContain(A.email)
      expect(emails(share.members)).toContain(S.email)
      expect(emails(share.pending)).toEqual([N])
      expect(await namesIn(A.api)).toEqual([])
      expect(list(await A.api.get('/users/me/shares'))).toEqual([])
    })

    it('may be viewers and manage all the same [ACL-23]', async () => {
      const { O, A, S, sh } = await cast(server)
      await addMember(O, sh, A, VIEWER)
      await addMember(A, sh, S, VIEWER)
      await setMember(A, sh, S, WRITE)
      expect((await readShare(A, sh)).caller_effective_permissions).toEqual([])
    })

    it('reach files of shares with files.*, and roots of nobody else [ACL-24] [ACL-25] [ACL-26] [AUTH-69] [FOLDER-24] [ID-24] [ID-17]', async () => {
      const { O, A, A0, sh } = await cast(server)
      const folder = await O.api.folder('folder', sh)
      const file = await O.api.file('file', folder, 'hello')
      const own = await O.api.folder('own')
      const root = await rootOf(O.api)
      const ext = sh + '0'.repeat(32)
      const reader = await A.holding('organization.admin,files.read')
      for (const api of [A.api, reader]) {
        for (const id of [sh, ext]) {
          const seen = ok(await api.get(`/folders/${id}`), 200).json
          expect(seen).toMatchObject({ id: ext, parent: ext, is_shared: true, sid: sh, name: 'Plans' })
          expect(await namesIn(api, id)).toEqual(['folder'])
        }
        expect(ok(await api.get(`/folders/${folder}`), 200).json.parent).toBe(ext)
        expect(ok(await api.get(`/files/${file}/content`), 200).text).toBe('hello')
        for (const id of [root, root.slice(0, 32), own, root.slice(0, 32) + sh]) {
          expectError(await api.get(`/folders/${id}`), 404)
          expectError(await api.get(`/folders/${id}/children`), 404)
        }
      }
      const alone = await A.holding('organization.admin')
      const writer = await A.holding('organization.admin,files.write')
      await unchanged(server, async () => {
        for (const id of [sh, folder]) {
          expectError(await alone.get(`/folders/${id}`), 403)
          expectError(await writer.get(`/folders/${id}`), 403)
          expectError(await reader.post('/folders', { name: 'new', parent: id }), 403)
          expectError(await A0.api.get(`/folders/${id}`), 404)
          expectError(await A0.api.post('/folders', { name: 'new', parent: id }), 404)
        }
        expectError(await alone.get(`/files/${file}/content`), 403)
        expectError(await A0.api.get(`/files/${file}/content`), 404)
        expectError(await A0.api.get(`/shares/${sh}`), 404)
        for (const id of [root, own]) {
          expectError(await A.api.post('/folders', { name: 'new', parent: id }), 404)
          expectError(await A.api.delete(`/folders/${own}`), 404)
          expectError(await A.api.put(`/folders/${own}`, { name: 'new' }), 404)
        }
      })
      for (const id of [sh, ext, folder]) {
        const made = ok(await writer.post('/folders', { name: 'new', parent: id }), 201).json.id
        ok(await writer.put(`/folders/${made}`, { name: 'renamed' }), 200)
        ok(await writer.delete(`/folders/${made}`), 204)
      }
      ok(await writer.upload(file, 'by the admin'), 204)
      expect(ok(await O.api.get(`/files/${file}/content`), 200).text).toBe('by the admin')
    })

    it('are nothing more once they are no admins [ACL-27]', async () => {
      const { A, O, S, sh } = await cast(server)
      ok(await A.api.get(`/shares/${sh}`), 200)
      await demote(A)
      expectError(await A.api.get(`/shares/${sh}`), 404)
      expectError(await A.api.get(`/folders/${sh}`), 404)
      expectError(await A.api.post('/groups', { name: 'Group' }), 403)
      expectError(await A.api.get(`/invitees/${S.email}`), 403)
      expectError(await A.api.get(`/users/${O.email}/shares`), 404)
      const body = { email: S.email, permissions: [] }
      await unchanged(server, async () => {
        expectError(await A.api.post(`/shares/${sh}/members`, body), 404)
      })
    })
  })
})
