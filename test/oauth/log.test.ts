/** What opens a door is in no line of the log, at the level that says the most, whatever goes right or wrong. */
import { describe, expect, test } from 'vitest'
import { ENGINES } from '../support/engines.js'
import { writtenMails } from '../support/outbox.js'
import { fieldsOf, formWith, inputOf, type Browser, type Page } from './browser.js'
import {
  ALLOW,
  authorizePath,
  basic,
  giveCode,
  givePassword,
  isConsentPage,
  openWorld,
  PASSWORD,
  pkce,
  returned,
  totp,
  type Person,
  type World,
} from './support.js'

const MISTYPED = 'the password of another site'
const CHOSEN = 'a password chosen anew'

describe.each(ENGINES)('the log on %s', (engine) => {
  test(
    'holds no token, code, secret or password of the whole way in and out [AUTH-12]',
    { timeout: 240_000 },
    async () => {
      const world = await openWorld(engine, { args: ['--log-level', 'trace', '--signup', 'open'] })
      try {
        const secrets = new Map<string, string>([
          ['a password', PASSWORD],
          ['a mistyped password', MISTYPED],
          ['a chosen password', CHOSEN],
        ])
        const person = await world.addPerson({ secondFactor: true })
        secrets.set('the key of a second factor', person.key)
        const browser = await signInByHalves(world, person, secrets)
        const token = await grant(world, browser, secrets)
        await useAndEnd(world, token)
        await makePersonalToken(browser, secrets)
        for (const [name, page, address] of [
          ['a reset link', '/forgot', person.email],
          ['a sign-up link', '/sign-up', 'newcomer@x.test'],
        ] as const) {
          await followMail(world, secrets, name, page, address)
        }
        await failInside(world, browser, secrets)
        noteCookies(browser, secrets)

        await world.call('GET', '/the/end')
        await expect.poll(() => world.server.log(), { timeout: 60_000 }).toContain('/the/end')
        const log = world.server.log()
        for (const path of [
          '/sign-in',
          '/authorize',
          '/auth/token',
          '/reset',
          '/sign-up',
          '/account/tokens',
        ]) {
          expect(log).toContain(`"path":"${path}"`)
        }
        expect(log).toMatch(/failed unexpectedly/)
        expect(secrets.size).toBeGreaterThanOrEqual(17)
        for (const [what, value] of secrets) {
          expect(value.length, what).toBeGreaterThanOrEqual(6)
          for (const shape of [value, encodeURIComponent(value), Buffer.from(value).toString('base64')]) {
            expect(log.includes(shape), `${what} in the log`).toBe(false)
          }
        }
      } finally {
        await world.stop()
      }
    },
  )
})

function noteCookies(browser: Browser, secrets: Map<string, string>): void {
  for (const [name, value] of browser.cookies)
    if (name !== 'route') secrets.set(`${name} ${value.slice(0, 4)}`, value)
}

async function signInByHalves(world: World, person: Person, secrets: Map<string, string>): Promise<Browser> {
  const browser = world.browser()
  const first = await browser.open('/sign-in')
  const again = await givePassword(browser, first, person.email, MISTYPED)
  secrets.set('the token of a form', again.forms[0]?.controls[0]?.value ?? '')
  const half = await givePassword(browser, again, person.email, PASSWORD)
  noteCookies(browser, secrets)
  await giveCode(browser, half, totp(person.key))
  expect((await browser.open('/account')).status).toBe(200)
  noteCookies(browser, secrets)
  return browser
}

async function grant(world: World, browser: Browser, secrets: Map<string, string>): Promise<string> {
  const app = await world.addApp()
  const { verifier, challenge } = pkce()
  const state = 'the-state-of-an-application'
  const asked = { state, code_challenge: challenge, code_challenge_method: 'S256' }
  const gone = await browser.press(await browser.open(authorizePath(app, asked)), ALLOW)
  const code = returned(gone.leftTo)['code'] ?? ''
  for (const [what, value] of Object.entries({ code, verifier, state, 'a client secret': app.secret })) {
    secrets.set(what, value)
  }
  const wrong = await world.exchange(app, code, { client_secret: 'a wrong client secret' })
  secrets.set('a wrong client secret', 'a wrong client secret')
  expect(wrong.status).toBe(401)
  const answer = await world.exchange(app, code, { code_verifier: verifier })
  const token = String(answer.json['access_token'])
  secrets.set('a token', token)
  const info = await world.call('GET', `/auth/tokeninfo?access_token=${token}`, {
    headers: basic(app.id, app.secret),
  })
  expect(info.status).toBe(200)
  return token
}

