import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SCOPES } from '../../src/model/scopes.js'
import { ENGINES } from '../support/engines.js'
import { fieldsOf, formWith, type Browser, type Page } from './browser.js'
import {
  allow,
  ALLOW,
  authorizePath,
  checkboxes,
  DENY,
  DONE,
  isConsentPage,
  isSignInPage,
  openWorld,
  returned,
  sealedConsent,
  sentence,
  sha256,
  type App,
  type Person,
  type World,
} from './support.js'

const ORDINARY = SCOPES.map(({ name }) => name).filter((name) => name !== 'organization.admin')
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' }

describe.each(ENGINES)('consent on %s', (engine) => {
  let world: World
  let app: App
  let person: Person
  let browser: Browser
  let admin: Person
  let adminBrowser: Browser

  beforeAll(async () => {
    world = await openWorld(engine)
    app = await world.addApp({ name: 'Photo Frame' })
    person = await world.addPerson()
    browser = await world.signedIn(person)
    await world.addPerson({ admin: true })
    admin = await world.addPerson({ admin: true })
    adminBrowser = await world.signedIn(admin)
  })
  afterAll(() => world?.stop())

  const ask = (scope: string, who = browser): Promise<Page> => who.open(authorizePath(app, { scope }))
  const codeCount = async (): Promise<number> =>
    Number(
      (
        await world.server.installation.db.read((tx) =>
          tx.get<{ n: number }>('SELECT COUNT(*) AS n FROM codes'),
        )
      )?.n,
    )

  async function scopesOf(left: string): Promise<string> {
    const answer = await world.exchange(app, returned(left)['code'] ?? '')
    expect(answer.status, answer.text).toBe(200)
    return String(answer.json['scope'])
  }

  /** No code is made, and the browser is sent nowhere with one. */
  async function expectNoCode(act: () => Promise<Page>, statuses: readonly number[]): Promise<Page> {
    const before = await codeCount()
    const page = await act()
    expect(statuses, `${page.status} ${page.words}`).toContain(page.status)
    if (page.leftTo !== undefined) expect(returned(page.leftTo)).not.toHaveProperty('code')
    expect(await codeCount()).toBe(before)
    return page
  }

  test('is asked at once of somebody who is signed in, each time anew [OAUTH-27] [OAUTH-53]', async () => {
    for (let round = 0; round < 2; round += 1) {
      const page = await ask('files.read')
      expect(page.status).toBe(200)
      expect(page.trail).toHaveLength(1)
      expect(isConsentPage(page)).toBe(true)
      await allow(browser, page)
    }
  })

  test('names the application and the person, and puts each scope in a sentence with a box [OAUTH-40]', async () => {
    const page = await ask(ORDINARY.join(','))
    expect(page.words).toContain('Photo Frame')
    expect(page.words).toContain(person.email)
    const boxes = checkboxes(page)
    expect(boxes).toHaveLength(ORDINARY.length)
    for (const scope of ORDINARY)
      expect(
        boxes.some(({ label }) => label.includes(sentence(scope))),
        scope,
      ).toBe(true)
    const form = formWith(page, ALLOW)
    expect(form.buttons.some(({ words }) => DENY.test(words))).toBe(true)
    expect(form.method).toBe('POST')
    expect(page.tags.filter(({ name }) => name === 'script')).toEqual([])
    expect(
      page.tags.some(({ attributes }) => Object.keys(attributes).some((key) => key.startsWith('on'))),
    ).toBe(false)
    expect(
      page.tags.find(({ attributes }) => attributes['name'] === 'viewport')?.attributes['content'],
    ).toContain('width=device-width')
    expect(page.tags.find(({ name }) => name === 'html')?.attributes['lang']).toBe('en')
    expect(page.tags.filter(({ attributes }) => Number(attributes['tabindex'] ?? 0) > 0)).toEqual([])
  })

  test('gives exactly what is ticked [OAUTH-41]', async () => {
    for (const ticked of [
      ['files.read'],
      ['user.read', 'acl.read'],
      ['files.read', 'user.read', 'acl.read'],
    ]) {
      const left = await allow(browser, await ask('files.read,user.read,acl.read'), ticked)
      expect(returned(left)['state']).toBe('xyz')
      expect((await scopesOf(left)).split(',').sort()).toEqual([...ticked].sort())
    }
  })

  test('gives nothing when nothing is ticked [OAUTH-42]', async () => {
    const page = await ask('files.read,user.read')
    await expectNoCode(async () => {
      const gone = await browser.press(page, ALLOW, (form) => {
        for (const one of form.controls) one.isChecked = false
      })
      expect(returned(gone.leftTo)).toMatchObject({ error: 'access_denied', state: 'xyz' })
      return gone
    }, [302, 303])
  })

  test('gives nothing and remembers nothing when it is denied [OAUTH-43]', async () => {
    const page = await ask('files.read,user.read')
    await expectNoCode(async () => {
      const gone = await browser.press(page, DENY, (form) => {
        for (const one of form.controls) if (one.type === 'checkbox') one.isChecked = true
      })
      expect(gone.leftTo?.startsWith(DONE)).toBe(true)
      expect(returned(gone.leftTo)).toMatchObject({ error: 'access_denied', state: 'xyz' })
      return gone
    }, [302, 303])
    const apps = await browser.open('/account/apps')
    expect(isConsentPage(await ask('files.read,user.read'))).toBe(true)
    const stranger = await world.signedIn(await world.addPerson())
    const denied = await stranger.press(await ask('files.read', stranger), DENY)
    expect(denied.leftTo).toBeDefined()
    expect((await stranger.open('/account/apps')).words).not.toContain('Photo Frame')
    expect(apps.status).toBe(200)
  })

  describe('organization.admin', () => {
    test('is neither shown nor given to somebody who is no admin [OAUTH-44]', async () => {
      const page = await ask('files.read,organization.admin')
      expect(page.words).not.toContain(sentence('organization.admin'))
      expect(checkboxes(page)).toHaveLength(1)
      const left = await allow(browser, page)
      expect(await scopesOf(left)).toBe('files.read')
      const forged = await browser.press(await ask('files.read,organization.admin'), ALLOW, (form) => {
        const box = form.controls.find(({ type }) => type === 'checkbox')
        if (box !== undefined) Object.assign(box, { value: 'organization.admin', isChecked: true })
      })
      expect(returned(forged.leftTo)['error']).toBe('access_denied')
      const alone = await ask('organization.admin')
      expect(returned(alone.leftTo)).toMatchObject({ error: 'access_denied', state: 'xyz' })
    })

    test('is shown to an admin, marked, and given only if ticked [OAUTH-45]', async () => {
      const page = await ask('files.read,organization.admin', adminBrowser)
      const boxes = checkboxes(page)
      const marked = boxes.find(({ label }) => label.includes(sentence('organization.admin')))
      expect(marked).toBeDefined()
      expect(marked?.isChecked).toBe(false)
      const plain = boxes.find(({ label }) => label.includes(sentence('files.read')))
      expect(marked?.label.length).toBeGreaterThan(sentence('organization.admin').length)
      expect(plain?.label).toBe(sentence('files.read'))
      expect(await scopesOf(await allow(adminBrowser, page, ['files.read']))).toBe('files.read')
      const again = await ask('files.read,organization.admin', adminBrowser)
      const both = await scopesOf(await allow(adminBrowser, again))
      expect(both.split(',').sort()).toEqual(['files.read', 'organization.admin'])
    })

    test('is not given when the person stops being an admin before Allow [OAUTH-46]', async () => {
      const page = await ask('files.read,organization.admin', adminBrowser)
      const only = await ask('organization.admin', adminBrowser)
      expect((await world.server.command('user', 'admin', admin.email, 'off')).status).toBe(0)
      expect(await scopesOf(await allow(adminBrowser, page))).toBe('files.read')
      const alone = await adminBrowser.press(only, ALLOW, (form) => {
        for (const one of form.controls) if (one.type === 'checkbox') one.isChecked = true
      })
      if (alone.leftTo !== undefined) expect(returned(alone.leftTo)).not.toHaveProperty('code')
      expect((await world.server.command('user', 'admin', admin.email, 'on')).status).toBe(0)
    })
  })

  test('is never wider than what was asked for, and leads nowhere else, whatever the form says [OAUTH-47]', async () => {
    const evil = await world.addApp({ name: 'Evil', redirectUris: ['https://evil.test/cb'] })
    const wanted = await ask('files.read')
    const form = formWith(wanted, ALLOW)
    const button = form.buttons.find(({ words }) => ALLOW.test(words))
    const shown = fieldsOf(form, button)
    const boxName = form.controls.find(({ type }) => type === 'checkbox')?.name ?? ''
    const forgeries: ((fields: URLSearchParams) => void)[] = [
      (fields) => fields.append(boxName, 'files.write'),
      (fields) => fields.append(boxName, 'organization.admin'),
      (fields) => fields.append(boxName, 'nope'),
      (fields) => fields.append('redirect_uri', 'https://evil.test/cb'),
      (fields) => fields.append('client_id', evil.id),
      (fields) => fields.append('state', 'evil'),
    ]
    // Whatever the page hides in the form, one at a time, is pointed at the other application.
    for (const [name, value] of shown) {
      if (!/client_id|redirect_uri|state|scope/.test(value) && value !== app.id) continue
      forgeries.push((fields) =>
        fields.set(
          name,
          value
            .replaceAll(app.id, evil.id)
            .replaceAll(encodeURIComponent(DONE), encodeURIComponent('https://evil.test/cb'))
            .replaceAll(DONE, 'https://evil.test/cb'),
        ),
      )
      forgeries.push((fields) => fields.set(name, value.replaceAll('files.read', 'files.read,files.write')))
      forgeries.push((fields) => fields.set(name, value.replaceAll('xyz', 'evil')))
    }
    for (const forge of forgeries) {
      const page = await ask('files.read')
      const own = formWith(page, ALLOW)
      const fields = fieldsOf(own, button)
      for (const box of own.controls.filter(({ type }) => type === 'checkbox'))
        fields.set(box.name, box.value)
      forge(fields)
      const answer = await browser.request('POST', own.action === '' ? page.target : own.action, {
        headers: { ...FORM, Origin: world.server.origin, 'Sec-Fetch-Site': 'same-origin' },
        body: fields.toString(),
      })
      const what = `${fields.toString()} ${answer.status} ${answer.headers.location}`
      if (answer.headers.location === undefined) {
        expect([400, 403], what).toContain(answer.status)
        continue
      }
      expect(answer.headers.location.startsWith(`${DONE}?`), what).toBe(true)
      expect(returned(answer.headers.location)['state'], what).toBe('xyz')
      if (returned(answer.headers.location)['code'] === undefined) continue
      expect(await scopesOf(answer.headers.location), what).toBe('files.read')
    }
  })

  test('makes no code by GET, whatever its parameters [OAUTH-48] [OAUTH-112]', async () => {
    const page = await ask('files.read')
    const form = formWith(page, ALLOW)
    const fields = fieldsOf(
      form,
      form.buttons.find(({ words }) => ALLOW.test(words)),
    )
    for (const box of form.controls.filter(({ type }) => type === 'checkbox')) fields.set(box.name, box.value)
    const [own = ''] = form.action.split('?')
    for (const target of [
      `${own}?${fields.toString()}`,
      `${authorizePath(app)}&${fields.toString()}`,
      `${authorizePath(app)}&approval_prompt=none&prompt=none&decision=allow&consent=1`,
    ]) {
      await expectNoCode(() => browser.open(target), [200, 302, 303, 400, 404, 405])
    }
    // The form itself is still good: nothing of that was counted as its one use.
    await allow(browser, page)
  })

  test('is good once, for its session and its request [OAUTH-49]', async () => {
    const page = await ask('files.read')
    await allow(browser, page)
    await expectNoCode(() => browser.press(page, ALLOW), [303, 302, 400, 403, 409])
    const other = await world.signedIn(await world.addPerson())
    const fresh = await ask('files.read')
    await expectNoCode(() => other.press(fresh, ALLOW), [400, 403])
    await expectNoCode(() => world.browser().press(fresh, ALLOW), [200, 400, 401, 403])
    await allow(browser, fresh)
  })

  test('given twice at the same moment makes one code [OAUTH-49]', async () => {
    const page = await ask('files.read')
    const before = await codeCount()
    const pages = await Promise.all(Array.from({ length: 6 }, () => browser.press(page, ALLOW)))
    expect(pages.filter(({ leftTo }) => leftTo !== undefined && 'code' in returned(leftTo))).toHaveLength(1)
    expect(await codeCount()).toBe(before + 1)
  })

  test('makes no code when the session has ended, the person or the application is gone [OAUTH-51]', async () => {
    const leaver = await world.addPerson()
    const theirs = await world.signedIn(leaver)
    const page = await ask('files.read', theirs)
    await theirs.press(await theirs.open('/account'), /^sign out$/i)
    await expectNoCode(() => theirs.press(page, ALLOW), [200, 400, 401, 403])

    const again = await world.signedIn(leaver)
    const pending = await ask('files.read', again)
    expect((await world.server.command('user', 'remove', leaver.email)).status).toBe(0)
    await expectNoCode(() => again.press(pending, ALLOW), [200, 400, 401, 403])
    expect(isSignInPage(await ask('files.read', again))).toBe(true)

    const doomed = await world.addApp()
    const last = await browser.open(authorizePath(doomed))
    expect((await world.server.command('app', 'remove', doomed.id)).status).toBe(0)
    const refused = await expectNoCode(() => browser.press(last, ALLOW), [400])
    expect(refused.leftTo).toBeUndefined()

    const moved = await world.addApp()
    const stale = await browser.open(authorizePath(moved))
    await world.sql(
      'UPDATE apps SET redirect_uris = $1 WHERE id = $2',
      '["https://elsewhere.test/"]',
      moved.id,
    )
    const nowhere = await expectNoCode(() => browser.press(stale, ALLOW), [400])
    expect(nowhere.leftTo).toBeUndefined()
  })

  test('shows a scope that is limited to a folder with its name, and nothing of what the person cannot see [OAUTH-52]', async () => {
    const token = await world.server.addToken(person.email)
    const folder = await world.server.client(token).folder('Holiday <b>pictures')
    const page = await ask(`files.read:${folder}`)
    expect(checkboxes(page)[0]?.label).toContain('Holiday <b>pictures')
    const granted = await world.exchange(app, returned(await allow(browser, page))['code'] ?? '')
    expect(granted.json['scope']).toBe(`files.read:${folder}`)
    const api = world.server.client(String(granted.json['access_token']))
    expect((await api.get(`/folders/${folder}`)).status).toBe(200)
    expect((await api.get('/folders/root')).status).toBe(403)

    const stranger = await world.signedIn(await world.addPerson())
    const hidden = await ask(`files.read:${folder}`, stranger)
    expect(hidden.answer.text).not.toContain('Holiday')
    if (hidden.leftTo !== undefined) expect(returned(hidden.leftTo)['error']).toBe('invalid_scope')
    else {
      const left = await allow(stranger, hidden)
      const theirs = await world.exchange(app, returned(left)['code'] ?? '')
      const theirApi = world.server.client(String(theirs.json['access_token']))
      expect([403, 404]).toContain((await theirApi.get(`/folders/${folder}`)).status)
    }
  })

  test('shows names as text, whatever is in them [OAUTH-117]', async () => {
    const names = [
      '<script>alert(1)</script>',
      '"><img src=x onerror=alert(1)>',
      'a‮evil‬',
      'W'.repeat(255),
      "O'Brien & Söhne 😀",
      '&lt;b&gt;',
    ]
    for (const name of names) {
      const odd = await world.addApp({ name })
      const page = await browser.open(authorizePath(odd))
      expect(page.status).toBe(200)
      expect(page.words).toContain(name)
      expect(page.tags.filter((tag) => tag.name === 'script' || tag.name === 'img')).toEqual([])
      // What turns the direction of text must end where the name ends.
      if (name.includes('‮')) expect(page.tags.some((tag) => tag.name === 'bdi')).toBe(true)
      await world.grant(browser, odd)
      const listed = await browser.open('/account/apps')
      expect(listed.words).toContain(name)
      expect(listed.tags.filter((tag) => tag.name === 'script' || tag.name === 'img')).toEqual([])
    }
  })

  test('leaves a code that is stored as a hash alone [OAUTH-65]', async () => {
    const code = await world.code(browser, app)
    const row = await world.server.installation.db.read((tx) =>
      tx.get<{ hash: string }>('SELECT hash FROM codes WHERE hash = $1', sha256(code)),
    )
    expect(row?.hash).toBe(sha256(code))
  })
})

