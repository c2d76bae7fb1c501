/** Where anybody may sign up: the address is shown to be one's own before there is an account. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENGINES } from '../support/engines.js'
import { control, inputOf, type Browser, type Page } from './browser.js'
import { ACCOUNT, isSignInPage, openWorld, signIn, type World } from './support.js'

const SEND = /^send a mail$/i
const SIGN_UP = /^sign up$/i
const OWN = 'a password of my own'
const LINK = /\/sign-up\?code=([0-9a-f]{64})/

describe.each(ENGINES)('open sign-up on %s', (engine) => {
  let world: World
  let people = 0

  beforeAll(async () => {
    world = await openWorld(engine, { args: ['--signup', 'open'] })
  })
  afterAll(() => world?.stop())

  const newAddress = (): string => `new${(people += 1)}-${engine}@x.test`

  async function ask(email: string, browser = world.browser()): Promise<Page> {
    return browser.press(await browser.open('/sign-up'), SEND, (form) => {
      inputOf(form, 'email').value = email
    })
  }

  /** What was written to the address so far, sent or not. */
  async function mailsTo(email: string): Promise<string[]> {
    const waiting = await world.server.installation.db.read((tx) =>
      tx.all<{ id: string; body: string }>('SELECT id, body FROM mails WHERE recipient = $1', email),
    )
    const outbox = join(world.server.dataDir, 'outbox')
    const names = await readdir(outbox).catch(() => [])
    const files = await Promise.all(names.map((name) => readFile(join(outbox, name), 'utf8').catch(() => '')))
    const sent = files
      .filter((text) => text.includes(email))
      .map((text) => text.replace(/=\r?\n/g, '').replaceAll('=3D', '='))
    return [...waiting.map(({ body }) => body), ...sent]
  }

  /** The newest mail that is not among those. */
  async function nextMail(email: string, before: readonly string[] = []): Promise<string> {
    const old = new Set(before.map((text) => LINK.exec(text)?.[1] ?? text))
    const fresh = async (): Promise<string | undefined> =>
      (await mailsTo(email)).find((text) => !old.has(LINK.exec(text)?.[1] ?? text))
    await expect.poll(fresh, { timeout: 30_000 }).toBeDefined()
    return (await fresh()) ?? ''
  }

  async function codeFor(email: string): Promise<string> {
    const before = await mailsTo(email)
    expect((await ask(email)).status).toBe(200)
    const code = LINK.exec(await nextMail(email, before))?.[1]
    expect(code).toBeDefined()
    return code ?? ''
  }

  async function use(code: string, browser: Browser = world.browser()): Promise<Page> {
    const page = await browser.open(`/sign-up?code=${code}`)
    return browser.press(page, SIGN_UP, (form) => {
      control(form, /first name/i).value = 'Nina'
      control(form, /last name/i).value = 'New'
      inputOf(form, 'new-password').value = OWN
    })
  }

  const accountOf = (email: string): Promise<unknown> =>
    world.server.installation.db.read((tx) => tx.get('SELECT id FROM users WHERE email = $1', email))

  const isIn = async (browser: Browser): Promise<boolean> => !isSignInPage(await browser.open(ACCOUNT))

  async function opens(email: string, password: string): Promise<boolean> {
    const browser = world.browser()
    await signIn(browser, await browser.open('/sign-in'), { email, password, key: '' })
    return isIn(browser)
  }

  test('makes an account for whoever reads the mail, and none before [OAUTH-129] [INV-24]', async () => {
    const email = newAddress()
    const code = await codeFor(email)
    expect(await accountOf(email)).toBeUndefined()
    expect(await opens(email, OWN)).toBe(false)
    const browser = world.browser()
    expect((await browser.open(`/sign-up?code=${code}`)).words).toContain(email)
    await use(code, browser)
    expect(await isIn(browser)).toBe(true)
    expect((await browser.open(ACCOUNT)).words).toContain(email)
    expect(await opens(email, OWN)).toBe(true)
    expect((await browser.open('/admin/apps')).status).toBe(403)
  })

  test('takes a code once, the newest alone, and for a day [OAUTH-129]', async () => {
    const email = newAddress()
    const old = await codeFor(email)
    const code = await codeFor(email)
    expect((await use(old)).status).toBe(403)
    const tries = await Promise.all([use(code), use(code)])
    expect(tries.filter(({ status }) => status === 200)).toHaveLength(1)
    expect((await use(code)).status).toBe(403)

    const late = newAddress()
    const lateCode = await codeFor(late)
    const row = await world.server.installation.db.read((tx) =>
      tx.get<{ expires_ms: number }>('SELECT expires_ms FROM sign_up_codes WHERE email = $1', late),
    )
    const dayMs = 24 * 60 * 60 * 1000
    expect(Math.abs((row?.expires_ms ?? 0) - Date.now() - dayMs)).toBeLessThan(dayMs / 24)
    await world.sql('UPDATE sign_up_codes SET expires_ms = $1 WHERE email = $2', Date.now() - 1, late)
    expect((await use(lateCode)).status).toBe(403)
    expect(await accountOf(late)).toBeUndefined()
  })

  test('is worth nothing without the code, for another address or when the policy has changed [OAUTH-129] [INV-21] [INV-23]', async () => {
    const email = newAddress()
    const code = await codeFor(email)
    const browser = world.browser()
    const page = await browser.open('/sign-up')
    const post = (fields: Record<string, string>): Promise<{ status: number }> => {
      const form = page.forms.find(({ action }) => action === '/sign-up')
      const token = form?.controls.find(({ name }) => name === 'form_token')?.value ?? ''
      const names = { first_name: 'A', last_name: 'B', password: OWN }
      return browser.request('POST', '/sign-up', {
        headers: {
          'Content-Type': 'application/x-www-form-urlencoded',
          Origin: world.server.origin,
          'Sec-Fetch-Site': 'same-origin',
        },
        body: new URLSearchParams({ form_token: token, ...names, ...fields }).toString(),
      })
    }
    expect((await post({ email })).status).toBe(403)
    expect((await post({ email, code: '' })).status).toBe(403)
    expect((await post({ email: newAddress(), code })).status).toBe(403)
    expect(await accountOf(email)).toBeUndefined()

    await world.server.terminate()
    await world.server.restart(['--signup', 'invited'])
    try {
      expect((await use2(code)).status).toBe(403)
      expect((await world.browser().open('/sign-up')).words).not.toMatch(/send a mail/i)
      expect(await accountOf(email)).toBeUndefined()
    } finally {
      await world.server.terminate()
      await world.server.restart(['--signup', 'open'])
    }
    expect((await use(code)).status).toBe(200)
    expect(await accountOf(email)).toBeDefined()
  })

  /** The code typed into the page, where the link is not known to be good. */
  async function use2(code: string): Promise<Page> {
    const browser = world.browser()
    return browser.press(await browser.open('/sign-up'), SIGN_UP, (form) => {
      control(form, /sign-up code/i).value = code
      control(form, /first name/i).value = 'Nina'
      control(form, /last name/i).value = 'New'
      inputOf(form, 'new-password').value = OWN
    })
  }

  test('says the same of every address, and tells its owner alone what is the matter [INV-24] [INV-25] [OAUTH-28]', async () => {
    const known = await world.addPerson()
    const root = await world.addPerson({ admin: true })
    const admin = world.server.client(await world.server.addToken(root.email, 'user.read,organization.admin'))
    const invited = newAddress()
    expect((await admin.post('/invitees', { email_to: invited })).status).toBe(201)
    const unknown = newAddress()
    const mailsBefore = await mailsTo(invited)
    const answers = new Set<string>()
    for (const email of [known.email, invited, unknown]) {
      const page = await ask(email)
      answers.add(JSON.stringify([page.status, { ...page.headers, date: '' }, page.answer.text]))
    }
    expect([...answers]).toHaveLength(1)
    const toKnown = await nextMail(known.email)
    expect(toKnown).toMatch(/account/)
    expect(toKnown).not.toMatch(/code=/)
    const toInvited = await nextMail(invited, mailsBefore)
    expect(toInvited).toMatch(/invit/)
    expect(toInvited).not.toMatch(/code=/)
    expect(await nextMail(unknown)).toMatch(LINK)
    expect(await opens(known.email, known.password)).toBe(true)
    const rows = await world.server.installation.db.read((tx) =>
      tx.all('SELECT email FROM sign_up_codes WHERE email IN ($1, $2)', known.email, invited),
    )
    expect(rows).toEqual([])
  })

  test('gives way to an invitation that comes in between, and to an account [INV-24] [INV-25] [USER-37]', async () => {
    const root = await world.addPerson({ admin: true })
    const scope = 'user.read,user.write,organization.admin'
    const admin = world.server.client(await world.server.addToken(root.email, scope))
    const invited = newAddress()
    const code = await codeFor(invited)
    expect((await admin.post('/invitees', { email_to: invited })).status).toBe(201)
    expect((await use(code)).status).toBe(403)
    expect(await accountOf(invited)).toBeUndefined()

    const made = newAddress()
    const late = await codeFor(made)
    expect((await admin.post('/users', { email: made, first_name: 'A', last_name: 'B' })).status).toBe(201)
    expect((await use(late)).status).toBe(403)
    expect((await admin.delete(`/users/${made}`)).status).toBe(200)
    expect((await use(late)).status).toBe(403)
    expect(await accountOf(made)).toBeUndefined()
  })

  test('keeps the code as a hash, and out of the log [AUTH-12]', async () => {
    const code = await codeFor(newAddress())
    await world.browser().open(`/sign-up?code=${code}`)
    const stored = await world.server.installation.db.read((tx) => tx.all('SELECT * FROM sign_up_codes'))
    expect(JSON.stringify(stored)).not.toContain(code)
    expect(world.server.log()).not.toContain(code)
  })

  test('refuses what is no address [INV-24]', async () => {
    for (const wrong of ['', '  ', 'nobody', 'a@b@c', 'a b@x.test'])
      expect((await ask(wrong)).status).toBe(400)
  })
})

describe.each(ENGINES)('a stranger on %s', (engine) => {
  test('cannot fill a mailbox or send mails without end by signing others up [OAUTH-119]', async () => {
    const world = await openWorld(engine, {
      args: ['--signup', 'open', '--failures-max', '10', '--failures-window', '900'],
    })
    try {
      const ask = async (email: string, browser: Browser): Promise<number> => {
        const page = await browser.open('/sign-up')
        const sent = await browser.press(page, SEND, (form) => {
          inputOf(form, 'email').value = email
        })
        return sent.status
      }
      const toOne = await Promise.all(Array.from({ length: 30 }, () => ask('victim@x.test', world.browser())))
      expect(toOne.filter((status) => status === 200)).toHaveLength(10)
      expect(new Set(toOne)).toEqual(new Set([200, 429]))
      const here = world.browser()
      const toMany = await Promise.all(
        Array.from({ length: 30 }, (_, index) => ask(`victim${String(index)}@x.test`, here)),
      )
      expect(toMany.filter((status) => status === 200)).toHaveLength(10)
    } finally {
      await world.stop()
    }
  })
})
