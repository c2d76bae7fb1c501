import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandDeps } from '../../src/cli/installation.js'
import type { Route } from '../../src/api/route.js'
import { ROUTES } from '../../src/api/routes.js'
import { SCOPES } from '../../src/model/scopes.js'
import { hashSecret } from '../../src/model/secrets.js'
import { V1_0, V1_3, V1_4, versionText, within } from '../../src/model/version.js'
import { accounts } from '../../src/service/accounts.js'
import { COMMAND_LINE } from '../../src/service/journal.js'
import type { Answer, Client } from '../support/client.js'
import { ENGINES } from '../support/engines.js'
import { startServer, type TestServer } from '../support/server.js'
import { ask, bearer, requestText } from '../support/wire.js'
import {
  expectedCell,
  OPEN_ROWS,
  OUTSIDE,
  PLACES,
  PRINCIPALS,
  ROWS,
  type Cell,
  type Place,
  type Principal,
  type Way,
} from './matrix-table.js'
import { PEOPLE_ROWS } from './matrix-people-table.js'
import { addGroup, addMember, invite, newGroup, newShare, ok } from './people/support.js'
import { expectError, unchanged, unknownId } from './support.js'

const FULL = SCOPES.map(({ name }) => name).filter((name) => name !== 'organization.admin')
const ADMIN = [...FULL, 'organization.admin'].join(',')

const keyOf = ({ method, path }: Route): string => `${method} ${path}`
const versionsOf = ({ since, until }: Route): string[] =>
  [V1_0, V1_3, V1_4].filter((version) => within(version, since, until)).map(versionText)

const CASES = ROUTES.flatMap((route) =>
  versionsOf(route).flatMap((version) =>
    (ROWS[keyOf(route)] ?? []).map((way) => ({ key: keyOf(route), route, version, way, title: way.name })),
  ),
)

test('every row of the route table has a row in the table of rights, and the reverse [ACL-42]', () => {
  const rows = { ...ROWS, ...PEOPLE_ROWS }
  expect([...new Set(ROUTES.map(keyOf))].sort()).toEqual(Object.keys(rows).sort())
  for (const [key, ways] of Object.entries(rows)) expect(ways.length, key).toBeGreaterThan(0)
})

test('the rows that are open without a token are known by name [AUTH-39]', () => {
  const open = ROUTES.filter(({ access }) => (access as string) !== 'token').map(keyOf)
  expect(open).toEqual(OPEN_ROWS)
})

