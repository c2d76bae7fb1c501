import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROUTES } from '../../src/api/routes.js'
import { compileTable } from '../../src/api/table.js'
import type { Route } from '../../src/api/route.js'
import { SCOPES } from '../../src/model/scopes.js'
import { hashSecret } from '../../src/model/secrets.js'
import { V1_3 } from '../../src/model/version.js'
import { commandDeps } from '../../src/cli/installation.js'
import { accounts } from '../../src/service/accounts.js'
import { COMMAND_LINE } from '../../src/service/journal.js'
import type { Answer, Client } from '../support/client.js'
import { ENGINES } from '../support/engines.js'
import { runCommand, RW, startServer, type TestServer } from '../support/server.js'
import { ask, bearer, openWire, readAnswer, requestText } from '../support/wire.js'
import { dump, expectError, unchanged, unknownId } from './support.js'

const ROOT = 'GET /api/v1.3/folders/root'
const ORDINARY = SCOPES.map(({ name }) => name).filter((name) => name !== 'organization.admin')

describe.each(ENGINES)('how a token is sent on %s', (engine) => {
  let server: TestServer
  let token: string
  let other: string
  let file: string

  beforeAll(async () => {
    server = await startServer(engine)
    const email = await server.addUser()
    token = await server.addToken(email)
    other = await server.addToken(email)
    file = await server.client(token).file('a.txt', 'root', 'hello')
  })
  afterAll(() => server.stop())

  const withLines = (...lines: string[]): ReturnType<typeof ask> => ask(server, requestText(ROOT, lines))

  test('counts once, whatever the case of the scheme [AUTH-2]', async () => {
    const mine = (await server.client(token).get('/folders/root')).json.id
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      const answer = await withLines(`Authorization: ${scheme} ${token}`)
      expect(answer.status).toBe(200)
      expect(answer.json.id).toBe(mine)
    }
    const someone = await server.person()
    expect((await someone.api.get('/folders/root')).json.id).not.toBe(mine)
  })

  test('is refused when it comes twice [AUTH-3]', async () => {
    const twice: [string, string][] = [
      [bearer(token), bearer(token)],
      [bearer(token), bearer(other)],
      [bearer(token), 'authorization: '],
      ['AUTHORIZATION:', bearer(token)],
      [bearer(token), `authorization: Bearer ${unknownId()}`],
    ]
    for (const lines of twice) expectError(await withLines(...lines), 401, lines.join())
  })

  test('is refused in any other form [AUTH-4]', async () => {
    const forms = [
      '',
      'Bearer',
      'Bearer ',
      token,
      `Basic ${token}`,
      `Token ${token}`,
      `Bearer ${token} ${other}`,
      `Bearer ${token},${other}`,
      `Bearer ${token}, Bearer ${other}`,
      `Bearer ${token}0`,
      `Bearer ${token.slice(1)}`,
      `Bearer ${token.toUpperCase()}`,
      `Bearer "${token}"`,
      `Bearer=${token}`,
    ]
    for (const form of forms) expectError(await withLines(`Authorization: ${form}`), 401, form)
  })

  test('is refused, and breaks nothing, whatever it holds [AUTH-5]', async () => {
    const values = ['a'.repeat(10_000), "x'OR'1'='1", 'é'.repeat(32), '%00', "';DROP/**/TABLE/**/tokens;--"]
    for (const value of values) {
      const answer = await ask(server, Buffer.from(requestText(ROOT, [`Authorization: Bearer ${value}`])))
      expectError(answer, 401, value.slice(0, 40))
    }
    expectError(await withLines(`Authorization: Bearer ${'a'.repeat(20_000)}`), 431)
    for (const query of ['%00', '%27%20OR%201=1', 'a'.repeat(5000), '%C3%A9']) {
      expectError(
        await ask(server, requestText(`GET /api/v1.3/files/${file}/content?token=${query}`)),
        401,
        query,
      )
    }
    expect((await withLines(bearer(token))).status).toBe(200)
  })

  test('may be a query parameter on the content alone, for GET and HEAD [AUTH-6] [FIELD-54]', async () => {
    for (const version of ['1.0', '1.3', '1.4']) {
      const path = `/api/v${version}/files/${file}/content?token=${token}`
      const got = await ask(server, requestText(`GET ${path}`))
      expect(got.status).toBe(200)
      expect(got.text).toBe('hello')
      expect((await ask(server, requestText(`HEAD ${path}`))).status).toBe(200)
    }
  })

  test('is no query parameter anywhere else [AUTH-7]', async () => {
    await unchanged(server, async () => {
      for (const line of [
        'GET /api/v1.3/folders/root',
        'GET /api/v1.3/folders/root/children',
        'GET /api/v1.3/folders/root/path',
        `GET /api/v1.3/files/${file}`,
        `GET /api/v1.3/files/${file}/path`,
        `PUT /api/v1.3/files/${file}/content`,
        `PUT /api/v1.3/files/${file}`,
        `DELETE /api/v1.3/files/${file}`,
        'POST /api/v1.3/folders',
        'GET /api/v1.0/children',
      ]) {
        expectError(
          await ask(server, requestText(`${line}?token=${token}`, ['Content-Length: 0'])),
          401,
          line,
        )
      }
    })
  })

  test('is refused as header and query together, twice or empty in the query [AUTH-8]', async () => {
    const path = `GET /api/v1.3/files/${file}/content`
    for (const [line, lines] of [
      [`${path}?token=${token}`, [bearer(token)]],
      [`${path}?token=${other}`, [bearer(token)]],
      [`${path}?token=`, [bearer(token)]],
      [`${path}?token=${token}&token=${token}`, []],
      [`${path}?token=`, []],
      [`${path}?token`, []],
      [`${path}?token=%zz`, []],
    ] as [string, string[]][]) {
      expectError(await ask(server, requestText(line, lines)), 401, line)
    }
  })

  test('in the header makes a token parameter of another route an unknown one [AUTH-9]', async () => {
    for (const query of [`token=${token}`, 'token=garbage', 'token', 'token=%zz']) {
      expect((await ask(server, requestText(`${ROOT}?${query}`, [bearer(token)]))).status).toBe(200)
    }
  })

  test('counts nowhere else [AUTH-10]', async () => {
    const json = JSON.stringify({ access_token: token, name: 'x', parent: 'root' })
    const form = `access_token=${token}`
    for (const text of [
      requestText(`${ROOT}?access_token=${token}`),
      requestText(ROOT, [`X-Authorization: Bearer ${token}`]),
      requestText(ROOT, [`Proxy-Authorization: Bearer ${token}`]),
      requestText(ROOT, [`Cookie: token=${token}; access_token=${token}; Authorization=Bearer ${token}`]),
      requestText(
        'POST /api/v1.3/folders',
        ['Content-Type: application/json', `Content-Length: ${json.length}`],
        json,
      ),
      requestText(
        'POST /api/v1.3/folders',
        ['Content-Type: application/x-www-form-urlencoded', `Content-Length: ${form.length}`],
        form,
      ),
    ]) {
      expectError(await ask(server, text), 401, text)
    }
  })

  test('is not any other secret that the server knows [AUTH-11]', async () => {
    const app = await server.addApp()
    for (const value of [app.id, app.secret, app.secret.replaceAll('-', '').repeat(2), hashSecret(token)]) {
      expectError(await withLines(`Authorization: Bearer ${value}`), 401, value)
    }
  })

  test('cannot be replaced by the cookie of a node, which gives no right [AUTH-75] [NODE-10]', async () => {
    const cookie =
      String((await server.client(token).get('/folders/root')).headers['set-cookie']).split(';')[0] ?? ''
    expectError(await withLines(`Cookie: ${cookie}`), 401)
    const stranger = await server.person()
    const answer = await ask(server, requestText(ROOT, [bearer(stranger.token), `Cookie: ${cookie}`]))
    expect(answer.json.id).toBe((await stranger.api.get('/folders/root')).json.id)
  })
})

