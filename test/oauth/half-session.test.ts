/** Password given, code not: a session by half opens nothing, on any page, whatever it sends. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OauthDeps } from '../../src/oauth/deps.js'
import { pageRows } from '../../src/oauth/routes.js'
import { dump } from '../api/support.js'
import { ENGINES } from '../support/engines.js'
import type { Browser, Page } from './browser.js'
import {
  authorizePath,
  encoded,
  givePassword,
  isSecondFactorPage,
  openWorld,
  PASSWORD,
  returned,
  sealedConsent,
  type App,
  type Person,
  type World,
} from './support.js'

/** Pages for anybody, which a session by half may see as everybody may; all others are for the signed-in alone. */
const FOR_ANYBODY = new Set([
  '/',
  '/authorize',
  '/sign-in',
  '/sign-in/second-factor',
  '/sign-out',
  '/sign-up',
  '/sign-up/address',
  '/set-up',
  '/forgot',
  '/reset',
])

describe.each(ENGINES)('a session by half on %s', (engine) => {
  let world: World
  let app: App
  let person: Person

  beforeAll(async () => {
    world = await openWorld(engine)
    app = await world.addApp()
    person = await world.addPerson({ secondFactor: true, admin: true })
  })
  afterAll(() => world?.stop())

  async function half(): Promise<{ browser: Browser; page: Page; formToken: string }> {
    const browser = world.browser()
    const page = await givePassword(browser, await browser.open('/sign-in'), person.email, PASSWORD)
    expect(isSecondFactorPage(page), page.words).toBe(true)
    const formToken = page.forms[0]?.controls.find(({ name }) => name === 'form_token')?.value ?? ''
    expect(formToken).toMatch(/^[0-9a-f]{64}$/)
    return { browser, page, formToken }
  }

  const rows = (): readonly { target: string; methods: string[]; access: string }[] =>
    pageRows({} as OauthDeps).map((row) => ({
      target: `/${row.path.map((part) => (part === ':id' ? app.id : part)).join('/')}`,
      methods: (['GET', 'POST'] as const).filter((method) => row[method] !== undefined),
      access: row.access,
    }))

  const post = (browser: Browser, target: string, body: string, accept = 'text/html') =>
    browser.request('POST', target, {
      headers: {
        'Content-Type': 'application/x-www-form-urlencoded',
        Origin: world.server.origin,
        'Sec-Fetch-Site': 'same-origin',
        Accept: accept,
      },
      body,
    })

  test('is sent to the second factor from every page that is not for anybody [OAUTH-35]', async () => {
    const { browser } = await half()
    const closed = rows().filter(({ target }) => !FOR_ANYBODY.has(target))
    expect(closed.length).toBeGreaterThanOrEqual(18)
    for (const { target, access } of closed) expect(access, target).not.toBe('anyone')
    for (const { target } of closed.filter(({ methods }) => methods.includes('GET'))) {
      for (const method of ['GET', 'HEAD']) {
        const answer = await browser.request(method, target)
        expect(answer.status, target).toBe(303)
        expect(answer.headers.location, target).toMatch(/^\/sign-in\/second-factor\?/)
        expect(answer.text).toBe('')
      }
      const json = await browser.request('GET', target, { headers: { Accept: 'application/json' } })
      expect(json.status, target).toBe(401)
      expect(Object.keys(json.json).sort()).toEqual(['message', 'type'])
    }
  })

  test('changes nothing by a form with a token of its own, on any page [OAUTH-35]', async () => {
    const { browser, formToken } = await half()
    const fields = encoded({
      form_token: formToken,
      name: 'Forged',
      scope: 'files.read',
      first_name: 'For',
      last_name: 'Ged',
      current_password: PASSWORD,
      password: PASSWORD,
      confirm: 'on',
      redirect_uris: 'https://evil.test/',
      token_lifetime: '0',
      client_id: app.id,
    })
    const before = await dump(world.server)
    const closed = rows().filter(
      ({ target, methods }) => methods.includes('POST') && !FOR_ANYBODY.has(target),
    )
    expect(closed.length).toBeGreaterThanOrEqual(14)
    for (const { target } of closed) {
      const answer = await post(browser, target, fields)
      expect(answer.status, target).toBe(303)
      expect(answer.headers.location, target).toMatch(/^\/sign-in\/second-factor\?/)
      expect((await post(browser, target, fields, 'application/json')).status, target).toBe(401)
    }
    expect(await dump(world.server)).toBe(before)
  })

  test('gets no code, even with a consent form that is sealed as it should be [OAUTH-35] [OAUTH-48]', async () => {
    const { browser, formToken } = await half()
    const codes = () => world.server.installation.db.read((tx) => tx.all('SELECT hash FROM codes'))
    const before = await codes()
    const refused = await post(browser, '/authorize', sealedConsent(browser, app, formToken, Date.now()))
    expect(refused.status).toBe(303)
    expect(refused.headers.location).toMatch(/^\/sign-in\/second-factor\?/)
    expect(await codes()).toEqual(before)
    const shown = await browser.open(authorizePath(app))
    expect(isSecondFactorPage(shown)).toBe(true)
    expect(shown.words).not.toContain(app.name)

    // The same form of somebody who is signed in is good: it is the half session that was refused above.
    const whole = await world.signedIn(await world.addPerson())
    const own = (await whole.open('/account')).forms[0]?.controls.find(({ name }) => name === 'form_token')
    const allowed = await post(whole, '/authorize', sealedConsent(whole, app, own?.value ?? '', Date.now()))
    expect(returned(allowed.headers.location)).toHaveProperty('code')
  })

  test('sees what anybody sees of the pages for anybody, and nothing of its person [OAUTH-35]', async () => {
    const { browser } = await half()
    const bare = world.browser()
    const stripped = (page: Page): string => page.answer.text.replaceAll(/[0-9a-f]{64}/g, 'TOKEN')
    for (const target of ['/sign-in', '/sign-up', '/forgot', '/reset', '/set-up']) {
      const [seen, usual] = [await browser.open(target), await bare.open(target)]
      expect([seen.status, stripped(seen)], target).toEqual([usual.status, stripped(usual)])
      expect(seen.answer.text, target).not.toContain(person.email)
    }
  })
})
