import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OauthDeps } from '../../src/oauth/deps.js'
import { pageRows } from '../../src/oauth/routes.js'
import { expectError } from '../api/support.js'
import { ENGINES } from '../support/engines.js'
import {
  givePassword,
  openWorld,
  authorizePath,
  ALLOW,
  isConsentPage,
  returned,
  type App,
  type World,
} from './support.js'
import type { Browser, Page } from './browser.js'

describe.each(ENGINES)('pages on %s', (engine) => {
  let world: World
  let app: App
  let browser: Browser
  let half: Browser

  beforeAll(async () => {
    world = await openWorld(engine)
    app = await world.addApp()
    browser = await world.signedIn(await world.addPerson({ admin: true }))
    half = world.browser()
    const person = await world.addPerson({ secondFactor: true })
    await givePassword(half, await half.open('/sign-in'), person.email, person.password)
  })
  afterAll(() => world?.stop())

  const ACCOUNT_PAGES = [
    '/account',
    '/account/apps',
    '/account/tokens',
    '/account/password',
    '/account/second-factor',
    '/account/sessions',
  ]

  async function everyPage(): Promise<[string, Page][]> {
    const bare = world.browser()
    const pages: [string, Page][] = []
    for (const target of [
      '/sign-in',
      '/forgot',
      '/reset?code=x',
      authorizePath(app),
      authorizePath(app, { client_id: 'x' }),
    ]) {
      pages.push([target, await bare.open(target)])
    }
    for (const target of [
      ...ACCOUNT_PAGES,
      '/admin/apps',
      `/admin/apps/${app.id}`,
      '/admin/apps/nope',
      '/account/nope',
      authorizePath(app),
    ]) {
      pages.push([target, await browser.open(target)])
    }
    // Every page that there is, to each kind of visitor.
    for (const { path } of pageRows({} as OauthDeps).filter(({ GET }) => GET !== undefined)) {
      const target = `/${path.map((part) => (part === ':id' ? app.id : part)).join('/')}`
      for (const [who, visitor] of Object.entries({ bare, half, browser })) {
        pages.push([`${who} ${target}`, await visitor.open(target)])
      }
    }
    pages.push(['half', await half.open('/account')])
    const wrong = await bare.open('/sign-in')
    pages.push(['wrong password', await givePassword(bare, wrong, 'nobody@x.test', 'wrong')])
    const forged = await browser.request('POST', '/sign-out', {
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: '',
    })
    pages.push([
      'forged',
      { ...(await browser.open('/account')), answer: forged, headers: forged.headers, status: forged.status },
    ])
    return pages
  }

  test('carry headers that keep them out of frames, caches and other people’s hands [OAUTH-114] [OAUTH-116] [HTTP-26] [HTTP-19] [HTTP-30]', async () => {
    for (const [target, page] of await everyPage()) {
      if (!String(page.headers['content-type']).startsWith('text/html')) {
        expect(page.status, target).toBe(404)
        continue
      }
      const policy = String(page.headers['content-security-policy'])
      expect(policy, target).toContain("frame-ancestors 'none'")
      expect(page.headers['x-frame-options'], target).toBe('DENY')
      expect(page.headers['x-content-type-options'], target).toBe('nosniff')
      expect(page.headers['referrer-policy'], target).toBe('no-referrer')
      expect(page.headers['cache-control'], target).toBe('no-store')
      expect(page.headers['transfer-encoding'], target).toBe('chunked')
      expect(page.headers['content-length'], target).toBeUndefined()
      expect(page.headers['access-control-allow-origin'], target).toBe('*')
      expect(page.headers['access-control-allow-credentials'], target).toBeUndefined()
    }
  })

  test('allow no inline script and nothing from elsewhere, and do not fence the consent form in [OAUTH-115]', async () => {
    for (const [target, page] of await everyPage()) {
      const policy = String(page.headers['content-security-policy'] ?? '')
      if (policy === '') continue
      expect(policy, target).toContain("default-src 'none'")
      expect(policy, target).not.toMatch(/unsafe-inline|unsafe-eval|\*|http:|https:(?!\S)|data:.*script/)
      expect(policy, target).not.toMatch(/script-src(?! '(none|self)')/)
      for (const { name, attributes } of page.tags) {
        expect(name === 'script' && attributes['src'] === undefined, target).toBe(false)
        expect(
          Object.keys(attributes).filter((key) => key.startsWith('on') || key === 'style'),
          target,
        ).toEqual([])
        const source = attributes['src'] ?? (name === 'link' ? attributes['href'] : undefined)
        if (source !== undefined)
          expect(new URL(source, world.server.origin).origin, target).toBe(world.server.origin)
      }
    }
    const consent = await browser.open(authorizePath(app))
    const policy = String(consent.headers['content-security-policy'])
    const fence = /form-action ([^;]*)/.exec(policy)?.[1]
    // A browser applies form-action to the redirect after the post, so a fence would have to name the application.
    if (fence !== undefined) expect(fence).toContain('app.test')
    expect(returned((await browser.press(consent, ALLOW)).leftTo)).toHaveProperty('code')
  })

  test('label every input, name the page and the language, and have one main heading [OAUTH-40]', async () => {
    const titles = new Set<string>()
    for (const [target, page] of await everyPage()) {
      if (page.forms.length === 0) continue
      for (const form of page.forms) {
        for (const one of form.controls.filter(({ type }) => type !== 'hidden')) {
          expect(one.label, `${target}: ${one.type} ${one.name}`).not.toBe('')
        }
        for (const button of form.buttons) expect(button.words, target).not.toBe('')
        expect(form.method, target).toBe('POST')
      }
      expect(
        page.tags.filter(({ name }) => name === 'h1'),
        target,
      ).toHaveLength(1)
      expect(page.tags.find(({ name }) => name === 'html')?.attributes['lang'], target).toBeTruthy()
      expect(page.title, target).not.toBe('')
      titles.add(page.title)
    }
    expect(titles.size).toBeGreaterThan(5)
  })

  test('let themselves be walked from one to the other', async () => {
    const page = await browser.open('/account')
    const targets = page.links.map(({ href }) => href.split('?')[0])
    for (const target of [
      '/account/apps',
      '/account/tokens',
      '/account/password',
      '/account/second-factor',
      '/account/sessions',
      '/admin/apps',
    ]) {
      expect(targets, target).toContain(target)
    }
    for (const { href } of page.links.filter((one) => one.href.startsWith('/'))) {
      expect((await browser.open(href)).status, href).toBe(200)
    }
  })

  test('show names of people as text, whatever is in them [OAUTH-117]', async () => {
    const odd = await world.addPerson()
    await world.sql(
      'UPDATE users SET first_name = $1, last_name = $2 WHERE email = $3',
      '<img src=x onerror=alert(1)>',
      'ع‮' + 'W'.repeat(200),
      odd.email,
    )
    const theirs = await world.signedIn(odd)
    for (const target of ['/account', authorizePath(app), '/account/apps']) {
      const page = await theirs.open(target)
      expect(page.status).toBe(200)
      expect(
        page.tags.filter(({ name }) => name === 'img'),
        target,
      ).toEqual([])
      expect(page.answer.text, target).not.toContain('<img src=x')
    }
  })

  test('are JSON for a client that asks for it, when they are errors [ERR-1] [ERR-7]', async () => {
    const json = { Accept: 'application/json' }
    expectError(await browser.request('GET', '/admin/apps/nope', { headers: json }), 404)
    expectError(await browser.request('POST', '/sign-out', { headers: json }), 403)
    expectError(await world.browser().request('GET', '/account', { headers: json }), 401)
    expectError(await browser.request('GET', '/account/nope', { headers: json }), 404)
    for (const method of ['PUT', 'DELETE', 'PATCH']) {
      const answer = await browser.request(method, '/account', { headers: json })
      expectError(answer, 405, method)
      expect(answer.headers['allow']).toMatch(/GET/)
    }
  })

  test('are errors in JSON for a program that does not say what it wants, and pages for a browser [ERR-1] [ERR-2] [ERR-10]', async () => {
    const ordinary = await world.signedIn(await world.addPerson())
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
    const refusals = [
      ['PUT', '/account', 405],
      ['DELETE', authorizePath(app), 405],
      ['POST', '/account', 403],
      ['POST', '/authorize', 403],
      ['POST', '/sign-in', 403],
      ['GET', '/admin/apps', 403],
      ['GET', '/reset?code=x', 404],
      ['GET', '/set-up?code=x', 404],
    ] as const
    for (const [method, target, status] of refusals) {
      for (const accept of ['*/*', 'application/json', 'application/*']) {
        const answer = await ordinary.request(method, target, { headers: { ...form, Accept: accept } })
        expectError(answer, status, `${method} ${target} ${accept}`)
        const keys = target.startsWith('/authorize')
          ? ['error', 'error_description', 'message', 'type']
          : ['message', 'type']
        expect(Object.keys(answer.json).sort(), target).toEqual(keys)
        expect(answer.headers['cache-control'], target).toBe('no-store')
      }
      const page = await ordinary.request(method, target, { headers: form })
      expect([page.status, page.headers['content-type']], target).toEqual([
        status,
        'text/html; charset=utf-8',
      ])
    }
  })

  test('break nothing when they are sent nonsense [ERR-9]', async () => {
    const bodies = [
      '%',
      'a=%zz',
      '\0',
      '&&&==',
      'code='.repeat(1000),
      `email=${'x'.repeat(100_000)}`,
      'email=%ff&password=%ff',
    ]
    const bare = world.browser()
    for (const target of [
      '/sign-in',
      '/sign-in/second-factor',
      '/forgot',
      '/reset',
      '/authorize',
      '/account/tokens',
      '/auth/token',
      '/sign-out',
    ]) {
      for (const body of bodies) {
        for (const headers of [
          { 'Content-Type': 'application/x-www-form-urlencoded' },
          { 'Content-Type': 'application/json' },
          {},
        ]) {
          const answer = await bare.request('POST', target, {
            headers: { ...headers, Origin: world.server.origin },
            body,
          })
          expect(answer.status, `${target} ${body.slice(0, 20)} ${answer.text.slice(0, 200)}`).toBeLessThan(
            500,
          )
          expect(answer.status, target).toBeGreaterThanOrEqual(target.startsWith('/account') ? 303 : 400)
        }
      }
    }
    for (const cookie of [
      '__Host-session=',
      '__Host-session=%00; __Host-form=x',
      `__Host-session=${'a'.repeat(8000)}`,
      '__Host-session=é',
      '__Host-session=a; __Host-session=b',
      ';;;',
    ]) {
      const answer = await world.call('GET', '/account', {
        headers: { Cookie: Buffer.from(cookie).toString('latin1') },
      })
      expect([303, 400, 431], cookie.slice(0, 30)).toContain(answer.status)
    }
    for (const target of [
      '/sign-in?next=%zz',
      '/sign-in?next=%ff',
      '/reset?code=%00',
      '/reset',
      '/authorize',
      '/authorize?%',
      '/authorize?scope=%zz',
      '/account/%zz',
      '/admin/apps/%00',
    ]) {
      expect((await browser.request('GET', target)).status, target).toBeLessThan(500)
    }
  })

  test('survive a failure of the server without half a code, and say so [OAUTH-17]', async () => {
    const consent = await browser.open(authorizePath(app, { state: 'kept' }))
    await world.sql('ALTER TABLE codes RENAME TO codes_away')
    try {
      const page = await browser.press(consent, ALLOW)
      if (page.leftTo === undefined) {
        expect(page.status).toBe(500)
        expect(page.answer.text).not.toMatch(/SQL|codes|stack|at \w+ \(/)
      } else {
        expect(returned(page.leftTo)).toMatchObject({ error: 'server_error', state: 'kept' })
        expect(returned(page.leftTo)).not.toHaveProperty('code')
      }
    } finally {
      await world.sql('ALTER TABLE codes_away RENAME TO codes')
    }
    expect(isConsentPage(await browser.open(authorizePath(app)))).toBe(true)
    expect(await world.isAlive(await world.grant(browser, app))).toBe(true)
  })
})
