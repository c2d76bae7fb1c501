import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectError } from '../api/support.js'
import type { Answer } from '../support/client.js'
import { ENGINES } from '../support/engines.js'
import { ask, requestText } from '../support/wire.js'
import { control, type Browser } from './browser.js'
import {
  authorizePath,
  basic,
  DONE,
  encoded,
  expectOAuthError,
  openWorld,
  pkce,
  returned,
  sha256,
  type App,
  type Fields,
  type Person,
  type World,
} from './support.js'

const OTHER = 'https://app.test/other'
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' }

describe.each(ENGINES)('the token endpoint on %s', (engine) => {
  let world: World
  let app: App
  let other: App
  let open: App
  let person: Person
  let browser: Browser

  beforeAll(async () => {
    world = await openWorld(engine)
    app = await world.addApp({ redirectUris: [DONE, OTHER] })
    other = await world.addApp({ name: 'Other' })
    open = await world.addApp({ name: 'Public', isPublic: true })
    person = await world.addPerson()
    browser = await world.signedIn(person)
  })
  afterAll(() => world?.stop())

  const code = (changes: Fields = {}): Promise<string> => world.code(browser, app, changes)
  const right = (given: string, changes: Fields = {}): Fields => ({
    grant_type: 'authorization_code',
    code: given,
    client_id: app.id,
    client_secret: app.secret,
    redirect_uri: DONE,
    ...changes,
  })

  function expectToken(answer: Answer, scope = 'files.read'): string {
    expect(answer.status, answer.text).toBe(200)
    expect(Object.keys(answer.json).sort()).toEqual(['access_token', 'expires_in', 'scope', 'token_type'])
    expect(answer.json['access_token']).toMatch(/^[0-9a-f]{64}$/)
    expect(answer.json['token_type']).toBe('bearer')
    expect(Number.isSafeInteger(answer.json['expires_in'])).toBe(true)
    expect(answer.json['scope']).toBe(scope)
    expect(answer.headers['content-type']).toMatch(/^application\/json(; charset=utf-8)?$/)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers['pragma']).toBe('no-cache')
    expect(answer.headers['access-control-allow-origin']).toBe('*')
    expect(answer.headers['set-cookie'] ?? []).not.toContainEqual(expect.stringContaining('__Host-'))
    expect(answer.headers['content-length']).toBeUndefined()
    return String(answer.json['access_token'])
  }

  test('answers a right exchange with a token of exactly the granted scopes [OAUTH-66] [OAUTH-67] [OAUTH-126] [HTTP-26]', async () => {
    const token = expectToken(await world.token(right(await code())))
    const api = world.server.client(token)
    expect((await api.get('/folders/root')).status).toBe(200)
    expectError(await api.post('/folders', { name: 'a', parent: 'root' }), 403)
    const writer = expectToken(
      await world.token(right(await code({ scope: 'files.write,files.read' }))),
      'files.write,files.read',
    )
    expect((await world.server.client(writer).post('/folders', { name: 'a', parent: 'root' })).status).toBe(
      201,
    )
  })

  test('gives a year by default, what the application was registered with, or for ever [OAUTH-68] [FIELD-58] [FIELD-24]', async () => {
    expect((await world.token(right(await code()))).json['expires_in']).toBe(31_536_000)
    const short = await world.addApp({ lifetime: 15 })
    const brief = await world.exchange(short, await world.code(browser, short))
    expect(brief.json['expires_in']).toBe(15)
    const briefToken = String(brief.json['access_token'])
    expect(await world.isAlive(briefToken)).toBe(true)
    const endless = await world.addApp({ lifetime: 0 })
    const never = await world.exchange(endless, await world.code(browser, endless))
    expect(never.json['expires_in']).toBe(0)
    expect(await world.isAlive(String(never.json['access_token']))).toBe(true)
    await expect.poll(() => world.isAlive(briefToken), { timeout: 60_000 }).toBe(false)
    expect(await world.isAlive(String(never.json['access_token']))).toBe(true)
  })

  test('refuses a grant_type that is missing, repeated or another [OAUTH-69]', async () => {
    const good = await code()
    for (const value of [undefined, '', ['authorization_code', 'authorization_code']]) {
      expectOAuthError(await world.token(right(good, { grant_type: value })), 400, 'invalid_request')
    }
    for (const value of [
      'refresh_token',
      'password',
      'client_credentials',
      'implicit',
      'AUTHORIZATION_CODE',
      'authorization_code ',
      'urn:ietf:params:oauth:grant-type:device_code',
    ]) {
      expectOAuthError(
        await world.token(right(good, { grant_type: value })),
        400,
        'unsupported_grant_type',
        value,
      )
    }
    expectToken(await world.token(right(good)))
  })

  test('refuses a code that is missing, unknown, used, expired or of another client [OAUTH-70] [FIELD-20]', async () => {
    for (const value of [undefined, '']) {
      expectOAuthError(await world.token(right('', { code: value })), 400, 'invalid_request')
    }
    const used = await code()
    expectToken(await world.token(right(used)))
    const foreign = await world.code(browser, other)
    const expired = await code()
    await world.sql('UPDATE codes SET expires_ms = $1 WHERE hash = $2', Date.now() - 1, sha256(expired))
    for (const value of [
      randomBytes(32).toString('hex'),
      'x',
      used,
      expired,
      foreign,
      `${foreign} `,
      '\0',
      'é',
    ]) {
      expectOAuthError(await world.token(right(value)), 400, 'invalid_grant', value)
    }
  })

  test('keeps a code for ten minutes [OAUTH-59]', async () => {
    const before = Date.now()
    const good = await code()
    const row = await world.server.installation.db.read((tx) =>
      tx.get<{ expires_ms: number }>('SELECT expires_ms FROM codes WHERE hash = $1', sha256(good)),
    )
    expect(row?.expires_ms).toBeGreaterThanOrEqual(before + 600_000)
    expect(row?.expires_ms).toBeLessThanOrEqual(Date.now() + 600_000)
    await world.sql('UPDATE codes SET expires_ms = $1 WHERE hash = $2', Date.now() + 30_000, sha256(good))
    const late = await code()
    await world.sql('UPDATE codes SET expires_ms = $1 WHERE hash = $2', Date.now() - 1, sha256(late))
    expectToken(await world.token(right(good)))
    expectOAuthError(await world.token(right(late)), 400, 'invalid_grant')
  })

  test('takes a code once; its second use ends the token that it gave [OAUTH-60] [OAUTH-82]', async () => {
    const earlier = await world.grant(browser, app)
    const good = await code()
    const token = expectToken(await world.token(right(good)))
    expect(token).not.toBe(earlier)
    expect(await world.isAlive(token)).toBe(true)
    expectOAuthError(await world.token(right(good)), 400, 'invalid_grant')
    expect(await world.isAlive(token)).toBe(false)
    expect(await world.isAlive(earlier)).toBe(true)
    expectOAuthError(await world.token(right(good)), 400, 'invalid_grant')
    expect(await world.isAlive(earlier)).toBe(true)
  })

  test('does not take somebody else for the second user of a code [OAUTH-60] [OAUTH-63]', async () => {
    const good = await code()
    const token = expectToken(await world.token(right(good)))
    expectOAuthError(
      await world.token(right(good, { client_id: other.id, client_secret: other.secret })),
      400,
      'invalid_grant',
    )
    expectOAuthError(await world.token(right(good, { client_secret: randomUUID() })), 401, 'invalid_client')
    expect(await world.isAlive(token)).toBe(true)
  })

  test('lets one of many exchanges at once win, and leaves at most one token [OAUTH-61]', async () => {
    for (let round = 0; round < 5; round += 1) {
      const good = await code()
      const answers = await Promise.all(Array.from({ length: 8 }, () => world.token(right(good))))
      const won = answers.filter(({ status }) => status === 200)
      expect(won.length).toBe(1)
      for (const lost of answers.filter(({ status }) => status !== 200)) {
        expectOAuthError(lost, 400, 'invalid_grant')
      }
      const rows = await world.server.installation.db.read((tx) =>
        tx.all('SELECT token_hash FROM codes WHERE hash = $1', sha256(good)),
      )
      expect(rows.length).toBeLessThanOrEqual(1)
      // All the others were second uses.
      expect(await world.isAlive(String(won[0]?.json['access_token']))).toBe(false)
    }
  })

  test('authenticates the client first, and a failure leaves the code as it was [OAUTH-62] [OAUTH-76]', async () => {
    const good = await code()
    for (const changes of [
      { client_secret: randomUUID() },
      { client_secret: undefined },
      { client_secret: '' },
      { client_id: randomUUID() },
      { client_secret: `${app.secret} ` },
      { client_secret: app.secret.toUpperCase() },
      { client_secret: other.secret },
    ]) {
      if (changes.client_secret === app.secret) continue
      expectOAuthError(await world.token(right(good, changes)), 401, 'invalid_client', encoded(changes))
    }
    expectOAuthError(await world.token(right('unknown', { client_secret: 'x' })), 401, 'invalid_client')
    expectToken(await world.token(right(good)))
  })

  test('refuses the code of another client, which can still use it [OAUTH-63]', async () => {
    const good = await code()
    const thief = { client_id: other.id, client_secret: other.secret }
    expectOAuthError(await world.token(right(good, thief)), 400, 'invalid_grant')
    const stranger = { client_id: open.id, client_secret: undefined, code_verifier: pkce().verifier }
    expectOAuthError(await world.token(right(good, stranger)), 400, 'invalid_grant')
    expectToken(await world.token(right(good)))
  })

  test('binds the code to the redirect address of its request [OAUTH-64] [OAUTH-71]', async () => {
    const good = await code()
    expectOAuthError(await world.token(right(good, { redirect_uri: undefined })), 400, 'invalid_request')
    expectOAuthError(await world.token(right(good, { redirect_uri: '' })), 400, 'invalid_request')
    for (const address of [OTHER, 'https://app.test/DONE', `${DONE}/`, `${DONE}?`, `${DONE} `, `${DONE}#`]) {
      expectOAuthError(
        await world.token(right(good, { redirect_uri: address })),
        400,
        'invalid_grant',
        address,
      )
    }
    expectToken(await world.token(right(good)))
  })

  test('gives out codes that nobody can guess and that are good for nothing else [OAUTH-65] [AUTH-11]', async () => {
    const good = await code()
    expect(good).toMatch(/^[0-9a-f]{64}$/)
    expect(await world.isAlive(good)).toBe(false)
    expectOAuthError(await world.call('DELETE', `/auth/token/${good}`), 404, 'invalid_request')
    expectOAuthError(
      await world.call('GET', `/auth/tokeninfo?access_token=${good}`, { headers: basic(app.id, app.secret) }),
      404,
      'invalid_request',
    )
    expect(await world.isAlive(app.secret)).toBe(false)
    for (const value of browser.cookies.values()) {
      const asBearer = await world.call('GET', '/api/v1.3/folders/root', {
        headers: { Authorization: `Bearer ${value}` },
      })
      expectError(asBearer, 401)
    }
    const stored = await world.server.installation.db.read((tx) => tx.all('SELECT * FROM codes'))
    expect(JSON.stringify(stored)).toContain(sha256(good))
    expect(JSON.stringify(stored)).not.toContain(good)
    expectToken(await world.token(right(good)))
  })

  test('refuses a client that it does not know, by form and by Basic alike [OAUTH-72] [ERR-13] [FIELD-20]', async () => {
    const good = await code()
    const bare = right(good, { client_id: undefined, client_secret: undefined })
    const wrong: [Fields, ReturnType<typeof basic>][] = [
      [right(good, { client_id: randomUUID() }), {}],
      [right(good, { client_secret: 'wrong' }), {}],
      [right(good, { client_secret: '' }), {}],
      [right(good, { client_secret: undefined }), {}],
      [bare, {}],
      [bare, basic(app.id, 'wrong')],
      [bare, basic(app.id, '')],
      [bare, basic(randomUUID(), app.secret)],
      [bare, basic('', '')],
      [bare, basic(other.id, app.secret)],
    ]
    for (const [fields, headers] of wrong) {
      const answer = await world.token(fields, headers)
      expectOAuthError(answer, 401, 'invalid_client', encoded(fields))
      expect(answer.headers['www-authenticate']).toMatch(/^Basic realm="[^"]+"/)
      expect(answer.headers['cache-control']).toBe('no-store')
    }
    expectToken(await world.token(right(good)))
  })

  test('takes credentials by form and by Basic, percent-decoded, in any letter case of the scheme [OAUTH-73]', async () => {
    expectToken(await world.token(right(await code())))
    const bare = { client_id: undefined, client_secret: undefined }
    expectToken(await world.token(right(await code(), bare), basic(app.id, app.secret)))
    const value = basic(app.id, app.secret).Authorization as string
    for (const scheme of ['basic', 'BASIC']) {
      expectToken(
        await world.token(right(await code(), bare), { Authorization: value.replace('Basic', scheme) }),
      )
    }
    const escaped = (text: string): string =>
      [...text].map((letter) => `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')
    expectToken(await world.token(right(await code(), bare), basic(escaped(app.id), escaped(app.secret))))
  })

  test('takes the same client_id beside Basic, and refuses two ways at once [OAUTH-74] [FIELD-56]', async () => {
    const headers = basic(app.id, app.secret)
    expectToken(await world.token(right(await code(), { client_secret: undefined }), headers))
    const good = await code()
    for (const changes of [{}, { client_id: other.id, client_secret: undefined }, { client_id: undefined }]) {
      const answer = await world.token(right(good, changes), headers)
      expectOAuthError(answer, 400, 'invalid_request', JSON.stringify(changes))
    }
    expectToken(await world.token(right(good)))
  })

  test('refuses an Authorization header that is broken, of another kind or repeated [OAUTH-75]', async () => {
    const good = await code()
    const bare = encoded(right(good, { client_id: undefined, client_secret: undefined }))
    const whole = encoded(right(good))
    const value = basic(app.id, app.secret).Authorization as string
    for (const header of [
      'Basic',
      'Basic !!!',
      `Basic ${Buffer.from(app.id).toString('base64')}`,
      `Bearer ${await world.grant(browser, app)}`,
      'Digest x',
      `${value} x`,
    ]) {
      for (const body of [bare, whole]) {
        const answer = await world.call('POST', '/auth/token', {
          headers: { ...FORM, Authorization: header },
          body,
        })
        expectOAuthError(answer, 401, 'invalid_client', header)
      }
    }
    const twice = await ask(
      world.server,
      requestText(
        'POST /auth/token',
        [
          'Content-Type: application/x-www-form-urlencoded',
          `Content-Length: ${bare.length}`,
          `Authorization: ${value}`,
          `Authorization: ${value}`,
        ],
        bare,
      ),
    )
    expect(twice.status).toBe(401)
    expect(twice.json['error']).toBe('invalid_client')
    expectToken(await world.token(right(good)))
  })

  describe('PKCE', () => {
    const S256 = (challenge: string): Fields => ({ code_challenge: challenge, code_challenge_method: 'S256' })

    test('asks any client that began with a challenge for its verifier [OAUTH-54] [FIELD-56]', async () => {
      const { verifier, challenge } = pkce()
      const good = await code(S256(challenge))
      for (const wrong of [undefined, '', pkce().verifier, challenge, `${verifier}=`, verifier.slice(1)]) {
        const answer = await world.token(right(good, { code_verifier: wrong }))
        expect(answer.status, wrong).toBe(400)
        expect(['invalid_grant'], String(wrong)).toContain(answer.json['error'])
      }
      expectToken(await world.token(right(good, { code_verifier: verifier })))
    })

    test('knows S256 alone, and only whole [OAUTH-55]', async () => {
      const { verifier, challenge } = pkce()
      const wrong: Fields[] = [
        { code_challenge: verifier, code_challenge_method: 'plain' },
        { code_challenge: challenge, code_challenge_method: 's256' },
        { code_challenge: challenge, code_challenge_method: 'S512' },
        { code_challenge: challenge, code_challenge_method: '' },
        { code_challenge: challenge },
        { code_challenge: `${challenge}=`, code_challenge_method: 'S256' },
        { code_challenge: challenge.slice(1), code_challenge_method: 'S256' },
        { code_challenge: `+${challenge.slice(1)}`, code_challenge_method: 'S256' },
        { code_challenge: 'x', code_challenge_method: 'S256' },
        { code_challenge: '', code_challenge_method: 'S256' },
        { code_challenge_method: 'S256' },
        { code_challenge_method: 'plain' },
      ]
      for (const one of [app, open]) {
        for (const changes of wrong) {
          const page = await browser.open(authorizePath(one, changes))
          expect(returned(page.leftTo), JSON.stringify(changes)).toMatchObject({
            error: 'invalid_request',
            state: 'xyz',
          })
        }
      }
    })

    test('is a must for a public client, which then needs no secret [OAUTH-56] [OAUTH-77]', async () => {
      const refused = await browser.open(authorizePath(open))
      expect(returned(refused.leftTo)).toMatchObject({ error: 'invalid_request', state: 'xyz' })
      const { verifier, challenge } = pkce()
      const good = await world.code(browser, open, S256(challenge))
      const fields = {
        grant_type: 'authorization_code',
        code: good,
        client_id: open.id,
        redirect_uri: DONE,
        code_verifier: verifier,
      }
      expectOAuthError(await world.token({ ...fields, code_verifier: undefined }), 400, 'invalid_grant')
      expectOAuthError(await world.token({ ...fields, client_id: app.id }), 401, 'invalid_client')
      expectToken(await world.token(fields))
    })

    test('cannot be added or dropped on the way [OAUTH-57]', async () => {
      const without = await code()
      expectOAuthError(
        await world.token(right(without, { code_verifier: pkce().verifier })),
        400,
        'invalid_grant',
      )
      expectToken(await world.token(right(without)))
    })

    test('does not stand in for the secret of a confidential client [OAUTH-58]', async () => {
      const { verifier, challenge } = pkce()
      const good = await code(S256(challenge))
      const bare = { client_secret: undefined, code_verifier: verifier }
      expectOAuthError(await world.token(right(good, bare)), 401, 'invalid_client')
      expectToken(await world.token(right(good, { code_verifier: verifier })))
    })
  })

  test('reads forms as clients write them [OAUTH-78] [FIELD-19] [FIELD-24] [HTTP-16]', async () => {
    const bare = async (): Promise<string> =>
      `grant_type=authorization_code&code=${await code()}&client_id=${app.id}&client_secret=${app.secret}&redirect_uri=${DONE}`
    for (const headers of [
      FORM,
      { 'Content-Type': 'application/x-www-form-urlencoded; charset=UTF-8' },
      { 'Content-Type': 'APPLICATION/X-WWW-FORM-URLENCODED' },
      {},
      { ...FORM, Expect: '100-continue' },
      { ...FORM, 'Transfer-Encoding': 'chunked' },
    ]) {
      expectToken(await world.call('POST', '/auth/token', { headers, body: await bare() }))
    }
    const sorted = new URLSearchParams(right(await code()) as Record<string, string>)
    sorted.sort()
    expectToken(await world.call('POST', '/auth/token', { headers: FORM, body: sorted.toString() }))
    expectToken(await world.call('POST', '/auth/token/', { headers: FORM, body: await bare() }))
  })

  test('reads nothing but a form in the body [OAUTH-79] [ERR-10]', async () => {
    const good = await code()
    const json = JSON.stringify(right(good))
    for (const type of [
      'application/json',
      'multipart/form-data; boundary=x',
      'text/plain',
      'application/xml',
    ]) {
      const answer = await world.call('POST', '/auth/token', {
        headers: { 'Content-Type': type },
        body: json,
      })
      expectOAuthError(answer, 415, 'invalid_request', type)
    }
    const inQuery = await world.call('POST', `/auth/token?${encoded(right(good))}`, {
      headers: FORM,
      body: '',
    })
    expect(inQuery.status).toBeGreaterThanOrEqual(400)
    expect(['invalid_request', 'invalid_client']).toContain(inQuery.json['error'])
    const half = encoded({ client_id: app.id, client_secret: app.secret, redirect_uri: DONE })
    const codeInQuery = await world.call('POST', `/auth/token?grant_type=authorization_code&code=${good}`, {
      headers: FORM,
      body: half,
    })
    expectOAuthError(codeInQuery, 400, 'invalid_request')
    expectToken(await world.token(right(good)))
  })

  test('refuses a body that is too large, with both pairs [ERR-10]', async () => {
    const answer = await world.call('POST', '/auth/token', {
      headers: FORM,
      body: `code=${'a'.repeat(2 * 1024 * 1024)}`,
    })
    expectOAuthError(answer, 413, 'invalid_request')
  })

  test('refuses a repeated parameter and ignores unknown ones and a scope [OAUTH-80]', async () => {
    const good = await code()
    for (const name of [
      'grant_type',
      'code',
      'client_id',
      'client_secret',
      'redirect_uri',
      'code_verifier',
    ]) {
      const value = String(right(good)[name] ?? 'x')
      const answer = await world.token(right(good, { [name]: [value, value] }))
      expect([400, 401], name).toContain(answer.status)
      expect(answer.json['error'], name).toBe('invalid_request')
    }
    const wide = { scope: 'files.read,files.write,organization.admin', foo: ['1', '2'], resource: 'x' }
    expectToken(await world.token(right(good, wide)), 'files.read')
  })

  test('serves POST alone [OAUTH-81] [ERR-10]', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      const answer = await world.call(method, '/auth/token', { headers: FORM })
      expectOAuthError(answer, 405, 'invalid_request', method)
      const allowed = String(answer.headers['allow']).split(/, ?/).sort()
      expect(allowed).toEqual(['OPTIONS', 'POST'])
    }
  })

  test('gives nothing when the person or the application is gone [OAUTH-83] [AUTH-16]', async () => {
    const leaver = await world.addPerson()
    const theirs = await world.signedIn(leaver)
    const good = await world.code(theirs, app)
    const token = await world.grant(theirs, app)
    const page = await theirs.open('/account/tokens')
    const shown = await theirs.press(page, /^make/i, (form) => {
      control(form, /name/i).value = 'Personal'
      for (const one of form.controls) if (one.type === 'checkbox') one.isChecked = true
    })
    const personal = /\b[0-9a-f]{64}\b/.exec(shown.words)?.[0] ?? ''
    expect(await world.isAlive(personal)).toBe(true)
    expect((await world.server.command('user', 'remove', leaver.email)).status).toBe(0)
    for (const again of [false, true]) {
      if (again) await world.addPerson({ email: leaver.email })
      expectOAuthError(await world.token(right(good)), 400, 'invalid_grant')
      expect(await world.isAlive(token)).toBe(false)
      expect(await world.isAlive(personal)).toBe(false)
      expect((await theirs.request('GET', '/account')).status).toBe(303)
    }

    const doomed = await world.addApp()
    const last = await world.code(browser, doomed)
    expect((await world.server.command('app', 'remove', doomed.id)).status).toBe(0)
    const answer = await world.exchange(doomed, last)
    expect([400, 401]).toContain(answer.status)
    expect(['invalid_grant', 'invalid_client']).toContain(answer.json['error'])
  })
})
