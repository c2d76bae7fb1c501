import { randomBytes, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectError, unchanged } from '../api/support.js'
import { ENGINES } from '../support/engines.js'
import { ask, bearer, openWire, readAnswer, requestText } from '../support/wire.js'
import type { Browser } from './browser.js'
import { basic, expectOAuthError, openWorld, PASSWORD, type App, type Person, type World } from './support.js'

describe.each(ENGINES)('revoking on %s', (engine) => {
  let world: World
  let app: App
  let other: App
  let person: Person
  let browser: Browser

  beforeAll(async () => {
    world = await openWorld(engine, { workers: 2 })
    app = await world.addApp()
    other = await world.addApp({ name: 'Other' })
    person = await world.addPerson()
    browser = await world.signedIn(person)
  })
  afterAll(() => world?.stop())

  const revoke = (token: string, headers = {}): ReturnType<World['call']> =>
    world.call('DELETE', `/auth/token/${token}`, { headers })

  test('needs nothing but the token, and bites at once everywhere [OAUTH-84] [AUTH-13] [FIELD-22]', async () => {
    const token = await world.grant(browser, app)
    const kept = await world.grant(browser, app)
    const wire = await openWire(world.server)
    const root = requestText('GET /api/v1.3/folders/root', [bearer(token)])
    wire.send(root)
    expect((await readAnswer(wire)).status).toBe(200)
    const answer = await revoke(token)
    expect(answer.status).toBe(200)
    expect(answer.text).toBe('')
    expect(answer.headers['content-length']).toBeUndefined()
    expect(answer.headers['access-control-allow-origin']).toBe('*')
    wire.send(root)
    expect((await readAnswer(wire)).status).toBe(401)
    wire.socket.destroy()
    const statuses = await Promise.all(Array.from({ length: 8 }, () => ask(world.server, root)))
    expect(statuses.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 401))
    expect(await world.isAlive(kept)).toBe(true)
  })

  test('does not find what is no token [OAUTH-85] [ERR-10]', async () => {
    const token = await world.grant(browser, app)
    expect((await revoke(token)).status).toBe(200)
    const code = await world.code(browser, app)
    const alive = await world.grant(browser, app)
    const wrong = [
      token,
      code,
      app.secret,
      randomBytes(32).toString('hex'),
      alive.toUpperCase(),
      alive.slice(1),
      `${alive}0`,
      `${alive.slice(0, -1)}${alive.endsWith('0') ? '1' : '0'}`,
      'x',
      '%2e%2e',
      browser.cookies.get('__Host-session') ?? '',
    ].filter((value) => value !== alive)
    await unchanged(world.server, async () => {
      for (const value of wrong) expectOAuthError(await revoke(value), 404, 'invalid_request', value)
    })
    for (const value of ['%00', '%zz']) expectOAuthError(await revoke(value), 400, 'invalid_request', value)
    expect(await world.isAlive(alive)).toBe(true)
    expect((await world.exchange(app, code)).status).toBe(200)
  })

  test('asks nobody for more: headers and cookies change nothing [OAUTH-86]', async () => {
    for (const headers of [
      { Authorization: 'Bearer garbage' },
      { Authorization: `Bearer ${await world.grant(browser, app)}` },
      basic(other.id, other.secret),
      basic(app.id, 'wrong'),
      { Cookie: `__Host-session=${'a'.repeat(64)}` },
      { Origin: 'https://evil.test', 'Sec-Fetch-Site': 'cross-site' },
      { 'Content-Type': 'application/json' },
    ]) {
      const token = await world.grant(browser, app)
      expect((await revoke(token, headers)).status, JSON.stringify(headers)).toBe(200)
      expect(await world.isAlive(token)).toBe(false)
    }
  })

  test('ends tokens of the command line too, and expired ones are not there [OAUTH-87] [OAUTH-88]', async () => {
    const token = await world.server.addToken(person.email)
    expect((await revoke(token)).status).toBe(200)
    expect(await world.isAlive(token)).toBe(false)
    const brief = await world.server.addToken(person.email, 'files.read', { lifetime: 1 })
    await expect.poll(() => world.isAlive(brief), { timeout: 40_000 }).toBe(false)
    expectOAuthError(await revoke(brief), 404, 'invalid_request')
  })

  test('serves DELETE alone, and answers elsewhere below /auth with both pairs [ERR-10]', async () => {
    const token = await world.grant(browser, app)
    for (const method of ['GET', 'POST', 'PUT', 'PATCH']) {
      const answer = await world.call(method, `/auth/token/${token}`)
      expectOAuthError(answer, 405, 'invalid_request', method)
      expect(String(answer.headers['allow']).split(/, ?/).sort()).toEqual(['DELETE', 'OPTIONS'])
    }
    const preflight = await world.call('OPTIONS', `/auth/token/${token}`, {
      headers: { Origin: 'https://app.test', 'Access-Control-Request-Method': 'DELETE' },
    })
    expect(preflight.status).toBe(204)
    for (const target of ['/auth/nope', '/auth', '/auth/token/a/b']) {
      expectError(await world.call('GET', target), 404, target)
    }
    expect(await world.isAlive(token)).toBe(true)
    expect((await revoke(`${token}/`)).status).toBe(200)
  })

  describe('tokeninfo', () => {
    const info = (
      token: string | undefined,
      headers = basic(app.id, app.secret),
    ): ReturnType<World['call']> =>
      world.call('GET', `/auth/tokeninfo${token === undefined ? '' : `?access_token=${token}`}`, { headers })

    test('tells the client of a token what it is good for [OAUTH-89] [HTTP-26]', async () => {
      const token = await world.grant(browser, app, 'files.read,user.read')
      const answer = await info(token)
      expect(answer.status).toBe(200)
      expect(answer.headers['cache-control']).toBe('no-store')
      expect(answer.json).toEqual({
        audience: app.id,
        scopes: ['files.read', 'user.read'],
        principal: person.email,
        expires_in: expect.any(Number) as number,
      })
      expect(answer.json['expires_in']).toBeGreaterThan(31_535_000)
      expect(answer.json['expires_in']).toBeLessThanOrEqual(31_536_000)
      const endless = await world.addApp({ lifetime: 0 })
      const never = await world.grant(browser, endless)
      expect((await info(never, basic(endless.id, endless.secret))).json['expires_in']).toBe(0)
      const head = await world.call('HEAD', `/auth/tokeninfo?access_token=${token}`, {
        headers: basic(app.id, app.secret),
      })
      expect([head.status, head.text]).toEqual([200, ''])
    })

    test('asks for the credentials of a client [OAUTH-90] [ERR-13] [FIELD-21]', async () => {
      const token = await world.grant(browser, app)
      const open = await world.addApp({ isPublic: true })
      for (const headers of [
        {},
        { Authorization: 'Basic' },
        { Authorization: `Bearer ${token}` },
        basic(app.id, 'wrong'),
        basic(app.id, ''),
        basic(randomUUID(), app.secret),
        basic(open.id, ''),
        basic(open.id, 'x'),
        basic('compiled-in', 'credentials'),
      ]) {
        const answer = await info(token, headers)
        expectOAuthError(answer, 401, 'invalid_client', JSON.stringify(headers))
        expect(answer.headers['www-authenticate']).toMatch(/^Basic realm="[^"]+"/)
        expect(answer.headers['cache-control']).toBe('no-store')
      }
    })

    test('knows nothing of tokens that are dead or of another client [OAUTH-91] [OAUTH-108]', async () => {
      const dead = await world.grant(browser, app)
      await revoke(dead)
      const foreign = await world.grant(browser, other)
      const personal = await world.server.addToken(person.email)
      const brief = await world.server.addToken(person.email, 'files.read', { lifetime: 1, app: app.id })
      await expect.poll(() => world.isAlive(brief), { timeout: 40_000 }).toBe(false)
      const answers = []
      for (const token of [dead, foreign, personal, brief, randomBytes(32).toString('hex'), 'x']) {
        const answer = await info(token)
        expectOAuthError(answer, 404, 'invalid_request', token)
        answers.push(answer.text)
      }
      expect(new Set(answers).size).toBe(1)
      expectOAuthError(await info(undefined), 400, 'invalid_request')
      expectOAuthError(await info(''), 400, 'invalid_request')
      const token = await world.grant(browser, app)
      expectOAuthError(await info(`${token}&access_token=${token}`), 400, 'invalid_request')
    })

    test('never shows the token, a secret or a right that the person has lost [OAUTH-92]', async () => {
      await world.addPerson({ admin: true })
      const admin = await world.addPerson({ admin: true })
      const theirs = await world.signedIn(admin)
      const token = await world.grant(theirs, app, 'files.read,organization.admin')
      const before = await info(token)
      expect(before.json['scopes']).toEqual(['files.read', 'organization.admin'])
      expect(before.text).not.toContain(token)
      expect(before.text).not.toContain(app.secret)
      expect((await world.server.command('user', 'admin', admin.email, 'off')).status).toBe(0)
      expect((await info(token)).json['scopes']).toEqual(['files.read'])
    })

    test('serves GET alone [ERR-10]', async () => {
      for (const method of ['POST', 'PUT', 'DELETE']) {
        expectOAuthError(await world.call(method, '/auth/tokeninfo'), 405, 'invalid_request', method)
      }
    })
  })

  test('leaves nothing of a secret in the log, the data folder or the database [AUTH-12] [OAUTH-95]', async () => {
    const code = await world.code(browser, app)
    const token = String((await world.exchange(app, code)).json['access_token'])
    await world.call('GET', `/auth/tokeninfo?access_token=${token}`, { headers: basic(app.id, app.secret) })
    await revoke(token)
    const session = browser.cookies.get('__Host-session') ?? ''
    const secrets = { code, token, session, secret: app.secret, password: PASSWORD }
    await expect.poll(() => world.server.log()).toContain('/auth/token/')
    for (const [what, value] of Object.entries(secrets)) {
      expect(value.length, what).toBeGreaterThan(10)
      expect(world.server.log().includes(value), `${what} in the log`).toBe(false)
    }
    for (const entry of await readdir(world.server.dataDir, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const bytes = await readFile(join(entry.parentPath, entry.name))
      for (const [what, value] of Object.entries(secrets)) {
        expect(bytes.includes(value), `${what} in ${entry.name}`).toBe(false)
      }
    }
    if (engine === 'sqlite') return
    const tables = ['apps', 'tokens', 'codes', 'sessions', 'users', 'changes']
    const rows = await world.server.installation.db.read(async (tx) => {
      const all: unknown[] = []
      for (const table of tables) all.push(await tx.all(`SELECT * FROM ${table}`))
      return JSON.stringify(all)
    })
    for (const [what, value] of Object.entries(secrets)) expect(rows.includes(value), what).toBe(false)
  })
})
