import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENGINES } from '../support/engines.js'
import { runCommand, startServer, type CommandResult, type TestServer } from '../support/server.js'
import { unknownId } from '../api/support.js'
import { expectRefusal, printedJson } from './support.js'

type Json = Record<string, unknown>

/** All of it beside a running server, which sees every change at once. */
describe.each(ENGINES)('the command line on %s', (engine) => {
  let server: TestServer
  let names = 0

  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  const run = (...args: string[]): Promise<CommandResult> => server.command(...args)
  const json = async <T = Json>(...args: string[]): Promise<T> => printedJson<T>(await run(...args, '--json'))
  const address = (): string => `person${(names += 1)}@x.test`
  const add = (email: string, ...rest: string[]): Promise<Json> =>
    json('user', 'add', email, '--first-name', 'Ada', '--last-name', 'Lovelace', ...rest)
  const withPassword = (password: string | Buffer, ...args: string[]): Promise<CommandResult> => {
    const database = server.databaseUrl === undefined ? [] : ['--database', server.databaseUrl]
    return runCommand([...args, '--password-stdin', '--data', server.dataDir, ...database], {
      stdin: password,
    })
  }
  const users = async (): Promise<Map<unknown, Json>> =>
    new Map((await json<Json[]>('user', 'list')).map((user) => [user['email'], user]))

  describe('user', () => {
    test('add makes a user and prints it', async () => {
      const email = address()
      expect(await add(email.toUpperCase())).toEqual({
        email,
        first_name: 'Ada',
        last_name: 'Lovelace',
        shares: [],
        invitations: [],
      })
      const token = await json('token', 'add', '--user', email, '--scope', 'files.read')
      expect((await server.client(String(token['access_token'])).get('/folders/root')).status).toBe(200)
      expectRefusal(await run('user', 'add', email, '--first-name', 'A', '--last-name', 'B'), 1, /already/)
    })

    test('add refuses what is no address and empty names', async () => {
      for (const email of ['nobody', 'a@b@c', '@x.test', 'a b@x.test']) {
        expectRefusal(await run('user', 'add', email, '--first-name', 'A', '--last-name', 'B'), 1, /address/)
      }
      expectRefusal(
        await run('user', 'add', address(), '--first-name', ' ', '--last-name', 'B'),
        1,
        /first_name/,
      )
      expectRefusal(await run('user', 'add', address(), '--first-name', 'A'), 2, /--last-name/)
    })

    test('add takes a password from standard input, of the length that is asked for', async () => {
      const [email, second] = [address(), address()]
      const rest = ['--first-name', 'A', '--last-name', 'B', '--admin']
      expect((await withPassword('long enough\nignored', 'user', 'add', email, ...rest)).status).toBe(0)
      expect((await users()).get(email)).toMatchObject({ is_admin: true, has_password: true })
      expectRefusal(await withPassword('short', 'user', 'add', second, ...rest), 1, /8 characters/)
      expect((await users()).has(second)).toBe(false)
    })

    test('list is by address', async () => {
      await add('zz@x.test')
      await add('aa@x.test')
      const listed = (await json<Json[]>('user', 'list')).map(({ email }) => String(email))
      expect(listed).toEqual([...listed].sort())
      expect((await run('user', 'list')).stdout).toContain('aa@x.test\tAda Lovelace\n')
    })

    test('passwd sets a password', async () => {
      const email = address()
      await add(email)
      expect((await users()).get(email)?.['has_password']).toBe(false)
      expect((await withPassword('correct horse', 'user', 'passwd', email)).status).toBe(0)
      expect((await users()).get(email)?.['has_password']).toBe(true)
      expectRefusal(await withPassword('', 'user', 'passwd', email), 1)
      const latin = Buffer.from('passwörtlich', 'latin1')
      expectRefusal(await withPassword(latin, 'user', 'passwd', email), 1, /UTF-8/)
      expectRefusal(await withPassword('correct horse', 'user', 'passwd', address()), 1, /no user/)
      expectRefusal(await run('user', 'passwd', email), 2, /--password-stdin/)
    })

    test('admin turns the right on and off, and keeps the last one', async () => {
      const email = address()
      await add(email)
      const admins = [...(await users()).values()].filter((user) => user['is_admin'] === true)
      for (const admin of admins)
        await run('user', 'admin', email, 'on').then(() =>
          run('user', 'admin', String(admin['email']), 'off'),
        )
      expect(await json('user', 'admin', email, 'on')).toEqual({ email, is_admin: true })
      expect((await users()).get(email)?.['is_admin']).toBe(true)
      expectRefusal(await run('user', 'admin', email, 'off'), 1, /last admin/)
      expectRefusal(await run('user', 'remove', email), 1, /last admin/)
      const second = address()
      await add(second, '--admin')
      expect(await json('user', 'admin', email, 'off')).toEqual({ email, is_admin: false })
      expectRefusal(await run('user', 'admin', email, 'maybe'), 2)
      expectRefusal(await run('user', 'admin', address(), 'on'), 1, /no user/)
    })

    test('quota sets a limit that holds at once, and takes it away', async () => {
      const { email, api } = await server.person()
      const file = await api.file('a.txt')
      expect(await json('user', 'quota', email, '3')).toEqual({ email, quota: 3 })
      expect((await api.upload(file, 'hello')).status).toBe(507)
      expect(await json('user', 'quota', email, 'none')).toEqual({ email, quota: 'none' })
      expect((await api.upload(file, 'hello')).status).toBe(204)
      for (const bytes of ['many', '1.5', '9007199254740993'])
        expectRefusal(await run('user', 'quota', email, bytes), 2)
      expectRefusal(await run('user', 'quota', email, '-1'), 2)
      expectRefusal(await run('user', 'quota', address(), '1'), 1, /no user/)
    })

    test('remove takes the user with everything of theirs', async () => {
      const { email, api } = await server.person()
      await api.file('a.txt', 'root', 'hello')
      expect(await json('user', 'remove', email)).toEqual({ removed: email })
      expect((await users()).has(email)).toBe(false)
      expect((await api.get('/folders/root')).status).toBe(401)
      expectRefusal(await run('user', 'remove', email), 1, /no user/)
      expect(await json('check')).toEqual([])
    })
  })

  describe('app', () => {
    test('add registers an application and shows its secret once', async () => {
      const uris = ['https://a.test/done', 'http://127.0.0.1:8000/x', 'myapp://done']
      const made = await json('app', 'add', 'My app', ...uris.flatMap((uri) => ['--redirect-uri', uri]))
      expect(Object.keys(made).sort()).toEqual(['client_id', 'client_secret', 'name', 'redirect_uris'])
      expect(made['client_id']).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
      expect([made['name'], made['redirect_uris']]).toEqual(['My app', uris])
      const listed = await run('app', 'list', '--json')
      expect(listed.stdout).not.toContain(String(made['client_secret']))
      const row = (JSON.parse(listed.stdout) as Json[]).find(({ client_id: id }) => id === made['client_id'])
      expect(row).toMatchObject({
        name: 'My app',
        redirect_uris: uris,
        public: false,
        token_lifetime: 31_536_000,
      })
    })

    test('add --public has no secret, and --token-lifetime is the life of its tokens', async () => {
      const uri = ['--redirect-uri', 'https://a.test/done']
      const made = await json('app', 'add', 'Public', ...uri, '--public', '--token-lifetime', '60')
      expect(made).not.toHaveProperty('client_secret')
      const { email } = await server.person()
      const token = [
        'token',
        'add',
        '--user',
        email,
        '--scope',
        'files.read',
        '--app',
        String(made['client_id']),
      ]
      expect((await json(...token))['expires_in']).toBe(60)
      expect((await json(...token, '--lifetime', '0'))['expires_in']).toBe(0)
      for (const wish of ['x', '-1', '1.5']) {
        expectRefusal(await run('app', 'add', 'X', ...uri, '--token-lifetime', wish), 2)
      }
    })

    test('add refuses an application without a safe redirect address', async () => {
      expectRefusal(await run('app', 'add', 'X'), 2, /--redirect-uri/)
      for (const uri of [
        'http://a.test/',
        'javascript:alert(1)',
        'https://a.test/#x',
        'nonsense',
        'data:text/html,x',
      ]) {
        expectRefusal(await run('app', 'add', 'X', '--redirect-uri', uri), 2, /redirect URI/)
      }
      expectRefusal(await run('app', 'add', ' ', '--redirect-uri', 'https://a.test/'), 2, /name/)
    })

    test('config prints appconfig.json with a new secret and a hostname without a scheme [FIELD-23]', async () => {
      const app = await server.addApp()
      const config = printedJson<Json>(
        await run('app', 'config', app.id, '--host', 'sync.x.test', '--port', '443'),
      )
      expect(Object.keys(config).sort()).toEqual(['cert', 'client_id', 'client_secret', 'hostname'])
      expect([config['client_id'], config['hostname'], config['cert']]).toEqual([
        app.id,
        'sync.x.test',
        server.ca,
      ])
      expect(config['client_secret']).not.toBe(app.secret)
      const again = printedJson<Json>(await run('app', 'config', app.id))
      expect(again['client_secret']).not.toBe(config['client_secret'])
      expect(again['hostname']).toBe('127.0.0.1:8443')
      expectRefusal(await run('app', 'config', unknownId()), 1, /no application/)
    })

    test('remove takes the application with its tokens', async () => {
      const app = await server.addApp()
      expect(await json('app', 'remove', app.id)).toEqual({ removed: app.id })
      expect((await json<Json[]>('app', 'list')).map(({ client_id: id }) => id)).not.toContain(app.id)
      expectRefusal(await run('app', 'remove', app.id), 1, /no application/)
      expectRefusal(await run('app', 'remove', '00000000-0000-4000-8000-000000000000'), 1, /no application/)
    })
  })

  describe('token', () => {
    test('add answers as the token endpoint does', async () => {
      const { email } = await server.person()
      const made = await json('token', 'add', '--user', email, '--scope', 'files.read files.write,files.read')
      expect(made).toEqual({
        access_token: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        token_type: 'bearer',
        expires_in: 31_536_000,
        scope: 'files.read,files.write',
      })
      const plain = await run('token', 'add', '--user', email, '--scope', 'files.read')
      expect(plain.stdout).toMatch(/^[0-9a-f]{64}\n$/)
      expectRefusal(await run('token', 'add', '--user', email), 2, /--scope/)
      expectRefusal(await run('token', 'add', '--scope', 'files.read'), 2, /--user/)
      expectRefusal(
        await run('token', 'add', '--user', email, '--scope', 'files.read', '--lifetime', 'x'),
        2,
        /seconds/,
      )
      expectRefusal(
        await run('token', 'add', '--user', email, '--scope', 'organization.admin'),
        1,
        /no admin/,
      )
    })

    test('list shows what tokens there are and not their values', async () => {
      const { email, token } = await server.person()
      const listed = await run('token', 'list', '--user', email, '--json')
      const [row] = printedJson<Json[]>(listed)
      expect(row).toMatchObject({ application: 'Starling', scope: 'files.read,files.write' })
      expect(listed.stdout).not.toContain(token)
      expectRefusal(await run('token', 'list', '--user', address()), 1, /no user/)
    })

    test('revoke ends a token at once', async () => {
      const { email, token, api } = await server.person()
      expect((await api.get('/folders/root')).status).toBe(200)
      expect(await json('token', 'revoke', token)).toEqual({ revoked: true })
      expect((await api.get('/folders/root')).status).toBe(401)
      expect(await json('token', 'list', '--user', email)).toEqual([])
      expectRefusal(await run('token', 'revoke', token), 1, /no such token/)
    })
  })

  describe('node', () => {
    test('show says who it is and what it holds [NODE-36]', async () => {
      const { api } = await server.person()
      const before = await json('node', 'show')
      expect(before).toEqual({
        id: server.installation.nodeId,
        capacity: null,
        used: before['used'],
        deselected: [],
      })
      await api.file('a.txt', 'root', 'x'.repeat(1000))
      const after = await json('node', 'show')
      expect(Number(after['used'])).toBeGreaterThanOrEqual(Number(before['used']) + 1000)
      expect((await run('node', 'show')).stdout).toContain(`id          ${server.installation.nodeId}\n`)
    })

    test('deselect, select and capacity take effect on the running server [NODE-20] [NODE-22] [NODE-28]', async () => {
      const { api } = await server.person()
      const folder = await api.folder('folder')
      const file = await api.file('a.txt', folder, 'hello')
      const state = async (): Promise<unknown> => (await api.get(`/files/${file}`)).json['content_state']
      expect(await json('node', 'deselect', folder)).toEqual({ deselected: folder })
      expect(await state()).toBe('DESELECTED')
      expect((await api.get(`/files/${file}/content`)).status).toBe(404)
      expect((await api.upload(file, 'new')).status).toBe(404)
      expect((await json('node', 'show'))['deselected']).toEqual([folder])
      expect(await json('node', 'select', folder)).toEqual({ selected: folder })
      expect(await state()).toBe('AVAILABLE')
      expect((await api.get(`/files/${file}/content`)).text).toBe('hello')
      expect(await json('node', 'capacity', '1')).toEqual({ capacity: 1 })
      expect((await json('node', 'show'))['capacity']).toBe(1)
      expect((await api.upload(file, 'too much')).status).toBe(507)
      expect(await json('node', 'capacity', 'none')).toEqual({ capacity: 'none' })
      expect((await api.upload(file, 'room enough')).status).toBe(204)
    })

    test('refuses what it does not know and changes nothing [NODE-37]', async () => {
      const { api } = await server.person()
      const file = await api.file('a.txt')
      const before = await json('node', 'show')
      for (const command of ['deselect', 'select']) {
        for (const id of [unknownId(), file]) expectRefusal(await run('node', command, id), 1, /no folder/)
        for (const id of ['bla', 'root', 'appdata', '']) expectRefusal(await run('node', command, id), 2)
      }
      for (const bytes of ['-1', 'x', '1.5', '1e3']) expectRefusal(await run('node', 'capacity', bytes), 2)
      expect(await json('node', 'show')).toEqual(before)
    })
  })

  test('check is content with what is whole, and names what is broken and exits 1', async () => {
    expect(await json('check')).toEqual([])
    expect((await run('check')).stdout).toBe('no broken invariant\n')
    const { api } = await server.person()
    await api.file('big.bin', 'root', 'x'.repeat(200_000))
    const blobs = join(server.dataDir, 'blobs')
    for (const entry of await readdir(blobs, { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) await rm(join(entry.parentPath, entry.name))
    }
    const broken = await run('check', '--json')
    expect(broken.status).toBe(1)
    const findings = JSON.parse(broken.stdout) as Json[]
    expect(findings.length).toBeGreaterThan(0)
    for (const finding of findings)
      expect(Object.keys(finding).sort()).toEqual(['detail', 'invariant', 'subject'])
    const told = await run('check')
    expect(told.status).toBe(1)
    expect(told.stdout.trim().split('\n')).toHaveLength(findings.length)
  })
})
