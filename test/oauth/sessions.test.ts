/** How long a session lasts, and when it gets another secret. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENGINES } from '../support/engines.js'
import { control, fieldsOf, formWith, inputOf, type Browser, type Page } from './browser.js'
import {
  ACCOUNT,
  authorizePath,
  giveCode,
  givePassword,
  isConsentPage,
  isSecondFactorPage,
  isSignInPage,
  openWorld,
  PASSWORD,
  sha256,
  SIGN_IN,
  totp,
  type App,
  type Person,
  type World,
} from './support.js'

const SESSION = '__Host-session'
const NEW_PASSWORD = 'another good password'
const HALF_DAY_MS = 12 * 3_600_000
const MONTH_SECONDS = 30 * 86_400
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded', 'Sec-Fetch-Site': 'same-origin' }

describe.each(ENGINES)('a session on %s', (engine) => {
  let world: World
  let app: App

  beforeAll(async () => {
    world = await openWorld(engine)
    app = await world.addApp()
    await world.addPerson({ admin: true })
  })
  afterAll(() => world?.stop())

  const isIn = async (browser: Browser): Promise<boolean> => {
    const { status } = await browser.request('GET', ACCOUNT)
    expect([200, 303]).toContain(status)
    return status === 200
  }

  const secretOf = (browser: Browser): string => browser.cookies.get(SESSION) ?? ''

  const isSecretGood = (secret: string): Promise<boolean> => {
    const thief = world.browser()
    thief.cookies.set(SESSION, secret)
    return isIn(thief)
  }

  /** The last line that gave the browser its session, on the way to this page. */
  function cookieLine(page: Page): string[] {
    const lines = page.trail
      .flatMap(({ headers }) => headers['set-cookie'] ?? [])
      .filter((line) => line.startsWith(`${SESSION}=`))
    return (lines.at(-1) ?? '').split(/; */).map((part) => part.toLowerCase())
  }

  const maxAge = (page: Page): number | undefined => {
    const part = cookieLine(page).find((one) => one.startsWith('max-age='))
    return part === undefined ? undefined : Number(part.slice('max-age='.length))
  }

  async function enter(person: Person, isRemembered: boolean): Promise<{ browser: Browser; page: Page }> {
    const browser = world.browser()
    const page = await browser.press(await browser.open('/sign-in'), SIGN_IN, (form) => {
      inputOf(form, 'username').value = person.email
      inputOf(form, 'current-password').value = person.password
      control(form, /stay signed in/i).isChecked = isRemembered
    })
    return { browser, page }
  }

  const silentFor = (browser: Browser, ms: number): Promise<number> =>
    world.sql('UPDATE sessions SET used_ms = $1 WHERE hash = $2', Date.now() - ms, sha256(secretOf(browser)))

  async function changePassword(browser: Browser, from: string, to: string): Promise<Page> {
    const page = await browser.open('/account/password')
    const form = page.forms.find(({ action }) => action === '/account/password')
    if (form === undefined) throw new Error(page.words)
    inputOf(form, 'current-password').value = from
    inputOf(form, 'new-password').value = to
    return browser.submit(form, form.buttons[0], page)
  }

  async function enrol(browser: Browser): Promise<Page> {
    const page = await browser.open('/account/second-factor')
    const form = page.forms.find(({ action }) => action.endsWith('/enrol'))
    if (form === undefined) throw new Error(page.words)
    const key = form.controls.find(({ name }) => name === 'secret')?.value ?? ''
    inputOf(form, 'one-time-code').value = totp(key)
    inputOf(form, 'current-password').value = PASSWORD
    return browser.submit(form, form.buttons[0], page)
  }

  async function leave(browser: Browser): Promise<Page> {
    const page = await browser.open('/account/second-factor')
    const form = page.forms.find(({ action }) => action.endsWith('/leave'))
    if (form === undefined) throw new Error(page.words)
    inputOf(form, 'current-password').value = PASSWORD
    return browser.submit(form, form.buttons[0], page)
  }

  describe('that is to be remembered', () => {
    test('outlives the browser, for thirty days; any other ends with it [OAUTH-123] [OAUTH-125]', async () => {
      const person = await world.addPerson()
      const forgotten = (await enter(person, false)).page
      expect(cookieLine(forgotten).some((part) => /^(max-age|expires)=/.test(part))).toBe(false)
      const remembered = (await enter(person, true)).page
      expect(maxAge(remembered)).toBeGreaterThan(MONTH_SECONDS - 600)
      expect(maxAge(remembered)).toBeLessThanOrEqual(MONTH_SECONDS)
      for (const page of [forgotten, remembered]) {
        const attributes = cookieLine(page)
        expect(attributes).toEqual(expect.arrayContaining(['path=/', 'secure', 'httponly', 'samesite=lax']))
      }
    })

    test('is so after the second factor too, and not before [OAUTH-39] [OAUTH-123]', async () => {
      for (const isRemembered of [true, false]) {
        const person = await world.addPerson({ secondFactor: true })
        const { browser, page } = await enter(person, isRemembered)
        expect(isSecondFactorPage(page)).toBe(true)
        if (isRemembered) expect(maxAge(page)).toBeLessThanOrEqual(600)
        else expect(maxAge(page)).toBeUndefined()
        const inside = await giveCode(browser, page, totp(person.key))
        expect(await isIn(browser)).toBe(true)
        if (isRemembered) expect(maxAge(inside)).toBeGreaterThan(MONTH_SECONDS - 600)
        else expect(maxAge(inside)).toBeUndefined()
      }
    })

    test('may be silent for longer than half a day; any other may not [OAUTH-125]', async () => {
      const person = await world.addPerson()
      const remembered = (await enter(person, true)).browser
      const forgotten = (await enter(person, false)).browser
      for (const browser of [remembered, forgotten]) await silentFor(browser, HALF_DAY_MS - 60_000)
      expect([await isIn(remembered), await isIn(forgotten)]).toEqual([true, true])
      for (const browser of [remembered, forgotten]) await silentFor(browser, HALF_DAY_MS + 1000)
      expect([await isIn(remembered), await isIn(forgotten)]).toEqual([true, false])
      await silentFor(remembered, 29 * 86_400_000)
      expect(await isIn(remembered)).toBe(true)
    })

    test('ends after thirty days for all that, used or not [OAUTH-125]', async () => {
      const person = await world.addPerson()
      for (const isRemembered of [true, false]) {
        const { browser } = await enter(person, isRemembered)
        const row = await world.server.installation.db.read((tx) =>
          tx.get<{ created_ms: number; expires_ms: number }>(
            'SELECT created_ms, expires_ms FROM sessions WHERE hash = $1',
            sha256(secretOf(browser)),
          ),
        )
        expect((row?.expires_ms ?? 0) - (row?.created_ms ?? 0)).toBe(MONTH_SECONDS * 1000)
        await world.sql(
          'UPDATE sessions SET expires_ms = $1, used_ms = $2 WHERE hash = $3',
          Date.now() - 1,
          Date.now(),
          sha256(secretOf(browser)),
        )
        expect(await isIn(browser)).toBe(false)
      }
    })

    test('is so under each later secret, and so is one that is not [OAUTH-124]', async () => {
      for (const isRemembered of [true, false]) {
        const person = await world.addPerson()
        const { browser } = await enter(person, isRemembered)
        for (const page of [
          await enrol(browser),
          await leave(browser),
          await changePassword(browser, PASSWORD, NEW_PASSWORD),
        ]) {
          expect(page.status, page.words).toBe(200)
          if (isRemembered) expect(maxAge(page)).toBeGreaterThan(MONTH_SECONDS - 600)
          else expect(cookieLine(page).some((part) => part.startsWith('max-age'))).toBe(false)
        }
        await silentFor(browser, HALF_DAY_MS + 1000)
        expect(await isIn(browser)).toBe(isRemembered)
      }
    })
  })

  describe('gets another secret, and the old one is worthless,', () => {
    /** The act is done in the browser; before and after, it must be signed in. */
    async function expectRenewed(browser: Browser, act: () => Promise<unknown>): Promise<void> {
      const before = secretOf(browser)
      expect(await isSecretGood(before)).toBe(true)
      await act()
      expect(await isIn(browser)).toBe(true)
      expect(secretOf(browser)).toMatch(/^[0-9a-f]{64}$/)
      expect(secretOf(browser)).not.toBe(before)
      expect(await isSecretGood(before)).toBe(false)
    }

    test('when the password is changed [OAUTH-124]', async () => {
      const browser = await world.signedIn(await world.addPerson())
      await expectRenewed(browser, () => changePassword(browser, PASSWORD, NEW_PASSWORD))
    })

    test('when the second factor is turned on, and when it is turned off [OAUTH-124]', async () => {
      const browser = await world.signedIn(await world.addPerson())
      await expectRenewed(browser, () => enrol(browser))
      await expectRenewed(browser, () => leave(browser))
    })

    test('when the person becomes an admin, and when they are one no more [OAUTH-124] [OAUTH-94]', async () => {
      const person = await world.addPerson()
      const browser = await world.signedIn(person)
      expect((await browser.open('/admin/apps')).status).toBe(403)
      for (const [word, status] of [
        ['on', 200],
        ['off', 403],
        ['on', 200],
      ] as const) {
        await expectRenewed(browser, async () => {
          expect((await world.server.command('user', 'admin', person.email, word)).status).toBe(0)
          expect((await browser.open('/admin/apps')).status, word).toBe(status)
        })
      }
    })

    test('and until then has nothing of an admin’s rights [OAUTH-124] [OAUTH-105]', async () => {
      const person = await world.addPerson()
      const browser = await world.signedIn(person)
      const token = fieldsOf(formWith(await browser.open(ACCOUNT), /^sign out$/i), undefined).toString()
      expect((await world.server.command('user', 'admin', person.email, 'on')).status).toBe(0)
      const before = (await world.server.command('app', 'list', '--json')).stdout
      const fields = 'name=x&redirect_uris=https://x.test/&token_lifetime=1&scope=organization.admin'
      for (const target of ['/admin/apps', `/admin/apps/${app.id}/secret`, '/account/tokens']) {
        const answer = await browser.request('POST', target, {
          headers: { ...FORM, Origin: world.server.origin },
          body: `${token}&${fields}`,
        })
        expect(answer.status, target).toBe(403)
      }
      expect((await world.server.command('app', 'list', '--json')).stdout).toBe(before)
      const own = await world.server.command('token', 'list', '--user', person.email, '--json')
      expect(JSON.parse(own.stdout)).toEqual([])
    })

    test('and goes on with the request of an application [OAUTH-124] [OAUTH-26]', async () => {
      const person = await world.addPerson()
      const browser = await world.signedIn(person)
      const target = authorizePath(app, { state: 'a&b=c %25+"é', scope: 'files.read,organization.admin' })
      expect((await world.server.command('user', 'admin', person.email, 'on')).status).toBe(0)
      const consent = await browser.open(target)
      expect(isConsentPage(consent)).toBe(true)
      expect(consent.trail.map(({ status }) => status)).toEqual([303, 200])
      const gone = await browser.press(consent, /^deny$/i)
      expect(new URL(gone.leftTo ?? '').searchParams.get('state')).toBe('a&b=c %25+"é')
    })
  })

  test('takes the place of the one that the browser had, whole or half [OAUTH-124]', async () => {
    const [first, second] = [await world.addPerson(), await world.addPerson()]
    const browser = await world.signedIn(first)
    const old = secretOf(browser)
    const form = fieldsOf(formWith(await browser.open(ACCOUNT), /^sign out$/i), undefined)
    const answer = await browser.request('POST', '/sign-in', {
      headers: { ...FORM, Origin: world.server.origin },
      body: `${form.toString()}&${new URLSearchParams({ email: second.email, password: PASSWORD }).toString()}`,
    })
    expect(answer.status).toBe(303)
    expect((await browser.open(ACCOUNT)).words).toContain(second.email)
    expect(await isSecretGood(old)).toBe(false)

    const guarded = await world.addPerson({ secondFactor: true })
    const half = world.browser()
    const asked = await givePassword(half, await half.open('/sign-in'), guarded.email, PASSWORD)
    const halfSecret = secretOf(half)
    await givePassword(half, await half.open('/sign-in'), second.email, PASSWORD)
    expect(await isIn(half)).toBe(true)
    const thief = world.browser()
    thief.cookies.set(SESSION, halfSecret)
    expect((await giveCode(thief, asked, totp(guarded.key))).status).toBe(403)
    expect(await isIn(thief)).toBe(false)
  })

  test('is listed with when and where it was used, and ended alone by its owner [OAUTH-33]', async () => {
    const person = await world.addPerson()
    const here = await world.signedIn(person)
    const agents = ['Lynx/2.9', 'Dillo/3.1']
    const others = await Promise.all(
      agents.map(async (agent) => {
        const browser = world.browser()
        const page = await browser.open('/sign-in')
        await givePassword(browser, page, person.email, PASSWORD, { 'User-Agent': agent })
        return browser
      }),
    )
    const [lynx, dillo] = others
    if (lynx === undefined || dillo === undefined) throw new Error('two browsers were opened')
    const page = await here.open('/account/sessions')
    for (const words of [...agents, lynx.address, dillo.address, 'This browser']) {
      expect(page.words).toContain(words)
    }
    expect(page.words.match(/Last use \d{4}-\d\d-\d\d \d\d:\d\d UTC/g)).toHaveLength(3)
    for (const browser of [here, ...others]) {
      expect(page.answer.text).not.toContain(secretOf(browser))
      expect(page.answer.text).not.toContain(sha256(secretOf(browser)))
    }
    const formFor = (browser: Browser) =>
      page.forms.find(({ controls }) =>
        controls.some(({ value }) => value !== '' && sha256(secretOf(browser)).startsWith(value)),
      )
    const form = formFor(lynx)
    if (form === undefined) throw new Error(page.answer.text)

    const stranger = await world.signedIn(await world.addPerson())
    const theirPage = await stranger.open('/account/sessions')
    const theirs = theirPage.forms.find(({ action }) => action.endsWith('/end'))
    if (theirs === undefined) throw new Error(theirPage.words)
    for (const one of theirs.controls) if (one.name === 'session') one.value = handleIn(form)
    expect((await stranger.submit(theirs, theirs.buttons[0], theirPage)).status).toBe(404)
    expect(await isIn(lynx)).toBe(true)

    await here.submit(form, form.buttons[0], page)
    expect(await Promise.all([here, lynx, dillo].map(isIn))).toEqual([true, false, true])
  })

  const handleIn = (form: { controls: readonly { name: string; value: string }[] }): string =>
    form.controls.find(({ name }) => name === 'session')?.value ?? ''

  test('ends everywhere at once, half ones and remembered ones too, and nobody else’s [OAUTH-33]', async () => {
    const person = await world.addPerson({ secondFactor: true })
    const stranger = await world.signedIn(await world.addPerson())
    const here = await world.signedIn(person)
    // The code of this moment is used up, so the other full session is made without one.
    await world.sql('UPDATE users SET second_factor = NULL WHERE email = $1', person.email)
    const remembered = (await enter(person, true)).browser
    await world.sql('UPDATE users SET second_factor = $1 WHERE email = $2', person.key, person.email)
    const half = await enter(person, false)
    expect(isSecondFactorPage(half.page)).toBe(true)
    const token = await world.grant(here, app)
    expect(await Promise.all([here, remembered].map(isIn))).toEqual([true, true])

    const page = await here.open('/account/sessions')
    const done = await here.press(page, /^sign out everywhere$/i)
    expect(isSignInPage(done)).toBe(true)
    expect(here.cookies.has(SESSION)).toBe(false)
    expect(await Promise.all([here, remembered].map(isIn))).toEqual([false, false])
    await giveCode(half.browser, half.page, totp(person.key, Date.now() + 30_000))
    expect(await isIn(half.browser)).toBe(false)
    const rows = await world.server.installation.db.read(async (tx) => [
      await tx.all(
        'SELECT s.hash FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.email = $1',
        person.email,
      ),
      await tx.all(
        'SELECT b.hash FROM known_browsers b JOIN users u ON u.id = b.user_id WHERE u.email = $1',
        person.email,
      ),
    ])
    expect(rows).toEqual([[], []])
    expect(await isIn(stranger)).toBe(true)
    expect(await world.isAlive(token)).toBe(true)
  })
})
