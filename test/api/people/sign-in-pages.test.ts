/** What happens to accounts by the API, and what their owners see of it in a browser. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENGINES } from '../../support/engines.js'
import { runCommand } from '../../support/server.js'
import { control, inputOf, type Browser, type Page } from '../../oauth/browser.js'
import { confirmationOf } from './sign-in.js'
import { ACCOUNT, isSignInPage, openWorld, signIn, type Person, type World } from '../../oauth/support.js'

const SIGN_UP = /^sign up$/i
const NEW_PASSWORD = 'a password of my own'

function fillIn(browser: Browser, page: Page, changes: Record<string, string> = {}): Promise<Page> {
  return browser.press(page, SIGN_UP, (form) => {
    control(form, /first name/i).value = changes['first'] ?? 'Nina'
    control(form, /last name/i).value = changes['last'] ?? 'New'
    inputOf(form, 'new-password').value = changes['password'] ?? NEW_PASSWORD
    if (changes['code'] !== undefined) control(form, /sign-up code/i).value = changes['code']
  })
}

async function isSignedIn(browser: Browser): Promise<boolean> {
  return !isSignInPage(await browser.open(ACCOUNT))
}

describe.each(ENGINES)('an account and its pages on %s', (engine) => {
  let world: World
  let admin: ReturnType<World['server']['client']>

  beforeAll(async () => {
    world = await openWorld(engine)
    const { email } = await world.addPerson({ admin: true })
    const scope = 'user.read,user.write,user.password,organization.admin'
    admin = world.server.client(await world.server.addToken(email, scope))
  })
  afterAll(() => world.stop())

  async function invite(email: string): Promise<string> {
    const answer = await admin.post('/invitees', { email_to: email })
    expect(answer.status, answer.text).toBe(201)
    const code = (await admin.get(`/invitees/${email}`)).json['signup_code']
    expect(code).toMatch(/./)
    return String(code)
  }

  test('its sessions end when the password is disabled [PASS-18]', async () => {
    const person = await world.addPerson()
    const browser = await world.signedIn(person)
    expect(await isSignedIn(browser)).toBe(true)
    expect((await admin.delete(`/users/${person.email}/password`)).status).toBe(200)
    expect(await isSignedIn(browser)).toBe(false)
    const again = world.browser()
    expect(isSignInPage(await signIn(again, await again.open('/sign-in'), person))).toBe(true)
  })

  test('its sessions end when the password is changed by the API [PASS-19]', async () => {
    const person = await world.addPerson()
    const browser = await world.signedIn(person)
    const answer = await admin.put(`/users/${person.email}/password`, NEW_PASSWORD)
    expect(answer.status, answer.text).toBe(200)
    expect(await isSignedIn(browser)).toBe(false)
    const again = world.browser()
    await signIn(again, await again.open('/sign-in'), { ...person, password: NEW_PASSWORD })
    expect(await isSignedIn(again)).toBe(true)
  })

  /** Whether this password opens the account, in a browser that has never been here. */
  async function opens(person: Person, password: string): Promise<boolean> {
    const browser = world.browser()
    await signIn(browser, await browser.open('/sign-in'), { ...person, password })
    return isSignedIn(browser)
  }

  test('it is opened by the password that was set last, by whomever [PASS-01] [PASS-02] [PASS-14] [PASS-17] [PASS-23] [USER-38]', async () => {
    const email = `later-${engine}@x.test`
    const made = await admin.post('/users', { email, first_name: 'La', last_name: 'Ter' })
    expect(made.status, made.text).toBe(201)
    const person = { ...(await world.addPerson()), email }
    const own = world.server.client(await world.server.addToken(email, 'user.password'))
    expect(await opens(person, NEW_PASSWORD)).toBe(false)

    expect((await admin.put(`/users/${email}/password`, NEW_PASSWORD)).status).toBe(200)
    expect(await opens(person, NEW_PASSWORD)).toBe(true)
    expect((await own.put('/users/me/password', 'a second password')).status).toBe(200)
    expect(await opens(person, NEW_PASSWORD)).toBe(false)
    expect(await opens(person, 'a second password')).toBe(true)

    expect((await own.delete('/users/me/password')).status).toBe(200)
    expect(await opens(person, 'a second password')).toBe(false)
    expect((await admin.put(`/users/${email}/password`, 'a third password')).status).toBe(200)
    expect(await opens(person, 'a third password')).toBe(true)

    const { dataDir, databaseUrl } = world.server
    const database = databaseUrl === undefined ? [] : ['--database', databaseUrl]
    const passwd = ['user', 'passwd', email, '--password-stdin', '--data', dataDir, ...database]
    expect((await runCommand(passwd, { stdin: 'a fourth password\n' })).status).toBe(0)
    expect(await opens(person, 'a third password')).toBe(false)
    expect(await opens(person, 'a fourth password')).toBe(true)
  })

  test('its sessions end with it, also for the next one of that address [DELUSER-02]', async () => {
    const person = await world.addPerson()
    const browser = await world.signedIn(person)
    expect((await admin.delete(`/users/${person.email}`)).status).toBe(200)
    expect(await isSignedIn(browser)).toBe(false)
    await world.addPerson({ email: person.email })
    expect(await isSignedIn(browser)).toBe(false)
  })

  test('its tokens and unused codes go with it [DELUSER-01]', async () => {
    const person = await world.addPerson()
    const app = await world.addApp()
    const browser = await world.signedIn(person)
    const token = await world.grant(browser, app)
    const personal = await world.server.addToken(person.email)
    const code = await world.code(browser, app)
    expect((await admin.delete(`/users/${person.email}`)).status).toBe(200)
    for (const dead of [token, personal]) {
      expect(await world.isAlive(dead)).toBe(false)
      expect((await world.call('DELETE', `/auth/token/${dead}`)).status).toBe(404)
    }
    const answer = await world.exchange(app, code)
    expect([answer.status, answer.json['error']]).toEqual([400, 'invalid_grant'])
  })

  test('it is asked for the password alone once the second factor is removed [2FA-06]', async () => {
    const person = await world.addPerson({ secondFactor: true })
    expect((await admin.delete(`/users/${person.email}/two_factor`)).status).toBe(204)
    const browser = world.browser()
    await signIn(browser, await browser.open('/sign-in'), { ...person, key: '' })
    expect(await isSignedIn(browser)).toBe(true)
  })

  test('is made once by a sign-up code, for the invited address [OAUTH-128] [INV-17] [INV-19] [INV-22]', async () => {
    const email = `nina-${engine}@x.test`
    const code = await invite(email)
    const browser = world.browser()
    const page = await browser.open(`/sign-up?code=${code}`)
    expect(page.words).toContain(email)
    const short = await fillIn(browser, page, { password: 'short' })
    expect(short.status).toBe(400)
    expect((await fillIn(browser, short, { first: ' ' })).status).toBe(400)
    await fillIn(browser, short)
    expect((await browser.open(ACCOUNT)).words).toContain(email)
    expect((await admin.get(`/invitees/${email}`)).status).toBe(404)
    expect((await admin.get(`/users/${email}`)).json['first_name']).toBe('Nina')

    const withdrawn = await invite(`gone-${engine}@x.test`)
    expect((await admin.delete(`/invitees/gone-${engine}@x.test`)).status).toBe(204)
    const words = new Set<string>()
    for (const worthless of [code, withdrawn, 'ab'.repeat(20), 'no\0code']) {
      const other = world.browser()
      const refused = await fillIn(other, await other.open('/sign-up'), { code: worthless })
      expect(refused.status).toBe(403)
      words.add(refused.words)
      expect(await isSignedIn(other)).toBe(false)
    }
    expect(words.size).toBe(1)
    const again = world.browser()
    await signIn(again, await again.open('/sign-in'), { email, password: NEW_PASSWORD, key: '' })
    expect(await isSignedIn(again)).toBe(true)
  })

  test('gets the same answer to a forgotten password whether or not it exists [PASS-24]', async () => {
    const person = await world.addPerson()
    const external = await world.addPerson({ password: null })
    await world.sql('UPDATE users SET is_external = 1 WHERE email = $1', external.email)
    const answers = new Set<string>()
    for (const email of [person.email, external.email, 'nobody@x.test']) {
      const browser = world.browser()
      const sent = await browser.press(await browser.open('/forgot'), /send/i, (form) => {
        inputOf(form, 'username').value = email
      })
      answers.add(`${sent.status} ${sent.words}`)
    }
    expect(answers.size).toBe(1)
  })

  test('is opened by a mailed link once, and not a day later [PASS-25]', async () => {
    const person = await world.addPerson()
    const linkFor = async (): Promise<string> => {
      const before = await linksTo(person.email)
      const browser = world.browser()
      await browser.press(await browser.open('/forgot'), /send/i, (form) => {
        inputOf(form, 'username').value = person.email
      })
      await expect
        .poll(async () => (await linksTo(person.email)).length, { timeout: 40_000 })
        .toBeGreaterThan(before.length)
      return (await linksTo(person.email)).find((link) => !before.includes(link)) ?? ''
    }
    const use = async (link: string): Promise<number> => {
      const browser = world.browser()
      const page = await browser.open(link)
      if (page.status !== 200) return page.status
      const done = await browser.press(page, /set the password/i, (form) => {
        inputOf(form, 'new-password').value = NEW_PASSWORD
      })
      return done.status
    }
    const link = await linkFor()
    expect(await use(link)).toBe(200)
    expect(await use(link)).toBe(404)
    const late = await linkFor()
    await world.sql('UPDATE resets SET expires_ms = expires_ms - $1', 24 * 60 * 60 * 1000)
    expect(await use(late)).toBe(404)
  })

  async function linksTo(email: string): Promise<string[]> {
    const waiting = await world.server.installation.db.read((tx) =>
      tx.all<{ body: string }>('SELECT body FROM mails WHERE recipient = $1', email),
    )
    const outbox = join(world.server.dataDir, 'outbox')
    const names = await readdir(outbox).catch(() => [])
    const files = await Promise.all(names.map((name) => readFile(join(outbox, name), 'utf8').catch(() => '')))
    const texts = [...waiting.map(({ body }) => body), ...files.filter((text) => text.includes(email))]
    const links = texts.flatMap((text) => {
      const flat = text.replace(/=\r?\n/g, '').replaceAll('=3D', '=')
      return /\/reset\?code=[0-9a-f]{64}/.exec(flat)?.[0] ?? []
    })
    return [...new Set(links)]
  }
})

