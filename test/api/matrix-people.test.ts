import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandDeps } from '../../src/cli/installation.js'
import type { Route } from '../../src/api/route.js'
import { ROUTES } from '../../src/api/routes.js'
import { hashSecret } from '../../src/model/secrets.js'
import { accounts } from '../../src/service/accounts.js'
import { COMMAND_LINE } from '../../src/service/journal.js'
import type { Answer, CallOptions, Client } from '../support/client.js'
import { ENGINES } from '../support/engines.js'
import { startServer, type TestServer } from '../support/server.js'
import { addMember, cast, makePeople, remove, type Cast, type Person } from './people/cast.js'
import { ADMIN, FULL, ok, without } from './people/support.js'
import {
  NOBODY,
  PEOPLE_ROWS,
  ROLES,
  UNKNOWN_DEVICE,
  UNKNOWN_GROUP,
  UNKNOWN_SHARE,
  type Role,
  type Stage,
  type Way,
} from './matrix-people-table.js'
import { expectError, unchanged, unknownId } from './support.js'

const keyOf = ({ method, path }: Route): string => `${method} ${path}`
const CASES = ROUTES.flatMap((route) =>
  (PEOPLE_ROWS[keyOf(route)] ?? []).map((way, index) => ({
    key: keyOf(route),
    method: route.method,
    way,
    name: way.name,
    isFirst: index === 0,
  })),
)
/** Those who see the share. */
const MEMBERS: readonly Role[] = ['O', 'M', 'E', 'V', 'G', 'A']
const isSuccess = (status: number): boolean => status < 300

