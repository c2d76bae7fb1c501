/** People with passwords, applications, and the way from /authorize to a token, as a browser and a client walk it. */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { Agent } from 'node:https'
import type { OutgoingHttpHeaders } from 'node:http'
import { hash } from '@node-rs/argon2'
import { expect } from 'vitest'
import { commandDeps } from '../../src/cli/installation.js'
import type { ScopeName } from '../../src/model/scopes.js'
import { TEXTS } from '../../src/oauth/texts.js'
import { apps } from '../../src/service/apps.js'
import { COMMAND_LINE } from '../../src/service/journal.js'
import { expectError } from '../api/support.js'
import { client, CURRENT, type Answer } from '../support/client.js'
import type { Engine } from '../support/engines.js'
import { startServer, type StartOptions, type TestServer } from '../support/server.js'
import { freshAddress, formWith, inputOf, openBrowser, type Browser, type Page } from './browser.js'

export const PASSWORD = 'correct horse battery'
export const DONE = 'https://app.test/done'
export const SIGN_IN = /^(sign|log) in$/i
export const ALLOW = /^allow$/i
export const DENY = /^deny$/i
/** A page that only somebody who is signed in gets to see. */
export const ACCOUNT = '/account'

let hashed: Promise<string> | undefined

export interface App {
  readonly id: string
  readonly secret: string
  readonly name: string
  readonly redirectUris: readonly string[]
}

export interface Person {
  readonly email: string
  readonly password: string
  /** The key of the second factor, in base32; '' for a person without one. */
  readonly key: string
}

export interface World {
  readonly server: TestServer
  addApp(options?: {
    name?: string
    redirectUris?: readonly string[]
    isPublic?: boolean
    lifetime?: number
  }): Promise<App>
  addPerson(options?: {
    email?: string
    admin?: boolean
    secondFactor?: boolean
    password?: string | null
  }): Promise<Person>
  /** A browser in which the person is signed in, second factor included. */
  signedIn(person: Person): Promise<Browser>
  browser(address?: string): Browser
  /** A request of a program: no cookies, no headers of its own. */
  call(method: string, target: string, options?: Sending): Promise<Answer>
  /** POST /auth/token with a form. */
  token(fields: Fields, headers?: OutgoingHttpHeaders): Promise<Answer>
  /** The exchange that is right for this code. */
  exchange(app: App, code: string, changes?: Fields): Promise<Answer>
  /** The person in the browser allows the application everything it asks for; the code. */
  code(browser: Browser, app: App, changes?: Fields): Promise<string>
  /** The same to the end: a token. */
  grant(browser: Browser, app: App, scope?: string): Promise<string>
  /** Whether the API takes the token. */
  isAlive(token: string): Promise<boolean>
  /** Changes a table beside the server, for what no clock of a test can wait for. */
  sql(text: string, ...values: (string | number | null)[]): Promise<number>
  stop(): Promise<void>
}

export interface Sending {
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string
  readonly from?: string
}

/** Undefined leaves the parameter out; a list repeats it. */
export type Fields = Readonly<Record<string, string | readonly string[] | undefined>>

/** Guessing is not held up here, so that tests may be wrong as often as they like; one that is about that says so. */
const PATIENT = ['--failures-max', '1000000']

