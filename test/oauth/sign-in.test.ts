import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OauthDeps } from '../../src/oauth/deps.js'
import { pageRows } from '../../src/oauth/routes.js'
import { ENGINES } from '../support/engines.js'
import { fieldsOf, formWith, inputOf, type Browser, type Page } from './browser.js'
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
  sha256,
  SIGN_IN,
  signIn,
  type App,
  type Person,
  type World,
} from './support.js'

const SESSION = '__Host-session'

describe.each(ENGINES)('sign-in on %s', (engine) => {
  let world: World
  let app: App
  let person: Person

  beforeAll(async () => {
    world = await openWorld(engine)
    app = await world.addApp()
    person = await world.addPerson()
  })
  afterAll(() => world?.stop())

  const isIn = async (browser: Browser): Promise<boolean> => {
    const answer = await browser.request('GET', ACCOUNT)
    expect([200, 302, 303]).toContain(answer.status)
    return answer.status === 200
  }

  test('interrupts a valid request, which goes on with every parameter intact [OAUTH-26]', async () => {
    const state = `a&b=c %25+"é\n${'x'.repeat(1500)}`
    const browser = world.browser()
    const page = await browser.open(authorizePath(app, { state, scope: 'files.read,user.read' }))
    expect(page.status).toBe(200)
    expect(isSignInPage(page)).toBe(true)
    const consent = await signIn(browser, page, person)
    expect(isConsentPage(consent)).toBe(true)
    expect(consent.words).toContain(person.email)
    const left = await allow(browser, consent)
    expect(returned(left)['state']).toBe(state)
    const answer = await world.exchange(app, returned(left)['code'] ?? '')
    expect(answer.json['scope']).toBe('files.read,user.read')
  })

  test('goes on with the request after a wrong password too [OAUTH-26]', async () => {
    const browser = world.browser()
    const page = await browser.open(authorizePath(app, { state: 'kept & safe' }))
    const again = await givePassword(browser, page, person.email, 'wrong')
    expect(isSignInPage(again)).toBe(true)
    const left = await allow(browser, await signIn(browser, again, person))
    expect(returned(left)['state']).toBe('kept & safe')
  })

  test('says the same to a wrong password, an unknown address and an account without a password [OAUTH-28]', async () => {
    const without = await world.addPerson({ password: null })
    const disabled = await world.addPerson()
    const own = world.server.client(await world.server.addToken(disabled.email, 'user.password'))
    expect((await own.delete('/users/me/password')).status).toBe(200)
    const guesses: [string, string][] = [
      [disabled.email, PASSWORD],
      [(await world.addPerson({ secondFactor: true })).email, 'wrong password'],
      [person.email, 'wrong password'],
      ['nobody@x.test', 'wrong password'],
      ['nobody@x.test', PASSWORD],
      [without.email, PASSWORD],
      [without.email, 'null'],
      ['not an address', PASSWORD],
      [person.email, `${PASSWORD} `],
      [person.email, ` ${PASSWORD}`],
      [person.email, PASSWORD.toUpperCase()],
      [person.email, PASSWORD.slice(0, -1)],
    ]
    const seen = new Set<string>()
    for (const [email, password] of guesses) {
      const browser = world.browser()
      const page = await givePassword(browser, await browser.open('/sign-in'), email, password)
      expect(isSignInPage(page), `${email} ${password}`).toBe(true)
      expect(browser.cookies.has(SESSION)).toBe(false)
      expect(await isIn(browser)).toBe(false)
      // The address that was typed and the token of the form are all that may differ.
      const text = page.answer.text
        .replaceAll(email, 'ADDRESS')
        .replaceAll(/[0-9a-f]{32,}/g, 'TOKEN')
        .replaceAll(/[\w-]{43,}/g, 'TOKEN')
      seen.add(`${page.status} ${JSON.stringify({ ...page.headers, date: '' })} ${text}`)
    }
    expect([...seen]).toHaveLength(1)
  })

  test('has news of its own and no others [ERR-9]', async () => {
    const plain = (await world.browser().open('/sign-in')).words
    for (const news of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'nope', '']) {
      const page = await world.browser().open(`/sign-in?news=${news}`)
      expect([page.status, page.words], news).toEqual([200, plain])
    }
    expect((await world.browser().open('/sign-in?news=signed-out')).words).not.toBe(plain)
  })

  test('refuses an empty password and an empty address', async () => {
    for (const [email, password] of [
      [person.email, ''],
      ['', PASSWORD],
      ['', ''],
    ] as const) {
      const browser = world.browser()
      const page = await givePassword(browser, await browser.open('/sign-in'), email, password)
      expect(isSignInPage(page)).toBe(true)
      expect(await isIn(browser)).toBe(false)
    }
  })

  test('takes the address trimmed and in any letter case, and the password as typed [OAUTH-29]', async () => {
    const browser = world.browser()
    const odd = `  ${person.email.toUpperCase()} `
    await givePassword(browser, await browser.open('/sign-in'), odd, PASSWORD)
    expect(await isIn(browser)).toBe(true)
    const spaced = await world.addPerson({ password: '  Spaces & <Größe> 😀  ' })
    const other = world.browser()
    await givePassword(other, await other.open('/sign-in'), spaced.email, spaced.password)
    expect(await isIn(other)).toBe(true)
    const trimmed = world.browser()
    await givePassword(trimmed, await trimmed.open('/sign-in'), spaced.email, spaced.password.trim())
    expect(await isIn(trimmed)).toBe(false)
  })

  describe('leads afterwards', () => {
    const NOWHERE = [
      '//evil.test',
      '///evil.test',
      'https://evil.test',
      'https:evil.test',
      'http://evil.test/account',
      '/\\evil.test',
      '\\\\evil.test',
      '/\t/evil.test',
      '/\n/evil.test',
      '\t//evil.test',
      ' //evil.test',
      'javascript:alert(1)',
      'data:text/html,x',
      '/%0d%0aSet-Cookie:a=b',
      '/account\r\nSet-Cookie: a=b',
      '@evil.test',
      '.evil.test',
      'evil.test',
      '/..//evil.test',
      '/.//evil.test',
      '/account/..//evil.test',
      '/%2f%2fevil.test',
      '/%5cevil.test',
      '',
      '\0',
      'x'.repeat(5000),
    ]

    test.each(NOWHERE.map((next) => [JSON.stringify(next).slice(0, 40), next] as const))(
      'to a page of this host whatever the target says: %s [OAUTH-30]',
      async (_shown, next) => {
        const browser = world.browser()
        const page = await browser.open(`/sign-in?next=${encodeURIComponent(next)}`)
        const gone = await signIn(browser, page, person)
        expect(gone.leftTo, next).toBeUndefined()
        expect([200, 400, 404]).toContain(gone.status)
        for (const hop of gone.trail) {
          const location = hop.headers.location
          expect(hop.headers['set-cookie'] ?? []).not.toContainEqual(expect.stringMatching(/^a=b/))
          if (location === undefined) continue
          // A browser reads an address more generously than the server may think.
          expect(new URL(location, world.server.origin).origin, location).toBe(world.server.origin)
          expect(location, location).not.toMatch(/[\0-\x20\\]/)
        }
        // Somebody who is signed in already is not sent away either.
        const twice = await browser.open(`/sign-in?next=${encodeURIComponent(next)}`)
        expect(twice.leftTo, next).toBeUndefined()
      },
    )

    test('to the page of this host that was asked for [OAUTH-30]', async () => {
      const browser = world.browser()
      const page = await browser.open('/account/sessions')
      expect(isSignInPage(page)).toBe(true)
      expect((await signIn(browser, page, person)).target).toBe('/account/sessions')
    })
  })

  test('ends with sign-out, on the server too [OAUTH-33]', async () => {
    const browser = await world.signedIn(person)
    const old = new Map(browser.cookies)
    const thief = world.browser()
    for (const [name, value] of old) thief.cookies.set(name, value)
    expect(await isIn(thief)).toBe(true)
    await browser.press(await browser.open(ACCOUNT), /^sign out$/i)
    expect(await isIn(browser)).toBe(false)
    expect(await isIn(thief)).toBe(false)
    expect(browser.cookies.get(SESSION)).not.toBe(old.get(SESSION))
  })

  describe('the session', () => {
    const lineOf = (page: Page): string =>
      page.trail
        .flatMap(({ headers }) => headers['set-cookie'] ?? [])
        .filter((line) => line.startsWith(`${SESSION}=`))
        .at(-1) ?? ''

    test('is a cookie of this host alone, out of reach of scripts, opaque and stored hashed [OAUTH-123]', async () => {
      const browser = world.browser()
      const page = await signIn(browser, await browser.open('/sign-in'), person)
      const [pair = '', ...attributes] = lineOf(page).split(/; */)
      const names = attributes.map((attribute) => attribute.toLowerCase())
      expect(names).toEqual(expect.arrayContaining(['secure', 'httponly', 'samesite=lax', 'path=/']))
      expect(names.some((attribute) => attribute.startsWith('domain'))).toBe(false)
      const value = pair.slice(pair.indexOf('=') + 1)
      expect(value).toMatch(/^[0-9A-Za-z_-]{32,}$/)
      const rows = await world.server.installation.db.read((tx) => tx.all('SELECT * FROM sessions'))
      expect(JSON.stringify(rows)).not.toContain(value)
      expect(JSON.stringify(rows)).toContain(sha256(value))
    })

    test('changes its value at sign-in, so that a planted one is worthless [OAUTH-124]', async () => {
      const browser = world.browser()
      const page = await browser.open('/sign-in')
      const planted = new Map(browser.cookies)
      planted.set(SESSION, 'a'.repeat(64))
      browser.cookies.set(SESSION, 'a'.repeat(64))
      await signIn(browser, page, person)
      expect(await isIn(browser)).toBe(true)
      expect(browser.cookies.get(SESSION)).not.toBe('a'.repeat(64))
      const thief = world.browser()
      for (const [name, value] of planted) thief.cookies.set(name, value)
      expect(await isIn(thief)).toBe(false)
    })

    test('never opens the API, from this or another origin [AUTH-73]', async () => {
      const browser = await world.signedIn(person)
      for (const headers of [{}, { Origin: world.server.origin }, { Origin: 'https://evil.test' }]) {
        const answer = await browser.request('GET', '/api/v1.3/folders/root', { headers })
        expect(answer.status).toBe(401)
        expect(answer.headers['www-authenticate']).toMatch(/^Bearer /)
      }
      const post = await browser.request('POST', '/api/v1.3/folders', {
        headers: { 'Content-Type': 'application/json' },
        body: '{"name":"a","parent":"root"}',
      })
      expect(post.status).toBe(401)
    })

    test('counts for nothing beside a token [AUTH-74]', async () => {
      const browser = await world.signedIn(person)
      const other = await world.server.person()
      const own = (await other.api.get('/folders/root')).json.id
      const answer = await browser.request('GET', '/api/v1.3/folders/root', {
        headers: { Authorization: `Bearer ${other.token}` },
      })
      expect(answer.json.id).toBe(own)
    })

    test('is not made by a token: pages ask to sign in [AUTH-76]', async () => {
      const token = await world.server.addToken(person.email)
      const headers = { Authorization: `Bearer ${token}` }
      const bare = world.browser()
      expect(isSignInPage(await bare.open(authorizePath(app), headers))).toBe(true)
      for (const target of [ACCOUNT, '/account/apps', '/account/tokens', '/admin/apps']) {
        expect((await bare.request('GET', target, { headers })).status, target).toBe(303)
        const json = await bare.request('GET', target, {
          headers: { ...headers, Accept: 'application/json' },
        })
        expect(json.status, target).toBe(401)
      }
      const signed = await world.signedIn(person)
      const form = formWith(await signed.open(authorizePath(app)), /^allow$/i)
      const answer = await bare.request('POST', '/authorize', {
        headers: {
          ...headers,
          'Content-Type': 'application/x-www-form-urlencoded',
          Origin: world.server.origin,
        },
        body: fieldsOf(form, form.buttons[0]).toString(),
      })
      expect(answer.headers.location ?? '').not.toContain('code=')
      expect([200, 303, 400, 401, 403]).toContain(answer.status)
    })

    test('ends for all browsers but this one when the password is changed, and for all when it is disabled [OAUTH-125] [AUTH-20]', async () => {
      const changer = await world.addPerson()
      const here = await world.signedIn(changer)
      const there = await world.signedIn(changer)
      const token = await world.grant(here, app)
      const page = await here.open('/account/password')
      const form = page.forms.find(({ controls }) =>
        controls.some(({ autocomplete }) => autocomplete === 'new-password'),
      )
      if (form === undefined) throw new Error(page.words)
      inputOf(form, 'current-password').value = PASSWORD
      for (const one of form.controls.filter(({ autocomplete }) => autocomplete === 'new-password')) {
        one.value = 'another good password'
      }
      const done = await here.submit(form, form.buttons[0], page)
      expect(done.status, done.words).toBe(200)
      expect(await isIn(here)).toBe(true)
      expect(await isIn(there)).toBe(false)
      expect(await world.isAlive(token)).toBe(true)
      const old = world.browser()
      await givePassword(old, await old.open('/sign-in'), changer.email, PASSWORD)
      expect(await isIn(old)).toBe(false)
      const fresh = world.browser()
      await givePassword(fresh, await fresh.open('/sign-in'), changer.email, 'another good password')
      expect(await isIn(fresh)).toBe(true)

      await world.sql('UPDATE users SET password_hash = $1 WHERE email = $2', null, changer.email)
      expect(await isIn(here)).toBe(false)
      expect(await isIn(fresh)).toBe(false)
      expect(await world.isAlive(token)).toBe(true)
    })

    test('ends when the command line sets another password [OAUTH-125]', async () => {
      const changer = await world.addPerson()
      const browser = await world.signedIn(changer)
      const { runCommand } = await import('../support/server.js')
      const database = world.server.databaseUrl === undefined ? [] : ['--database', world.server.databaseUrl]
      const result = await runCommand(
        ['user', 'passwd', changer.email, '--password-stdin', '--data', world.server.dataDir, ...database],
        { stdin: 'a password from the console\n' },
      )
      expect(result.status, result.stderr).toBe(0)
      expect(await isIn(browser)).toBe(false)
    })

    test('refuses to change a password without the old one, or to one that is too short [OAUTH-125]', async () => {
      const changer = await world.addPerson()
      const here = await world.signedIn(changer)
      for (const [current, next] of [
        ['wrong', 'another good password'],
        ['', 'another good password'],
        [PASSWORD, 'short'],
        [PASSWORD, ''],
      ] as const) {
        const page = await here.open('/account/password')
        const form = page.forms.find(({ controls }) =>
          controls.some(({ autocomplete }) => autocomplete === 'new-password'),
        )
        if (form === undefined) throw new Error(page.words)
        inputOf(form, 'current-password').value = current
        for (const one of form.controls.filter(({ autocomplete }) => autocomplete === 'new-password')) {
          one.value = next
        }
        const refused = await here.submit(form, form.buttons[0], page)
        expect(refused.status, refused.words).toBeGreaterThanOrEqual(400)
      }
      const still = world.browser()
      await signIn(still, await still.open('/sign-in'), changer)
      expect(await isIn(still)).toBe(true)
    })

    test('ends with its person [OAUTH-125] [AUTH-16]', async () => {
      const leaver = await world.addPerson()
      const browser = await world.signedIn(leaver)
      expect((await world.server.command('user', 'remove', leaver.email)).status).toBe(0)
      expect(await isIn(browser)).toBe(false)
      await world.addPerson({ email: leaver.email })
      expect(await isIn(browser)).toBe(false)
    })

    test('ends after its time, idle or in all [OAUTH-125]', async () => {
      const idle = await world.signedIn(person)
      const old = await world.signedIn(person)
      const hashOf = (browser: Browser): string => sha256(browser.cookies.get(SESSION) ?? '')
      const HALF_DAY_MS = 12 * 3_600_000
      await world.sql(
        'UPDATE sessions SET used_ms = $1 WHERE hash = $2',
        Date.now() - HALF_DAY_MS + 60_000,
        hashOf(idle),
      )
      expect(await isIn(idle)).toBe(true)
      await world.sql(
        'UPDATE sessions SET used_ms = $1 WHERE hash = $2',
        Date.now() - HALF_DAY_MS - 1,
        hashOf(idle),
      )
      expect(await isIn(idle)).toBe(false)
      const row = await world.server.installation.db.read((tx) =>
        tx.get<{ created_ms: number; expires_ms: number }>(
          'SELECT created_ms, expires_ms FROM sessions WHERE hash = $1',
          hashOf(old),
        ),
      )
      expect((row?.expires_ms ?? 0) - (row?.created_ms ?? 0)).toBeLessThanOrEqual(30 * 86_400_000)
      await world.sql('UPDATE sessions SET expires_ms = $1 WHERE hash = $2', Date.now() - 1, hashOf(old))
      expect(await isIn(old)).toBe(false)
    })

    test('is asked for by pages and missed by endpoints without a prompt of the browser [OAUTH-127]', async () => {
      const bare = world.browser()
      for (const target of [
        ACCOUNT,
        '/account/apps',
        '/account/tokens',
        '/account/password',
        '/account/sessions',
        '/account/second-factor',
        '/admin/apps',
      ]) {
        const page = await bare.open(target)
        expect(isSignInPage(page), target).toBe(true)
        const json = await bare.request('GET', target, { headers: { Accept: 'application/json' } })
        expect(json.status, target).toBe(401)
        expect(json.json.type).toBe('UNAUTHORIZED')
        expect(json.headers['www-authenticate'] ?? '', target).not.toMatch(/basic/i)
      }
    })

    test('is not set or renewed by the API, the token endpoint and other people’s pages [OAUTH-126]', async () => {
      const browser = await world.signedIn(person)
      const token = await world.grant(browser, app)
      for (const [method, target, headers] of [
        ['GET', '/api/v1.3/folders/root', { Authorization: `Bearer ${token}` }],
        ['GET', '/api/v1.3/folders/root', {}],
        ['POST', '/auth/token', {}],
        ['GET', `/auth/tokeninfo?access_token=${token}`, {}],
        ['DELETE', `/auth/token/${token}`, {}],
      ] as const) {
        const answer = await browser.request(method, target, { headers })
        for (const line of answer.headers['set-cookie'] ?? []) expect(line, target).toMatch(/^route=/)
      }
    })
  })
})