describe.each(ENGINES)('the life of a token on %s', (engine) => {
  let server: TestServer

  beforeAll(async () => {
    server = await startServer(engine, { workers: 2 })
  })
  afterAll(() => server.stop())

  const service = (): ReturnType<typeof accounts> =>
    accounts(commandDeps(server.installation, () => undefined))

  test('leaves no secret in clear in what is stored and what is logged [AUTH-12]', async () => {
    const email = await server.addUser()
    const token = await server.addToken(email)
    const revoked = await server.addToken(email)
    const app = await server.addApp()
    const file = await server.client(token).file('a.txt', 'root', 'hello')
    const password = 'correct horse battery staple'
    const passwd = ['user', 'passwd', email, '--password-stdin', '--data', server.dataDir]
    const database = server.databaseUrl === undefined ? [] : ['--database', server.databaseUrl]
    expect((await runCommand([...passwd, ...database], { stdin: `${password}\n` })).status).toBe(0)
    expect(
      (await ask(server, requestText(`GET /api/v1.3/files/${file}/content?token=${token}`))).status,
    ).toBe(200)
    expect((await ask(server, requestText(`DELETE /auth/token/${revoked}`))).status).toBe(200)
    expect(await server.terminate()).toBe(0)
    const stored = await allBytes(server.dataDir)
    const logged = server.log()
    expect(logged).toContain('/content')
    for (const secret of [token, revoked, app.secret, password]) {
      expect(stored.includes(secret)).toBe(false)
      expect(logged).not.toContain(secret)
    }
    const rows = await dump(server)
    for (const secret of [token, app.secret, password]) expect(rows).not.toContain(secret)
    expect(rows).toContain(hashSecret(token))
    await server.restart()
  })

  test.each(['in another process', 'by the command line'])(
    'ends at once when it is revoked %s: on the same connection, on another one, in every worker [AUTH-13]',
    async (road) => {
      const { token } = await server.person()
      const wires = await Promise.all(Array.from({ length: 8 }, () => openWire(server)))
      const call = async (wire: (typeof wires)[number]): Promise<number> => {
        wire.send(requestText(ROOT, [bearer(token)]))
        return (await wire.answer()).status
      }
      for (const wire of wires) expect(await call(wire)).toBe(200)
      if (road === 'by the command line')
        expect((await server.command('token', 'revoke', token)).status).toBe(0)
      else await server.revoke(token)
      for (const wire of wires) expect(await call(wire)).toBe(401)
      for (let count = 0; count < 8; count += 1) {
        expectError(await ask(server, requestText(ROOT, [bearer(token)])), 401)
      }
    },
  )

  test.each([
    ['a small body', 10, []],
    ['a large body', 200_000, []],
    ['a last chunk', 100_000, ['Content-Range: bytes 0-99999/100000']],
  ] as [string, number, string[]][])(
    'ends an upload of %s that is still arriving [AUTH-14]',
    async (_, length, lines) => {
      const email = await server.addUser()
      const [token, other] = [await server.addToken(email), await server.addToken(email)]
      const api = server.client(other)
      const file = await api.file('a.txt', 'root', 'old')
      const before = (await api.get(`/files/${file}`)).json
      const wire = await openWire(server)
      wire.send(
        requestText(`PUT /api/v1.3/files/${file}/content`, [
          bearer(token),
          `Content-Length: ${length}`,
          'Expect: 100-continue',
          ...lines,
        ]),
      )
      expect((await wire.answer('PUT')).status).toBe(100)
      wire.send('x'.repeat(length / 2))
      await server.revoke(token)
      wire.send('y'.repeat(length / 2))
      expectError(await readAnswer(wire, 'PUT'), 401)
      expect((await api.get(`/files/${file}/content`)).text).toBe('old')
      expect((await api.get(`/files/${file}`)).json).toEqual(before)
    },
  )

  test('of a user who is deleted ends the upload that is still arriving [AUTH-14] [AUTH-16]', async () => {
    const { email, token, api } = await server.person()
    const file = await api.file('a.txt')
    const wire = await openWire(server)
    wire.send(
      requestText(`PUT /api/v1.3/files/${file}/content`, [
        bearer(token),
        'Content-Length: 200000',
        'Expect: 100-continue',
      ]),
    )
    expect((await wire.answer('PUT')).status).toBe(100)
    wire.send('x'.repeat(100_000))
    expect((await server.command('user', 'remove', email)).status).toBe(0)
    wire.send('x'.repeat(100_000))
    expectError(await readAnswer(wire, 'PUT'), 401)
  })

  test('has the length it was given; 0 is for ever [AUTH-15]', async () => {
    const email = await server.addUser()
    const token = await server.addToken(email, RW, { lifetime: 3600 })
    const endless = await server.addToken(email, RW, { lifetime: 0 })
    const rowOf = (value: string): Promise<{ created_ms: number; expires_ms: number | null } | undefined> =>
      server.installation.db.read((tx) => tx.get('SELECT * FROM tokens WHERE hash = $1', hashSecret(value)))
    const row = await rowOf(token)
    expect((row?.expires_ms ?? 0) - (row?.created_ms ?? 0)).toBe(3_600_000)
    expect((await rowOf(endless))?.expires_ms).toBeNull()
    expect((await server.client(token).get('/folders/root')).status).toBe(200)
    await expire(server, token)
    expectError(await server.client(token).get('/folders/root'), 401)
    expect((await server.client(endless).get('/folders/root')).status).toBe(200)
  })

  test('ends with its user, also when the address is used again [AUTH-16]', async () => {
    const { email, token, api } = await server.person()
    const app = await server.addApp()
    const second = await server.addToken(email, RW, { app: app.id })
    const file = await api.file('a.txt', 'root', 'secret')
    expect((await server.command('user', 'remove', email)).status).toBe(0)
    for (const value of [token, second]) expectError(await server.client(value).get('/folders/root'), 401)
    await server.addUser({ email })
    for (const value of [token, second]) expectError(await server.client(value).get('/folders/root'), 401)
    const again = server.client(await server.addToken(email))
    expect((await again.get('/folders/root/children')).json).toEqual({ folders: [], files: [] })
    expectError(await again.get(`/files/${file}`), 404)
  })

  test('ends with its application, for every user [AUTH-17]', async () => {
    const app = await server.addApp()
    const emails = [await server.addUser(), await server.addUser()]
    const bound = await Promise.all(emails.map((email) => server.addToken(email, RW, { app: app.id })))
    const free = await server.addToken(emails[0] ?? '')
    for (const token of bound) expect((await server.client(token).get('/folders/root')).status).toBe(200)
    expect((await server.command('app', 'remove', app.id)).status).toBe(0)
    for (const token of bound) expectError(await server.client(token).get('/folders/root'), 401)
    expect((await server.client(free).get('/folders/root')).status).toBe(200)
  })

  test('goes on when the password is changed or disabled [AUTH-20]', async () => {
    const { email, api } = await server.person()
    for (const hash of ['$argon2id$one', '$argon2id$two', null]) {
      await server.installation.db.write((tx) => service().setPassword(tx, COMMAND_LINE, email, hash))
      expect((await api.get('/folders/root')).status).toBe(200)
    }
  })

  test('that the command line gave obeys the same rules, and a bad wish gives none [AUTH-21]', async () => {
    const email = await server.addUser()
    const given = await server.command('token', 'add', '--user', email, '--scope', 'files.read', '--json')
    const { access_token: token, ...rest } = JSON.parse(given.stdout) as Record<string, string>
    expect(rest).toEqual({ token_type: 'bearer', expires_in: 31_536_000, scope: 'files.read' })
    const api = server.client(token)
    expect((await api.get('/folders/root')).status).toBe(200)
    expectError(await api.post('/folders', { name: 'x', parent: 'root' }), 403)
    const count = (): Promise<{ count: number } | undefined> =>
      server.installation.db.read((tx) => tx.get('SELECT COUNT(*) AS count FROM tokens'))
    const before = await count()
    for (const args of [
      ['--user', email, '--scope', 'files.destroy'],
      ['--user', 'nobody@x.test', '--scope', 'files.read'],
      ['--user', email, '--scope', 'files.read,organization.admin'],
      ['--user', email, '--scope', 'files.read', '--app', '6f1c7bd2-0000-4000-8000-000000000000'],
    ]) {
      const refused = await server.command('token', 'add', ...args, '--json')
      expect([1, 2]).toContain(refused.status)
      expect(refused.stdout).toBe('')
      expect(refused.stderr).toMatch(/^starling: [^\n]+\n$/)
    }
    expect(await count()).toEqual(before)
  })

  test('is refused alike, whether it is unknown, expired, revoked or of a deleted user [ERR-22] [ERR-12]', async () => {
    const expired = await server.person()
    await expire(server, expired.token)
    const revoked = await server.person()
    await server.revoke(revoked.token)
    const deleted = await server.person()
    await server.installation.db.write((tx) => service().remove(tx, COMMAND_LINE, deleted.email))
    const seen = new Set<string>()
    for (const token of [unknownId(), expired.token, revoked.token, deleted.token]) {
      const answer = await server.client(token).get('/folders/root')
      expectError(answer, 401)
      seen.add(JSON.stringify([answer.status, answer.json, answer.headers['www-authenticate']]))
    }
    expect(seen.size).toBe(1)
    expect([...seen][0]).toMatch(/Bearer realm=\\"[^"]+\\"/)
  })
})

