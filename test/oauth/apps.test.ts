import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENGINES } from '../support/engines.js'
import { control, formWith, type Browser, type Page } from './browser.js'
import {
  authorizePath,
  basic,
  expectOAuthError,
  isConsentPage,
  openWorld,
  pkce,
  type App,
  type Person,
  type World,
} from './support.js'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const UUIDS = /\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b/g
const CALLBACK = 'https://app.test/cb'

/** What may not become a redirect address, on the command line and in the console alike. */
const BAD_ADDRESSES = [
  'app.test/cb',
  '/cb',
  '//app.test/cb',
  'https://app.test/cb#part',
  'https://app.test/cb#',
  'https://app.test/c b',
  'https://app.test/\tcb',
  'javascript:alert(1)',
  'JavaScript:alert(1)',
  'data:text/html,x',
  'vbscript:x',
  'file:///etc/passwd',
  'about:blank',
  'blob:https://app.test/x',
  'https://',
  'http://app.test/cb',
  '',
]
const GOOD_ADDRESSES = [
  'https://app.test/cb',
  'http://127.0.0.1:9999/cb',
  'http://localhost:1/cb',
  'http://[::1]:9/cb',
  'myapp://done',
  'com.example.app:/cb',
]

describe.each(ENGINES)('applications on %s', (engine) => {
  let world: World
  let admin: Person
  let adminBrowser: Browser
  let browser: Browser

  beforeAll(async () => {
    world = await openWorld(engine)
    admin = await world.addPerson({ admin: true })
    adminBrowser = await world.signedIn(admin)
    browser = await world.signedIn(await world.addPerson())
  })
  afterAll(() => world?.stop())

  interface Registration {
    readonly name?: string
    readonly addresses?: readonly string[]
    readonly description?: string
    readonly isPublic?: boolean
    readonly lifetime?: string
  }

  /** Fills in the form of the console. */
  async function register(
    who: Browser,
    {
      name = 'From the console',
      addresses = [CALLBACK],
      description = 'Shows pictures',
      isPublic = false,
      lifetime,
    }: Registration = {},
  ): Promise<Page> {
    const page = await who.open('/admin/apps')
    const form = page.forms.find(({ controls }) =>
      controls.some(({ label }) => /redirect|address/i.test(label)),
    )
    if (form === undefined) throw new Error(page.words)
    control(form, /name/i).value = name
    control(form, /redirect|address/i).value = addresses.join('\n')
    control(form, /description/i).value = description
    const box = form.controls.find(({ type, label }) => type === 'checkbox' && /public|secret/i.test(label))
    if (box !== undefined) box.isChecked = isPublic
    if (lifetime !== undefined) control(form, /lifetime|life|seconds/i).value = lifetime
    return who.submit(form, form.buttons[0], page)
  }

  /** Id and secret as the page shows them. */
  async function credentials(page: Page): Promise<App> {
    expect([200, 201], page.words).toContain(page.status)
    const ids = [...new Set(page.words.match(UUIDS) ?? [])]
    const rows = await world.server.installation.db.read((tx) =>
      tx.all<{ id: string }>('SELECT id FROM apps'),
    )
    const id = ids.find((one) => rows.some((row) => row.id === one)) ?? ''
    const secret = ids.find((one) => one !== id && !rows.some((row) => row.id === one)) ?? ''
    return { id, secret, name: '', redirectUris: [CALLBACK] }
  }

  test('are registered on the command line and work at once [OAUTH-93]', async () => {
    const added = await world.server.command(
      'app',
      'add',
      'From the shell',
      '--redirect-uri',
      CALLBACK,
      '--redirect-uri',
      'myapp://x',
      '--json',
    )
    expect(added.status, added.stderr).toBe(0)
    const made = JSON.parse(added.stdout) as Record<string, unknown>
    expect(made).toMatchObject({ name: 'From the shell', redirect_uris: [CALLBACK, 'myapp://x'] })
    expect(made['client_id']).toMatch(UUID)
    expect(made['client_secret']).toMatch(UUID)
    const app: App = {
      id: String(made['client_id']),
      secret: String(made['client_secret']),
      name: '',
      redirectUris: [CALLBACK],
    }
    expect(await world.isAlive(await world.grant(browser, app))).toBe(true)
    const list = await world.server.command('app', 'list', '--json')
    expect(list.stdout).not.toContain(app.secret)
  })

  test('are listed on the command line as one array without secrets [OAUTH-101]', async () => {
    const app = await world.addApp({ name: 'Listed' })
    const list = await world.server.command('app', 'list', '--json')
    const rows = JSON.parse(list.stdout) as Record<string, unknown>[]
    expect(rows.find((row) => row['client_id'] === app.id)).toMatchObject({ name: 'Listed' })
    expect(list.stdout).not.toContain(app.secret)
    expect(rows.flatMap((row) => Object.keys(row)).filter((key) => /secret|hash/.test(key))).toEqual([])
  })

  test('are registered in the console by an admin, with everything that belongs to them [OAUTH-94]', async () => {
    const page = await register(adminBrowser, {
      name: 'Console app',
      description: 'A fine <b>one</b>',
      lifetime: '3600',
    })
    const app = await credentials(page)
    expect(app.id).toMatch(UUID)
    expect(app.secret).toMatch(UUID)
    const answer = await world.exchange(app, await world.code(browser, app), { redirect_uri: CALLBACK })
    expect(answer.json['expires_in']).toBe(3600)
    const row = await world.server.installation.db.read((tx) =>
      tx.get('SELECT name, description, is_public, token_lifetime_s FROM apps WHERE id = $1', app.id),
    )
    expect(row).toEqual({
      name: 'Console app',
      description: 'A fine <b>one</b>',
      is_public: 0,
      token_lifetime_s: 3600,
    })
    const several = await credentials(
      await register(adminBrowser, { name: 'Many addresses', addresses: GOOD_ADDRESSES }),
    )
    for (const address of GOOD_ADDRESSES) {
      expect(
        isConsentPage(await browser.open(authorizePath(several, { redirect_uri: address }))),
        address,
      ).toBe(true)
    }
  })

  test('are nobody’s business but an admin’s [OAUTH-94]', async () => {
    const app = await world.addApp()
    const theirs = await adminBrowser.open('/admin/apps')
    const form = theirs.forms.find(({ controls }) =>
      controls.some(({ label }) => /redirect|address/i.test(label)),
    )
    const before = await world.server.command('app', 'list', '--json')
    for (const target of ['/admin/apps', `/admin/apps/${app.id}`]) {
      const page = await browser.open(target)
      expect([403, 404], target).toContain(page.status)
      expect(page.answer.text).not.toContain(app.id)
      const json = await browser.request('GET', target, { headers: { Accept: 'application/json' } })
      expect([403, 404]).toContain(json.status)
    }
    expect((await browser.open('/account')).links.filter(({ href }) => href.startsWith('/admin'))).toEqual([])
    const own = formWith(await browser.open('/account'), /^sign out$/i)
    const token = own.controls
      .filter(({ type }) => type === 'hidden')
      .map(({ name, value }) => `${name}=${encodeURIComponent(value)}`)
      .join('&')
    for (const target of [
      '/admin/apps',
      `/admin/apps/${app.id}`,
      `/admin/apps/${app.id}/secret`,
      `/admin/apps/${app.id}/config`,
      `/admin/apps/${app.id}/remove`,
    ]) {
      const answer = await browser.request('POST', target, {
        headers: {
          'Content-Type': 'application/x-www-form-urlencoded',
          Origin: world.server.origin,
          'Sec-Fetch-Site': 'same-origin',
        },
        body: `${token}&${form?.controls.map(({ name }) => `${name}=x`).join('&')}`,
      })
      expect([403, 404], target).toContain(answer.status)
      expect(answer.text).not.toMatch(/client_secret/)
    }
    expect((await world.server.command('app', 'list', '--json')).stdout).toBe(before.stdout)
    expect(await world.isAlive(await world.grant(browser, app))).toBe(true)
  })

  test('show their secret once and keep only its hash [OAUTH-95]', async () => {
    const shown = await register(adminBrowser, { name: 'Secretive' })
    expect(shown.headers['cache-control']).toBe('no-store')
    const app = await credentials(shown)
    for (const target of ['/admin/apps', `/admin/apps/${app.id}`]) {
      const page = await adminBrowser.open(target)
      expect(page.words, target).toContain('Secretive')
      expect(page.answer.text, target).not.toContain(app.secret)
    }
    const rows = JSON.stringify(
      await world.server.installation.db.read(async (tx) => [
        await tx.all('SELECT * FROM apps'),
        await tx.all('SELECT * FROM changes'),
      ]),
    )
    expect(rows).not.toContain(app.secret)
    expect(world.server.log()).not.toContain(app.secret)
  })

  test('refuse a redirect address that is not absolute or that a browser would run [OAUTH-96]', async () => {
    const before = (await world.server.command('app', 'list', '--json')).stdout
    for (const address of BAD_ADDRESSES) {
      const page = await register(adminBrowser, { addresses: [address] })
      expect(page.status, address).toBe(400)
    }
    const mixed = await register(adminBrowser, { addresses: [CALLBACK, 'javascript:alert(1)'] })
    expect(mixed.status).toBe(400)
    const results = await Promise.all(
      ['app.test/cb', 'https://app.test/cb#part', 'javascript:alert(1)', 'data:text/html,x'].map((address) =>
        world.server.command('app', 'add', 'Bad', '--redirect-uri', address, '--json'),
      ),
    )
    for (const result of results) {
      expect([1, 2]).toContain(result.status)
      expect(result.stderr.trim().split('\n')).toHaveLength(1)
    }
    expect((await world.server.command('app', 'list', '--json')).stdout).toBe(before)
  })

  test('need a name, an address and a sensible lifetime [OAUTH-97]', async () => {
    const before = (await world.server.command('app', 'list', '--json')).stdout
    for (const wish of [
      { name: '' },
      { name: '   ' },
      { name: 'x'.repeat(256) },
      { addresses: [] },
      { lifetime: '-1' },
      { lifetime: '1.5' },
      { lifetime: 'soon' },
      { lifetime: '9'.repeat(30) },
    ] satisfies Registration[]) {
      const page = await register(adminBrowser, wish)
      expect(page.status, JSON.stringify(wish)).toBe(400)
      const json = JSON.stringify(wish)
      expect(page.words.length, json).toBeGreaterThan(0)
    }
    const commands = [
      ['app', 'add', '', '--redirect-uri', CALLBACK],
      ['app', 'add', 'No address'],
      ['app', 'add', 'Bad life', '--redirect-uri', CALLBACK, '--token-lifetime', '-1'],
      ['app', 'add', 'Bad life', '--redirect-uri', CALLBACK, '--token-lifetime', '1.5'],
    ]
    for (const result of await Promise.all(commands.map((words) => world.server.command(...words)))) {
      expect([1, 2]).toContain(result.status)
    }
    expect((await world.server.command('app', 'list', '--json')).stdout).toBe(before)
  })

  test('that are public have no secret, need PKCE, and are refused where a secret is due [OAUTH-98]', async () => {
    const added = await world.server.command(
      'app',
      'add',
      'Public one',
      '--redirect-uri',
      CALLBACK,
      '--public',
      '--json',
    )
    const made = JSON.parse(added.stdout) as Record<string, unknown>
    expect(made).not.toHaveProperty('client_secret')
    const console_ = await credentials(await register(adminBrowser, { name: 'Public two', isPublic: true }))
    expect(console_.secret).toBe('')
    for (const id of [String(made['client_id']), console_.id]) {
      const app: App = { id, secret: '', name: '', redirectUris: [CALLBACK] }
      const { verifier, challenge } = pkce()
      const bare = await browser.open(authorizePath(app))
      expect(bare.leftTo).toContain('error=invalid_request')
      const code = await world.code(browser, app, {
        code_challenge: challenge,
        code_challenge_method: 'S256',
      })
      const answer = await world.exchange(app, code, { code_verifier: verifier })
      expect(answer.status, answer.text).toBe(200)
      const token = String(answer.json['access_token'])
      for (const secret of ['', 'x', id]) {
        expectOAuthError(
          await world.call('GET', `/auth/tokeninfo?access_token=${token}`, { headers: basic(id, secret) }),
          401,
          'invalid_client',
        )
      }
    }
  })

  test('give out appconfig.json with a new secret, on the command line and in the console [OAUTH-99] [FIELD-23]', async () => {
    const app = await world.addApp({ redirectUris: [CALLBACK] })
    const { port, host } = world.server
    const printed = await world.server.command(
      'app',
      'config',
      app.id,
      '--host',
      host,
      '--port',
      String(port),
    )
    expect(printed.status, printed.stderr).toBe(0)
    const config = JSON.parse(printed.stdout) as Record<string, string>
    expect(Object.keys(config).sort()).toEqual(['cert', 'client_id', 'client_secret', 'hostname'])
    expect(config['hostname']).toBe(`${host}:${port}`)
    expect(config['cert']).toBe(world.server.ca)
    expect(config['client_secret']).toMatch(UUID)

    const page = await adminBrowser.open(`/admin/apps/${app.id}`)
    const form = page.forms.find(({ action }) => action.endsWith('/config'))
    if (form === undefined) throw new Error(page.words)
    const answer = (await adminBrowser.submit(form, form.buttons[0], page)).answer
    expect(answer.status).toBe(200)
    expect(answer.headers['content-disposition']).toMatch(/^attachment; filename="?appconfig\.json"?/)
    expect(answer.headers['content-type']).toMatch(/^application\/json/)
    expect(answer.headers['cache-control']).toBe('no-store')
    const downloaded = answer.json as unknown as Record<string, string>
    expect(Object.keys(downloaded).sort()).toEqual(['cert', 'client_id', 'client_secret', 'hostname'])
    expect(downloaded['client_id']).toBe(app.id)
    expect(downloaded['hostname']).toBe(`${host}:${port}`)
    expect(downloaded['cert']).toBe(world.server.ca)

    const code = await world.code(browser, app)
    for (const dead of [app.secret, config['client_secret'] ?? '']) {
      expectOAuthError(await world.exchange(app, code, { client_secret: dead }), 401, 'invalid_client')
    }
    expect((await world.exchange(app, code, { client_secret: downloaded['client_secret'] })).status).toBe(200)
  })

  test('get a new secret in the console, and the old one is dead [OAUTH-95]', async () => {
    const app = await world.addApp({ redirectUris: [CALLBACK] })
    const page = await adminBrowser.open(`/admin/apps/${app.id}`)
    const form = page.forms.find(({ action }) => action.endsWith('/secret'))
    if (form === undefined) throw new Error(page.words)
    const shown = await adminBrowser.submit(form, form.buttons[0], page)
    const secret = (shown.words.match(UUIDS) ?? []).find((one) => one !== app.id)
    const code = await world.code(browser, app)
    expectOAuthError(await world.exchange(app, code), 401, 'invalid_client')
    expect((await world.exchange(app, code, { client_secret: secret })).status).toBe(200)
  })

  test('are gone at once with their tokens and codes when they are removed [OAUTH-100] [AUTH-17]', async () => {
    for (const way of ['shell', 'console']) {
      const app = await world.addApp({ redirectUris: [CALLBACK] })
      const token = await world.grant(browser, app)
      const other = await world.grant(adminBrowser, app)
      const code = await world.code(browser, app)
      expect(await world.isAlive(token)).toBe(true)
      if (way === 'shell') expect((await world.server.command('app', 'remove', app.id)).status).toBe(0)
      else {
        const page = await adminBrowser.open(`/admin/apps/${app.id}`)
        const form = page.forms.find(({ action }) => action.endsWith('/remove'))
        if (form === undefined) throw new Error(page.words)
        for (const one of form.controls) if (one.type === 'checkbox') one.isChecked = true
        const done = await adminBrowser.submit(form, form.buttons[0], page)
        expect(done.status, done.words).toBe(200)
      }
      expect(await world.isAlive(token)).toBe(false)
      expect(await world.isAlive(other)).toBe(false)
      expect((await browser.open(authorizePath(app))).status).toBe(400)
      expectOAuthError(await world.exchange(app, code), 401, 'invalid_client')
      expect([404]).toContain((await adminBrowser.open(`/admin/apps/${app.id}`)).status)
    }
  })

  test('can be changed in the console; an address that is taken away is refused at once [OAUTH-94]', async () => {
    const app = await world.addApp({ name: 'Before', redirectUris: [CALLBACK] })
    const page = await adminBrowser.open(`/admin/apps/${app.id}`)
    const form = page.forms.find(({ controls }) =>
      controls.some(({ label }) => /redirect|address/i.test(label)),
    )
    if (form === undefined) throw new Error(page.words)
    control(form, /name/i).value = 'After'
    control(form, /redirect|address/i).value = 'https://app.test/new'
    const done = await adminBrowser.submit(form, form.buttons[0], page)
    expect(done.status, done.words).toBe(200)
    expect((await browser.open(authorizePath(app))).status).toBe(400)
    const consent = await browser.open(authorizePath(app, { redirect_uri: 'https://app.test/new' }))
    expect(isConsentPage(consent)).toBe(true)
    expect(consent.words).toContain('After')
  })
})
