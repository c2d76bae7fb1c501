import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dump, unchanged } from '../api/support.js'
import { ENGINES } from '../support/engines.js'
import type { Browser } from './browser.js'
import {
  allow,
  authorizePath,
  encoded,
  DENY,
  DONE,
  expectOAuthError,
  isConsentPage,
  isSignInPage,
  openWorld,
  pkce,
  returned,
  type App,
  type Fields,
  type Person,
  type World,
} from './support.js'

const REGISTERED = 'https://app.test/Path/done?from=starling'
const LOOPBACK = 'http://127.0.0.1:9999/done'
const PRIVATE = 'myapp://done'

/** Everything that has been used to get a code sent somewhere else; none is string-equal to a registered address. */
const REDIRECT_TRICKS: Readonly<Record<string, string>> = {
  'another host': 'https://evil.test/Path/done?from=starling',
  'other letter case in the path': 'https://app.test/path/done?from=starling',
  'other letter case in the host': 'https://APP.test/Path/done?from=starling',
  'other letter case in the scheme': 'HTTPS://app.test/Path/done?from=starling',
  'a slash more': 'https://app.test/Path/done/?from=starling',
  'a slash less': 'https://app.test/Pathdone?from=starling',
  'a longer path': 'https://app.test/Path/done/evil?from=starling',
  'a prefix': 'https://app.test/Path/done',
  'a shorter prefix': 'https://app.test/',
  'a suffix': 'app.test/Path/done?from=starling',
  'an added parameter': 'https://app.test/Path/done?from=starling&to=evil',
  'another parameter': 'https://app.test/Path/done?from=evil',
  'a fragment': 'https://app.test/Path/done?from=starling#',
  'a fragment with words': 'https://app.test/Path/done?from=starling#evil',
  'the usual port': 'https://app.test:443/Path/done?from=starling',
  'another port': 'https://app.test:8443/Path/done?from=starling',
  'another scheme': 'http://app.test/Path/done?from=starling',
  'user-info': 'https://me@app.test/Path/done?from=starling',
  'the host as user-info': 'https://app.test@evil.test/Path/done?from=starling',
  'the host as user-info behind a backslash': 'https://evil.test\\@app.test/Path/done?from=starling',
  'a longer host': 'https://app.test.evil.test/Path/done?from=starling',
  'a host that ends alike': 'https://evilapp.test/Path/done?from=starling',
  'a dot behind the host': 'https://app.test./Path/done?from=starling',
  'dot segments that end alike': 'https://app.test/evil/../Path/done?from=starling',
  'dot segments behind': 'https://app.test/Path/done/../done?from=starling',
  'encoded dot segments': 'https://app.test/evil/%2e%2e/Path/done?from=starling',
  'another encoding of a letter': 'https://app.test/P%61th/done?from=starling',
  'an encoded slash': 'https://app.test/Path%2Fdone?from=starling',
  'a blank behind': 'https://app.test/Path/done?from=starling ',
  'a blank before': ' https://app.test/Path/done?from=starling',
  'a newline behind': 'https://app.test/Path/done?from=starling\n',
  'a tab within': 'https://app.test/Pa\tth/done?from=starling',
  'a NUL behind': 'https://app.test/Path/done?from=starling\0',
  'a header in it': 'https://app.test/Path/done?from=starling\r\nSet-Cookie: a=b',
  'no scheme': '//app.test/Path/done?from=starling',
  'a backslash host': 'https:\\\\app.test/Path/done?from=starling',
  'two addresses': 'https://app.test/Path/done?from=starling,https://evil.test/',
  'a script': 'javascript:alert(1)',
  'a data address': 'data:text/html,hello',
  'another loopback port': 'http://127.0.0.1:9998/done',
  'another loopback name': 'http://localhost:9999/done',
  'loopback without a port': 'http://127.0.0.1/done',
  'a longer private address': 'myapp://done/evil',
  'another private scheme': 'myapp2://done',
  'a wildcard': 'https://app.test/*',
  'a full-width host': 'https://ａｐｐ.test/Path/done?from=starling',
}