export async function openWorld(engine: Engine, options: StartOptions = {}): Promise<World> {
  const server = await startServer(engine, { ...options, args: [...PATIENT, ...(options.args ?? [])] })
  const deps = commandDeps(server.installation, () => undefined)
  const agent = new Agent({ keepAlive: true, localAddress: freshAddress(), maxSockets: 16 })

  const world: World = {
    server,

    async addApp({
      name = 'Photo Frame',
      redirectUris = [DONE],
      isPublic = false,
      lifetime = 31_536_000,
    } = {}) {
      const { app, secret } = await server.installation.db.write((tx) =>
        apps(deps).add(tx, COMMAND_LINE, {
          name,
          description: 'Shows pictures',
          redirectUris,
          isPublic,
          tokenLifetimeSeconds: lifetime,
        }),
      )
      return { id: app.id, secret: secret ?? '', name, redirectUris }
    },

    async addPerson({ email, admin = false, secondFactor = false, password = PASSWORD } = {}) {
      const address = await server.addUser({ ...(email === undefined ? {} : { email }), admin })
      const key = secondFactor ? base32(randomBytes(20)) : ''
      const digest =
        password === null
          ? null
          : await (password === PASSWORD ? (hashed ??= hash(PASSWORD)) : hash(password))
      await world.sql(
        'UPDATE users SET password_hash = $1, second_factor = $2 WHERE email = $3',
        digest,
        secondFactor ? key : null,
        address,
      )
      return { email: address, password: password ?? '', key }
    },

    browser: (address) => openBrowser(server, address),

    async signedIn(person) {
      const browser = openBrowser(server)
      const page = await signIn(browser, await browser.open(ACCOUNT), person)
      expect(page.status, page.words).toBe(200)
      expect(
        page.forms.flatMap(({ controls }) => controls).some(({ type }) => type === 'password'),
        page.words,
      ).toBe(false)
      return browser
    },

    call: (method, target, { headers = {}, body, from } = {}) =>
      client({
        host: server.host,
        port: server.port,
        ca: server.ca,
        agent: from === undefined ? agent : new Agent({ localAddress: from }),
        token: undefined,
        version: CURRENT,
      }).call(method, target, { absolute: true, headers, ...(body === undefined ? {} : { body }) }),

    token: (fields, headers = {}) =>
      world.call('POST', '/auth/token', {
        headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
        body: encoded(fields),
      }),

    exchange: (app, code, changes = {}) =>
      world.token({
        grant_type: 'authorization_code',
        code,
        client_id: app.id,
        ...(app.secret === '' ? {} : { client_secret: app.secret }),
        redirect_uri: app.redirectUris[0] ?? '',
        ...changes,
      }),

    async code(browser, app, changes = {}) {
      const left = await allow(browser, await browser.open(authorizePath(app, changes)))
      const code = new URL(left).searchParams.get('code')
      expect(code, left).toMatch(/^[0-9a-f]{64}$/)
      return code ?? ''
    },

    async grant(browser, app, scope = 'files.read') {
      const answer = await world.exchange(app, await world.code(browser, app, { scope }))
      expect(answer.status, answer.text).toBe(200)
      return String(answer.json['access_token'])
    },

    async isAlive(token) {
      const { status } = await world.call('GET', '/api/v1.3/folders/root', {
        headers: { Authorization: `Bearer ${token}` },
      })
      expect([200, 401, 403, 404]).toContain(status)
      return status !== 401
    },

    sql: (text, ...values) => server.installation.db.write((tx) => tx.run(text, ...values)),

    stop: async () => {
      agent.destroy()
      await server.stop()
    },
  }
  return world
}

/** Path and query of a request that is right, but for the changes. */
export function authorizePath(app: App, changes: Fields = {}): string {
  return `/authorize?${encoded({
    response_type: 'code',
    client_id: app.id,
    redirect_uri: app.redirectUris[0] ?? '',
    scope: 'files.read',
    state: 'xyz',
    ...changes,
  })}`
}

export function encoded(fields: Fields): string {
  return Object.entries(fields)
    .flatMap(([name, value]) =>
      value === undefined ? [] : [value].flat().map((one) => `${name}=${encodeURIComponent(one)}`),
    )
    .join('&')
}

/** Fills in what the sign-in page asks for, and the second page when the person has a second factor. */
export async function signIn(browser: Browser, page: Page, person: Person): Promise<Page> {
  const next = await givePassword(browser, page, person.email, person.password)
  return person.key === '' ? next : giveCode(browser, next, totp(person.key))
}

