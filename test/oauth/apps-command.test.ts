/** Applications on the command line, while a server runs on the same data. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENGINES } from '../support/engines.js'
import type { Browser } from './browser.js'
import {
  authorizePath,
  DONE,
  expectOAuthError,
  isConsentPage,
  openWorld,
  type App,
  type World,
} from './support.js'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const NOBODYS = '8a1f2c1e-5b1a-4c57-9f2e-3a2f1f0e9d11'

describe.each(ENGINES)('the command for applications on %s', (engine) => {
  let world: World
  let browser: Browser

  beforeAll(async () => {
    world = await openWorld(engine)
    browser = await world.signedIn(await world.addPerson())
  })
  afterAll(() => world?.stop())

  const command = (...words: string[]) => world.server.command('app', ...words)

  async function listed(app: App): Promise<Record<string, unknown> | undefined> {
    const rows = JSON.parse((await command('list', '--json')).stdout) as Record<string, unknown>[]
    return rows.find((row) => row['client_id'] === app.id)
  }

  test('gives an application other redirect addresses, which count at once [OAUTH-93] [OAUTH-94]', async () => {
    const app = await world.addApp({ name: 'Mover' })
    const open = await browser.open(authorizePath(app))
    expect(isConsentPage(open)).toBe(true)
    const added = ['https://app.test/new', 'myapp://new']
    const changed = await command(
      'edit',
      app.id,
      ...added.flatMap((address) => ['--redirect-uri', address]),
      '--json',
    )
    expect(changed.status, changed.stderr).toBe(0)
    expect(JSON.parse(changed.stdout)).toMatchObject({
      client_id: app.id,
      name: 'Mover',
      redirect_uris: added,
    })
    expect(await listed(app)).toMatchObject({ name: 'Mover', redirect_uris: added, public: false })
    expect((await browser.open(authorizePath(app))).status).toBe(400)
    for (const address of added) {
      const consent = await browser.open(authorizePath(app, { redirect_uri: address }))
      expect(isConsentPage(consent), address).toBe(true)
    }
    const late = await browser.press(open, /^allow$/i)
    expect([late.status, late.leftTo]).toEqual([400, undefined])
  })

  test('changes the name, the description and the life of tokens, each alone [OAUTH-93]', async () => {
    const app = await world.addApp({ name: 'Before' })
    expect((await command('edit', app.id, '--name', 'After')).status).toBe(0)
    expect(await listed(app)).toMatchObject({
      name: 'After',
      redirect_uris: [DONE],
      token_lifetime: 31_536_000,
    })
    expect((await command('edit', app.id, '--token-lifetime', '60')).status).toBe(0)
    expect((await command('edit', app.id, '--description', 'What it is')).status).toBe(0)
    expect(await listed(app)).toMatchObject({
      name: 'After',
      description: 'What it is',
      redirect_uris: [DONE],
      token_lifetime: 60,
    })
    const answer = await world.exchange(app, await world.code(browser, app))
    expect(answer.json['expires_in']).toBe(60)
  })

  test('makes a new secret; the one before is dead at once, and tokens live on [OAUTH-95]', async () => {
    const app = await world.addApp()
    const token = await world.grant(browser, app)
    const code = await world.code(browser, app)
    const renewed = await command('secret', app.id, '--json')
    expect(renewed.status, renewed.stderr).toBe(0)
    const made = JSON.parse(renewed.stdout) as Record<string, string>
    expect(Object.keys(made).sort()).toEqual(['client_id', 'client_secret'])
    expect(made['client_id']).toBe(app.id)
    expect(made['client_secret']).toMatch(UUID)
    expectOAuthError(await world.exchange(app, code), 401, 'invalid_client')
    const answer = await world.exchange(app, code, { client_secret: made['client_secret'] })
    expect(answer.status, answer.text).toBe(200)
    expect(await world.isAlive(token)).toBe(true)
    const told = await command('secret', app.id)
    expect(told.stdout).toMatch(/client_secret {2}[0-9a-f-]{36}\n/)
  })

  test('refuses what it cannot do in one line, and changes nothing [OAUTH-97]', async () => {
    const app = await world.addApp()
    const open = await world.addApp({ isPublic: true })
    const before = (await command('list', '--json')).stdout
    for (const [status, words] of [
      [2, ['edit', app.id]],
      [2, ['edit', app.id, '--token-lifetime', 'soon']],
      [2, ['secret', open.id]],
      [2, ['edit', app.id, '--redirect-uri', 'javascript:alert(1)']],
      [2, ['edit', app.id, '--redirect-uri', DONE, '--redirect-uri', 'http://app.test/']],
      [2, ['edit', app.id, '--name', ' ']],
      [1, ['edit', NOBODYS, '--name', 'x']],
      [1, ['secret', NOBODYS]],
      [1, ['secret', 'x']],
      [1, ['remove', NOBODYS]],
      [1, ['config', NOBODYS]],
    ] as const) {
      const result = await command(...words)
      expect(result.status, `${words.join(' ')}: ${result.stderr}`).toBe(status)
      expect(result.stdout).toBe('')
      expect(result.stderr.trim().split('\n'), words.join(' ')).toHaveLength(1)
    }
    expect((await command('list', '--json')).stdout).toBe(before)
    expect((await world.exchange(app, await world.code(browser, app))).status).toBe(200)
  })
})
