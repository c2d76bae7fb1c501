import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SERVE_SETTINGS } from '../../src/cli/settings.js'
import { ENGINES, type Engine } from '../support/engines.js'
import { startServer } from '../support/server.js'
import { ask, requestText } from '../support/wire.js'
import { freshAddress, type Browser, type Page } from './browser.js'
import {
  ACCOUNT,
  basic,
  encoded,
  expectOAuthError,
  giveCode,
  givePassword,
  isSecondFactorPage,
  isSignInPage,
  openWorld,
  PASSWORD,
  signIn,
  totp,
  type World,
} from './support.js'

const TRIES = 10
/** Many hashes, one after the other, on a machine that may have other things to do. */
const PATIENCE_MS = 240_000
/** Longer than the minute that is usual, so that a slow machine does not outlive it. */
const WINDOW_SECONDS = 900

/** As many wrong passwords at once as are let pass, each from an address of its own. */
function guess(world: World, email: string): Promise<Page[]> {
  return Promise.all(
    Array.from({ length: TRIES }, async () => {
      const browser = world.browser()
      return givePassword(browser, await browser.open('/sign-in'), email, 'wrong password')
    }),
  )
}

function expectHeldUp(page: Page): void {
  expect(page.status, page.words).toBe(429)
  expect(Number(page.headers['retry-after'])).toBeGreaterThanOrEqual(1)
  expect(Number(page.headers['retry-after'])).toBeLessThanOrEqual(WINDOW_SECONDS)
}

async function withWorld(
  engine: Engine,
  args: readonly string[],
  work: (world: World) => Promise<void>,
  workers = 1,
): Promise<void> {
  const world = await openWorld(engine, { args: ['--failures-max', String(TRIES), ...args], workers })
  try {
    await work(world)
  } finally {
    await world.stop()
  }
}

test('guessing is held up after ten failures within a minute, unless it is set otherwise [OAUTH-118]', () => {
  const settings = new Map(SERVE_SETTINGS.map(({ name, fallback }) => [name, fallback]))
  expect(settings.get('failures-max')).toBe('10')
  expect(settings.get('failures-window')).toBe('60')
})