/** As a header, as a parameter, in places where it does not belong, and in the address that ends it. */
async function useAndEnd(world: World, token: string): Promise<void> {
  const headers = { Authorization: `Bearer ${token}` }
  expect((await world.call('GET', '/api/v1.3/folders/root', { headers })).status).toBe(200)
  for (const target of [
    `/api/v1.3/files/${'a'.repeat(64)}/content?token=${token}`,
    `/api/v1.3/folders/root?access_token=${token}`,
    `/auth/token?access_token=${token}`,
    `/auth/revoke/${token}`,
    `/${token}`,
  ]) {
    expect((await world.call('GET', target)).status, target).toBeGreaterThanOrEqual(400)
  }
  expect((await world.call('DELETE', `/auth/token/${token}`)).status).toBe(200)
}

async function makePersonalToken(browser: Browser, secrets: Map<string, string>): Promise<void> {
  const shown = await browser.press(await browser.open('/account/tokens'), /^make/i, (form) => {
    for (const one of form.controls) {
      if (one.type === 'checkbox') one.isChecked = true
      if (one.name === 'name') one.value = 'A script'
    }
  })
  secrets.set('a personal token', /\b[0-9a-f]{64}\b/.exec(shown.words)?.[0] ?? '')
}

async function followMail(
  world: World,
  secrets: Map<string, string>,
  name: string,
  path: string,
  address: string,
): Promise<void> {
  const browser = world.browser()
  await browser.press(await browser.open(path), /^send/i, (form) => {
    inputOf(form, 'email').value = address
  })
  const code = new RegExp(`code=([0-9a-f]{64})`)
  const mails = async (): Promise<string> => {
    const written = await writtenMails(world.server.dataDir)
    return written.filter((text) => text.includes(address)).join('\n')
  }
  await expect.poll(mails, { timeout: 60_000 }).toMatch(code)
  const found = code.exec(await mails())?.[1] ?? ''
  secrets.set(name, found)
  const target = path === '/forgot' ? '/reset' : path
  const page: Page = await browser.open(`${target}?code=${found}`)
  expect(page.status, page.words).toBe(200)
  const form = page.forms.find(({ action }) => action === target)
  if (form === undefined) throw new Error(page.words)
  for (const one of form.controls.filter(({ type }) => type !== 'hidden')) one.value = CHOSEN
  const done = await browser.submit(form, form.buttons[0], page)
  expect(done.status, done.words).toBe(200)
  noteCookies(browser, secrets)
}

/** A fault of the server's own is logged with its stack. */
async function failInside(world: World, browser: Browser, secrets: Map<string, string>): Promise<void> {
  const person = await world.addPerson()
  const other = await world.signedIn(person)
  const app = await world.addApp()
  const consent = await other.open(authorizePath(app, { state: 'a-state-that-was-lost' }))
  expect(isConsentPage(consent)).toBe(true)
  secrets.set('a lost state', 'a-state-that-was-lost')
  const form = formWith(consent, ALLOW)
  for (const [name, value] of fieldsOf(form, undefined)) {
    if (['form_token', 'seal', 'nonce'].includes(name)) secrets.set(`the ${name} of a form`, value)
  }
  await world.sql('ALTER TABLE codes RENAME TO codes_away')
  try {
    expect((await other.press(consent, ALLOW)).status).toBe(500)
  } finally {
    await world.sql('ALTER TABLE codes_away RENAME TO codes')
  }
  noteCookies(other, secrets)
  // The reset above ended the session; its cookie stays a secret all the same.
  expect((await browser.request('GET', '/account')).status).toBe(303)
}
