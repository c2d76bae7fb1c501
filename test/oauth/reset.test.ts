import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENGINES } from '../support/engines.js'
import { writtenMails } from '../support/outbox.js'
import type { Browser, Page } from './browser.js'
import { ACCOUNT, givePassword, isSignInPage, openWorld, PASSWORD, signIn, type World } from './support.js'

const NEW = 'a brand new password'

describe.each(ENGINES)('a forgotten password on %s', (engine) => {
  let world: World

  beforeAll(async () => {
    world = await openWorld(engine)
  })
  afterAll(() => world?.stop())

  const isIn = async (browser: Browser): Promise<boolean> =>
    (await browser.request('GET', ACCOUNT)).status === 200

  /** Every mail to that address: still waiting, or written to the outbox. */
  async function mailsTo(email: string): Promise<string[]> {
    const waiting = await world.server.installation.db.read((tx) =>
      tx.all<{ body: string }>('SELECT body FROM mails WHERE recipient = $1', email),
    )
    const written = await writtenMails(world.server.dataDir)
    return [...waiting.map(({ body }) => body), ...written.filter((text) => text.includes(email))]
  }

  async function ask(email: string, browser = world.browser()): Promise<Page> {
    const page = await browser.open('/forgot')
    const form = page.forms.find(({ controls }) =>
      controls.some(({ type }) => type === 'email' || type === 'text'),
    )
    if (form === undefined) throw new Error(page.words)
    const field = form.controls.find(({ type }) => type !== 'hidden')
    if (field !== undefined) field.value = email
    return browser.submit(form, form.buttons[0], page)
  }

  async function linkFor(email: string): Promise<string> {
    await ask(email)
    // A mail is for a moment both among those that wait and in the outbox, so it is the link that tells a new one.
    const fresh = async (): Promise<string | undefined> =>
      (await mailsTo(email))
        .flatMap((text) => text.match(/https:\/\/\S+\/reset\?\S+/g) ?? [])
        .find((one) => !seen.has(one))
    await expect.poll(fresh, { timeout: 40_000 }).toBeDefined()
    const link = (await fresh()) ?? ''
    seen.add(link)
    return link.slice(world.server.origin.length)
  }
  const seen = new Set<string>()

  function choose(browser: Browser, page: Page, password: string): Promise<Page> {
    const form = page.forms.find(({ controls }) =>
      controls.some(({ autocomplete }) => autocomplete === 'new-password'),
    )
    if (form === undefined) throw new Error(`${page.status} ${page.words}`)
    for (const one of form.controls.filter(({ autocomplete }) => autocomplete === 'new-password'))
      one.value = password
    return browser.submit(form, form.buttons[0], page)
  }

  test('is set anew by a link that works once; a person without one gets in that way [OAUTH-32]', async () => {
    const person = await world.addPerson({ password: null })
    const shut = world.browser()
    await givePassword(shut, await shut.open('/sign-in'), person.email, PASSWORD)
    expect(await isIn(shut)).toBe(false)
    const link = await linkFor(person.email)
    const browser = world.browser()
    const page = await browser.open(link)
    expect(page.headers['referrer-policy']).toBe('no-referrer')
    const short = await choose(browser, page, 'short')
    expect(short.status).toBe(400)
    const done = await choose(browser, page, NEW)
    expect(done.status, done.words).toBe(200)
    const fresh = world.browser()
    await signIn(fresh, await fresh.open('/sign-in'), { ...person, password: NEW })
    expect(await isIn(fresh)).toBe(true)
    const again = await world.browser().open(link)
    expect(
      again.forms.some(({ controls }) =>
        controls.some(({ autocomplete }) => autocomplete === 'new-password'),
      ),
    ).toBe(false)
    const replay = await choose(browser, page, 'yet another password')
    expect(replay.status).toBeGreaterThanOrEqual(400)
    const still = world.browser()
    await signIn(still, await still.open('/sign-in'), { ...person, password: NEW })
    expect(await isIn(still)).toBe(true)
  })

  test('ends every session of the person [OAUTH-32] [OAUTH-125]', async () => {
    const person = await world.addPerson()
    const inside = await world.signedIn(person)
    const browser = world.browser()
    const done = await choose(browser, await browser.open(await linkFor(person.email)), NEW)
    expect(done.status).toBe(200)
    expect(await isIn(inside)).toBe(false)
    const old = world.browser()
    expect(isSignInPage(await givePassword(old, await old.open('/sign-in'), person.email, PASSWORD))).toBe(
      true,
    )
    expect(await isIn(old)).toBe(false)
  })

  test('does not replace the second factor [OAUTH-32] [OAUTH-34]', async () => {
    const person = await world.addPerson({ secondFactor: true })
    const browser = world.browser()
    await choose(browser, await browser.open(await linkFor(person.email)), NEW)
    expect(await isIn(browser)).toBe(false)
    const next = world.browser()
    await givePassword(next, await next.open('/sign-in'), person.email, NEW)
    expect(await isIn(next)).toBe(false)
  })

  test('keeps only the newest link alive, and not for ever [OAUTH-32]', async () => {
    const person = await world.addPerson()
    const first = await linkFor(person.email)
    const second = await linkFor(person.email)
    const browser = world.browser()
    const stale = await browser.open(first)
    expect(
      stale.forms.some(({ controls }) =>
        controls.some(({ autocomplete }) => autocomplete === 'new-password'),
      ),
    ).toBe(false)
    const open = await browser.open(second)
    await world.sql('UPDATE resets SET expires_ms = $1', Date.now() - 1)
    expect((await choose(browser, open, NEW)).status).toBeGreaterThanOrEqual(400)
    const old = world.browser()
    await signIn(old, await old.open('/sign-in'), person)
    expect(await isIn(old)).toBe(true)
  })

  test('is answered alike for known and unknown addresses [OAUTH-28]', async () => {
    const person = await world.addPerson()
    const pages = await Promise.all([ask(person.email), ask('nobody@x.test'), ask('not an address')])
    const told = pages.map((page) =>
      [page.status, page.words.replaceAll(/\S+@x\.test|not an address/g, 'ADDRESS')].join(' '),
    )
    expect(new Set(told.slice(0, 2)).size).toBe(1)
    expect((await mailsTo('nobody@x.test')).length).toBe(0)
  })

  test('goes by links of the installation’s own address, not of the one in the request [HTTP-92]', async () => {
    const person = await world.addPerson()
    const browser = world.browser()
    const page = await browser.open('/forgot')
    const form = page.forms[0]
    const field = form?.controls.find(({ type }) => type !== 'hidden')
    if (form === undefined || field === undefined) throw new Error(page.words)
    field.value = person.email
    const before = await mailsTo(person.email)
    await browser.submit(form, form.buttons[0], page, {
      'X-Forwarded-Host': 'evil.test',
      Forwarded: 'host=evil.test',
    })
    await expect
      .poll(async () => (await mailsTo(person.email)).length, { timeout: 40_000 })
      .toBeGreaterThan(before.length)
    expect((await mailsTo(person.email)).join()).not.toContain('evil.test')
  })
})