describe.each(ENGINES)('a forged request on %s', (engine) => {
  let world: World
  let app: App
  let person: Person

  beforeAll(async () => {
    world = await openWorld(engine)
    app = await world.addApp()
    person = await world.addPerson({ admin: true })
  })
  afterAll(() => world?.stop())

  /** Every path of the pages, as the table of routes has them; `POST` alone if asked for. */
  const targets = (method?: 'POST'): string[] =>
    pageRows({} as OauthDeps)
      .filter((row) => method === undefined || row.POST !== undefined)
      .map(({ path }) => `/${path.map((part) => (part === ':id' ? app.id : part)).join('/')}`)

  /** Everything a forged request might change. */
  const state = async (): Promise<string> => {
    const rows = await world.server.installation.db.read(async (tx) => [
      await tx.all('SELECT hash, stage, user_id FROM sessions ORDER BY hash'),
      await tx.all('SELECT * FROM users ORDER BY id'),
      await tx.all('SELECT * FROM codes ORDER BY hash'),
      await tx.all('SELECT hash, scopes FROM tokens ORDER BY hash'),
      await tx.all('SELECT * FROM apps ORDER BY id'),
      await tx.all('SELECT * FROM resets ORDER BY hash'),
      await tx.all('SELECT * FROM sign_up_codes ORDER BY hash'),
      await tx.all('SELECT * FROM recovery_codes ORDER BY user_id, hash'),
    ])
    return JSON.stringify(rows)
  }

  test('without the token of the form, with a wrong one or another session’s, changes nothing [OAUTH-109]', async () => {
    const browser = await world.signedIn(person)
    const other = await world.signedIn(await world.addPerson())
    const foreign = fieldsOf(formWith(await other.open(ACCOUNT), /^sign out$/i), undefined)
    const own = fieldsOf(formWith(await browser.open(ACCOUNT), /^sign out$/i), undefined)
    const [name = ''] = [...own.keys()]
    const before = await state()
    expect(targets('POST').length).toBeGreaterThanOrEqual(23)
    for (const target of targets('POST')) {
      for (const body of [
        '',
        `${name}=`,
        `${name}=${'a'.repeat(64)}`,
        foreign.toString(),
        `${own.toString()}x`,
      ]) {
        for (const accept of ['text/html', 'application/json']) {
          const answer = await browser.request('POST', target, {
            headers: {
              'Content-Type': 'application/x-www-form-urlencoded',
              Origin: world.server.origin,
              'Sec-Fetch-Site': 'same-origin',
              Accept: accept,
            },
            body,
          })
          expect(answer.status, `${target} ${body}`).toBe(403)
          if (accept === 'text/html') expect(answer.headers['content-type']).toMatch(/^text\/html/)
          else expect(answer.json.type).toBe('FORBIDDEN')
        }
      }
    }
    expect(await state()).toBe(before)
  })

  test('from another site changes nothing, even with the right token [OAUTH-110]', async () => {
    const browser = await world.signedIn(person)
    const page = await browser.open(ACCOUNT)
    const form = formWith(page, /^sign out$/i)
    const consent = await browser.open(authorizePath(app))
    const before = await state()
    for (const headers of [
      { Origin: 'https://evil.test', 'Sec-Fetch-Site': 'cross-site' },
      { Origin: 'https://evil.test', 'Sec-Fetch-Site': 'same-origin' },
      { Origin: world.server.origin, 'Sec-Fetch-Site': 'cross-site' },
      { Origin: world.server.origin, 'Sec-Fetch-Site': 'same-site' },
      { Origin: `${world.server.origin}.evil.test`, 'Sec-Fetch-Site': 'same-origin' },
      { Origin: world.server.origin.replace('https', 'http'), 'Sec-Fetch-Site': 'same-origin' },
      { Origin: 'https://127.0.0.1', 'Sec-Fetch-Site': 'same-origin' },
      { Origin: 'null', 'Sec-Fetch-Site': 'cross-site' },
    ]) {
      const refused = await browser.submit(form, form.buttons[0], page, headers)
      expect(refused.status, JSON.stringify(headers)).toBe(403)
      const noCode = await browser.press(consent, /^allow$/i, () => undefined, headers)
      expect(noCode.status, JSON.stringify(headers)).toBe(403)
      expect(noCode.leftTo).toBeUndefined()
    }
    for (const target of targets('POST')) {
      const answer = await browser.request('POST', target, {
        headers: { 'Content-Type': 'application/x-www-form-urlencoded', Origin: 'https://evil.test' },
        body: `${fieldsOf(form, form.buttons[0]).toString()}&confirm=on&email=${person.email}`,
      })
      expect(answer.status, target).toBe(403)
    }
    expect(await state()).toBe(before)
    expect((await browser.open(ACCOUNT)).status).toBe(200)
  })

  test('cannot sign somebody in: the form needs its own token before there is a session [OAUTH-111]', async () => {
    const attacker = world.browser()
    const form = formWith(await attacker.open('/sign-in'), SIGN_IN)
    inputOf(form, 'username').value = person.email
    inputOf(form, 'current-password').value = PASSWORD
    const fields = fieldsOf(form, form.buttons[0])
    const victim = world.browser()
    for (const known of [false, true]) {
      if (known) await victim.open('/sign-in')
      const answer = await victim.request('POST', '/sign-in', {
        headers: {
          'Content-Type': 'application/x-www-form-urlencoded',
          Origin: world.server.origin,
          'Sec-Fetch-Site': 'same-origin',
        },
        body: fields.toString(),
      })
      expect(answer.status).toBe(403)
      expect(victim.cookies.has(SESSION)).toBe(false)
    }
  })

  test('by GET or HEAD changes nothing [OAUTH-112]', async () => {
    const browser = await world.signedIn(person)
    const own = fieldsOf(formWith(await browser.open(ACCOUNT), /^sign out$/i), undefined).toString()
    const before = await state()
    for (const target of targets()) {
      for (const method of ['GET', 'HEAD']) {
        const answer = await browser.request(method, `${target}?${own}&client_id=${app.id}`)
        expect([200, 302, 303, 400, 403, 404, 405], `${method} ${target}`).toContain(answer.status)
      }
    }
    expect(await state()).toBe(before)
    expect((await browser.open(ACCOUNT)).status).toBe(200)
  })

  test('finds no page that another origin may read with credentials [OAUTH-113] [HTTP-30]', async () => {
    const browser = await world.signedIn(person)
    for (const target of [
      '/sign-in',
      ACCOUNT,
      '/account/tokens',
      '/admin/apps',
      authorizePath(app),
      '/authorize',
    ]) {
      const answer = await browser.request('GET', target, { headers: { Origin: 'https://evil.test' } })
      const lines = answer.rawHeaders.filter((_, index) => index % 2 === 0).map((line) => line.toLowerCase())
      expect(
        lines.filter((line) => line === 'access-control-allow-origin'),
        target,
      ).toHaveLength(1)
      expect(answer.headers['access-control-allow-origin'], target).toBe('*')
      expect(answer.headers['access-control-allow-credentials'], target).toBeUndefined()
    }
  })
})
