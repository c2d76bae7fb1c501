/** People of an external directory at the sign-in page. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENGINES } from '../support/engines.js'
import { hasDirectory, startDirectory, type TestDirectory } from '../support/slapd.js'
import type { Browser, Page } from './browser.js'
import {
  ACCOUNT,
  allow,
  authorizePath,
  givePassword,
  isConsentPage,
  isSignInPage,
  openWorld,
  PASSWORD,
  returned,
  signIn,
  type World,
} from './support.js'

const THEIRS = 'the directory’s own password'
const ADMIN_SCOPES = 'user.read,user.write,organization.admin'

describe.runIf(hasDirectory()).each(ENGINES)('people of a directory at the sign-in page on %s', (engine) => {
  let directory: TestDirectory
  let world: World
  let admin: ReturnType<World['server']['client']>
  let entries = 0

  beforeAll(async () => {
    directory = await startDirectory()
    world = await openWorld(engine, { args: ['--ldap', directory.setting], env: directory.env })
    const { email } = await world.addPerson({ admin: true })
    admin = world.server.client(await world.server.addToken(email, ADMIN_SCOPES))
  })
  afterAll(async () => {
    await world?.stop()
    await directory?.stop()
  })

  async function entry(): Promise<{ email: string; name: string }> {
    entries += 1
    const found = { email: `dir${entries}@x.test`, name: `entry${entries}` }
    await directory.add(found.name, {
      mail: found.email,
      password: THEIRS,
      givenName: 'Dora',
      surname: 'Ives',
    })
    return found
  }

  async function account(): Promise<string> {
    const { email } = await entry()
    const made = await admin.post('/users', { email, first_name: 'From', last_name: 'Body' })
    expect(made.status, made.text).toBe(201)
    return email
  }

  async function attempt(
    email: string,
    password: string,
    target = '/sign-in',
  ): Promise<{ browser: Browser; page: Page }> {
    const browser = world.browser()
    return { browser, page: await givePassword(browser, await browser.open(target), email, password) }
  }

  const isIn = async (browser: Browser): Promise<boolean> =>
    (await browser.request('GET', ACCOUNT)).status === 200

  test('get in at once with the password of the directory, and with no other [OAUTH-31] [LDAP-02] [LDAP-13]', async () => {
    const email = await account()
    const app = await world.addApp()
    const { browser, page } = await attempt(email, THEIRS, authorizePath(app, { state: 'kept' }))
    expect(isConsentPage(page), page.words).toBe(true)
    expect(page.words).toContain(email)
    expect(returned(await allow(browser, page))).toMatchObject({ state: 'kept' })
    expect(await isIn((await attempt(email.toUpperCase(), THEIRS)).browser)).toBe(true)
    for (const wrong of ['', 'wrong', PASSWORD, `${THEIRS} `, '*']) {
      const refused = await attempt(email, wrong)
      expect(isSignInPage(refused.page), wrong).toBe(true)
      expect(await isIn(refused.browser), wrong).toBe(false)
    }
  })

  test('are refused in the words that everybody gets [OAUTH-31] [OAUTH-28]', async () => {
    const email = await account()
    const local = await world.addPerson()
    const words = new Set<string>()
    for (const address of [email, local.email, 'nobody@x.test', 'dir*@x.test', '*)(mail=*']) {
      const { page } = await attempt(address, 'wrong')
      words.add(`${page.status} ${page.words}`)
    }
    expect([...words]).toHaveLength(1)
  })

  test('without an account need an invitation, which then makes it [LDAP-10] [LDAP-11]', async () => {
    const { email } = await entry()
    expect(await isIn((await attempt(email, THEIRS)).browser)).toBe(false)
    const invited = await admin.post('/invitees', { email_to: email })
    expect(invited.status, invited.text).toBe(201)
    expect(await isIn((await attempt(email, 'wrong')).browser)).toBe(false)
    const { browser } = await attempt(email, THEIRS)
    expect(await isIn(browser)).toBe(true)
    expect((await browser.open(ACCOUNT)).answer.text).toContain('Dora')
    expect((await admin.get(`/invitees/${email}`)).status).toBe(404)
  })

  test('whose account was deleted are strangers again [LDAP-12]', async () => {
    const email = await account()
    const { browser } = await attempt(email, THEIRS)
    expect(await isIn(browser)).toBe(true)
    expect((await admin.delete(`/users/${email}`)).status).toBe(200)
    expect(await isIn(browser)).toBe(false)
    expect(await isIn((await attempt(email, THEIRS)).browser)).toBe(false)
  })

  test('are told when the directory is down; everybody else goes on [OAUTH-31] [LDAP-07]', async () => {
    const email = await account()
    const local = await world.addPerson()
    const inside = (await attempt(email, THEIRS)).browser
    expect(await isIn(inside)).toBe(true)
    await directory.halt()
    try {
      const { browser, page } = await attempt(email, THEIRS)
      expect(page.status).toBe(503)
      expect(page.words).toMatch(/director/i)
      expect(page.answer.text).not.toMatch(/ECONNREFUSED|ldap:|127\.0\.0\.1/)
      expect(await isIn(browser)).toBe(false)
      expect(await isIn(inside)).toBe(true)
      const other = world.browser()
      await signIn(other, await other.open('/sign-in'), local)
      expect(await isIn(other)).toBe(true)
    } finally {
      await directory.start()
    }
    expect(await isIn((await attempt(email, THEIRS)).browser)).toBe(true)
  })
})

describe.runIf(hasDirectory()).each(ENGINES)('a patient attacker of a directory on %s', (engine) => {
  test('gets no more guesses at a person of it by making them all at once [OAUTH-118] [OAUTH-31]', async () => {
    const failuresMax = 10
    const directory = await startDirectory()
    const limits = ['--failures-max', String(failuresMax), '--failures-window', '900']
    const world = await openWorld(engine, {
      args: ['--ldap', directory.setting, ...limits],
      env: directory.env,
      workers: 1,
    })
    try {
      await directory.add('victim', { mail: 'victim@x.test', password: THEIRS })
      await world.addPerson({ email: 'victim@x.test', password: null })
      await world.sql('UPDATE users SET is_external = 1 WHERE email = $1', 'victim@x.test')
      const statuses = await Promise.all(
        Array.from({ length: failuresMax * 4 }, async () => {
          const browser = world.browser()
          return (await givePassword(browser, await browser.open('/sign-in'), 'victim@x.test', 'wrong'))
            .status
        }),
      )
      expect(statuses.filter((status) => status === 401)).toHaveLength(failuresMax)
      for (const status of statuses) expect([401, 429, 503]).toContain(status)
    } finally {
      await world.stop()
      await directory.stop()
    }
  })
})