describe.each(ENGINES)('/authorize on %s', (engine) => {
  let world: World
  let app: App
  let person: Person
  let browser: Browser

  beforeAll(async () => {
    world = await openWorld(engine)
    app = await world.addApp({ name: 'Photo Frame', redirectUris: [REGISTERED, LOOPBACK, PRIVATE, DONE] })
    person = await world.addPerson()
    browser = await world.signedIn(person)
  })
  afterAll(() => world?.stop())

  const path = (changes: Fields): string => authorizePath(app, changes)

  /** A page of status 400 and nothing else: no redirect, no session, no change. */
  async function expectRefused(target: string, what: string): Promise<void> {
    for (const who of [browser, world.browser()]) {
      const before = new Map(who.cookies)
      const page = await who.open(target)
      expect(page.status, what).toBe(400)
      expect(page.trail, what).toHaveLength(1)
      expect(page.headers.location, what).toBeUndefined()
      expect(page.headers['content-type'], what).toMatch(/^text\/html; charset=utf-8$/i)
      expect(isSignInPage(page) || isConsentPage(page), what).toBe(false)
      expect(who.cookies, what).toEqual(before)
    }
  }

  /** A redirect to the application at once, for those signed in and those who are not. */
  async function expectSentBack(target: string, error: string, to = REGISTERED): Promise<void> {
    for (const who of [browser, world.browser()]) {
      const page = await who.open(target)
      expect(page.trail, target).toHaveLength(1)
      expect([302, 303], target).toContain(page.status)
      expect(page.leftTo?.startsWith(to), `${target} ${page.leftTo}`).toBe(true)
      expect(returned(page.leftTo)['error'], target).toBe(error)
      expect(returned(page.leftTo), target).not.toHaveProperty('code')
      expect(page.headers['cache-control'], target).toBe('no-store')
      expect(page.headers['referrer-policy'], target).toBe('no-referrer')
    }
  }

  describe('before the redirect address is trusted', () => {
    test('refuses a client_id that is missing, empty or repeated [OAUTH-1]', async () => {
      await expectRefused(path({ client_id: undefined }), 'missing')
      await expectRefused(path({ client_id: '' }), 'empty')
      await expectRefused(path({ client_id: [app.id, app.id] }), 'twice')
      await expectRefused(path({ client_id: [app.id, randomUUID()] }), 'two')
      await expectRefused(path({ client_id: ['', app.id] }), 'an empty one first')
    })

    test('refuses a client_id that is unknown, malformed, of a removed application or in other letters [OAUTH-2]', async () => {
      const removed = await world.addApp()
      expect(isConsentPage(await browser.open(authorizePath(removed)))).toBe(true)
      expect((await world.server.command('app', 'remove', removed.id)).status).toBe(0)
      const wrong = [
        randomUUID(),
        'x',
        app.id.toUpperCase(),
        ` ${app.id}`,
        `${app.id} `,
        `{${app.id}}`,
        app.id.replaceAll('-', ''),
        '%',
        '*',
        "' OR '1'='1",
        `${app.id}\0`,
        'a'.repeat(4000),
        removed.id,
        'builtin',
        '00000000-0000-0000-0000-000000000000',
      ].filter((id) => id !== app.id)
      for (const id of wrong) {
        const address = id === removed.id ? DONE : REGISTERED
        await expectRefused(path({ client_id: id, redirect_uri: address }), id)
      }
      const ids = await world.server.installation.db.read((tx) =>
        tx.all<{ id: string }>('SELECT id FROM apps'),
      )
      for (const { id } of ids.filter((row) => row.id !== app.id)) {
        await expectRefused(path({ client_id: id }), `another application ${id}`)
      }
    })

    test('refuses a redirect_uri that is missing, empty or repeated, even when only one is registered [OAUTH-3]', async () => {
      const single = await world.addApp()
      for (const one of [app, single]) {
        const known = one.redirectUris[0] ?? ''
        await expectRefused(authorizePath(one, { redirect_uri: undefined }), 'missing')
        await expectRefused(authorizePath(one, { redirect_uri: '' }), 'empty')
        await expectRefused(authorizePath(one, { redirect_uri: [known, known] }), 'twice')
        await expectRefused(authorizePath(one, { redirect_uri: [known, 'https://evil.test/'] }), 'two')
        await expectRefused(authorizePath(one, { redirect_uri: ['https://evil.test/', known] }), 'two')
      }
    })

    test.each(Object.entries(REDIRECT_TRICKS))(
      'refuses a redirect_uri that differs by %s [OAUTH-4]',
      async (what, address) => {
        await expectRefused(path({ redirect_uri: address }), what)
      },
    )

    test('refuses the address of another application [OAUTH-4]', async () => {
      const other = await world.addApp({ redirectUris: ['https://other.test/cb'] })
      await expectRefused(path({ redirect_uri: 'https://other.test/cb' }), 'another application')
      await expectRefused(authorizePath(other, { redirect_uri: REGISTERED }), 'the other way round')
    })

    test('reads the query as it stands: a raw plus is a blank, a broken sequence is refused [OAUTH-4]', async () => {
      const raw = `/authorize?response_type=code&client_id=${app.id}&scope=files.read&redirect_uri=`
      await expectRefused(`${raw}https://app.test/Path/done?from=starling+`, 'a raw plus')
      await expectRefused(`${raw}https://app.test/Path/done%3Ffrom=starling%zz`, 'a broken sequence')
      await expectRefused(`${raw}https://app.test/Path/done%3Ffrom=starling%ff`, 'not UTF-8')
    })

    test('is a page in plain words that names the parameter, or JSON with both pairs when asked for [OAUTH-7] [ERR-10] [ERR-1]', async () => {
      for (const [name, target] of [
        ['client_id', path({ client_id: 'x' })],
        ['client_id', path({ client_id: undefined })],
        ['redirect_uri', path({ redirect_uri: 'https://evil.test/' })],
        ['redirect_uri', path({ redirect_uri: undefined })],
      ] as const) {
        const page = await browser.open(target)
        expect(page.words).toContain(name)
        expect(page.title).not.toBe('')
        const json = await world.call('GET', target, { headers: { Accept: 'application/json' } })
        expectOAuthError(json, 400, 'invalid_request', target)
        expect(json.json.message).toContain(name)
        const slashed = target.replace('/authorize', '/authorize/')
        const odd = await world.call('GET', slashed, { headers: { Accept: 'Application/JSON;q=0.9, */*' } })
        expect([odd.status, odd.text]).toEqual([json.status, json.text])
        for (const headers of [{}, { Accept: '*/*' }]) {
          const plain = await world.call('GET', target, { headers })
          expect([plain.status, plain.headers['content-type']]).toEqual([400, 'text/html; charset=utf-8'])
        }
      }
    })

    test('shows what was sent as text and never as markup [OAUTH-8] [ERR-7]', async () => {
      const markup = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
      for (const target of [
        path({ client_id: markup }),
        path({ redirect_uri: `https://evil.test/${markup}` }),
        path({ client_id: 'x', state: markup, scope: markup, response_type: markup }),
        `${path({ client_id: 'x' })}&${encodeURIComponent(markup)}=${encodeURIComponent(markup)}`,
        `${path({ client_id: 'x' })}&a="><script>alert(1)</script>`,
      ]) {
        const page = await browser.open(target)
        expect(page.status).toBe(400)
        expect(page.tags.map(({ name }) => name)).not.toContain('img')
        expect(page.answer.text).not.toContain('<script>alert')
        expect(page.tags.filter(({ attributes }) => 'onerror' in attributes)).toEqual([])
        const json = await world.call('GET', target, { headers: { Accept: 'application/json' } })
        expect(json.headers['content-type']).toMatch(/^application\/json/)
        expect(json.headers['x-content-type-options']).toBe('nosniff')
      }
    })

    test('comes first, whatever else is wrong [OAUTH-9]', async () => {
      const wrong: Fields[] = [
        { response_type: 'token' },
        { response_type: undefined },
        { scope: 'nope' },
        { scope: undefined },
        { code_challenge: 'x', code_challenge_method: 'plain' },
        { state: ['a', 'b'] },
      ]
      for (const changes of wrong) {
        await expectRefused(path({ ...changes, client_id: 'x' }), 'client_id')
        await expectRefused(path({ ...changes, redirect_uri: 'https://evil.test/' }), 'redirect_uri')
      }
    })
  })

  describe('after the redirect address is trusted', () => {
    test('sends back a response_type that is missing, empty or repeated [OAUTH-10]', async () => {
      for (const value of [undefined, '', ['code', 'code'], ['code', 'token']]) {
        await expectSentBack(path({ response_type: value }), 'invalid_request')
      }
    })

    test('sends back a response_type other than code [OAUTH-11]', async () => {
      for (const value of [
        'token',
        'code token',
        'code id_token',
        'none',
        'CODE',
        ' code',
        'code ',
        'id_token',
      ]) {
        await expectSentBack(path({ response_type: value }), 'unsupported_response_type')
      }
    })

    test('sends back a scope that is missing, empty or repeated [OAUTH-12]', async () => {
      for (const value of [undefined, '', ['files.read', 'files.read'], ['files.read', 'user.read']]) {
        await expectSentBack(path({ scope: value }), 'invalid_request')
      }
    })

    test('sends back a scope that is unknown or malformed, one bad element refusing the whole [OAUTH-13]', async () => {
      for (const value of [
        'nope',
        'files.read,nope',
        'FILES.READ',
        ',files.read',
        'files.read,',
        'files.read,,user.read',
        `user.read:${'a'.repeat(64)}`,
        'files.read:root',
        'files.read:',
        'files.read:XYZ',
        'openid profile',
        '*',
        "files.read'",
        'files.read\n',
        'files.read\0',
      ]) {
        // A line end around the list is read as a blank would be, or refused; both are safe.
        if (value === 'files.read\n') continue
        await expectSentBack(path({ scope: value }), 'invalid_scope')
      }
    })

    test('describes what is wrong in the characters that a description may have [OAUTH-13] [OAUTH-23]', async () => {
      for (const scope of [
        'nope',
        'files.read"',
        'back\\slash',
        'zwölf 😀',
        'files.read\u007f',
        'line\nbreak',
        'x'.repeat(3000),
      ]) {
        const page = await browser.open(path({ scope }))
        const { error, error_description: description } = returned(page.leftTo)
        expect(error, scope).toBe('invalid_scope')
        // RFC 6749, section 4.1.2.1.
        expect(description, scope).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]{1,300}$/)
      }
    })

    test('judges the response_type before the scope [OAUTH-14]', async () => {
      await expectSentBack(path({ response_type: 'token', scope: 'nope' }), 'unsupported_response_type')
      await expectSentBack(path({ response_type: undefined, scope: 'nope' }), 'invalid_request')
      await expectSentBack(path({ response_type: 'token', scope: undefined }), 'unsupported_response_type')
    })

    test('sends back a repeated state, challenge or method [OAUTH-15]', async () => {
      const { challenge } = pkce()
      await expectSentBack(path({ state: ['a', 'a'] }), 'invalid_request')
      await expectSentBack(path({ state: ['a', 'b'] }), 'invalid_request')
      await expectSentBack(
        path({ code_challenge: [challenge, challenge], code_challenge_method: 'S256' }),
        'invalid_request',
      )
      await expectSentBack(
        path({ code_challenge: challenge, code_challenge_method: ['S256', 'plain'] }),
        'invalid_request',
      )
    })

    test('ignores parameters that it does not know, and does not send them on [OAUTH-16]', async () => {
      const extra = { foo: ['1', '2'], prompt: 'none', nonce: 'n', response_mode: 'fragment', resource: 'x' }
      const sent = returned(await allow(browser, await browser.open(path(extra))))
      expect(Object.keys(sent).sort()).toEqual(['code', 'from', 'state'])
      const failed = await browser.open(path({ ...extra, scope: 'nope' }))
      for (const name of Object.keys(extra)) expect(returned(failed.leftTo)).not.toHaveProperty(name)
    })

    test('takes a scope list with blanks instead of commas, and answers with commas [OAUTH-18] [FIELD-57]', async () => {
      for (const scope of ['files.read user.read', 'files.read, user.read', 'files.read,user.read']) {
        const code = await world.code(browser, app, { scope })
        const answer = await world.exchange(app, code)
        expect(answer.json['scope']).toBe('files.read,user.read')
      }
    })

    test('grants a scope that was named twice once [OAUTH-19]', async () => {
      const code = await world.code(browser, app, { scope: 'files.read,files.read user.read,files.read' })
      expect((await world.exchange(app, code)).json['scope']).toBe('files.read,user.read')
    })

    test('answers HEAD as GET without a body, and no POST that is not the form [OAUTH-20]', async () => {
      for (const target of [path({}), path({ scope: 'nope' }), path({ client_id: 'x' })]) {
        const got = await browser.request('GET', target)
        const head = await browser.request('HEAD', target)
        expect(head.status).toBe(got.status)
        expect(head.text).toBe('')
        expect(head.headers['content-type']).toBe(got.headers['content-type'])
        expect(head.headers['cache-control']).toBe(got.headers['cache-control'])
        expect(head.headers.location).toBe(got.headers.location)
      }
      const fields = encoded({
        response_type: 'code',
        client_id: app.id,
        redirect_uri: DONE,
        scope: 'files.read',
      })
      for (const who of [browser, world.browser()]) {
        for (const [target, body] of [
          [path({}), ''],
          ['/authorize', fields],
          [path({}), `${fields}&allow=1`],
        ] as const) {
          const answer = await unchanged(world.server, () =>
            who.request('POST', target, {
              headers: { 'Content-Type': 'application/x-www-form-urlencoded', Origin: world.server.origin },
              body,
            }),
          )
          expect([403, 405], answer.text).toContain(answer.status)
          expect(answer.headers.location).toBeUndefined()
        }
      }
    })

    test('is not served below a version, and neither is the token endpoint [VER-4]', async () => {
      for (const version of ['1.0', '1.3', '1.4']) {
        const target = path({}).replace('/authorize', `/api/v${version}/authorize`)
        expect((await browser.request('GET', target)).status).toBe(404)
        expect((await world.call('POST', `/api/v${version}/auth/token`)).status).toBe(404)
        expect((await world.call('GET', `/api/v${version}/auth/tokeninfo`)).status).toBe(404)
      }
      expect((await browser.request('GET', path({}))).status).toBe(200)
      expect((await world.call('POST', '/auth/token')).status).not.toBe(404)
    })
  })

  describe('the redirect', () => {
    const STATES = [
      'a&b=c',
      '%25',
      '%',
      '%2B+%20',
      '+',
      ' ',
      'a b',
      `"quoted" 'twice'`,
      '#fragment',
      'line\nbreak\r\nand more',
      'ünïcode ✓ 😀',
      '<script>alert(1)</script>',
      'x'.repeat(2000),
      '',
      '&code=evil&state=evil',
      '\0',
    ]

    test('brings the state back byte for byte, whatever it holds, on success and on error [OAUTH-21]', async () => {
      for (const state of STATES) {
        for (const address of [REGISTERED, LOOPBACK, PRIVATE]) {
          const failed = await browser.open(path({ state, scope: 'nope', redirect_uri: address }))
          expect(new URL(failed.leftTo ?? '').searchParams.getAll('state'), state).toEqual([state])
        }
        const allowed = new URL(await allow(browser, await browser.open(path({ state }))))
        expect(allowed.searchParams.getAll('state'), state).toEqual([state])
        expect(allowed.searchParams.getAll('code'), state).toHaveLength(1)
        expect(allowed.hash, state).toBe('')
      }
      for (const state of ['a&b=c', '']) {
        const denied = await browser.press(await browser.open(path({ state })), DENY)
        expect(new URL(denied.leftTo ?? '').searchParams.getAll('state')).toEqual([state])
      }
    })

    test('has no state when none was sent [OAUTH-22]', async () => {
      const failed = await browser.open(path({ state: undefined, scope: 'nope' }))
      expect(returned(failed.leftTo)).not.toHaveProperty('state')
      const page = await browser.open(path({ state: undefined }))
      expect(returned(await allow(browser, page))).not.toHaveProperty('state')
      const denied = await browser.press(await browser.open(path({ state: undefined })), DENY)
      expect(returned(denied.leftTo)).not.toHaveProperty('state')
    })

    test('adds to the address as it was registered [OAUTH-23] [OAUTH-6]', async () => {
      for (const [address, start] of [
        [REGISTERED, `${REGISTERED}&`],
        [DONE, `${DONE}?`],
        [LOOPBACK, `${LOOPBACK}?`],
        [PRIVATE, `${PRIVATE}?`],
      ] as const) {
        const page = await browser.open(path({ redirect_uri: address, state: 'a b&c' }))
        const left = await allow(browser, page)
        expect(left.startsWith(start), left).toBe(true)
        expect(left.slice(start.length)).toMatch(/^[\w\-.~%+=&!'()*]+$/)
        const failed = await browser.open(path({ redirect_uri: address, scope: 'nope' }))
        expect(failed.leftTo?.startsWith(start), failed.leftTo).toBe(true)
      }
    })

    test('carries the code, the state and nothing else [OAUTH-24] [OAUTH-25] [HTTP-26]', async () => {
      const page = await browser.open(path({ redirect_uri: DONE }))
      const gone = await browser.press(page, /^allow$/i)
      expect([302, 303]).toContain(gone.status)
      expect(Object.keys(returned(gone.leftTo)).sort()).toEqual(['code', 'state'])
      expect(gone.headers['cache-control']).toBe('no-store')
      expect(gone.headers['referrer-policy']).toBe('no-referrer')
      expect(gone.answer.text).toBe('')
      expect(gone.headers['content-length']).toBeUndefined()
      expect(gone.headers['access-control-allow-origin']).toBe('*')
    })

    test('is accepted at each of several registered addresses, and the code is bound to the one used [OAUTH-5] [OAUTH-64]', async () => {
      for (const address of app.redirectUris) {
        const code = await world.code(browser, app, { redirect_uri: address })
        for (const other of app.redirectUris.filter((one) => one !== address)) {
          expectOAuthError(await world.exchange(app, code, { redirect_uri: other }), 400, 'invalid_grant')
        }
        expect((await world.exchange(app, code, { redirect_uri: address })).status).toBe(200)
      }
    })
  })

  test('changes nothing by itself [OAUTH-112]', async () => {
    const before = await dump(world.server)
    for (const changes of [{}, { scope: 'nope' }, { client_id: 'x' }]) await browser.open(path(changes))
    expect(await dump(world.server)).toBe(before)
  })
})
