import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SCOPES } from '../../src/model/scopes.js'
import type { OauthDeps } from '../../src/oauth/deps.js'
import { pageRows } from '../../src/oauth/routes.js'
import { ALLOW, authorizePath, openWorld, totp, type App, type Person, type World } from '../oauth/support.js'
import { writtenMails } from '../support/outbox.js'
import { audit, launchBrowser, PATIENCE_MS } from './browser.js'

const PHONE: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  isMobile: true,
  hasTouch: true,
  deviceScaleFactor: 2,
}
const DESKTOP: BrowserContextOptions = { viewport: { width: 1280, height: 800 } }
/** A finger needs this much. */
const TARGET_SIDE_MIN = 24

describe('the pages in a browser', () => {
  let world: World
  let browser: Browser
  let app: App
  let odd: App
  let admin: Person
  let half: Person
  let ordinary: Person
  let folder: string

  beforeAll(async () => {
    browser = await launchBrowser()
    world = await openWorld('sqlite', { args: ['--signup', 'open'] })
    folder = process.env['SCREENSHOTS'] ?? (await mkdtemp(join(tmpdir(), 'starling-pages-')))
    app = await world.addApp({ name: 'Photo Frame' })
    odd = await world.addApp({ name: `${'W'.repeat(120)} <b>عربي</b> ‮evil‬` })
    admin = await world.addPerson({ admin: true })
    half = await world.addPerson({ secondFactor: true })
    ordinary = await world.addPerson()
    await world.grant(await world.signedIn(admin), app, 'files.read,user.read')
  })
  afterAll(async () => {
    await browser?.close()
    await world?.stop()
  })

  const EVERYTHING = SCOPES.map(({ name }) => name).join(',')
  const shown = (): readonly [
    name: string,
    who: 'nobody' | 'half' | 'person' | 'admin',
    target: string,
  ][] => [
    ['sign-in', 'nobody', '/sign-in'],
    ['sign-in-for-app', 'nobody', authorizePath(app)],
    ['sign-up', 'nobody', '/sign-up'],
    ['forgot', 'nobody', '/forgot'],
    ['reset', 'nobody', '/reset'],
    ['reset-gone', 'nobody', '/reset?code=x'],
    ['authorize-refused', 'nobody', authorizePath(app, { client_id: 'x' })],
    ['second-factor', 'half', '/account'],
    ['consent', 'admin', authorizePath(app, { scope: EVERYTHING })],
    ['consent-odd-name', 'admin', authorizePath(odd)],
    ['account', 'admin', '/account'],
    ['apps', 'admin', '/account/apps'],
    ['tokens', 'admin', '/account/tokens'],
    ['password', 'admin', '/account/password'],
    ['second-factor-enrol', 'admin', '/account/second-factor'],
    ['sessions', 'admin', '/account/sessions'],
    ['admin-apps', 'admin', '/admin/apps'],
    ['admin-app', 'admin', `/admin/apps/${app.id}`],
    ['not-found', 'admin', '/admin/apps/nope'],
    ['forbidden', 'person', '/admin/apps'],
    ['second-factor-asked', 'half', '/sign-in/second-factor'],
  ]

  test('are all looked at', () => {
    const seen = new Set(shown().map(([, , target]) => target.split('?')[0]?.replace(app.id, ':id')))
    const paths = pageRows({} as OauthDeps)
      .filter(({ GET }) => GET !== undefined)
      .map(({ path }) => `/${path.join('/')}`)
    // The one leads on to the account, the other is there while there is nobody: `answers.test.ts` looks at it.
    const elsewhere = ['/', '/set-up']
    expect(paths.filter((path) => !seen.has(path)).sort()).toEqual(elsewhere)
  })

  async function giveCredentials(page: Page, person: Person): Promise<void> {
    await page.goto(`${world.server.origin}/sign-in`)
    await page.locator('input[autocomplete~=username]').fill(person.email)
    await page.locator('input[autocomplete=current-password]').fill(person.password)
    await page.getByRole('button', { name: /^sign in$/i }).click()
    await page.waitForLoadState()
  }

  describe.each([
    ['a phone', PHONE],
    ['a desktop', DESKTOP],
  ] as const)('on %s', (device, size) => {
    test.each(['light', 'dark'] as const)(
      'are accessible, fit and complain of nothing, when it is %s [OAUTH-40] [OAUTH-115]',
      async (colorScheme) => {
        const problems: string[] = []
        const people = { nobody: undefined, half, person: ordinary, admin }
        for (const [who, person] of Object.entries(people)) {
          const context = await browser.newContext({ ignoreHTTPSErrors: true, colorScheme, ...size })
          const page = await context.newPage()
          page.setDefaultTimeout(PATIENCE_MS)
          if (person !== undefined) await giveCredentials(page, person)
          const complaints: string[] = []
          page.on('console', (message) => {
            if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
          })
          page.on('pageerror', (error) => complaints.push(error.message))
          for (const [name, whose, target] of shown().filter(([, owner]) => owner === who)) {
            const response = await page.goto(`${world.server.origin}${target}`, { waitUntil: 'load' })
            const file = `${name}-${device.replace(' ', '-')}-${colorScheme}.png`
            await page.screenshot({ path: join(folder, file), fullPage: true })
            for (const violation of await audit(page)) problems.push(`${file} (${whose}): ${violation}`)
            const width = await page.evaluate('document.documentElement.scrollWidth')
            if (Number(width) > (size.viewport?.width ?? 0)) problems.push(`${file} is ${width} wide`)
            const small = await page.evaluate<string[]>(`
            [...document.querySelectorAll('button, input:not([type=hidden]):not([type=checkbox])')]
              .map((element) => ({ box: element.getBoundingClientRect(), text: element.outerHTML.slice(0, 80) }))
              .filter(({ box }) => box.width > 0 && (box.height < ${TARGET_SIDE_MIN} || box.width < ${TARGET_SIDE_MIN}))
              .map(({ text }) => text)`)
            for (const one of small) problems.push(`${file} has a small target ${one}`)
            if ((response?.status() ?? 500) >= 500) problems.push(`${file} is ${response?.status()}`)
          }
          // A status of 4xx is itself a complaint of the browser; everything else is ours.
          for (const one of complaints.filter(
            (text) => !/Failed to load resource: the server responded with a status of 4/.test(text),
          )) {
            problems.push(`${who} ${device} ${colorScheme}: ${one}`)
          }
          await context.close()
        }
        expect(problems).toEqual([])
      },
    )
  })

  test('show a person the way from a forgotten password to a new one through the outbox [OAUTH-32]', async () => {
    const person = await world.addPerson()
    const context = await browser.newContext({ ignoreHTTPSErrors: true, javaScriptEnabled: false })
    const page = await context.newPage()
    page.setDefaultTimeout(PATIENCE_MS)
    await page.goto(`${world.server.origin}/sign-in`)
    await page.getByRole('link', { name: /forgot/i }).click()
    await page.getByLabel(/mail/i).fill(person.email)
    await page.getByRole('button').last().click()
    let link = ''
    await expect
      .poll(async () => (link = await linkFor(person.email)), { timeout: PATIENCE_MS })
      .toContain('/reset?')
    await page.goto(link)
    for (const field of await page.locator('input[autocomplete=new-password]').all())
      await field.fill('a brand new password')
    await page.getByRole('button').last().click()
    await page.waitForLoadState()
    await giveCredentials(page, { ...person, password: 'a brand new password' })
    await page.goto(`${world.server.origin}/account`)
    await page.getByText(person.email).first().waitFor()
    await context.close()
  })

  test('let a person turn on a second factor by the key that they show [OAUTH-36] [OAUTH-37]', async () => {
    const person = await world.addPerson()
    const context = await browser.newContext({ ignoreHTTPSErrors: true, javaScriptEnabled: false })
    const page = await context.newPage()
    page.setDefaultTimeout(PATIENCE_MS)
    await giveCredentials(page, person)
    await page.goto(`${world.server.origin}/account/second-factor`)
    expect(await page.locator('svg, img').count()).toBeGreaterThanOrEqual(1)
    const words = await page.locator('main').innerText()
    const key = /\b(?:[A-Z2-7]{4} ?){4,}[A-Z2-7]*\b/.exec(words)?.[0].replaceAll(' ', '') ?? ''
    await page.locator('input[autocomplete=one-time-code]').fill(totp(key))
    for (const field of await page
      .locator('form:has(input[autocomplete=one-time-code]) input[type=password]')
      .all())
      await field.fill(person.password)
    await page.locator('form:has(input[autocomplete=one-time-code]) button').first().click()
    await page.waitForLoadState()
    await page.screenshot({ path: join(folder, 'recovery-codes.png'), fullPage: true })
    expect(await page.getByText(/recovery/i).count()).toBeGreaterThanOrEqual(1)
    await context.close()
  })

  test('of consent fit at 200 % with the largest text [OAUTH-40]', async () => {
    const context = await browser.newContext({
      ignoreHTTPSErrors: true,
      viewport: { width: 320, height: 640 },
    })
    const page = await context.newPage()
    await giveCredentials(page, admin)
    await page.goto(`${world.server.origin}${authorizePath(odd, { scope: EVERYTHING })}`)
    await page.getByRole('button', { name: ALLOW }).waitFor()
    expect(Number(await page.evaluate('document.documentElement.scrollWidth'))).toBeLessThanOrEqual(320)
    await context.close()
  })

  async function linkFor(email: string): Promise<string> {
    const files = await writtenMails(world.server.dataDir)
    const waiting = await world.server.installation.db.read((tx) =>
      tx.all<{ body: string }>('SELECT body FROM mails WHERE recipient = $1', email),
    )
    const texts = [...files.filter((text) => text.includes(email)), ...waiting.map(({ body }) => body)]
    return /https:\/\/\S+\/reset\?\S+/.exec(texts.join('\n'))?.[0] ?? ''
  }
})
