/** The attacks of RFC 9700 that a server can stop, each tried as the attacker would. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENGINES } from '../support/engines.js'
import type { Browser } from './browser.js'
import {
  allow,
  ALLOW,
  authorizePath,
  DONE,
  encoded,
  expectOAuthError,
  isConsentPage,
  isSignInPage,
  openWorld,
  pkce,
  returned,
  signIn,
  type App,
  type Fields,
  type Person,
  type World,
} from './support.js'

const EVIL = 'https://evil.test/cb'

describe.each(ENGINES)('an attacker on %s', (engine) => {
  let world: World
  let app: App
  let evil: App
  let victim: Person
  let browser: Browser
  let attacker: Browser

  beforeAll(async () => {
    world = await openWorld(engine)
    app = await world.addApp({ name: 'Honest' })
    evil = await world.addApp({ name: 'Evil', redirectUris: [EVIL] })
    victim = await world.addPerson()
    browser = await world.signedIn(victim)
    attacker = await world.signedIn(await world.addPerson())
  })
  afterAll(() => world?.stop())

  const S256 = (challenge: string): Fields => ({ code_challenge: challenge, code_challenge_method: 'S256' })

  test('who puts a stolen code into their own flow lacks its verifier [OAUTH-54]', async () => {
    const honest = pkce()
    const stolen = await world.code(browser, app, S256(honest.challenge))
    const own = pkce()
    await world.code(attacker, app, S256(own.challenge))
    expectOAuthError(await world.exchange(app, stolen, { code_verifier: own.verifier }), 400, 'invalid_grant')
    expect((await world.exchange(app, stolen, { code_verifier: honest.verifier })).status).toBe(200)
  })

  test('who takes the challenge out of the request makes the exchange fail [OAUTH-57]', async () => {
    const honest = pkce()
    const weakened = await world.code(browser, app)
    expectOAuthError(
      await world.exchange(app, weakened, { code_verifier: honest.verifier }),
      400,
      'invalid_grant',
    )
    const open = await world.addApp({ isPublic: true })
    const page = await browser.open(authorizePath(open))
    expect(returned(page.leftTo)['error']).toBe('invalid_request')
  })

  test('who has a code and the verifier of a public client cannot use it as another client [OAUTH-63]', async () => {
    const open = await world.addApp({ isPublic: true })
    const twin = await world.addApp({ isPublic: true })
    const { verifier, challenge } = pkce()
    const code = await world.code(browser, open, S256(challenge))
    expectOAuthError(await world.exchange(twin, code, { code_verifier: verifier }), 400, 'invalid_grant')
    expectOAuthError(
      await world.exchange(evil, code, { code_verifier: verifier, redirect_uri: DONE }),
      400,
      'invalid_grant',
    )
    expect((await world.exchange(open, code, { code_verifier: verifier })).status).toBe(200)
  })

  test('who mixes up two applications gets no code of one for the other [OAUTH-63] [OAUTH-64]', async () => {
    const code = await world.code(browser, app)
    for (const changes of [
      { redirect_uri: EVIL },
      { redirect_uri: DONE },
      { redirect_uri: DONE, client_id: app.id },
    ]) {
      const answer = await world.exchange(evil, code, changes)
      expect([400, 401], JSON.stringify(changes)).toContain(answer.status)
      expect(answer.json).not.toHaveProperty('access_token')
    }
    expect((await world.exchange(app, code)).status).toBe(200)
  })

  describe('with a bent request', () => {
    const BENT: Readonly<Record<string, string>> = {
      'parameters as lists': `response_type=code&client_id[]=ID&redirect_uri[]=${DONE}&scope=files.read`,
      'parameters with an index': `response_type=code&client_id[0]=ID&redirect_uri[0]=${DONE}&scope=files.read`,
      'names in other letters': `response_type=code&Client_ID=ID&REDIRECT_URI=${DONE}&scope=files.read`,
      'semicolons instead of ampersands': `response_type=code;client_id=ID;redirect_uri=${DONE};scope=files.read`,
      'a second client after the first': `client_id=ID&client_id=EVILID&response_type=code&redirect_uri=${DONE}&scope=files.read`,
      'a second client in an encoded name': `client_id=ID&%63lient_id=EVILID&response_type=code&redirect_uri=${DONE}&scope=files.read`,
      'a second address in an encoded name': `client_id=ID&response_type=code&redirect_uri=${DONE}&redirect%5Furi=${EVIL}&scope=files.read`,
      'everything in the fragment': `#client_id=ID&redirect_uri=${DONE}`,
      'a NUL in a name': `client_id%00=ID&redirect_uri=${DONE}&response_type=code&scope=files.read`,
      'an address encoded twice': `client_id=ID&response_type=code&scope=files.read&redirect_uri=${encodeURIComponent(encodeURIComponent(DONE))}`,
      'an address of the other application': `client_id=ID&response_type=code&scope=files.read&redirect_uri=${EVIL}`,
      'the other application with this address': `client_id=EVILID&response_type=code&scope=files.read&redirect_uri=${DONE}`,
    }

    test.each(Object.entries(BENT))(
      'of %s is refused by a page [OAUTH-1] [OAUTH-3] [OAUTH-4]',
      async (_what, query) => {
        const target = `/authorize?${query.replaceAll('EVILID', evil.id).replaceAll('ID', app.id)}`
        const page = await browser.open(target.split('#')[0] ?? '')
        expect(page.status).toBe(400)
        expect(page.headers.location).toBeUndefined()
        expect(isConsentPage(page)).toBe(false)
      },
    )

    test('that asks for another way to answer gets the usual one [OAUTH-16] [OAUTH-24]', async () => {
      for (const mode of ['fragment', 'form_post', 'query.jwt', 'jwt', 'web_message']) {
        const left = new URL(
          await allow(browser, await browser.open(authorizePath(app, { response_mode: mode }))),
        )
        expect(left.searchParams.has('code'), mode).toBe(true)
        expect(left.hash, mode).toBe('')
      }
      for (const extra of [
        { request: 'eyJhbGciOiJub25lIn0.e30.' },
        { request_uri: 'https://evil.test/request' },
      ]) {
        const page = await browser.open(authorizePath(app, extra))
        expect(isConsentPage(page), JSON.stringify(extra)).toBe(true)
      }
      const silent = await world.browser().open(authorizePath(app, { prompt: 'none' }))
      expect(isSignInPage(silent)).toBe(true)
    })

    test('at an address written otherwise finds nothing', async () => {
      const query = authorizePath(app).slice('/authorize'.length)
      for (const target of [
        '/Authorize',
        '//authorize',
        '/authorize/x',
        '/./authorize',
        '/%61uthorize',
        '/authorize%2f',
        '/authorize;x',
      ]) {
        const answer = await browser.request('GET', `${target}${query}`)
        expect([400, 404], target).toContain(answer.status)
        expect(answer.headers.location, target).toBeUndefined()
      }
      expect(isConsentPage(await browser.open(`/authorize/${query}`))).toBe(true)
    })
  })

  test('gets no password by a redirect that repeats a post [OAUTH-25]', async () => {
    const fresh = world.browser()
    const consent = await signIn(fresh, await fresh.open(authorizePath(app)), victim)
    for (const hop of consent.trail.slice(0, -1)) expect([302, 303]).toContain(hop.status)
    const gone = await fresh.press(consent, ALLOW)
    expect([302, 303]).toContain(gone.status)
  })

  test('finds an exchange race lost by all but one, also between two processes [OAUTH-61]', async () => {
    const pair = await openWorld(engine, { workers: 2 })
    try {
      const own = await pair.addApp()
      const who = await pair.signedIn(await pair.addPerson())
      for (let round = 0; round < 3; round += 1) {
        const code = await pair.code(who, own)
        const answers = await Promise.all(
          Array.from({ length: 6 }, () =>
            pair.call('POST', '/auth/token', {
              headers: { 'Content-Type': 'application/x-www-form-urlencoded', Connection: 'close' },
              body: encoded({
                grant_type: 'authorization_code',
                code,
                client_id: own.id,
                client_secret: own.secret,
                redirect_uri: DONE,
              }),
            }),
          ),
        )
        expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
        expect(answers.filter(({ status }) => status === 400)).toHaveLength(5)
      }
    } finally {
      await pair.stop()
    }
  })

  test('learns nothing of an application that exists from one that does not [OAUTH-72]', async () => {
    const known = await world.token({
      grant_type: 'authorization_code',
      code: 'x',
      client_id: app.id,
      client_secret: 'wrong',
      redirect_uri: DONE,
    })
    const unknown = await world.token({
      grant_type: 'authorization_code',
      code: 'x',
      client_id: '8a1f2c1e-5b1a-4c57-9f2e-3a2f1f0e9d11',
      client_secret: 'wrong',
      redirect_uri: DONE,
    })
    expect(known.text).toBe(unknown.text)
    expect(known.status).toBe(unknown.status)
    expect(known.headers['www-authenticate']).toBe(unknown.headers['www-authenticate'])
  })
})
