import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import { expectError, unchanged } from '../support.js'
import { namesIn, rootOf } from '../tree/support.js'
import {
  addGroup,
  addMember,
  cast,
  list,
  makeShare,
  mountOf,
  UNKNOWN_SHARE,
  VIEWER,
  WRITE,
  type Cast,
  type Share,
} from './cast.js'
import { ok } from './support.js'

const readsOf = ({ E, P, grp }: Cast, share: string): string[] => [
  `/shares/${share}`,
  `/shares/${share}/members`,
  `/shares/${share}/members/${E.email}`,
  `/shares/${share}/members/${grp}`,
  `/shares/${share}/pending`,
  `/shares/${share}/pending/${P.email}`,
  `/shares/${share}/groups`,
  `/shares/${share}/groups/${grp}`,
]

type Write = readonly [method: string, path: string, status: number, json?: unknown]

const writesOf = ({ E, V, S, P, N, grp }: Cast, share: string, other: string): Write[] => [
  ['POST', `/shares/${share}/members`, 201, { email: S.email, permissions: [] }],
  ['PUT', `/shares/${share}/members/${E.email}`, 200, { permissions: [] }],
  ['DELETE', `/shares/${share}/members/${V.email}`, 204],
  ['POST', `/shares/${share}/pending`, 201, { email: N, permissions: [] }],
  ['DELETE', `/shares/${share}/pending/${P.email}`, 204],
  ['POST', `/shares/${share}/groups`, 201, { id: other, permissions: [] }],
  ['PUT', `/shares/${share}/groups/${grp}`, 200, { permissions: [] }],
  ['DELETE', `/shares/${share}/groups/${grp}`, 204],
]