describe.each(ENGINES)('the rights of every principal on %s', (engine) => {
  let server: TestServer
  let owner: Client
  const tokens = new Map<Principal, string | undefined>()
  const scopeless = { read: '', write: '' }
  const folders = new Map<Place, string>()
  let names = 0
  const fresh = (): string => `object ${(names += 1)}`

  beforeAll(async () => {
    server = await startServer(engine)
    const service = accounts(commandDeps(server.installation, () => undefined))
    const { db } = server.installation
    const full = FULL.join(',')
    const olga = await server.addUser()
    owner = server.client(await server.addToken(olga, full))
    const [appA, appB] = [await server.addApp('A'), await server.addApp('B')]
    const inA = await server.addToken(olga, 'files.appdata', { app: appA.id })
    const inB = await server.addToken(olga, 'files.appdata', { app: appB.id })
    folders.set('private', await owner.folder('Q'))
    folders.set('qualified', await owner.folder('F'))
    folders.set('sandbox of A', (await server.client(inA).get('/folders/appdata')).json.id)
    folders.set('sandbox of B', (await server.client(inB).get('/folders/appdata')).json.id)
    folders.set('root', 'root')

    const expired = await server.addToken(olga, full, { lifetime: 60 })
    await db.write((tx) => tx.run('UPDATE tokens SET expires_ms = 1 WHERE hash = $1', hashSecret(expired)))
    const revoked = await server.addToken(olga, full)
    await server.revoke(revoked)
    const adam = await server.addUser({ admin: true })
    const ada = await server.addUser({ admin: true })
    const demoted = await server.addToken(ada, ADMIN)
    await db.write((tx) => service.setAdmin(tx, COMMAND_LINE, ada, false))
    const dora = await server.addUser({ admin: true })
    const dead = await server.addToken(dora, ADMIN)
    const dina = await server.addUser({ admin: true })
    const deadAgain = await server.addToken(dina, ADMIN)
    await db.write((tx) => service.remove(tx, COMMAND_LINE, dora))
    await db.write((tx) => service.remove(tx, COMMAND_LINE, dina))
    await server.addUser({ email: dina, admin: true })
    const otto = await server.addUser()
    const F = folders.get('qualified') ?? ''

    const admin = server.client(await server.addToken(adam, ADMIN))
    const S = await newShare(owner)
    const inShare = await owner.folder('FS', S)
    folders.set('share', S)
    folders.set('qualified in the share', inShare)
    const member = async (principal: Principal, permissions?: readonly string[]): Promise<string> => {
      const email = await server.addUser()
      tokens.set(principal, await server.addToken(email, full))
      if (permissions !== undefined) await addMember(owner, S, email, permissions)
      return email
    }
    await member('P9 viewer', [])
    await member('P10 editor', ['WRITE'])
    await member('P11 manager without write', ['MANAGE'])
    const gina = await member('P13 group-only member')
    await addGroup(owner, S, await newGroup(admin, gina), ['WRITE'])
    await invite(owner, S, await member('P14 pending invitee'), ['WRITE'])
    const rex = await member('P15 removed member', ['WRITE'])
    ok(await owner.delete(`/shares/${S}/members/${rex}`), 204)
    await member('gone by their own will', ['WRITE'])
    const leaver = server.client(tokens.get('gone by their own will'))
    ok(await leaver.delete(`/shares/${S}/members/me`), 204)

    // The scope of the application's own folder gives a right of its own, so a wrong scope is one without it.
    const wrong = (scope: string): string =>
      FULL.filter((name) => name !== scope && name !== 'files.appdata').join(',')
    scopeless.read = await server.addToken(olga, wrong('files.read'))
    scopeless.write = await server.addToken(olga, wrong('files.write'))
    const qualified = [F, inShare].map((id) => `files.read:${id},files.write:${id}`).join(',')
    tokens.set('P1 no token', undefined)
    tokens.set('P2 garbage', unknownId())
    tokens.set('P3 expired', expired)
    tokens.set('P4 revoked', revoked)
    tokens.set('P6/P7 appdata only', inA)
    tokens.set('P8 other user', await server.addToken(otto, full))
    tokens.set('P12 owner', owner.token)
    tokens.set('P16 deleted user', dead)
    tokens.set('P16 deleted user, address used again', deadAgain)
    tokens.set('P17 admin without the scope', await server.addToken(adam, full))
    tokens.set('P18 admin with the scope', await server.addToken(adam, ADMIN))
    tokens.set('P18 admin with the scope alone', await server.addToken(adam, 'organization.admin'))
    tokens.set('P21 qualified', await server.addToken(olga, qualified))
    tokens.set('P22 demoted admin', demoted)
  })
  afterAll(() => server.stop())

  function clientOf(principal: Principal, way: Way, version: string): Client {
    if (principal === 'P5 wrong scope')
      return server.client(way.isRead ? scopeless.read : scopeless.write, version)
    return server.client(tokens.get(principal), version)
  }

  /** An object for the call, made by its owner where it is to lie. */
  async function targetIn(place: Place, way: Way): Promise<string> {
    if (way.target === 'none' || place === 'root') return 'root'
    const parent = folders.get(place) ?? ''
    return way.target === 'folder' ? owner.folder(fresh(), parent) : owner.file(fresh(), parent, 'content')
  }

  function call(
    api: Client,
    route: Route,
    way: Way,
    id: string,
    method: string = route.method,
  ): Promise<Answer> {
    return api.call(method, route.path.replace(':id', id), way.send?.(id, fresh()) ?? {})
  }

  /** The newest version serves the same rows as the one before it: two places are enough to see that it does. */
  const placesOf = (way: Way, version: string): Place[] => {
    if (way.target === 'none') return ['root']
    if (version === '1.4') return ['private', 'share']
    return way.takesRoot === true ? [...PLACES, 'root'] : [...PLACES]
  }

  test.each(CASES)(
    '$key in $version ($title) gives every principal what the table says, and a refusal changes nothing [AUTH-1] [AUTH-52] [AUTH-60] [AUTH-70] [ERR-4]',
    async ({ route, version, way }) => {
      const cellIn = (place: Place, principal: Principal): Cell =>
        expectedCell(way.group, principal, place, version)
      const targets: [Place, string][] = []
      for (const place of placesOf(way, version)) targets.push([place, await targetIn(place, way)])
      await unchanged(server, async () => {
        for (const [place, id] of targets) {
          for (const principal of PRINCIPALS.filter((name) => cellIn(place, name) !== 'ok')) {
            const what = `${principal} on ${place}`
            const status = cellIn(place, principal) as number
            const api = clientOf(principal, way, version)
            const answer = await call(api, route, way, id)
            expectError(answer, status, what)
            if (status === 401) expect(answer.headers['www-authenticate'], what).toMatch(/^Bearer realm="/)
            if (status === 404) {
              const nothing = await call(api, route, way, unknownId())
              expect(appearance(answer), what).toEqual(appearance(nothing))
            }
            if (way.isRead === true && version === '1.3')
              expect((await call(api, route, way, id, 'HEAD')).status, what).toBe(status)
          }
        }
      })
      for (const [place, id] of targets) {
        for (const principal of PRINCIPALS.filter((name) => cellIn(place, name) === 'ok')) {
          const what = `${principal} on ${place}`
          const api = clientOf(principal, way, version)
          const answer = await call(api, route, way, way.isRead === true ? id : await targetIn(place, way))
          expect(answer.status, `${what} ${answer.text}`).toBe(way.ok[version])
          if (way.isRead === true && version === '1.3')
            expect((await call(api, route, way, id, 'HEAD')).status, what).toBe(200)
        }
      }
    },
  )

  test('every path outside the API is known by name, with what it gives without a token [AUTH-1]', async () => {
    for (const [path, status] of Object.entries(OUTSIDE)) {
      expect((await server.client().call('GET', path, { absolute: true })).status, path).toBe(status)
    }
    for (const path of [
      '/index.html',
      '/admin',
      '/users',
      '/health',
      '/metrics/x',
      '/docs/x',
      '/data',
      '/.well-known/x',
    ]) {
      expectError(
        await server.client(tokens.get('P18 admin with the scope')).call('GET', path, { absolute: true }),
        404,
        path,
      )
    }
  })
})

test('behind a proxy every caller looks local, so the counts need an admin’s token', async () => {
  const server = await startServer('sqlite', { args: ['--behind-proxy'] })
  try {
    const admin = await server.addUser({ admin: true })
    const person = await server.person()
    const call = (...lines: string[]): ReturnType<typeof ask> =>
      ask(server, requestText('GET /metrics', ['X-Forwarded-Proto: https', ...lines]))
    expectError(await call(), 401)
    expectError(await call('X-Forwarded-For: 127.0.0.1'), 401)
    expectError(await call(bearer(person.token)), 403)
    expectError(await call(bearer(await server.addToken(admin, FULL.join(',')))), 403)
    expect((await call(bearer(await server.addToken(admin, ADMIN)))).status).toBe(200)
  } finally {
    await server.stop()
  }
})

/** What a caller can tell two refusals apart by. */
function appearance(answer: Answer): unknown {
  const headers = { ...answer.headers, date: undefined }
  return [answer.status, headers, answer.text]
}