describe.each(ENGINES)('guessing on %s', (engine) => {
  test(
    'is held up for one account and from one client, on every worker and after a restart, and nobody else is [OAUTH-118] [OAUTH-120] [OAUTH-121]',
    { timeout: PATIENCE_MS },
    async () => {
      await withWorld(
        engine,
        ['--failures-window', String(WINDOW_SECONDS)],
        async (world) => {
          const app = await world.addApp()
          const [victim, other, third] = [
            await world.addPerson(),
            await world.addPerson(),
            await world.addPerson(),
          ]
          const known = await world.signedIn(victim)
          const token = await world.grant(known, app)

          // One account, from everywhere.
          const pages = await guess(world, victim.email)
          for (const page of pages) expect(isSignInPage(page) && page.status !== 429).toBe(true)
          const late = world.browser()
          expectHeldUp(await givePassword(late, await late.open('/sign-in'), victim.email, PASSWORD))
          expect((await late.request('GET', ACCOUNT)).status).toBe(303)
          // An account that does not exist is treated alike.
          await guess(world, 'nobody@x.test')
          const nobody = world.browser()
          expectHeldUp(await givePassword(nobody, await nobody.open('/sign-in'), 'nobody@x.test', PASSWORD))

          // One client, every account.
          const here = world.browser()
          const form = await here.open('/sign-in')
          await Promise.all(
            Array.from({ length: TRIES }, (_, index) =>
              givePassword(here, form, `someone${index}@x.test`, 'wrong'),
            ),
          )
          expectHeldUp(await givePassword(here, await here.open('/sign-in'), other.email, PASSWORD))
          const elsewhere = world.browser()
          await signIn(elsewhere, await elsewhere.open('/sign-in'), other)
          expect((await elsewhere.request('GET', ACCOUNT)).status).toBe(200)

          // Those inside notice nothing.
          expect((await known.request('GET', ACCOUNT)).status).toBe(200)
          expect(await world.isAlive(token)).toBe(true)
          const sameClient = await world.call('GET', '/api/v1.3/folders/root', {
            headers: { Authorization: `Bearer ${token}` },
            from: here.address,
          })
          expect(sameClient.status).toBe(200)

          expect(await world.server.terminate()).toBe(0)
          await world.server.restart()
          const again = world.browser()
          expectHeldUp(await givePassword(again, await again.open('/sign-in'), victim.email, PASSWORD))
          await signIn(again, await again.open('/sign-in'), third)
          expect((await again.request('GET', ACCOUNT)).status).toBe(200)
        },
        2,
      )
    },
  )

  test('is held up for clients, tokens and reset links too, and over when its time is over [OAUTH-119] [OAUTH-118]', async () => {
    await withWorld(engine, ['--failures-window', String(WINDOW_SECONDS)], async (world) => {
      const app = await world.addApp()
      const person = await world.addPerson()
      const browser = await world.signedIn(person)
      const token = await world.grant(browser, app)

      const exchange = freshAddress()
      const wrong = {
        grant_type: 'authorization_code',
        code: 'x',
        client_id: randomUUID(),
        client_secret: 'x',
        redirect_uri: 'x',
      }
      const post = (from: string): ReturnType<World['call']> =>
        world.call('POST', '/auth/token', {
          from,
          headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
          body: new URLSearchParams({ ...wrong, client_id: randomUUID() }).toString(),
        })
      for (let tries = 0; tries < TRIES; tries += 1)
        expectOAuthError(await post(exchange), 401, 'invalid_client')
      const held = await post(exchange)
      expect(held.status).toBe(429)
      expect(held.json.type).toBe('TOO_MANY_REQUESTS')
      expect(typeof held.json['error']).toBe('string')
      expect(Number(held.headers['retry-after'])).toBeGreaterThanOrEqual(1)
      expectOAuthError(await post(freshAddress()), 401, 'invalid_client')

      // What nobody could guess with is not counted: no secret at all, and what cannot be a token.
      const harmless = freshAddress()
      for (let tries = 0; tries < TRIES + 5; tries += 1) {
        const silent = await world.call('POST', '/auth/token', {
          from: harmless,
          headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
          body: encoded({ ...wrong, client_id: app.id, client_secret: tries % 2 === 0 ? undefined : '' }),
        })
        expectOAuthError(silent, 401, 'invalid_client')
        const nothing = await world.call('DELETE', `/auth/token/nothing${String(tries)}`, { from: harmless })
        expect(nothing.status).toBe(404)
      }

      const asking = freshAddress()
      const info = (): ReturnType<World['call']> =>
        world.call('GET', `/auth/tokeninfo?access_token=${token}`, {
          from: asking,
          headers: basic(randomUUID(), 'x'),
        })
      for (let tries = 0; tries < TRIES; tries += 1) expectOAuthError(await info(), 401, 'invalid_client')
      expect((await info()).status).toBe(429)

      const revoking = freshAddress()
      const revoke = (value: string): ReturnType<World['call']> =>
        world.call('DELETE', `/auth/token/${value}`, { from: revoking })
      for (let tries = 0; tries < TRIES; tries += 1) {
        expect((await revoke(randomBytes(32).toString('hex'))).status).toBe(404)
      }
      expect((await revoke(randomBytes(32).toString('hex'))).status).toBe(429)
      expect(await world.isAlive(token)).toBe(true)

      const forgetful = world.browser()
      let last: Page | undefined
      for (let tries = 0; tries <= TRIES; tries += 1) {
        const page = await forgetful.open('/forgot')
        const form = page.forms.find(({ controls }) =>
          controls.some(({ autocomplete }) => autocomplete === 'username' || autocomplete === 'email'),
        )
        if (form === undefined) throw new Error(page.words)
        const field = form.controls.find(({ type }) => type !== 'hidden')
        if (field !== undefined) field.value = `someone${tries}@x.test`
        last = await forgetful.submit(form, form.buttons[0], page)
      }
      expect(last?.status).toBe(429)

      const inviting = world.browser()
      const signUp = async (): Promise<number> => {
        const page = await inviting.open('/sign-up')
        const told = await inviting.press(page, /^sign up$/i, (form) => {
          for (const one of form.controls) if (one.type !== 'hidden') one.value = 'a long enough word'
        })
        return told.status
      }
      for (let tries = 0; tries < TRIES; tries += 1) expect(await signUp()).toBe(403)
      expect(await signUp()).toBe(429)

      await world.sql('UPDATE failures SET expires_ms = $1', Date.now() - 1)
      expect((await post(exchange)).status).toBe(401)
    })
  })
})