describe.each(ENGINES)('scopes and shared folders on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  const write = (api: Client, [method, path, , json]: Write): ReturnType<Client['call']> =>
    api.call(method, path, json === undefined ? {} : { json })

  const refuses = async (api: Client, writes: readonly Write[], status: number): Promise<void> => {
    for (const one of writes) expectError(await write(api, one), status, `${one[0]} ${one[1]}`)
  }

  it('read with acl.read and write with acl.write, and neither implies the other [ACL-28] [AUTH-32] [AUTH-33] [AUTH-38]', async () => {
    const everybody = await cast(server)
    const { O, A, sh } = everybody
    const other = await addGroup(A, 'Other')
    const reader = await O.holding('acl.read')
    const writer = await O.holding('acl.write')
    await unchanged(server, async () => {
      for (const path of [...readsOf(everybody, sh), '/users/me/shares', `/users/${O.email}/shares`]) {
        ok(await reader.get(path), 200)
        expectError(await writer.get(path), 403, path)
      }
      await refuses(reader, writesOf(everybody, sh, other), 403)
      expectError(await reader.post('/shares', { name: 'More' }), 403)
      for (const path of ['/users/me', '/groups', '/users/me/invitations', '/folders/root']) {
        for (const api of [reader, writer]) expectError(await api.get(path), 403, path)
      }
    })
    for (const one of writesOf(everybody, sh, other)) ok(await write(writer, one), one[2])
    ok(await writer.post('/shares', { name: 'More' }), 201)
  })

  it('reach with a qualified acl.read the share it names [ACL-29] [ACL-30] [ACL-32] [ACL-34] [AUTH-45]', async () => {
    const everybody = await cast(server)
    const { O, S, A, sh } = everybody
    const second = await makeShare(O, 'Second')
    const foreign = await makeShare(S, 'Foreign')
    const narrow = await O.holding(`acl.read:${sh},user.read`)
    for (const path of readsOf(everybody, sh)) ok(await narrow.get(path), 200)
    for (const share of [second, foreign, UNKNOWN_SHARE]) {
      for (const path of ['', '/members', '/members/me', '/pending', '/groups', '/groups/7']) {
        expectError(await narrow.get(`/shares/${share}${path}`), 403, path)
      }
    }
    const shares = list<Share>(await narrow.get('/users/me/shares'))
    expect(shares.map(({ id }) => id)).toEqual([sh])
    const me = ok(await narrow.get('/users/me'), 200).json['shares'] as Share[]
    expect(me.map(({ id }) => id)).toEqual([sh])
    const wide = await O.holding(`acl.read,acl.read:${sh}`)
    ok(await wide.get(`/shares/${second}`), 200)
    expect(list(await wide.get('/users/me/shares'))).toHaveLength(2)
    const stranger = await S.holding(`acl.read:${sh}`)
    for (const path of readsOf(everybody, sh)) expectError(await stranger.get(path), 404)
    const admin = await A.holding(`organization.admin,acl.read:${sh}`)
    ok(await admin.get(`/shares/${sh}`), 200)
    expectError(await admin.get(`/shares/${second}`), 403)
  })

  it('reach with a qualified acl.write the share it names [ACL-31] [AUTH-45]', async () => {
    const everybody = await cast(server)
    const { O, V, A, sh } = everybody
    const other = await addGroup(A, 'Other')
    const second = await makeShare(O, 'Second')
    const narrow = await O.holding(`acl.write:${sh}`)
    const viewer = await V.holding(`acl.write:${sh}`)
    await unchanged(server, async () => {
      await refuses(narrow, writesOf(everybody, second, other), 403)
      await refuses(narrow, writesOf(everybody, UNKNOWN_SHARE, other), 403)
      await refuses(
        viewer,
        writesOf(everybody, sh, other).filter(([, path]) => !path.endsWith(V.email)),
        403,
      )
      expectError(await narrow.post('/shares', { name: 'More' }), 403)
      expectError(await narrow.get(`/shares/${sh}`), 403)
    })
    for (const one of writesOf(everybody, sh, other)) ok(await write(narrow, one), one[2])
  })

  it('take the folder forms of a share for the share, and nothing inside it [ACL-33]', async () => {
    const { O, E, sh } = await cast(server)
    const inside = await O.api.folder('inside', sh)
    for (const form of [`${sh}${'0'.repeat(32)}`, await mountOf(O, sh)]) {
      const api = await O.holding(`acl.read:${form},acl.write:${form}`)
      ok(await api.get(`/shares/${sh}`), 200)
      ok(await api.put(`/shares/${sh}/members/${E.email}`, { permissions: WRITE }), 200)
      expect(list<Share>(await api.get('/users/me/shares')).map(({ id }) => id)).toEqual([sh])
    }
    const api = await O.holding(`acl.read:${inside},acl.write:${inside}`)
    expectError(await api.get(`/shares/${sh}`), 403)
    expectError(await api.put(`/shares/${sh}/members/${E.email}`, { permissions: [] }), 403)
    expect(list(await api.get('/users/me/shares'))).toEqual([])
  })

  it('need more than organization.admin alone [ACL-35] [AUTH-38]', async () => {
    const { O, A, sh } = await cast(server)
    const api = await A.holding('organization.admin')
    for (const path of ['/users', `/shares/${sh}`, '/groups', `/users/${O.email}/shares`, '/users/me']) {
      expectError(await api.get(path), 403, path)
    }
  })

  it('open nothing of people and shares to a token with files.appdata alone [AUTH-55]', async () => {
    const { O, sh, grp } = await cast(server)
    const app = await server.addApp()
    const api = server.client(await server.addToken(O.email, 'files.appdata', { app: app.id }))
    for (const path of [
      '/users',
      '/users/me',
      '/users/me/shares',
      `/shares/${sh}`,
      '/groups',
      `/groups/${grp}`,
    ]) {
      expectError(await api.get(path), 403, path)
    }
    expectError(await api.get(`/folders/${sh}`), 404)
  })

  it('reach with a qualified files.read a share by each of its names, and what is below a folder across mounts [AUTH-41] [AUTH-44] [AUTH-50] [FOLDER-22]', async () => {
    const { O, V, sh } = await cast(server)
    const folder = await O.api.folder('folder', sh)
    const file = await O.api.file('file', folder, 'hello')
    const beside = await O.api.folder('beside')
    const mount = await mountOf(O, sh)
    const forms = [sh, mount, `${sh}${'0'.repeat(32)}`]
    for (const qualifier of forms) {
      const api = await O.holding(`files.read:${qualifier}`)
      for (const form of forms) {
        ok(await api.get(`/folders/${form}`), 200)
        expect(await namesIn(api, form)).toEqual(['folder'])
      }
      ok(await api.get(`/folders/${folder}`), 200)
      expect(ok(await api.get(`/files/${file}/content`), 200).text).toBe('hello')
      for (const id of ['root', beside]) expectError(await api.get(`/folders/${id}`), 403)
      expectError(await api.upload(file, 'other'), 403)
    }
    const holder = await O.api.folder('holder')
    ok(await O.api.put(`/folders/${mount}`, { parent: await O.api.folder('deep', holder) }), 200)
    const above = await O.holding(`files.read:${holder}`)
    for (const id of [holder, ...forms, folder]) {
      ok(await above.get(`/folders/${id}`), 200)
      ok(await above.get(`/folders/${id}/children`), 200)
      ok(await above.get(`/folders/${id}/path`), 200)
    }
    expect(ok(await above.get(`/files/${file}/content`), 200).text).toBe('hello')
    for (const id of ['root', beside]) expectError(await above.get(`/folders/${id}`), 403)
    const viewer = await V.holding(`files.read:${sh},files.write:${sh}`)
    await unchanged(server, async () => {
      expectError(await viewer.upload(file, 'other'), 403)
      expectError(await viewer.post('/folders', { name: 'new', parent: sh }), 403)
      expectError(await viewer.delete(`/folders/${folder}`), 403)
    })
    ok(await viewer.get(`/folders/${folder}`), 200)
  })

  it('follow an object within its store and lose it at the boundary [AUTH-48]', async () => {
    const { O, sh } = await cast(server)
    const folder = await O.api.folder('folder')
    const api = await O.holding(`files.read:${folder}`)
    ok(await O.api.put(`/folders/${folder}`, { parent: await O.api.folder('other') }), 200)
    ok(await api.get(`/folders/${folder}`), 200)
    const moved = ok(await O.api.put(`/folders/${folder}`, { parent: sh }), 200).json.id
    expectError(await api.get(`/folders/${moved}`), 403)
    expectError(await api.get(`/folders/${folder}`), 404)
    expectError(await api.get(`/folders/root`), 403)
  })

  it('do what the examples of the specification say [AUTH-77]', async () => {
    const { O, E, S, sh } = await cast(server)
    const file = await O.api.file('file', sh, 'hello')
    const looking = await O.holding('user.read,acl.read')
    for (const path of ['/users', '/users/me', `/users/${E.email}`, '/users/me/shares', `/shares/${sh}`]) {
      ok(await looking.get(path), 200)
    }
    await unchanged(server, async () => {
      expectError(await looking.put('/users/me', { first_name: 'X' }), 403)
      expectError(await looking.post('/shares', { name: 'X' }), 403)
      expectError(await looking.post(`/shares/${sh}/members`, { email: S.email, permissions: [] }), 403)
      expectError(await looking.get(`/folders/${sh}`), 403)
    })
    const files = await O.holding('files.read,files.write')
    ok(await files.upload(file, 'other'), 204)
    ok(await files.put(`/folders/${sh}`, { name: 'Mine' }), 200)
    const moved = ok(await files.put(`/files/${file}`, { parent: await rootOf(files) }), 200).json.id
    ok(await files.delete(`/files/${moved}`), 204)
    for (const path of ['/users', '/users/me', '/users/me/shares', `/shares/${sh}`, '/groups']) {
      expectError(await files.get(path), 403, path)
    }
    expectError(await files.post('/shares', { name: 'X' }), 403)
  })

  describe('the order of refusals', () => {
    it('has body, scope, share, what the path names, privilege, what the body names [ACL-36] [ACL-39] [ACL-40] [ACL-41] [AUTH-33]', async () => {
      const { O, E, V, S, P, A, N, sh, grp } = await cast(server)
      const reading = await O.without('acl.write')
      const other = await addGroup(A, 'Other')
      const good = { email: N, permissions: [] }
      await unchanged(server, async () => {
        expectError(await S.api.post(`/shares/${sh}/members`, { email: 5 }), 400)
        expectError(await S.api.post(`/shares/${sh}/members`, good), 404)
        expectError(await reading.post(`/shares/${UNKNOWN_SHARE}/members`, good), 403)
        expectError(await reading.post(`/shares/${UNKNOWN_SHARE}/members`, { email: N }), 400)
        for (const { api } of [V, E]) {
          for (const path of [`members/${S.email}`, `members/${P.email}`, `groups/${other}`, 'groups/7']) {
            expectError(await api.put(`/shares/${sh}/${path}`, { permissions: [] }), 404, path)
            expectError(await api.delete(`/shares/${sh}/${path}`), 404, path)
          }
          for (const path of [`pending/${S.email}`, `pending/${O.email}`]) {
            expectError(await api.delete(`/shares/${sh}/${path}`), 404, path)
          }
          for (const path of [`members/${O.email}`, `groups/${grp}`]) {
            expectError(await api.put(`/shares/${sh}/${path}`, { permissions: [] }), 403, path)
            expectError(await api.delete(`/shares/${sh}/${path}`), 403, path)
          }
          expectError(await api.delete(`/shares/${sh}/pending/${P.email}`), 403)
          for (const email of [N, 'nobody@x.test', O.email]) {
            for (const list of ['members', 'pending']) {
              expectError(await api.post(`/shares/${sh}/${list}`, { email, permissions: [] }), 403)
            }
          }
          for (const id of ['7', grp]) {
            expectError(await api.post(`/shares/${sh}/groups`, { id, permissions: [] }), 403)
          }
        }
      })
      await addMember(O, sh, S, VIEWER)
    })
  })
})