describe.each(ENGINES)('the right of an admin on %s', (engine) => {
  let server: TestServer

  beforeAll(async () => {
    server = await startServer(engine, { args: ['--behind-proxy'] })
    await server.addUser({ admin: true })
  })
  afterAll(() => server.stop())

  const call = (token: string, line: string): ReturnType<typeof ask> =>
    ask(server, requestText(line, [bearer(token), 'X-Forwarded-Proto: https']))
  const metrics = async (token: string): Promise<number> => (await call(token, 'GET /metrics')).status
  const demote = (email: string, wish: 'on' | 'off'): ReturnType<TestServer['command']> =>
    server.command('user', 'admin', email, wish)

  test('ends with the person being one, comes back with it, and the other scopes go on [AUTH-18] [AUTH-19]', async () => {
    const email = await server.addUser({ admin: true })
    const token = await server.addToken(email, 'organization.admin,files.read')
    expect(await metrics(token)).toBe(200)
    expect((await demote(email, 'off')).status).toBe(0)
    const refused = await call(token, 'GET /metrics')
    expectError(refused, 403)
    expect((await call(token, ROOT)).status).toBe(200)
    expect((await demote(email, 'on')).status).toBe(0)
    expect(await metrics(token)).toBe(200)
  })

  test('counts for nothing in the stored grant of an ordinary person [AUTH-72]', async () => {
    const email = await server.addUser()
    const token = await server.addToken(email, 'files.read')
    await server.installation.db.write((tx) =>
      tx.run(
        'UPDATE tokens SET scopes = $1 WHERE hash = $2',
        'files.read,organization.admin',
        hashSecret(token),
      ),
    )
    expect((await call(token, ROOT)).status).toBe(200)
    expectError(await call(token, 'GET /metrics'), 403)
  })

  test('needs the scope, which an admin may leave out [AUTH-18]', async () => {
    const email = await server.addUser({ admin: true })
    expectError(await call(await server.addToken(email, ORDINARY.join(',')), 'GET /metrics'), 403)
  })

  test('opens nobody else’s private tree, and root stays the admin’s own [AUTH-70] [AUTH-71]', async () => {
    const email = await server.addUser({ admin: true })
    const token = await server.addToken(email, [...ORDINARY, 'organization.admin'].join(','))
    const someone = await server.addUser()
    const sid = await server.installation.db.read((tx) =>
      tx.get<{ root_sid: string }>('SELECT root_sid FROM users WHERE email = $1', someone),
    )
    const own = await server.installation.db.read((tx) =>
      tx.get<{ root_sid: string }>('SELECT root_sid FROM users WHERE email = $1', email),
    )
    for (const id of [sid?.root_sid, `${sid?.root_sid}${'0'.repeat(32)}`]) {
      for (const suffix of ['', '/children', '/path']) {
        expectError(await call(token, `GET /api/v1.3/folders/${id}${suffix}`), 404)
      }
      expectError(await call(token, `DELETE /api/v1.3/folders/${id}`), 404)
    }
    expect((await call(token, ROOT)).json.id).toBe(`${own?.root_sid}${'0'.repeat(32)}`)
  })

  test('alone opens no file [AUTH-38]', async () => {
    const email = await server.addUser({ admin: true })
    expectError(await call(await server.addToken(email, 'organization.admin'), ROOT), 403)
  })
})