describe.each(ENGINES)('a patient attacker on %s', (engine) => {
  let world: World

  beforeAll(async () => {
    world = await openWorld(engine, {
      args: ['--failures-max', String(TRIES), '--failures-window', String(WINDOW_SECONDS)],
    })
  })
  afterAll(() => world?.stop())

  const isIn = async (browser: Browser): Promise<boolean> =>
    (await browser.request('GET', ACCOUNT)).status === 200

  test('gets no more guesses at a password by making them all at once [OAUTH-118]', async () => {
    const victim = await world.addPerson()
    const browsers = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const browser = world.browser()
        return { browser, page: await browser.open('/sign-in') }
      }),
    )
    const statuses = await Promise.all(
      browsers.flatMap(({ browser, page }) =>
        Array.from({ length: TRIES }, async () => {
          return (await givePassword(browser, page, victim.email, 'wrong password')).status
        }),
      ),
    )
    const heard = statuses.filter((status) => status !== 429).length
    expect(heard).toBeGreaterThanOrEqual(1)
    expect(heard).toBeLessThanOrEqual(TRIES)
  })

  test('gets no more guesses at a second factor by signing in again and again [OAUTH-119]', async () => {
    const victim = await world.addPerson({ secondFactor: true })
    let guesses = 0
    for (let rounds = 0; rounds < 5; rounds += 1) {
      const browser = world.browser()
      const page = await givePassword(browser, await browser.open('/sign-in'), victim.email, victim.password)
      if (page.status === 429 || !isSecondFactorPage(page)) break
      for (let tries = 0; tries < 5; tries += 1) {
        const told = await giveCode(browser, page, totp(victim.key, Date.now() - 1_000_000))
        if (told.status === 429) break
        guesses += 1
      }
    }
    expect(guesses).toBeGreaterThanOrEqual(5)
    expect(guesses).toBeLessThanOrEqual(TRIES)
  })

  test('gets no more guesses at a second factor by making them all at once [OAUTH-119]', async () => {
    const victim = await world.addPerson({ secondFactor: true })
    const halves = await Promise.all(
      Array.from({ length: TRIES * 4 }, async () => {
        const browser = world.browser()
        const page = await givePassword(browser, await browser.open('/sign-in'), victim.email, PASSWORD)
        return { browser, page }
      }),
    )
    const statuses = await Promise.all(
      halves.map(async ({ browser, page }) => {
        return (await giveCode(browser, page, totp(victim.key, Date.now() - 1_000_000))).status
      }),
    )
    expect(statuses.filter((status) => status === 401)).toHaveLength(TRIES)
    expect(new Set(statuses)).toEqual(new Set([401, 429]))
  })

  test('gets no more mails sent by asking for them all at once [OAUTH-119]', async () => {
    const victim = await world.addPerson()
    const statuses = await Promise.all(
      Array.from({ length: TRIES * 4 }, async () => {
        const browser = world.browser()
        const page = await browser.open('/forgot')
        const [form] = page.forms
        const field = form?.controls.find(({ type }) => type !== 'hidden')
        if (form === undefined || field === undefined) throw new Error(page.words)
        field.value = victim.email
        return (await browser.submit(form, form.buttons[0], page)).status
      }),
    )
    expect(statuses.filter((status) => status === 200)).toHaveLength(TRIES)
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
  })

  test('is not let in further by having signed in to an account of their own [OAUTH-118]', async () => {
    const victim = await world.addPerson()
    const own = await world.addPerson()
    const attacker = await world.signedIn(own)
    await guess(world, victim.email)
    await attacker.press(await attacker.open(ACCOUNT), /^sign out$/i)
    expectHeldUp(await givePassword(attacker, await attacker.open('/sign-in'), victim.email, PASSWORD))
    expect(await isIn(attacker)).toBe(false)
  })

  test('does not lock the victim out of a browser that the victim has signed in with before [OAUTH-118]', async () => {
    for (const secondFactor of [false, true]) {
      const victim = await world.addPerson({ secondFactor })
      const own = await world.signedIn(victim)
      await own.press(await own.open(ACCOUNT), /^sign out$/i)
      await guess(world, victim.email)
      const stranger = world.browser()
      expectHeldUp(await givePassword(stranger, await stranger.open('/sign-in'), victim.email, PASSWORD))
      const page = await givePassword(own, await own.open('/sign-in'), victim.email, PASSWORD)
      if (secondFactor) await giveCode(own, page, totp(victim.key, Date.now() + 30_000))
      expect(await isIn(own)).toBe(true)

      // Whoever has that browser has no more guesses than others.
      await own.press(await own.open(ACCOUNT), /^sign out$/i)
      const thief = world.browser()
      for (const [name, value] of own.cookies) thief.cookies.set(name, value)
      const form = await thief.open('/sign-in')
      for (let tries = 0; tries < TRIES; tries += 1) {
        expect((await givePassword(thief, form, victim.email, 'wrong password')).status).toBe(401)
      }
      expectHeldUp(await givePassword(thief, await thief.open('/sign-in'), victim.email, PASSWORD))
    }
  })

  test('meets a victim who is forgotten by every browser after signing out everywhere [OAUTH-118] [OAUTH-33]', async () => {
    const victim = await world.addPerson()
    const own = await world.signedIn(victim)
    await own.press(await own.open('/account/sessions'), /^sign out everywhere$/i)
    await guess(world, victim.email)
    expectHeldUp(await givePassword(own, await own.open('/sign-in'), victim.email, PASSWORD))
  })

  test('cannot fill somebody’s mailbox with links [OAUTH-119]', async () => {
    const victim = await world.addPerson()
    const statuses = new Set<number>()
    for (let tries = 0; tries < TRIES + 3; tries += 1) {
      const browser = world.browser()
      const page = await browser.open('/forgot')
      const [form] = page.forms
      const field = form?.controls.find(({ type }) => type !== 'hidden')
      if (form === undefined || field === undefined) throw new Error(page.words)
      field.value = victim.email
      statuses.add((await browser.submit(form, form.buttons[0], page)).status)
    }
    expect(statuses).toContain(429)
  })
})

