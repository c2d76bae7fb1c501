import type { Browser, BrowserContext, Page } from 'playwright-core'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ALLOW,
  authorizePath,
  DENY,
  openWorld,
  PASSWORD,
  sentence,
  totp,
  type App,
  type Person,
  type World,
} from '../oauth/support.js'
import { launchBrowser, PATIENCE_MS } from './browser.js'

/** The application's own page, which shows what it was sent. */
interface Receiver {
  readonly origin: string
  readonly seen: URL[]
  page: string
  close(): Promise<void>
}

async function receive(): Promise<Receiver> {
  const seen: URL[] = []
  const receiver = { page: '<title>The application</title><h1>Back at the application</h1>' }
  const server: Server = createServer((req, res) => {
    const url = new URL(req.url ?? '/', 'http://localhost')
    if (url.pathname !== '/favicon.ico') seen.push(url)
    res.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' })
    res.end(`<!doctype html><html lang="en"><link rel="icon" href="data:,">${receiver.page}</html>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(receiver, {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  })
}

describe.each([
  ['with scripts', true],
  ['without scripts', false],
])('a person in a browser %s', (_name, javaScriptEnabled) => {
  let world: World
  let browser: Browser
  let receiver: Receiver
  let app: App
  let context: BrowserContext
  let page: Page

  beforeAll(async () => {
    browser = await launchBrowser()
    world = await openWorld('sqlite')
    receiver = await receive()
    app = await world.addApp({
      name: 'Photo Frame',
      redirectUris: [`${receiver.origin}/done`, 'myapp://done', 'https://app.test/done'],
    })
  })
  afterAll(async () => {
    await browser?.close()
    await receiver?.close()
    await world?.stop()
  })

  async function fresh(): Promise<void> {
    await context?.close()
    context = await browser.newContext({ ignoreHTTPSErrors: true, javaScriptEnabled })
    page = await context.newPage()
    page.setDefaultTimeout(PATIENCE_MS)
    receiver.seen.length = 0
  }

  const open = (target: string): ReturnType<Page['goto']> => page.goto(`${world.server.origin}${target}`)

  async function giveCredentials(person: Person, password = person.password): Promise<void> {
    await page.locator('input[autocomplete~=username]').fill(person.email)
    await page.locator('input[autocomplete=current-password]').fill(password)
    await page.getByRole('button', { name: /^sign in$/i }).click()
  }

  async function signIn(person: Person): Promise<void> {
    await open('/account')
    await giveCredentials(person)
    await page.getByRole('button', { name: /^sign out$/i }).waitFor()
  }

  async function back(): Promise<URLSearchParams> {
    await page.waitForURL(`${receiver.origin}/**`)
    const url = receiver.seen.at(-1)
    expect(url?.pathname).toBe('/done')
    return url?.searchParams ?? new URLSearchParams()
  }

  test('allows two of three things, and the application gets exactly these [OAUTH-40] [OAUTH-41] [OAUTH-115] [OAUTH-26]', async () => {
    await fresh()
    const person = await world.addPerson()
    await open(authorizePath(app, { scope: 'files.read,files.write,user.read', state: 'a & b' }))
    await giveCredentials(person, 'wrong password')
    await giveCredentials(person)
    for (const scope of ['files.read', 'user.read']) await page.getByLabel(sentence(scope)).check()
    await page.getByLabel(sentence('files.write')).uncheck()
    await page.getByRole('button', { name: ALLOW }).click()
    const params = await back()
    expect(params.get('state')).toBe('a & b')
    const answer = await world.exchange(app, params.get('code') ?? '')
    expect(answer.json['scope']).toBe('files.read,user.read')
    const api = world.server.client(String(answer.json['access_token']))
    expect((await api.get('/folders/root')).status).toBe(200)
    expect((await api.post('/folders', { name: 'a', parent: 'root' })).status).toBe(403)
  })

  test('denies [OAUTH-43]', async () => {
    await fresh()
    await signIn(await world.addPerson())
    await open(authorizePath(app, { state: 's' }))
    await page.getByRole('button', { name: DENY }).click()
    const params = await back()
    expect(Object.fromEntries(params)).toMatchObject({ error: 'access_denied', state: 's' })
    expect(params.has('code')).toBe(false)
  })

  test('uses the keyboard alone [OAUTH-40]', async () => {
    await fresh()
    const person = await world.addPerson()
    await open(authorizePath(app, { scope: 'files.read' }))
    const focused = (): ReturnType<Page['evaluate']> =>
      page.evaluate(
        `document.activeElement === document.body ? '' : document.activeElement.cloneNode(false).outerHTML + document.activeElement.textContent`,
      )
    const tabTo = async (what: RegExp): Promise<void> => {
      for (let presses = 0; presses < 30; presses += 1) {
        if (what.test(String(await focused()))) return
        await page.keyboard.press('Tab')
      }
      throw new Error(`the keyboard does not reach ${what}`)
    }
    await tabTo(/autocomplete="username/)
    await page.keyboard.type(person.email)
    await tabTo(/current-password/)
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: ALLOW }).waitFor()
    await tabTo(/type="checkbox"/)
    if (!(await page.getByRole('checkbox').first().isChecked())) await page.keyboard.press('Space')
    await tabTo(/<button[^>]*><\/button>\s*Allow/i)
    await page.keyboard.press('Enter')
    expect((await back()).has('code')).toBe(true)
  })

  test('gives a second factor and goes on [OAUTH-34] [OAUTH-36]', async () => {
    await fresh()
    const person = await world.addPerson({ secondFactor: true })
    await open(authorizePath(app))
    await giveCredentials(person)
    const field = page.locator('input[autocomplete=one-time-code]')
    await field.fill(totp(person.key))
    await field.press('Enter')
    await page.getByRole('button', { name: ALLOW }).click()
    expect((await back()).has('code')).toBe(true)
  })

  test('revokes an application, and its next call is refused [OAUTH-103] [AUTH-13]', async () => {
    await fresh()
    const person = await world.addPerson()
    await signIn(person)
    await open(authorizePath(app, { scope: 'files.read' }))
    await page.getByLabel(sentence('files.read')).check()
    await page.getByRole('button', { name: ALLOW }).click()
    const code = (await back()).get('code') ?? ''
    const token = String((await world.exchange(app, code)).json['access_token'])
    const api = world.server.client(token)
    expect((await api.get('/folders/root')).status).toBe(200)
    await open('/account')
    await page.getByRole('link', { name: /app/i }).first().click()
    await page.getByText('Photo Frame').first().waitFor()
    await page.getByRole('button', { name: /^revoke/i }).click()
    await page.waitForLoadState()
    expect((await api.get('/folders/root')).status).toBe(401)
    expect(await page.getByText('Photo Frame').count()).toBe(0)
  })

  test('reaches an application with a private scheme and one with https [OAUTH-115] [OAUTH-6]', async () => {
    await fresh()
    await signIn(await world.addPerson())
    for (const address of ['myapp://done', 'https://app.test/done']) {
      // The browser asks on the page itself whether it may open another program, so each has a page of its own.
      page = await context.newPage()
      await open(authorizePath(app, { redirect_uri: address }))
      const complaints: string[] = []
      const reached: string[] = []
      page.on('console', (message) => complaints.push(message.text()))
      page.on('request', (request) => reached.push(request.url()))
      await page.getByRole('button', { name: ALLOW }).click({ noWaitAfter: true })
      await expect
        .poll(() => reached.some((url) => url.startsWith(`${address}?code=`)), { timeout: 40_000 })
        .toBe(true)
      expect(complaints.filter((text) => /Content Security Policy/.test(text))).toEqual([])
    }
  })

  test('cannot be made to act by a page of another site [OAUTH-110] [OAUTH-111] [OAUTH-113]', async () => {
    await fresh()
    const person = await world.addPerson()
    await signIn(person)
    await open('/account')
    const hidden = await page
      .locator('form:has(button:text-matches("^sign out$", "i")) input[type=hidden]')
      .first()
      .getAttribute('value')
    for (const target of ['/sign-out', '/account/password', '/authorize', '/sign-in']) {
      receiver.page = `<form method="post" action="${world.server.origin}${target}">
        <input type="hidden" name="form_token" value="${hidden}"><button>Win a prize</button></form>`
      await page.goto(receiver.origin)
      const [response] = await Promise.all([
        page.waitForResponse(
          (one) => one.url().startsWith(world.server.origin) && one.request().method() === 'POST',
        ),
        page.getByRole('button', { name: 'Win a prize' }).click(),
      ])
      expect(response.status(), target).toBe(403)
    }
    receiver.page = '<title>The application</title>'
    expect((await open('/account'))?.status()).toBe(200)
    await page.getByRole('button', { name: /^sign out$/i }).waitFor()
  })

  test('is not shown a page of ours in a frame of another site [OAUTH-114]', async () => {
    await fresh()
    await signIn(await world.addPerson())
    for (const target of [
      '/sign-in',
      '/account',
      authorizePath(app),
      authorizePath(app, { client_id: 'x' }),
    ]) {
      receiver.page = `<iframe src="${world.server.origin}${target.replaceAll('&', '&amp;')}" width="600" height="400"></iframe>`
      const complaints: string[] = []
      page.on('console', (message) => complaints.push(message.text()))
      await page.goto(receiver.origin)
      await expect
        .poll(() => complaints.some((text) => /frame-ancestors|X-Frame-Options/.test(text)), {
          timeout: 40_000,
        })
        .toBe(true)
      const frame = page.frames().find((one) => one !== page.mainFrame())
      expect(frame?.url() ?? '').not.toContain(world.server.origin)
      page.removeAllListeners('console')
    }
    receiver.page = '<title>The application</title>'
  })

  if (javaScriptEnabled) {
    test('gives nothing of the pages to a script of another site [OAUTH-113] [AUTH-73]', async () => {
      await fresh()
      await signIn(await world.addPerson())
      const own = await context.cookies(world.server.origin)
      expect(own.find(({ name }) => name === '__Host-session')).toMatchObject({
        httpOnly: true,
        secure: true,
        sameSite: 'Lax',
      })
      receiver.page = '<title>The application</title>'
      await page.goto(receiver.origin.replace('127.0.0.1', 'localhost'))
      for (const target of ['/account', '/account/tokens', authorizePath(app)]) {
        const withCredentials = page.evaluate(
          (url) => fetch(url, { credentials: 'include' }).then((answer) => answer.text()),
          `${world.server.origin}${target}`,
        )
        await expect(withCredentials).rejects.toThrow(/fetch/)
      }
      const api = await page.evaluate(
        (url) => fetch(url).then((answer) => answer.status),
        `${world.server.origin}/api/v1.3/folders/root`,
      )
      expect(api).toBe(401)
    })
  }
})