describe.each(ENGINES)('the rights of everybody about people and shares on %s', (engine) => {
  let server: TestServer
  let stage: Stage
  const strangers: string[] = []
  const cache = new Map<string, string>()

  beforeAll(async () => {
    server = await startServer(engine)
    const demoted = await makePeople(server, 'A')
    stage = await newStage(demoted.A)
    const deps = commandDeps(server.installation, () => undefined)
    // The right is taken away after the tokens were given; somebody else stays admin.
    await tokenOf('D', ADMIN)
    const { db } = server.installation
    await db.write((tx) => accounts(deps).setAdmin(tx, COMMAND_LINE, demoted.A.email, false))

    const expired = await server.addToken(stage.O.email, FULL, { lifetime: 60 })
    await db.write((tx) => tx.run('UPDATE tokens SET expires_ms = 1 WHERE hash = $1', hashSecret(expired)))
    const revoked = await server.addToken(stage.O.email, FULL)
    await server.revoke(revoked)
    const gone = await server.addUser({ admin: true })
    const dead = await server.addToken(gone, ADMIN)
    ok(await stage.A.api.delete(`/users/${gone}`), 200)
    const again = await server.addUser({ admin: true })
    const deadAgain = await server.addToken(again, ADMIN)
    ok(await stage.A.api.delete(`/users/${again}`), 200)
    await server.addUser({ email: again, admin: true })
    strangers.push(unknownId(), expired, revoked, dead, deadAgain)
  })
  afterAll(() => server.stop())

  /** The cast with everything that the table names. */
  async function newStage(demoted: Person): Promise<Stage> {
    const people: Cast = await cast(server)
    const { S: T } = await makePeople(server, 'S')
    const { E: X } = await makePeople(server, 'E')
    await addMember(people.O, people.sh, X, ['WRITE'])
    await remove(people.O, people.sh, X)
    const invitee = `invitee.${T.email}`
    ok(await people.O.api.post('/invitees', { email_to: invitee }), 201)
    const other = ok(await people.A.api.post('/groups', { name: 'Other' }), 201).json.id
    const rows = await server.installation.db.read((tx) =>
      tx.all<{ email: string; device: string }>(
        'SELECT u.email AS email, t.device_id AS device FROM tokens t JOIN users u ON u.id = t.user_id',
      ),
    )
    const devices = new Map(rows.map(({ email, device }) => [email, device]))
    return { ...people, X, D: demoted, T, invitee, other, devices }
  }

  async function tokenOf(role: Role, scopes: string, of: Stage = stage): Promise<string> {
    const { email } = of[role]
    const key = `${email} ${scopes}`
    const known = cache.get(key)
    if (known !== undefined) return known
    const token = await server.addToken(email, scopes)
    cache.set(key, token)
    return token
  }

  /** Every scope that the person may hold. */
  const fullOf = (role: Role): string => (role === 'A' || role === 'D' ? ADMIN : FULL)

  /** What the route asks for and nothing else; a token has at least one scope. */
  function leastOf(role: Role, { needs }: Way): string {
    const scopes = [...needs, ...(role === 'A' ? ['organization.admin'] : [])]
    return scopes.length === 0 ? 'files.read' : scopes.join(',')
  }

  function call(
    api: Client,
    method: string,
    way: Way,
    on: Stage,
    role: Role,
    path?: string,
  ): Promise<Answer> {
    const body = way.body?.(on, on[role])
    const options: CallOptions = body === undefined ? {} : { json: body }
    return api.call(method, path ?? way.path(on, on[role]), options)
  }

  /** What a caller can tell two refusals apart by, the names in the path aside. */
  function appearance(answer: Answer, way: Way, role: Role): unknown {
    const words = [way.path(stage, stage[role]), way.nothing?.(stage) ?? ''].flatMap((path) =>
      path.split('/'),
    )
    const text = words
      .filter((word) => word.length > 8)
      .reduce((left, word) => left.replaceAll(word, '…'), answer.text)
    return [answer.status, { ...answer.headers, date: undefined, etag: undefined }, text]
  }

  interface Trial {
    readonly what: string
    readonly role: Role
    readonly api: Client
    readonly status: number
  }

  /** Everybody with all scopes, with the least that the route asks for, and with each of these left out. */
  async function trials(way: Way, isFirst: boolean): Promise<Trial[]> {
    const all: Trial[] = []
    const put = (
      what: string,
      role: Role,
      token: string | undefined,
      status: number,
      version?: string,
    ): void => void all.push({ what: `${role} ${what}`, role, api: server.client(token, version), status })
    for (const role of ROLES) {
      const cell = way.cells[role]
      put('with all scopes', role, await tokenOf(role, fullOf(role)), cell)
      // The demoted one gets no new token that names the right of admins.
      if (role === 'D') continue
      if (isSuccess(cell) || role === 'S')
        put('with the least', role, await tokenOf(role, leastOf(role, way)), cell, '1.4')
      for (const scope of way.needs)
        put(`without ${scope}`, role, await tokenOf(role, without(fullOf(role), scope)), 403)
    }
    put('without a token', 'O', undefined, 401)
    if (isFirst) for (const token of strangers) put('with a dead token', 'O', token, 401)
    const isOpen = way.needs.length === 0
    put('appdata only', 'O', await tokenOf('O', 'files.appdata'), isOpen ? way.cells.O : 403)
    put(
      'the right of admins alone',
      'A',
      await tokenOf('A', 'organization.admin'),
      isOpen ? way.cells.A : 403,
    )
    const qualified = way.needs.every((scope) => scope === 'acl.read')
    put('qualified', 'O', await tokenOf('O', `acl.read:${stage.sh}`), qualified ? way.cells.O : 403)
    return all
  }

  /** Whether a 404 says that the caller sees nothing at all, and not that something is missing in what they see. */
  function isBlind(way: Way, role: Role): boolean {
    const isOfShare = way.path(stage, stage[role]).startsWith('/shares/')
    return way.nothing !== undefined && !(isOfShare && MEMBERS.includes(role))
  }

  test.each(CASES)(
    '$key ($name) gives everybody what the table says, with each scope left out too, and a refusal changes nothing [ACL-42]',
    async ({ method, way, isFirst }) => {
      const all = await trials(way, isFirst)
      const isRead = method === 'GET'
      const refused = all.filter(({ status }) => !isSuccess(status))
      await unchanged(server, async () => {
        for (const { what, role, api, status } of refused) {
          const answer = await call(api, method, way, stage, role)
          expectError(answer, status, what)
          if (status === 401) expect(answer.headers['www-authenticate'], what).toMatch(/^Bearer realm="/)
          if (status === 404 && isBlind(way, role)) {
            const nothing = await call(api, method, way, stage, role, way.nothing?.(stage))
            expect(appearance(answer, way, role), what).toEqual(appearance(nothing, way, role))
          }
        }
      })
      const granted = all.filter(({ status }) => isSuccess(status))
      if (isRead || way.keeps === true) {
        for (const { what, role, api, status } of granted) {
          const answer = await call(api, method, way, stage, role)
          expect(answer.status, `${what} ${answer.text}`).toBe(status)
        }
        return
      }
      for (const role of ROLES.filter((each) => isSuccess(way.cells[each]))) {
        const fresh = await newStage(stage.D)
        const token = await tokenOf(role, leastOf(role, way), fresh)
        const answer = await call(server.client(token), method, way, fresh, role)
        expect(answer.status, `${role} ${answer.text}`).toBe(way.cells[role])
      }
    },
  )

  test('what stands for nothing in the table is nothing', async () => {
    const { api } = stage.A
    for (const path of [
      `/shares/${UNKNOWN_SHARE}`,
      `/devices/${UNKNOWN_DEVICE}`,
      `/groups/${UNKNOWN_GROUP}`,
      `/users/${NOBODY}`,
      `/invitees/${NOBODY}`,
    ])
      expectError(await api.get(path), 404, path)
  })
})