describe.each(ENGINES)('a consent page that was left open on %s', (engine) => {
  test('can be allowed for an hour, and not later [OAUTH-50]', async () => {
    const HOUR_MS = 3_600_000
    const world = await openWorld(engine)
    try {
      const app = await world.addApp()
      const browser = await world.signedIn(await world.addPerson())
      const [form] = (await browser.open('/account')).forms
      const token = form?.controls.find(({ name }) => name === 'form_token')?.value ?? ''
      for (const [agoMs, isGood] of [
        [0, true],
        [HOUR_MS - 120_000, true],
        [HOUR_MS + 1, false],
        [24 * HOUR_MS, false],
      ] as const) {
        const answer = await browser.request('POST', '/authorize', {
          headers: { ...FORM, Origin: world.server.origin, 'Sec-Fetch-Site': 'same-origin' },
          body: sealedConsent(browser, app, token, Date.now() - agoMs),
        })
        const { location } = answer.headers
        if (isGood) expect(returned(location), String(agoMs)).toHaveProperty('code')
        else expect([answer.status, location], String(agoMs)).toEqual([400, undefined])
      }
    } finally {
      await world.stop()
    }
  })

  test('has an hour by default [OAUTH-50]', async () => {
    const { SERVE_SETTINGS } = await import('../../src/cli/settings.js')
    expect(SERVE_SETTINGS.find(({ name }) => name === 'consent-lifetime')?.fallback).toBe('3600')
  })
})