describe.each(ENGINES)('who may sign up on %s', (engine) => {
  test('is for the policy to say [OAUTH-129] [INV-23]', async () => {
    const world = await openWorld(engine, { args: ['--signup', 'open'] })
    try {
      const member = await world.addPerson()
      const root = await world.addPerson({ admin: true })
      const asMember = world.server.client(await world.server.addToken(member.email, 'user.read'))
      const invite = async (email: string, from: typeof asMember): Promise<string> => {
        expect((await from.post('/invitees', { email_to: email })).status).toBe(201)
        const row = await world.server.installation.db.read((tx) =>
          tx.get<{ code: string }>('SELECT code FROM invitees WHERE email = $1', email),
        )
        return row?.code ?? ''
      }
      const trySignUp = async (changes: Record<string, string>): Promise<boolean> => {
        const browser = world.browser()
        await fillIn(browser, await browser.open('/sign-up'), changes)
        return isSignedIn(browser)
      }
      // How an address is confirmed is a story of its own; without that nobody gets in.
      expect(await trySignUp({})).toBe(false)
      const anybody = await confirmationOf(world.server, 'anybody@x.test', { signUpPolicy: 'open' })
      expect(await trySignUp({ code: anybody })).toBe(true)
      const code = await invite('invited@x.test', asMember)
      expect(await confirmationOf(world.server, 'invited@x.test', { signUpPolicy: 'open' })).toBe('none')

      await world.server.terminate()
      await world.server.restart(['--signup', 'invited'])
      expect(await trySignUp({ code: '' })).toBe(false)
      expect(await trySignUp({ code })).toBe(true)

      const ofMember = await invite('by-member@x.test', asMember)
      await world.server.terminate()
      await world.server.restart(['--signup', 'admin'])
      expect(await trySignUp({ code: ofMember })).toBe(false)
      const scope = 'user.read,organization.admin'
      const asAdmin = world.server.client(await world.server.addToken(root.email, scope))
      expect(await trySignUp({ code: await invite('by-admin@x.test', asAdmin) })).toBe(true)
    } finally {
      await world.stop()
    }
  })
})
