/** Everything that the pages say is in one file, so that another language is another file. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SCOPES } from '../../src/model/scopes.js'
import { Failure, type FailureKind } from '../../src/model/failures.js'
import { told } from '../../src/oauth/refusals.js'
import { REFUSALS, TEXTS } from '../../src/oauth/texts.js'
import { inputOf, type Browser, type Page } from './browser.js'
import {
  ACCOUNT,
  authorizePath,
  openWorld,
  PASSWORD,
  returned,
  totp,
  type App,
  type World,
} from './support.js'
import { translated, untranslated } from './translation.js'

const SOURCES = fileURLToPath(new URL('../../src/', import.meta.url))

/** Whose refusals people meet on the pages; each of them has words of its own there. */
const MET_ON_PAGES = [
  'model/addresses.ts',
  'model/people.ts',
  'service/apps.ts',
  'service/guesses.ts',
  'service/invitees-signup.ts',
  'service/own-tokens.ts',
  'service/password-queue.ts',
  'service/passwords-signin.ts',
  'service/profiles.ts',
  'service/second-factor.ts',
  'service/sessions.ts',
  'service/set-up.ts',
  'service/sign-up-codes.ts',
  'service/turns.ts',
]

/** Said of JSON bodies alone. */
const NEVER_MET = /is missing$|must be a string$|must be a JSON string$/

/** What may stand where a message has a value. */
const VALUES = ['ann@x.test', 'first_name', 'last_name', 'email']

/** A number stands where a message has a limit. */
const LIMIT = /\$\{(?:[A-Z_]+|lengthMin)\}/g

