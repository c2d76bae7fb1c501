import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENGINES } from '../support/engines.js'
import { inputOf, type Browser, type Page } from './browser.js'
import {
  ACCOUNT,
  allow,
  authorizePath,
  giveCode,
  givePassword,
  isConsentPage,
  isSecondFactorPage,
  isSignInPage,
  openWorld,
  PASSWORD,
  returned,
  sha256,
  totp,
  type App,
  type Person,
  type World,
} from './support.js'

const SESSION = '__Host-session'
const STEP_MS = 30_000

function recoveryCodes(page: Page): string[] {
  return page.words.match(/\b[0-9a-f]{4}(?:-[0-9a-f]{4}){3}\b/g) ?? []
}

describe.each(ENGINES)('the second factor on %s', (engine) => {
  let world: World
  let app: App

  beforeAll(async () => {
    world = await openWorld(engine)
    app = await world.addApp()
  })
  afterAll(() => world?.stop())

  const isIn = async (browser: Browser): Promise<boolean> =>
    (await browser.request('GET', ACCOUNT)).status === 200

  /** Signed in by half: the password was right, the code is due. */
  async function half(person: Person, target = '/sign-in'): Promise<{ browser: Browser; page: Page }> {
    const browser = world.browser()
    const page = await givePassword(browser, await browser.open(target), person.email, person.password)
    expect(isSecondFactorPage(page), page.words).toBe(true)
    return { browser, page }
  }

  /** Turns it on at the account page, as a person with an authenticator does. */
  async function enrol(browser: Browser): Promise<{ key: string; done: Page }> {
    const page = await browser.open('/account/second-factor')
    expect(page.status).toBe(200)
    const key = /\b(?:[A-Z2-7]{4} ?){4,}[A-Z2-7]*\b/.exec(page.words)?.[0].replaceAll(' ', '') ?? ''
    expect(key.length, page.words).toBeGreaterThanOrEqual(16)
    const form = page.forms.find(({ controls }) =>
      controls.some((one) => one.autocomplete === 'one-time-code'),
    )
    if (form === undefined) throw new Error(page.words)
    inputOf(form, 'one-time-code').value = totp(key)
    for (const one of form.controls) if (one.type === 'password') one.value = PASSWORD
    return { key, done: await browser.submit(form, form.buttons[0], page) }
  }

  test('is asked for after the right password, and the session is half until then [OAUTH-34]', async () => {
    const person = await world.addPerson({ secondFactor: true })
    const { browser, page } = await half(person, authorizePath(app))
    expect(isSignInPage(page)).toBe(false)
    expect(page.words).not.toContain(app.name === '' ? '' : 'Allow')
    const row = await world.server.installation.db.read((tx) =>
      tx.get('SELECT stage FROM sessions WHERE hash = $1', sha256(browser.cookies.get(SESSION) ?? '')),
    )
    expect(row).toEqual({ stage: 'half' })
    expect(await isIn(browser)).toBe(false)
    // A wrong password never comes so far, so that it cannot be told who has a second factor.
    const wrong = world.browser()
    const refused = await givePassword(wrong, await wrong.open('/sign-in'), person.email, 'wrong')
    expect(isSecondFactorPage(refused)).toBe(false)
  })

  test('a half session opens nothing [OAUTH-35] [AUTH-73]', async () => {
    const person = await world.addPerson({ secondFactor: true, admin: true })
    const { browser } = await half(person)
    const pages = [
      ACCOUNT,
      '/account/apps',
      '/account/tokens',
      '/account/password',
      '/account/sessions',
      '/account/second-factor',
      '/admin/apps',
      authorizePath(app),
    ]
    for (const target of pages) {
      const page = await browser.open(target)
      expect(isSecondFactorPage(page), target).toBe(true)
      expect(isConsentPage(page), target).toBe(false)
      const json = await browser.request('GET', target, { headers: { Accept: 'application/json' } })
      expect([200, 303, 401], target).toContain(json.status)
      if (json.status === 200) expect(json.text).toContain('one-time-code')
    }
    expect((await browser.request('GET', '/api/v1.3/folders/root')).status).toBe(401)
  })

  test('goes on with the interrupted request when the code is right [OAUTH-36] [OAUTH-26]', async () => {
    const person = await world.addPerson({ secondFactor: true })
    const { browser, page } = await half(person, authorizePath(app, { state: 'a&b ü' }))
    const consent = await giveCode(browser, page, totp(person.key))
    expect(isConsentPage(consent), consent.words).toBe(true)
    expect(returned(await allow(browser, consent))['state']).toBe('a&b ü')
  })

  test('takes no wrong, old or used code [OAUTH-36]', async () => {
    const person = await world.addPerson({ secondFactor: true })
    const now = Date.now()
    const current = totp(person.key, now)
    const { browser, page } = await half(person)
    const wrong = String((Number(current) + 1) % 1_000_000).padStart(6, '0')
    for (const code of [
      wrong,
      totp(person.key, now - 10 * STEP_MS),
      totp(person.key, now + 10 * STEP_MS),
      '',
    ]) {
      const refused = await giveCode(browser, page, code)
      expect(isSecondFactorPage(refused), code).toBe(true)
      expect(await isIn(browser)).toBe(false)
    }
    await giveCode(browser, page, totp(person.key))
    const used = totp(person.key)
    expect(await isIn(browser)).toBe(true)
    const second = await half(person)
    await giveCode(second.browser, second.page, current)
    await giveCode(second.browser, second.page, used)
    expect(await isIn(second.browser)).toBe(false)
  })

  test('lets one of two with the same code at once in [OAUTH-36]', async () => {
    const person = await world.addPerson({ secondFactor: true })
    const tries = await Promise.all([half(person), half(person), half(person)])
    const code = totp(person.key)
    await Promise.all(tries.map(({ browser, page }) => giveCode(browser, page, code)))
    const inside = await Promise.all(tries.map(({ browser }) => isIn(browser)))
    expect(inside.filter(Boolean)).toHaveLength(1)
  })

  test('changes the session when it is given [OAUTH-124]', async () => {
    const person = await world.addPerson({ secondFactor: true })
    const { browser, page } = await half(person)
    const before = new Map(browser.cookies)
    await giveCode(browser, page, totp(person.key))
    expect(await isIn(browser)).toBe(true)
    expect(browser.cookies.get(SESSION)).not.toBe(before.get(SESSION))
    const thief = world.browser()
    for (const [name, value] of before) thief.cookies.set(name, value)
    expect(await isIn(thief)).toBe(false)
  })

  test('is turned on by giving a code, with recovery codes that work once each [OAUTH-37] [OAUTH-36]', async () => {
    const person = await world.addPerson()
    const owner = await world.signedIn(person)
    const { key, done } = await enrol(owner)
    expect(done.status, done.words).toBe(200)
    expect(await isIn(owner)).toBe(true)
    const codes = done.words.match(/\b[0-9a-z]{4,}(?:-[0-9a-z]{4,})+\b|\b[0-9a-f]{10,}\b/gi) ?? []
    expect(new Set(codes).size, done.words).toBeGreaterThanOrEqual(8)
    const stored = JSON.stringify(
      await world.server.installation.db.read((tx) => tx.all('SELECT * FROM recovery_codes')),
    )
    for (const code of codes) expect(stored).not.toContain(code)
    expect((await owner.open('/account/second-factor')).answer.text).not.toContain(codes[0])
    expect((await owner.open('/account/second-factor')).answer.text).not.toContain(key)

    const withKey = { ...person, key }
    const [first = '', second = ''] = codes
    const one = await half(withKey)
    await giveCode(one.browser, one.page, first)
    expect(await isIn(one.browser)).toBe(true)
    const again = await half(withKey)
    await giveCode(again.browser, again.page, first)
    expect(await isIn(again.browser)).toBe(false)
    await giveCode(again.browser, again.page, ` ${second.toUpperCase()} `)
    expect(await isIn(again.browser)).toBe(true)
    // Two at once with the third: one gets in.
    const pair = await Promise.all([half(withKey), half(withKey)])
    await Promise.all(pair.map(({ browser, page }) => giveCode(browser, page, codes[2] ?? '')))
    const inside = await Promise.all(pair.map(({ browser }) => isIn(browser)))
    expect(inside.filter(Boolean)).toHaveLength(1)
  })

  test.each(['an admin', 'the person by the API', 'the person on the page'])(
    'that was taken away by %s and set up again knows nothing of the old key and the old codes [2FA-12]',
    async (who) => {
      const person = await world.addPerson()
      const owner = await world.signedIn(person)
      const old = await enrol(owner)
      const oldCodes = recoveryCodes(old.done)
      expect(oldCodes).toHaveLength(10)
      if (who === 'the person on the page') {
        const page = await owner.open('/account/second-factor')
        const off = page.forms.find(({ action }) => action.endsWith('/leave'))
        if (off === undefined) throw new Error(page.words)
        inputOf(off, 'password').value = PASSWORD
        expect((await owner.submit(off, off.buttons[0], page)).status).toBe(200)
      } else {
        const root = who === 'an admin' ? await world.addPerson({ admin: true }) : person
        const scope = who === 'an admin' ? 'user.password,organization.admin' : 'user.password'
        const api = world.server.client(await world.server.addToken(root.email, scope))
        expect((await api.delete(`/users/${person.email}/two_factor`)).status).toBe(204)
      }
      const renewed = await enrol(owner)
      expect(renewed.key).not.toBe(old.key)
      const newCodes = recoveryCodes(renewed.done)
      expect(newCodes.filter((code) => oldCodes.includes(code))).toEqual([])

      const withOld = { ...person, key: old.key }
      const [first = '', second = ''] = oldCodes
      for (const worthless of [totp(old.key), totp(old.key, Date.now() + STEP_MS), first, second]) {
        const { browser, page } = await half(withOld)
        expect(isSecondFactorPage(await giveCode(browser, page, worthless))).toBe(true)
        expect(await isIn(browser)).toBe(false)
      }
      const recovered = await half(person)
      await giveCode(recovered.browser, recovered.page, newCodes[0] ?? '')
      expect(await isIn(recovered.browser)).toBe(true)
      const current = await half(person)
      await giveCode(current.browser, current.page, totp(renewed.key, Date.now() + STEP_MS))
      expect(await isIn(current.browser)).toBe(true)
    },
  )

  test('is not turned on by a wrong code, and not off without the password [OAUTH-36]', async () => {
    const person = await world.addPerson()
    const owner = await world.signedIn(person)
    const page = await owner.open('/account/second-factor')
    const form = page.forms.find(({ controls }) =>
      controls.some((one) => one.autocomplete === 'one-time-code'),
    )
    if (form === undefined) throw new Error(page.words)
    inputOf(form, 'one-time-code').value = '000000'
    for (const one of form.controls) if (one.type === 'password') one.value = PASSWORD
    expect((await owner.submit(form, form.buttons[0], page)).status).toBeGreaterThanOrEqual(400)
    const browser = world.browser()
    await givePassword(browser, await browser.open('/sign-in'), person.email, PASSWORD)
    expect(await isIn(browser)).toBe(true)

    const { key } = await enrol(owner)
    const settings = await owner.open('/account/second-factor')
    for (const off of settings.forms.filter(({ action }) => action.endsWith('/leave'))) {
      inputOf(off, 'password').value = 'wrong'
      expect((await owner.submit(off, off.buttons[0], settings)).status).toBeGreaterThanOrEqual(400)
      expect((await half({ ...person, key })).page.status).toBe(200)
      inputOf(off, 'password').value = PASSWORD
      expect(
        (await owner.submit(off, off.buttons[0], await owner.open('/account/second-factor'))).status,
      ).toBe(200)
    }
    const free = world.browser()
    await givePassword(free, await free.open('/sign-in'), person.email, PASSWORD)
    expect(await isIn(free)).toBe(true)
  })

  test('taken away while a half session waits gives that session nothing [OAUTH-38]', async () => {
    const person = await world.addPerson({ secondFactor: true })
    const { browser, page } = await half(person)
    const root = await world.addPerson({ admin: true })
    const scope = 'user.password,organization.admin'
    const admin = world.server.client(await world.server.addToken(root.email, scope))
    expect((await admin.delete(`/users/${person.email}/two_factor`)).status).toBe(204)
    expect(await isIn(browser)).toBe(false)
    await giveCode(browser, page, totp(person.key))
    await giveCode(browser, page, '')
    await giveCode(browser, page, '000000')
    expect(await isIn(browser)).toBe(false)
    const next = world.browser()
    await givePassword(next, await next.open('/sign-in'), person.email, PASSWORD)
    expect(await isIn(next)).toBe(true)
  })

  test('is waited for ten minutes at most [OAUTH-39]', async () => {
    const person = await world.addPerson({ secondFactor: true })
    const before = Date.now()
    const { browser, page } = await half(person)
    const hash = sha256(browser.cookies.get(SESSION) ?? '')
    const row = await world.server.installation.db.read((tx) =>
      tx.get<{ expires_ms: number }>('SELECT expires_ms FROM sessions WHERE hash = $1', hash),
    )
    expect(row?.expires_ms).toBeLessThanOrEqual(Date.now() + 600_000)
    expect(row?.expires_ms).toBeGreaterThanOrEqual(before + 300_000)
    await world.sql('UPDATE sessions SET expires_ms = $1 WHERE hash = $2', Date.now() - 1, hash)
    await giveCode(browser, page, totp(person.key))
    expect(await isIn(browser)).toBe(false)
  })

  test('is over after five wrong codes, for that half session alone [OAUTH-119]', async () => {
    const person = await world.addPerson({ secondFactor: true })
    const { browser, page } = await half(person)
    const wrong = totp(person.key, Date.now() - 100 * STEP_MS)
    let last = page
    for (let tries = 0; tries < 5; tries += 1) last = await giveCode(browser, page, wrong)
    expect(isSecondFactorPage(last)).toBe(false)
    await giveCode(browser, page, totp(person.key))
    expect(await isIn(browser)).toBe(false)
    const fresh = await half(person)
    await giveCode(fresh.browser, fresh.page, totp(person.key))
    expect(await isIn(fresh.browser)).toBe(true)
  })
})
