import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SCOPES } from '../../src/model/scopes.js'
import { ENGINES } from '../support/engines.js'
import { control, fieldsOf, formWith, type Browser, type Page } from './browser.js'
import { basic, openWorld, sentence, sha256, type App, type Person, type World } from './support.js'
import type { Form } from './page.js'

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' }

describe.each(ENGINES)('a person’s own view on %s', (engine) => {
  let world: World
  let app: App
  let person: Person
  let browser: Browser
  let stranger: Browser
  let strangerEmail: string

  beforeAll(async () => {
    world = await openWorld(engine)
    app = await world.addApp({ name: 'Photo Frame' })
    person = await world.addPerson()
    browser = await world.signedIn(person)
    const other = await world.addPerson()
    strangerEmail = other.email
    stranger = await world.signedIn(other)
  })
  afterAll(() => world?.stop())

  /** The form that revokes what has this name. */
  function revoker(page: Page, name: string): Form {
    const forms = page.forms.filter(({ buttons }) => buttons.some(({ words }) => /^revoke\b/i.test(words)))
    const position = page.words.indexOf(name)
    expect(position, `${name} in ${page.words}`).toBeGreaterThanOrEqual(0)
    if (forms.length === 1 && forms[0] !== undefined) return forms[0]
    const found = forms.find(
      ({ words, buttons }) => words.includes(name) || buttons.some((one) => one.words.includes(name)),
    )
    return found ?? forms[orderOf(page, name)] ?? failed(page)
  }

  function failed(page: Page): never {
    throw new Error(page.answer.text)
  }

  /** Without a name of its own on the form, the form that follows the name belongs to it. */
  function orderOf(page: Page, name: string): number {
    const before = page.answer.text.slice(0, page.answer.text.indexOf(name))
    return (before.match(/<button[^>]*>\s*Revoke/g) ?? []).length
  }

  /** Fills in the form that makes a personal token. */
  async function make(who: Browser, name: string, scopes: readonly string[], days = ''): Promise<Page> {
    const page = await who.open('/account/tokens')
    const form =
      page.forms.find(({ controls }) => controls.some(({ type }) => type === 'checkbox')) ?? failed(page)
    control(form, /name/i).value = name
    for (const box of form.controls.filter(({ type }) => type === 'checkbox')) {
      box.isChecked = scopes.some((scope) => box.label.includes(sentence(scope)))
    }
    if (days !== '') control(form, /days|end|expir/i).value = days
    return who.submit(form, form.buttons[0], page)
  }

  const tokenIn = (page: Page): string => {
    const value =
      /\b[0-9a-f]{64}\b/.exec(page.words)?.[0] ??
      page.forms
        .flatMap(({ controls }) => controls)
        .find(({ type, value }) => type !== 'hidden' && /^[0-9a-f]{64}$/.test(value))?.value
    expect(value, page.words).toBeDefined()
    return value ?? ''
  }

  test('shows the applications that the person authorized, and nobody else’s [OAUTH-102]', async () => {
    const mine = await world.addApp({ name: 'Mine alone' })
    const theirs = await world.addApp({ name: 'Theirs alone', lifetime: 0 })
    await world.grant(browser, mine, 'files.read,user.read')
    const token = await world.grant(stranger, theirs)
    await world.isAlive(token)
    const page = await browser.open('/account/apps')
    expect(page.words).toContain('Mine alone')
    expect(page.words).toContain(sentence('files.read'))
    expect(page.words).toContain(sentence('user.read'))
    const year = new Date().getUTCFullYear()
    expect(page.words).toContain(String(year))
    expect(page.words).toContain(String(year + 1))
    expect(page.words).not.toContain('Theirs alone')
    const other = await stranger.open('/account/apps')
    expect(other.words).toContain('Theirs alone')
    expect(other.words).not.toContain('Mine alone')
    expect(page.answer.text + other.answer.text).not.toContain(token)
  })

  test('says when an application was last used [OAUTH-102]', async () => {
    const owner = await world.signedIn(await world.addPerson())
    const doors = [
      ['/account/apps', await world.grant(owner, await world.addApp({ name: 'Lately' }))],
      ['/account/tokens', tokenIn(await make(owner, 'Of late', ['files.read'], '7'))],
    ] as const
    for (const [target, token] of doors) {
      const lastUse = async (): Promise<string | undefined> =>
        / Last use (.*?) Ends \d{4}-/.exec((await owner.open(target)).words)?.[1]
      expect(await lastUse(), target).toBe('never')
      const before = new Date().toISOString().slice(0, 16).replace('T', ' ')
      expect(await world.isAlive(token)).toBe(true)
      await expect.poll(lastUse, { timeout: 40_000 }).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d UTC$/)
      expect(((await lastUse()) ?? '') >= before, target).toBe(true)
    }
  })

  test('revokes all of the person’s tokens of one application at once, and no others [OAUTH-103] [AUTH-13]', async () => {
    const doomed = await world.addApp({ name: 'Doomed one' })
    const first = await world.grant(browser, doomed)
    const second = await world.grant(browser, doomed, 'user.read')
    const kept = await world.grant(browser, app)
    const theirs = await world.grant(stranger, doomed)
    const page = await browser.open('/account/apps')
    const form = revoker(page, 'Doomed one')
    const done = await browser.submit(form, form.buttons[0], page)
    expect(done.status, done.words).toBe(200)
    expect(done.words).not.toContain('Doomed one')
    expect(await world.isAlive(first)).toBe(false)
    expect(await world.isAlive(second)).toBe(false)
    expect(await world.isAlive(kept)).toBe(true)
    expect(await world.isAlive(theirs)).toBe(true)
    const again = await browser.submit(form, form.buttons[0], page)
    expect(again.status).toBe(404)
  })

  test('does not find another person’s grant [OAUTH-103]', async () => {
    const secret = await world.addApp({ name: 'Only theirs' })
    const theirs = await world.grant(stranger, secret)
    await world.grant(browser, app)
    const page = await browser.open('/account/apps')
    const form = revoker(page, 'Photo Frame')
    for (const one of form.controls) if (one.value === app.id) one.value = secret.id
    const answer = await browser.submit(form, form.buttons[0], page)
    expect(answer.status).toBe(404)
    expect(await world.isAlive(theirs)).toBe(true)
  })

  test('makes a personal token with a name, chosen scopes and an end, shown once [OAUTH-104] [HTTP-26]', async () => {
    const shown = await make(browser, 'Backup script', ['files.read', 'files.write'], '7')
    expect(shown.status, shown.words).toBe(200)
    expect(shown.headers['cache-control']).toBe('no-store')
    const token = tokenIn(shown)
    const api = world.server.client(token)
    expect((await api.post('/folders', { name: 'made by script', parent: 'root' })).status).toBe(201)
    const command = await world.server.command('token', 'list', '--user', person.email, '--json')
    expect(command.stdout).not.toContain(token)
    const listed = await browser.open('/account/tokens')
    expect(listed.words).toContain('Backup script')
    expect(listed.answer.text).not.toContain(token)
    const row = await world.server.installation.db.read((tx) =>
      tx.all<{ expires_ms: number | null; scopes: string }>(
        'SELECT expires_ms, scopes FROM tokens WHERE device_name = $1',
        'Backup script',
      ),
    )
    expect(row).toHaveLength(1)
    expect(row[0]?.scopes.split(',').sort()).toEqual(['files.read', 'files.write'])
    const week = Date.now() + 7 * 86_400_000
    expect(Math.abs((row[0]?.expires_ms ?? 0) - week)).toBeLessThan(120_000)

    const reader = tokenIn(await make(browser, 'Reader', ['files.read']))
    expect((await world.server.client(reader).get('/folders/root')).status).toBe(200)
    expect((await world.server.client(reader).post('/folders', { name: 'b', parent: 'root' })).status).toBe(
      403,
    )
  })

  test('refuses a personal token without a name, without scopes or with a senseless end [OAUTH-104]', async () => {
    for (const [name, scopes, days] of [
      ['', ['files.read'], ''],
      ['a', [], ''],
      ['a', ['files.read'], '-1'],
      ['a', ['files.read'], 'soon'],
      ['a', ['files.read'], '0'],
      ['a', ['files.read'], '00'],
      ['a', ['files.read'], '1.5'],
      ['a', ['files.read'], '1e3'],
      ['a', ['files.read'], '0x10'],
      ['a', ['files.read'], '36501'],
      ['a', ['files.read'], '99999999999999999999'],
      ['x'.repeat(300), ['files.read'], ''],
    ] as const) {
      const refused = await make(browser, name, scopes, days)
      expect(refused.status, `${name} ${scopes.join()} ${days}`).toBe(400)
      expect(/\b[0-9a-f]{64}\b/.test(refused.words)).toBe(false)
    }
  })

  test('ends a personal token when its time is over, and says when that is [OAUTH-104] [AUTH-15]', async () => {
    const owner = await world.signedIn(await world.addPerson())
    const token = tokenIn(await make(owner, 'For a while', ['files.read'], ' 36500 '))
    const endless = tokenIn(await make(owner, 'For ever', ['files.read']))
    const listed = (await owner.open('/account/tokens')).words
    expect(listed).toMatch(/For a while .* Ends 21\d\d-\d\d-\d\d \d\d:\d\d UTC/)
    expect(listed).toMatch(/For ever .* Ends never/)
    expect(await world.isAlive(token)).toBe(true)
    await world.sql('UPDATE tokens SET expires_ms = $1 WHERE hash = $2', Date.now() - 1, sha256(token))
    expect(await world.isAlive(token)).toBe(false)
    expect(await world.isAlive(endless)).toBe(true)
    expect((await owner.open('/account/tokens')).words).not.toContain('For a while')
  })

  test('offers organization.admin to an admin alone, also when it is posted by hand [OAUTH-105]', async () => {
    const page = await browser.open('/account/tokens')
    expect(page.words).not.toContain(sentence('organization.admin'))
    const form =
      page.forms.find(({ controls }) => controls.some(({ type }) => type === 'checkbox')) ?? failed(page)
    control(form, /name/i).value = 'Forged'
    const box = form.controls.find(({ type }) => type === 'checkbox')
    const fields = fieldsOf(form, form.buttons[0])
    fields.append(box?.name ?? '', 'files.read')
    fields.append(box?.name ?? '', 'organization.admin')
    const answer = await browser.request('POST', form.action || '/account/tokens', {
      headers: { ...FORM, Origin: world.server.origin, 'Sec-Fetch-Site': 'same-origin' },
      body: fields.toString(),
    })
    expect([400, 403]).toContain(answer.status)
    const rows = await world.server.installation.db.read((tx) =>
      tx.all(`SELECT scopes FROM tokens WHERE device_name = 'Forged'`),
    )
    expect(rows).toEqual([])

    const admin = await world.addPerson({ admin: true })
    const theirs = await world.signedIn(admin)
    expect((await theirs.open('/account/tokens')).words).toContain(sentence('organization.admin'))
    const token = tokenIn(await make(theirs, 'Operator', ['organization.admin']))
    const metrics = await world.call('GET', '/metrics', { headers: { Authorization: `Bearer ${token}` } })
    expect(metrics.status).toBe(200)
  })

  test('lists personal tokens and revokes them one by one [OAUTH-106] [OAUTH-87]', async () => {
    const owner = await world.signedIn(await world.addPerson())
    const first = tokenIn(await make(owner, 'First of two', ['files.read']))
    const second = tokenIn(await make(owner, 'Second of two', ['files.read']))
    const third = tokenIn(await make(owner, 'Third by hand', ['files.read']))
    const page = await owner.open('/account/tokens')
    const form = revoker(page, 'First of two')
    const done = await owner.submit(form, form.buttons[0], page)
    expect(done.status, done.words).toBe(200)
    expect(done.words).not.toContain('First of two')
    expect(done.words).toContain('Second of two')
    expect(await world.isAlive(first)).toBe(false)
    expect(await world.isAlive(second)).toBe(true)
    expect((await world.call('DELETE', `/auth/token/${third}`)).status).toBe(200)
    expect((await owner.open('/account/tokens')).words).not.toContain('Third by hand')

    const other = await world.signedIn(await world.addPerson())
    await make(other, 'Somebody else’s', ['files.read'])
    const theirPage = await other.open('/account/tokens')
    const theirs = revoker(theirPage, 'Somebody else’s')
    const own = revoker(await owner.open('/account/tokens'), 'Second of two')
    const ids = own.controls
      .filter((one) => one.type === 'hidden')
      .map(({ name, value }) => [name, value] as const)
    for (const [name, value] of ids) {
      const target = theirs.controls.find((one) => one.name === name)
      if (target !== undefined && /^[0-9a-f]{32}$/.test(value)) target.value = value
    }
    expect((await other.submit(theirs, theirs.buttons[0], theirPage)).status).toBe(404)
    expect(await world.isAlive(second)).toBe(true)
  })

  test('ends the person’s other sessions one by one and all at once [OAUTH-33]', async () => {
    const visitor = await world.addPerson()
    const here = await world.signedIn(visitor)
    const there = await world.signedIn(visitor)
    const page = await here.open('/account/sessions')
    const ends = page.forms.filter(({ buttons }) => buttons.some(({ words }) => /^end\b/i.test(words)))
    expect(ends.length).toBeGreaterThanOrEqual(1)
    for (const value of [...here.cookies.values(), ...there.cookies.values()]) {
      expect(
        page.answer.text.includes(value) && value.length > 20 && here.cookies.get('__Host-session') === value,
      ).toBe(false)
    }
    const [form] = ends
    if (form === undefined) throw new Error(page.words)
    await here.submit(form, form.buttons[0], page)
    const alive = [
      (await here.request('GET', '/account')).status,
      (await there.request('GET', '/account')).status,
    ]
    expect(alive.filter((status) => status === 200)).toHaveLength(1)

    const a = await world.signedIn(visitor)
    const b = await world.signedIn(visitor)
    await a.press(await a.open('/account/sessions'), /^sign out everywhere$/i)
    expect((await a.request('GET', '/account')).status).toBe(303)
    expect((await b.request('GET', '/account')).status).toBe(303)
  })

  test('shows on the command line what there is, without values, and ends one [OAUTH-107]', async () => {
    const token = await world.server.addToken(strangerEmail, 'files.read,user.read')
    const list = await world.server.command('token', 'list', '--user', strangerEmail, '--json')
    expect(list.status).toBe(0)
    const rows = JSON.parse(list.stdout) as unknown[]
    expect(Array.isArray(rows)).toBe(true)
    expect(list.stdout).toContain('files.read,user.read')
    expect(list.stdout).not.toContain(token)
    expect((await world.server.command('token', 'revoke', token)).status).toBe(0)
    expect(await world.isAlive(token)).toBe(false)
    expect((await world.server.command('token', 'revoke', token)).status).toBe(1)
  })

  test('keeps what belongs to no registered application in one built-in application [OAUTH-108]', async () => {
    const owner = await world.addPerson()
    const own = await world.signedIn(owner)
    const personal = tokenIn(await make(own, 'Mine', ['files.appdata']))
    const made = await world.server.addToken(owner.email, 'files.appdata')
    const registered = await world.server.addToken(owner.email, 'files.appdata', { app: app.id })
    const ids = await Promise.all(
      [personal, made, registered].map(
        async (token) => (await world.server.client(token).get('/folders/appdata')).json.id,
      ),
    )
    expect(ids[0]).toBe(ids[1])
    expect(ids[2]).not.toBe(ids[0])
    const info = await world.call('GET', `/auth/tokeninfo?access_token=${personal}`, {
      headers: basic(app.id, app.secret),
    })
    expect(info.status).toBe(404)
    expect((await own.open('/account/apps')).words).not.toMatch(/built-in/i)
  })

  test('can be given every ordinary scope [OAUTH-104]', async () => {
    const ordinary = SCOPES.map(({ name }) => name).filter((name) => name !== 'organization.admin')
    const token = tokenIn(await make(browser, 'Everything', ordinary))
    const row = await world.server.command('token', 'list', '--user', person.email, '--json')
    expect(row.stdout).toContain('acl.invitations')
    expect(await world.isAlive(token)).toBe(true)
  })

  test('has its forms in a page that only the person reads', async () => {
    const page = await browser.open('/account')
    expect(page.words).toContain(person.email)
    expect(formWith(page, /^sign out$/i).method).toBe('POST')
  })
})