export function givePassword(
  browser: Browser,
  page: Page,
  email: string,
  password: string,
  headers: OutgoingHttpHeaders = {},
): Promise<Page> {
  return browser.press(
    page,
    SIGN_IN,
    (form) => {
      inputOf(form, 'username').value = email
      inputOf(form, 'current-password').value = password
    },
    headers,
  )
}

export function giveCode(browser: Browser, page: Page, code: string): Promise<Page> {
  const form = page.forms.find(({ controls }) => controls.some((one) => one.autocomplete === 'one-time-code'))
  if (form === undefined)
    throw new Error(`no page of the second factor: ${page.status} ${page.words.slice(0, 300)}`)
  inputOf(form, 'one-time-code').value = code
  return browser.submit(form, form.buttons[0], page)
}

/** Presses Allow with everything ticked, or with these scopes alone; the address the browser is sent to. */
export async function allow(browser: Browser, page: Page, scopes?: readonly string[]): Promise<string> {
  const gone = await browser.press(page, ALLOW, (form) => {
    for (const box of form.controls.filter(({ type }) => type === 'checkbox')) {
      box.isChecked = scopes === undefined || scopes.some((name) => box.label.includes(sentence(name)))
    }
  })
  expect(gone.leftTo, `${gone.status} ${gone.words}`).toBeDefined()
  return gone.leftTo ?? ''
}

/**
 * The form of consent as the page would have sealed it for this session at that moment: the browser knows all that is
 * needed for it.
 */
export function sealedConsent(browser: Browser, app: App, formToken: string, issuedMs: number): string {
  const [, request = ''] = authorizePath(app).split('?')
  const nonce = randomBytes(16).toString('hex')
  const seal = createHmac('sha256', browser.cookies.get('__Host-session') ?? '')
    .update(JSON.stringify(['consent', request, issuedMs, nonce]))
    .digest('hex')
  return encoded({
    form_token: formToken,
    request,
    issued: String(issuedMs),
    nonce,
    seal,
    scope: 'files.read',
    decision: 'allow',
  })
}

/** What a person is told of a scope. */
export function sentence(scope: string): string {
  return TEXTS.scopes[scope as ScopeName] ?? `no such scope ${scope}`
}

export function isSignInPage(page: Page): boolean {
  return page.forms.some(({ buttons }) => buttons.some(({ words }) => SIGN_IN.test(words)))
}

export function isConsentPage(page: Page): boolean {
  return page.forms.some(({ buttons }) => buttons.some(({ words }) => ALLOW.test(words)))
}

export function isSecondFactorPage(page: Page): boolean {
  return page.forms.some(({ controls }) =>
    controls.some(({ autocomplete }) => autocomplete === 'one-time-code'),
  )
}

export function checkboxes(page: Page): { label: string; isChecked: boolean }[] {
  return formWith(page, ALLOW)
    .controls.filter(({ type }) => type === 'checkbox')
    .map(({ label, isChecked }) => ({ label, isChecked }))
}

/** The status with both pairs of an error of the OAuth routes. */
export function expectOAuthError(answer: Answer, status: number, error: string, what = ''): void {
  expectError(answer, status, what)
  const body = answer.json
  expect(body['error'], what).toBe(error)
  expect(typeof body['error_description'], what).toBe('string')
  expect(body['error_description'], what).not.toBe('')
}

/** The parameters that the application was sent. */
export function returned(location: string | undefined): Record<string, string> {
  return Object.fromEntries(new URL(location ?? '').searchParams)
}

export function basic(id: string, secret: string): OutgoingHttpHeaders {
  return { Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` }
}

export function pkce(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const STEP_MS = 30_000

function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{5}/g) ?? []).map((five) => BASE32[Number.parseInt(five, 2)]).join('')
}

/** RFC 6238 with the numbers that every authenticator knows: SHA-1, six digits, thirty seconds. */
export function totp(key: string, atMs = Date.now()): string {
  const bits = [...key].map((letter) => BASE32.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const secret = Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(atMs / STEP_MS)))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 15
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}