/** One call a route of the tree; each makes what it needs with an unrestricted token. */
interface Action {
  readonly title: string
  readonly scope: 'files.read' | 'files.write'
  readonly version?: string
  readonly ids: string
  prepare(rw: Client): Promise<string>
  act(api: Client, id: string): Promise<Answer>
}

let names = 0
const fresh = (): string => `n${(names += 1)}`
const someFolder = (rw: Client): Promise<string> => rw.folder(fresh())
const someFile = (rw: Client): Promise<string> => rw.file(fresh(), 'root', 'hello')

function reading(
  title: string,
  prepare: Action['prepare'],
  path: (id: string) => string,
  version = '1.3',
): Action[] {
  const common = { scope: 'files.read', version, ids: '[AUTH-22]', prepare } as const
  return [
    { ...common, title: `GET ${title}`, act: (api, id) => api.get(path(id)) },
    { ...common, title: `HEAD ${title}`, act: (api, id) => api.head(path(id)) },
  ]
}

const ACTIONS: readonly Action[] = [
  ...reading('a folder', someFolder, (id) => `/folders/${id}`),
  ...reading('the path of a folder', someFolder, (id) => `/folders/${id}/path`),
  ...reading('children', someFolder, (id) => `/folders/${id}/children`),
  ...reading('children in 1.0', someFolder, (id) => `/children/${id}`, '1.0'),
  ...reading('children of the root in 1.0', someFolder, () => '/children', '1.0'),
  ...reading('a file', someFile, (id) => `/files/${id}`),
  ...reading('the path of a file', someFile, (id) => `/files/${id}/path`),
  ...reading('content', someFile, (id) => `/files/${id}/content`),
  ...(['folders', 'files'] as const).flatMap((noun): Action[] => {
    const prepare = noun === 'folders' ? someFolder : someFile
    const common = { scope: 'files.write', prepare } as const
    return [
      {
        ...common,
        title: `POST ${noun}`,
        ids: '[AUTH-23]',
        prepare: someFolder,
        act: (api, id) => api.post(`/${noun}`, { name: fresh(), parent: id }),
      },
      {
        ...common,
        title: `renaming of ${noun}`,
        ids: '[AUTH-24]',
        act: (api, id) => api.put(`/${noun}/${id}`, { name: fresh() }),
      },
      {
        ...common,
        title: `moving of ${noun}`,
        ids: '[AUTH-24]',
        prepare: async (rw) => `${await prepare(rw)} ${await someFolder(rw)}`,
        act: (api, ids) => api.put(`/${noun}/${ids.slice(0, 64)}`, { parent: ids.slice(65) }),
      },
      {
        ...common,
        title: `DELETE ${noun}`,
        ids: '[AUTH-25]',
        act: (api, id) => api.delete(`/${noun}/${id}`),
      },
    ]
  }),
  ...(
    [
      ['whole', 'hello', {}],
      ['beginning', '', { 'Content-Range': 'bytes */*' }],
      ['first chunk', 'he', { 'Content-Range': 'bytes 0-1/*' }],
      ['all in one chunk', 'hello', { 'Content-Range': 'bytes 0-4/5' }],
    ] as const
  ).map(([form, body, headers]): Action => ({
    title: `PUT content (${form})`,
    scope: 'files.write',
    ids: '[AUTH-25]',
    prepare: someFile,
    act: (api, id) => api.upload(id, body, headers),
  })),
]