async function messagesIn(file: string): Promise<string[][]> {
  const text = await readFile(join(SOURCES, file), 'utf8')
  const found = text.matchAll(/(?:new Failure\(\s*'\w+',|away\()\s*(?:'([^']*)'|`([^`]*)`)/g)
  return [...found].map(([, plain, template = '']) =>
    plain === undefined
      ? VALUES.map((value) => template.replace(LIMIT, '7').replace(/\$\{[^}]*\}/g, value))
      : [plain],
  )
}

describe('the words for refusals', () => {
  test('are there for each that a person can meet', async () => {
    let seen = 0
    for (const file of MET_ON_PAGES) {
      for (const forms of await messagesIn(file)) {
        if (forms.every((form) => NEVER_MET.test(form))) continue
        seen += 1
        const fits = forms.some((form) => REFUSALS.some(([pattern]) => pattern.test(form)))
        expect(fits, `${file}: ${forms[0] ?? ''}`).toBe(true)
      }
    }
    expect(seen).toBeGreaterThanOrEqual(30)
  })

  test('belong to a refusal that there is', async () => {
    const files = (await readdir(SOURCES, { recursive: true })).filter((name) => name.endsWith('.ts'))
    const all = (await Promise.all(files.map(messagesIn))).flat(2)
    for (const [pattern] of REFUSALS) {
      expect(
        all.some((message) => pattern.test(message)),
        String(pattern),
      ).toBe(true)
    }
  })

  test('say what to do when only the kind is known, and repeat nothing', () => {
    for (const kind of [...Object.keys(TEXTS.explained), 'notImplemented'] as FailureKind[]) {
      const words = told(new Failure(kind, 'a message for programs'))
      expect(words).toMatch(/^[A-Z].*\.$/)
      expect(words).not.toContain('a message for programs')
    }
  })
})

test('each scope has one plain sentence [OAUTH-40]', () => {
  expect(Object.keys(TEXTS.scopes).sort()).toEqual(SCOPES.map(({ name }) => name).sort())
  for (const sentence of Object.values(TEXTS.scopes)) expect(sentence).toMatch(/^[A-Z][^.<>&]+\.$/)
})

describe('pages in another language', () => {
  let world: World
  let app: App
  let admin: Browser
  let visitor: Browser
  let guarded: Browser
  let half: Browser

  const AGENT = 'Lynx/2.9'

  async function enter(email: string, key = ''): Promise<Browser> {
    const browser = world.browser()
    const page = await post(browser, await browser.open('/sign-in'), '/sign-in', {
      email,
      password: PASSWORD,
    })
    if (key !== '') await post(browser, page, '/sign-in/second-factor', { code: totp(key) })
    return browser
  }

  /** Fills in the form that goes to that path, by the names of its fields. */
  async function post(
    browser: Browser,
    page: Page,
    action: string,
    fields: Record<string, string>,
  ): Promise<Page> {
    const form = page.forms.find((one) => one.action === action)
    if (form === undefined) throw new Error(`no form to ${action}: ${page.words}`)
    for (const control of form.controls) {
      const value = fields[control.name]
      if (value === undefined) continue
      if (control.type === 'checkbox') control.isChecked = value === control.value
      else control.value = value
    }
    return browser.submit(form, form.buttons[0], page, { 'User-Agent': AGENT })
  }

  beforeAll(async () => {
    world = await openWorld('sqlite', {
      args: ['--signup', 'open', '--failures-max', '100', '--failures-window', '900'],
      env: translated(),
    })
  })
  afterAll(() => world?.stop())

  /** Names, addresses, times and identifiers: what stays as it is in every language. */
  const DATA = [
    /\b[\w.+-]+@x\.test\b/g,
    /\d{4}-\d\d-\d\d \d\d:\d\d UTC/g,
    /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g,
    /\b[0-9a-f]{64}\b/g,
    /\b[0-9a-f]{4}(?:-[0-9a-f]{4}){3}\b/g,
    /(?:[A-Z2-7]{4} ?){8}/g,
    /\((?:[a-z]+\.[a-z]+)\)/g,
    /https:\/\/app\.test\/\w+/g,
    /\b127\.\d+\.\d+\.\d+\b/g,
    /Starling|Photo Frame|Shows pictures|A script|Lynx\/2\.9/g,
    /[–:\u2068\u2069]/g,
  ]

  function expectTranslated(page: Page, what: string): void {
    expect(page.headers['content-type'], what).toMatch(/^text\/html/)
    expect(page.words, what).toMatch(/⟦.+⟧/)
    const spoken = page.tags.flatMap(({ attributes }) =>
      ['aria-label', 'title', 'alt', 'placeholder', 'summary'].flatMap((name) => attributes[name] ?? []),
    )
    for (const text of [page.words, page.title, ...spoken]) {
      const left = DATA.reduce((rest, pattern) => rest.replaceAll(pattern, ''), untranslated(text))
      expect(left.trim(), `${what} ${page.target}: ${text}`).toBe('')
    }
  }

  test('say nothing that is not in the file of texts', { timeout: 240_000 }, async () => {
    const bare = world.browser()
    await expect.poll(() => world.server.log(), { timeout: 40_000 }).toMatch(/\/set-up\?code=[0-9a-f]{64}/)
    const setUp = /\/set-up\?code=[0-9a-f]{64}/.exec(world.server.log())?.[0] ?? ''
    const first = await bare.open(setUp)
    expectTranslated(first, 'set-up')
    const short = { email: 'x', first_name: '', last_name: '', password: 'short' }
    expectTranslated(await post(bare, first, '/set-up', short), 'set-up refused')

    const [root, plain] = [await world.addPerson({ admin: true }), await world.addPerson()]
    const protectedOne = await world.addPerson({ secondFactor: true })
    app = await world.addApp()
    admin = await enter(root.email)
    visitor = await enter(plain.email)
    guarded = await enter(protectedOne.email, protectedOne.key)
    half = await enter(protectedOne.email)
    const consent = await admin.open(authorizePath(app, { scope: 'files.read,user.read' }))
    const code = returned((await post(admin, consent, '/authorize', {})).leftTo)['code'] ?? ''
    expect((await world.exchange(app, code)).status).toBe(200)

    for (const target of [
      setUp,
      '/sign-in',
      '/sign-in?news=over',
      '/sign-in?news=password-set',
      '/sign-in?news=signed-out',
      authorizePath(app),
      '/sign-up',
      '/sign-up?code=x',
      '/forgot',
      '/reset',
      '/reset?code=x',
      '/authorize',
      '/authorize?client_id=x&client_id=y',
      '/authorize?client_id=%zz',
      authorizePath(app, { client_id: 'x' }),
      authorizePath(app, { redirect_uri: 'https://evil.test/' }),
    ]) {
      expectTranslated(await world.browser().open(target), 'nobody')
    }
    expectTranslated(await half.open(ACCOUNT), 'half')
    expectTranslated(await visitor.open('/admin/apps'), 'no admin')
    expectTranslated(await guarded.open('/account/second-factor'), 'a second factor')
    for (const target of [
      ACCOUNT,
      '/account/password',
      '/account/second-factor',
      '/account/apps',
      '/account/tokens',
      '/account/sessions',
      '/admin/apps',
      `/admin/apps/${app.id}`,
      '/admin/apps/nope',
      '/admin/apps/%zz',
      authorizePath(app, { scope: SCOPES.map(({ name }) => name).join(',') }),
      authorizePath(app, { scope: `files.read:${'a'.repeat(64)}` }),
    ]) {
      expectTranslated(await admin.open(target), 'an admin')
    }
  })

  test('answer in no other words', { timeout: 240_000 }, async () => {
    const long = 'x'.repeat(2000)
    const nobody = world.browser()
    const answers: [string, () => Promise<Page>][] = []
    const answer = (
      browser: Browser,
      target: string,
      action: string,
      ...tries: readonly Record<string, string>[]
    ): void => {
      for (const fields of tries) {
        answers.push([
          `${action} ${JSON.stringify(fields).slice(0, 60)}`,
          async () => post(browser, await browser.open(target), action, fields),
        ])
      }
    }
    answer(nobody, '/sign-in', '/sign-in', { email: 'nobody@x.test', password: 'wrong' })
    answer(half, ACCOUNT, '/sign-in/second-factor', { code: '000000' }, { code: 'x' })
    answer(nobody, '/forgot', '/forgot', { email: 'x' }, { email: 'nobody@x.test' })
    answer(nobody, '/reset', '/reset', { code: 'x', password: PASSWORD })
    answer(nobody, '/sign-up', '/sign-up/address', { email: 'x' }, { email: 'new@x.test' })
    answer(
      nobody,
      '/sign-up',
      '/sign-up',
      {},
      { code: 'x', first_name: 'A', last_name: 'B', password: PASSWORD },
    )
    const names = { first_name: 'A', last_name: 'B' }
    answer(
      visitor,
      ACCOUNT,
      '/account',
      { first_name: '' },
      { ...names, last_name: '' },
      { ...names, first_name: long },
      { ...names, last_name: long },
      { ...names, first_name: 'a\u0007' },
      names,
    )
    answer(
      visitor,
      '/account/password',
      '/account/password',
      { current_password: 'wrong', password: PASSWORD },
      { current_password: PASSWORD, password: 'short' },
      { current_password: PASSWORD, password: long.repeat(10) },
      { current_password: PASSWORD, password: PASSWORD },
    )
    answer(
      visitor,
      '/account/second-factor',
      '/account/second-factor/enrol',
      { code: 'x', password: PASSWORD },
      { code: '000000', password: 'wrong' },
      { secret: '' },
    )
    answer(
      visitor,
      '/account/tokens',
      '/account/tokens',
      { name: '' },
      { name: long },
      { name: 'A script', scope: '', days: '' },
      { name: 'A script', scope: 'files.read', days: '0' },
      { name: 'A script', scope: 'files.read', days: '7' },
    )
    answer(visitor, '/account/tokens', '/account/tokens/revoke', { device_id: 'x' })
    answer(visitor, '/account/sessions', '/account/sessions/end', { session: 'x' })
    const good = { name: 'Photo Frame', redirect_uris: 'https://app.test/cb', token_lifetime: '60' }
    answer(
      admin,
      '/admin/apps',
      '/admin/apps',
      { ...good, name: '' },
      { ...good, description: long },
      { ...good, redirect_uris: '' },
      { ...good, redirect_uris: 'javascript:alert(1)' },
      {
        ...good,
        redirect_uris: Array.from({ length: 101 }, (_, index) => `https://app.test/${index}`).join('\n'),
      },
      { ...good, token_lifetime: 'x' },
      { ...good, token_lifetime: '9'.repeat(12) },
      { ...good, public: 'on' },
      good,
    )
    const own = `/admin/apps/${app.id}`
    answer(admin, own, own, { ...good, name: '' }, good)
    answer(admin, own, `${own}/secret`, {})
    answer(admin, own, `${own}/remove`, {}, { confirm: 'on' })
    answer(
      guarded,
      '/account/second-factor',
      '/account/second-factor/recovery-codes',
      { password: 'wrong' },
      { password: PASSWORD },
    )
    answer(
      guarded,
      '/account/second-factor',
      '/account/second-factor/leave',
      { password: 'wrong' },
      { password: PASSWORD },
    )
    for (const [what, act] of answers) {
      const page = await act()
      // What a browser's user typed is shown again, and is nobody's text.
      const typed = { ...page, words: page.words.replaceAll(/x{200,}|javascript:alert\(1\)/g, '') }
      expectTranslated(typed, what)
    }

    const forged = await visitor.open(ACCOUNT)
    const form = forged.forms.find(({ action }) => action === '/account')
    if (form === undefined) throw new Error(forged.words)
    inputOf(form, 'hidden').value = 'x'
    expectTranslated(await visitor.submit(form, form.buttons[0], forged), 'a forged form')
  })
})