describe('the address of a client', () => {
  const wrong = (): string => {
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      code: 'x',
      client_id: randomUUID(),
      client_secret: 'x',
      redirect_uri: 'x',
    })
    return body.toString()
  }
  const request = (body: string, lines: readonly string[]): string =>
    requestText(
      'POST /auth/token',
      ['Content-Type: application/x-www-form-urlencoded', `Content-Length: ${body.length}`, ...lines],
      body,
    )

  test('is the one that the proxy names, and the peer’s without a proxy [OAUTH-120] [HTTP-8]', async () => {
    for (const behindProxy of [true, false]) {
      const server = await startServer('sqlite', {
        args: ['--failures-max', '5', ...(behindProxy ? ['--behind-proxy'] : [])],
      })
      try {
        const send = async (client: string): Promise<number> => {
          const body = wrong()
          return (
            await ask(server, request(body, ['X-Forwarded-Proto: https', `X-Forwarded-For: ${client}`]))
          ).status
        }
        const statuses: number[] = []
        for (let tries = 0; tries < 6; tries += 1)
          statuses.push(await send(`203.0.113.${behindProxy ? 1 : tries}`))
        expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
        expect(await send('203.0.113.99')).toBe(behindProxy ? 401 : 429)
        // What the client itself put before the proxy's word does not count.
        if (behindProxy) expect(await send('203.0.113.77, 203.0.113.1')).toBe(429)
      } finally {
        await server.stop()
      }
    }
  })
})

describe('a hundred sign-ins at once', () => {
  test('do not hold up a download [OAUTH-122]', { timeout: PATIENCE_MS }, async () => {
    const world = await openWorld('sqlite')
    try {
      const person = await world.addPerson()
      const api = world.server.client(await world.server.addToken(person.email))
      const content = randomBytes(1_000_000)
      const file = await api.file('a.bin', 'root', content)
      const browsers = await Promise.all(
        Array.from({ length: 10 }, async () => {
          const browser = world.browser()
          return { browser, page: await browser.open('/sign-in') }
        }),
      )
      let finished = 0
      const statuses = Array.from({ length: 100 }, async (_, index) => {
        const { browser, page } = browsers[index % browsers.length] ?? {}
        if (browser === undefined || page === undefined) throw new Error('no browser')
        const { trail } = await givePassword(browser, page, person.email, PASSWORD)
        finished += 1
        return trail[0]?.status
      })
      const got = await api.get(`/files/${file}/content`)
      expect(got.status).toBe(200)
      expect(got.body.equals(content)).toBe(true)
      expect(finished).toBeLessThan(100)
      for (const status of await Promise.all(statuses)) expect([303, 429, 503]).toContain(status)
    } finally {
      await world.stop()
    }
  })
})

describe('more sign-ins than may wait', () => {
  test(
    'are asked to come back, and nobody is locked out by it [LIMIT-16] [OAUTH-122]',
    { timeout: PATIENCE_MS },
    async () => {
      const world = await openWorld('sqlite', { args: ['--sign-ins-waiting', '1', '--failures-max', '10'] })
      try {
        const person = await world.addPerson()
        const browsers = await Promise.all(
          Array.from({ length: 30 }, async () => {
            const browser = world.browser()
            return { browser, page: await browser.open('/sign-in') }
          }),
        )
        let refused: Page | undefined
        for (let round = 0; refused === undefined && round < 20; round += 1) {
          const pages = await Promise.all(
            browsers.map(({ browser, page }) =>
              givePassword(browser, page, 'nobody@x.test', 'wrong password'),
            ),
          )
          for (const { status } of pages) expect([401, 429, 503]).toContain(status)
          refused = pages.find(({ status }) => status === 503)
          await world.sql('DELETE FROM failures')
        }
        if (refused === undefined) throw new Error('nobody was refused')
        expect(isSignInPage(refused)).toBe(true)
        expect(refused.words).toMatch(/too many people/i)
        expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1)
        const after = world.browser()
        await signIn(after, await after.open('/sign-in'), person)
        expect((await after.request('GET', ACCOUNT)).status).toBe(200)
      } finally {
        await world.stop()
      }
    },
  )
})