describe.each(ENGINES)('the scope of each route on %s', (engine) => {
  let server: TestServer
  let email: string
  let rw: Client

  beforeAll(async () => {
    server = await startServer(engine)
    email = await server.addUser()
    rw = server.client(await server.addToken(email))
  })
  afterAll(() => server.stop())

  test.each(ACTIONS)(
    '$title needs $scope and nothing else $ids',
    async ({ scope, version, prepare, act }) => {
      const id = await prepare(rw)
      // The scope of the application's own folder is left out: it opens that folder, and the answer is then 404.
      const rest = ORDINARY.filter((name) => name !== scope && name !== 'files.appdata')
      const without = server.client(await server.addToken(email, rest.join(',')), version)
      const refused = await unchanged(server, () => act(without, id))
      expect(refused.status).toBe(403)
      if (refused.text !== '') expectError(refused, 403)
      const only = server.client(await server.addToken(email, scope), version)
      const answer = await act(only, id)
      expect(answer.status, answer.text).toBeLessThan(300)
    },
  )

  test('files.write does not read and files.read does not write, though a write shows what it wrote [AUTH-26]', async () => {
    const w = server.client(await server.addToken(email, 'files.write'))
    const r = server.client(await server.addToken(email, 'files.read'))
    const name = fresh()
    const made = await w.post('/folders', { name, parent: 'root' })
    expect(made.status).toBe(201)
    expect(made.json.name).toBe(name)
    for (const suffix of ['', '/path', '/children'])
      expectError(await w.get(`/folders/${made.json.id}${suffix}`), 403)
    expect((await r.get(`/folders/${made.json.id}`)).status).toBe(200)
    await unchanged(server, async () => {
      expectError(await r.post('/folders', { name: fresh(), parent: 'root' }), 403)
      expectError(await r.put(`/folders/${made.json.id}`, { name: fresh() }), 403)
      expectError(await r.delete(`/folders/${made.json.id}`), 403)
    })
  })

  test('no other scope opens a file route, alone or all together [AUTH-38] [AUTH-77]', async () => {
    const file = await someFile(rw)
    const others = ORDINARY.filter((name) => !name.startsWith('files.'))
    for (const scope of [...others, others.join(','), 'user.read,acl.read']) {
      const api = server.client(await server.addToken(email, scope))
      await unchanged(server, async () => {
        for (const path of [
          '/folders/root',
          '/folders/root/children',
          `/files/${file}`,
          `/files/${file}/content`,
        ]) {
          expectError(await api.get(path), 403, scope)
        }
        expectError(await api.upload(file, 'x'), 403, scope)
        expectError(await api.delete(`/files/${file}`), 403, scope)
        expectError(await api.post('/files', { name: fresh(), parent: 'root' }), 403, scope)
      })
    }
  })

  test('every row of the table declares its needs, and a row that does not is refused at the start [AUTH-39]', () => {
    for (const { method, path, access, rule } of ROUTES) {
      expect(access, `${method} ${path}`).toBe('token')
      expect(Object.keys(rule.needs), `${method} ${path}`).not.toEqual([])
    }
    const [row] = ROUTES
    const broken = [
      { ...row, access: undefined },
      { ...row, rule: { ...row?.rule, needs: undefined } },
    ] as unknown as Route[]
    for (const route of broken)
      expect(() => compileTable([route], V1_3)).toThrow(/does not say who may call it/)
  })
})

describe.each(ENGINES)('qualified scopes on %s', (engine) => {
  let server: TestServer

  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  interface Stage {
    email: string
    rw: Client
    folder: string
    below: string
    deep: string
    sibling: string
    neighbour: string
    token(scope: string): Promise<Client>
  }

  async function stage(): Promise<Stage> {
    const { email, api: rw } = await server.person()
    const folder = await rw.folder('folder')
    const below = await rw.folder('below', folder)
    return {
      email,
      rw,
      folder,
      below,
      deep: await rw.file('deep.txt', below, 'deep'),
      sibling: await rw.folder('sibling'),
      neighbour: await rw.file('neighbour.txt', 'root', 'neighbour'),
      token: async (scope) => server.client(await server.addToken(email, scope)),
    }
  }

  const reads = async (api: Client, noun: 'folders' | 'files', id: string): Promise<number[]> => {
    const suffixes = noun === 'folders' ? ['', '/children', '/path'] : ['', '/content', '/path']
    return Promise.all(suffixes.map(async (suffix) => (await api.get(`/${noun}/${id}${suffix}`)).status))
  }
  const OK = [200, 200, 200]
  const FORBIDDEN = [403, 403, 403]

  test('files.read:<folder> reads the folder and all below it, and nothing else [AUTH-41]', async () => {
    const { rw, folder, below, deep, sibling, neighbour, token } = await stage()
    const api = await token(`files.read:${folder}`)
    const root = (await rw.get('/folders/root')).json.id
    for (const id of [folder, below]) expect(await reads(api, 'folders', id)).toEqual(OK)
    expect(await reads(api, 'files', deep)).toEqual(OK)
    for (const id of ['root', root, sibling]) expect(await reads(api, 'folders', id)).toEqual(FORBIDDEN)
    expect(await reads(api, 'files', neighbour)).toEqual(FORBIDDEN)
    await unchanged(server, async () => {
      expectError(await api.post('/folders', { name: 'x', parent: folder }), 403)
      expectError(await api.upload(deep, 'x'), 403)
    })
    expectError(await api.get(`/folders/${unknownId()}`), 404)
  })

  test('files.read:<file> reads that file and nothing else [AUTH-42]', async () => {
    const { below, deep, neighbour, token } = await stage()
    const api = await token(`files.read:${deep}`)
    expect(await reads(api, 'files', deep)).toEqual(OK)
    expect(await reads(api, 'files', neighbour)).toEqual(FORBIDDEN)
    for (const id of [below, 'root']) expect(await reads(api, 'folders', id)).toEqual(FORBIDDEN)
  })

  test('files.write:<folder> writes below it; a move needs both ends inside [AUTH-43]', async () => {
    const { folder, below, deep, sibling, neighbour, token } = await stage()
    const api = await token(`files.write:${folder}`)
    const made = await api.post('/files', { name: 'new.txt', parent: below })
    expect(made.status).toBe(201)
    expect((await api.upload(made.json.id, 'new')).status).toBe(204)
    expect((await api.put(`/files/${made.json.id}`, { name: 'renamed.txt', parent: folder })).status).toBe(
      200,
    )
    expect((await api.delete(`/files/${made.json.id}`)).status).toBe(204)
    await unchanged(server, async () => {
      expectError(await api.post('/folders', { name: 'x', parent: 'root' }), 403)
      expectError(await api.put(`/files/${deep}`, { parent: sibling }), 403)
      expectError(await api.put(`/files/${deep}`, { parent: 'root' }), 403)
      expectError(await api.put(`/files/${neighbour}`, { parent: folder }), 403)
      expectError(await api.put(`/folders/${sibling}`, { parent: below }), 403)
      expectError(await api.upload(neighbour, 'x'), 403)
      expectError(await api.delete(`/folders/${sibling}`), 403)
      expectError(await api.get(`/folders/${folder}`), 403)
    })
  })

  test('an unqualified entry wins over a qualified one in either order [AUTH-46]', async () => {
    const { folder, neighbour, token } = await stage()
    for (const scope of [`files.read,files.read:${folder}`, `files.read:${folder},files.read`]) {
      expect(await reads(await token(scope), 'files', neighbour)).toEqual(OK)
    }
  })

  test('two qualified entries reach both objects and nothing else [AUTH-47]', async () => {
    const { below, deep, sibling, neighbour, token } = await stage()
    const api = await token(`files.read:${below},files.read:${neighbour}`)
    expect(await reads(api, 'files', deep)).toEqual(OK)
    expect(await reads(api, 'files', neighbour)).toEqual(OK)
    for (const id of [sibling, 'root']) expect(await reads(api, 'folders', id)).toEqual(FORBIDDEN)
  })

  test('the token follows its object, sees what comes under it, and reaches nothing once it is deleted [AUTH-48]', async () => {
    const { rw, folder, deep, sibling, neighbour, token } = await stage()
    const api = await token(`files.read:${folder},files.write:${folder}`)
    await rw.put(`/folders/${folder}`, { parent: sibling, name: 'elsewhere' })
    expect(await reads(api, 'files', deep)).toEqual(OK)
    expect(await reads(api, 'folders', sibling)).toEqual(FORBIDDEN)
    await rw.put(`/files/${neighbour}`, { parent: folder })
    expect(await reads(api, 'files', neighbour)).toEqual(OK)
    await rw.put(`/files/${neighbour}`, { parent: 'root' })
    expect(await reads(api, 'files', neighbour)).toEqual(FORBIDDEN)
    await rw.delete(`/folders/${folder}`)
    expect(await reads(api, 'folders', 'root')).toEqual(FORBIDDEN)
    expect(await reads(api, 'folders', sibling)).toEqual(FORBIDDEN)
    expect(await reads(api, 'files', neighbour)).toEqual(FORBIDDEN)
    expect(await reads(api, 'folders', folder)).toEqual([404, 404, 404])
    expectError(await api.post('/folders', { name: 'x', parent: 'root' }), 403)
  })

  test('a qualifier never shows an object that the user cannot see [AUTH-49]', async () => {
    const { token, folder } = await stage()
    const stranger = await stage()
    const foreign = await token(`files.read:${stranger.folder},files.write:${stranger.folder}`)
    for (const id of [stranger.folder, stranger.below])
      expect(await reads(foreign, 'folders', id)).toEqual([404, 404, 404])
    expectError(await foreign.post('/folders', { name: 'x', parent: stranger.folder }), 404)
    expect(await reads(foreign, 'folders', folder)).toEqual(FORBIDDEN)
    const mixed = await token(`files.read:${stranger.folder.slice(0, 32)}`)
    expect(await reads(mixed, 'folders', stranger.folder)).toEqual([404, 404, 404])
    expect(await reads(mixed, 'folders', 'root')).toEqual(FORBIDDEN)
  })

  test('the bare id of the root store reaches everything in it', async () => {
    const { rw, deep, token } = await stage()
    const root = (await rw.get('/folders/root')).json.id
    const api = await token(`files.read:${root.slice(0, 32)}`)
    expect(await reads(api, 'folders', 'root')).toEqual(OK)
    expect(await reads(api, 'files', deep)).toEqual(OK)
  })
})

async function expire(server: TestServer, token: string): Promise<void> {
  await server.installation.db.write((tx) =>
    tx.run('UPDATE tokens SET expires_ms = $1 WHERE hash = $2', Date.now() - 1, hashSecret(token)),
  )
}

async function allBytes(folder: string): Promise<Buffer> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return Buffer.concat(await Promise.all(files.map((entry) => readFile(join(entry.parentPath, entry.name)))))
}
