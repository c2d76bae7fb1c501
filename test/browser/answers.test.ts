/** The pages that come after a form: notices, refusals, and what is shown once. Every one of them in every light. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openWorld, PASSWORD, totp, type World } from '../oauth/support.js'
import { audit, launchBrowser, PATIENCE_MS } from './browser.js'

const SIZES = {
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
  desktop: { viewport: { width: 1280, height: 800 } },
}
const LIGHTS = Object.entries(SIZES).flatMap(([device, size]) =>
  (['light', 'dark'] as const).map((colorScheme) => ({
    light: `${device}-${colorScheme}`,
    options: { ...size, colorScheme },
  })),
)

const SET_UP = /\/set-up\?code=[0-9a-f]{64}/

describe('what the pages answer', () => {
  let world: World
  let browser: Browser
  let folder: string
  const problems: string[] = []

  beforeAll(async () => {
    browser = await launchBrowser()
    world = await openWorld('sqlite', { args: ['--signup', 'open'] })
    folder = process.env['SCREENSHOTS'] ?? (await mkdtemp(join(tmpdir(), 'starling-answers-')))
  })
  afterAll(async () => {
    await browser?.close()
    await world?.stop()
  })

  async function inEachLight(work: (page: Page, look: (name: string) => Promise<void>) => Promise<void>) {
    for (const { light, options } of LIGHTS) {
      const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options })
      const page = await context.newPage()
      page.setDefaultTimeout(PATIENCE_MS)
      const complaints: string[] = []
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
      })
      await work(page, async (name) => {
        await page.waitForLoadState()
        await page.screenshot({ path: join(folder, `${name}-${light}.png`), fullPage: true })
        for (const violation of await audit(page)) problems.push(`${name} ${light}: ${violation}`)
        const width = Number(await page.evaluate('document.documentElement.scrollWidth'))
        if (width > options.viewport.width) problems.push(`${name} ${light} is ${width} wide`)
      })
      // A status of 4xx is itself a complaint of the browser; everything else is ours.
      const ours = complaints.filter((text) => !/server responded with a status of 4/.test(text))
      problems.push(...ours.map((text) => `${light}: ${text}`))
      await context.close()
    }
    expect(problems.splice(0)).toEqual([])
  }

  const open = (page: Page, target: string): Promise<unknown> => page.goto(`${world.server.origin}${target}`)

  /** Fills in the form that goes to that path and sends it, past what the browser itself would stop. */
  async function send(page: Page, action: string, fields: Record<string, string> = {}): Promise<void> {
    const form = page.locator(`form[action="${action}"]`).first()
    for (const [name, value] of Object.entries(fields)) {
      const field = form.locator(`[name="${name}"]`).first()
      if ((await field.getAttribute('type')) === 'checkbox') {
        await form.locator(`[name="${name}"][value="${value}"]`).check()
      } else await field.fill(value)
    }
    await page.evaluate(`document.querySelectorAll('form').forEach((form) => (form.noValidate = true))`)
    await Promise.all([page.waitForEvent('load'), form.locator('button').first().click()])
  }

  async function signIn(page: Page, email: string): Promise<void> {
    await open(page, '/sign-in')
    await send(page, '/sign-in', { email, password: PASSWORD })
  }

  const shows = (page: Page, words: string | RegExp): Promise<void> => page.getByText(words).first().waitFor()

  test('is accessible while there is nobody yet [OAUTH-40]', { timeout: 300_000 }, async () => {
    await expect.poll(() => SET_UP.exec(world.server.log())?.[0], { timeout: PATIENCE_MS }).toBeDefined()
    const link = SET_UP.exec(world.server.log())?.[0] ?? ''
    await inEachLight(async (page, look) => {
      await open(page, link)
      await shows(page, 'Make the first account')
      await look('set-up')
      await send(page, '/set-up', { email: 'x', first_name: 'A', last_name: 'B', password: PASSWORD })
      await page.getByRole('alert').waitFor()
      await look('set-up-refused')
    })
  })

  test('is accessible to those who are not signed in [OAUTH-40]', { timeout: 300_000 }, async () => {
    await inEachLight(async (page, look) => {
      await open(page, '/sign-in')
      await send(page, '/sign-in', { email: 'nobody@x.test', password: 'wrong' })
      await page.getByRole('alert').waitFor()
      await look('sign-in-wrong')
      await open(page, '/sign-in?news=signed-out')
      await page.getByRole('status').waitFor()
      await look('signed-out')
      await open(page, '/forgot')
      await send(page, '/forgot', { email: 'nobody@x.test' })
      await shows(page, /a mail is on its way/)
      await look('forgot-sent')
      await open(page, '/sign-up')
      await send(page, '/sign-up/address', { email: 'newcomer@x.test' })
      await shows(page, /A mail is on its way/)
      await look('sign-up-sent')
      await open(page, '/sign-up')
      await send(page, '/sign-up', { code: 'x', first_name: 'A', last_name: 'B', password: PASSWORD })
      await page.getByRole('alert').waitFor()
      await look('sign-up-refused')
    })
  })

  test('is accessible to those who are [OAUTH-40]', { timeout: 300_000 }, async () => {
    const app = await world.addApp({ name: 'Photo Frame' })
    await inEachLight(async (page, look) => {
      const person = await world.addPerson({ admin: true })
      await signIn(page, person.email)
      await open(page, '/account')
      await send(page, '/account', { first_name: '' })
      await page.getByRole('alert').waitFor()
      await look('account-refused')
      await send(page, '/account', { first_name: 'Ada' })
      await page.getByRole('status').waitFor()
      await look('account-saved')
      await open(page, '/account/tokens')
      await send(page, '/account/tokens', { name: 'A script', scope: 'files.read', days: '7' })
      await shows(page, /shown this once/)
      await look('token-made')
      await open(page, '/account/tokens')
      await look('tokens')
      await open(page, '/admin/apps')
      await send(page, '/admin/apps', { name: 'New', redirect_uris: 'javascript:x' })
      await page.getByRole('alert').waitFor()
      await look('app-refused')
      await send(page, '/admin/apps', { name: 'New', redirect_uris: 'https://app.test/cb' })
      await shows(page, /shown this once/)
      await look('app-secret')
      await open(page, `/admin/apps/${app.id}`)
      await send(page, `/admin/apps/${app.id}/remove`)
      await page.getByRole('alert').waitFor()
      await look('app-not-removed')

      await open(page, '/account/second-factor')
      const key = (await page.locator('input[name=secret]').getAttribute('value')) ?? ''
      await send(page, '/account/second-factor/enrol', { code: '000000', password: PASSWORD })
      await page.getByRole('alert').waitFor()
      await look('enrol-refused')
      await send(page, '/account/second-factor/enrol', { code: totp(key), password: PASSWORD })
      await shows(page, /Your recovery codes/)
      await look('recovery-codes')
      await open(page, '/account/second-factor')
      await shows(page, /recovery codes left/)
      await look('second-factor-on')
      await send(page, '/account/second-factor/leave', { password: PASSWORD })
      await page.getByRole('status').waitFor()
      await look('second-factor-off')
      await open(page, '/account/password')
      await send(page, '/account/password', { current_password: 'wrong', password: PASSWORD })
      await page.getByRole('alert').waitFor()
      await look('password-refused')
      await send(page, '/account/password', { current_password: PASSWORD, password: PASSWORD })
      await page.getByRole('status').waitFor()
      await look('password-saved')
    })
  })

  test('is accessible by half and when it is too often [OAUTH-40]', { timeout: 300_000 }, async () => {
    const person = await world.addPerson({ secondFactor: true })
    await inEachLight(async (page, look) => {
      await signIn(page, person.email)
      await send(page, '/sign-in/second-factor', { code: '000000' })
      await page.getByRole('alert').waitFor()
      await look('second-factor-wrong')
      await page.context().clearCookies()
      await open(page, '/sign-in')
      await page.context().clearCookies()
      await send(page, '/sign-in', { email: person.email, password: PASSWORD })
      await shows(page, /out of date/)
      await look('forged')
    })
    await inEachLight(async (page, look) => {
      await open(page, '/sign-in')
      await send(page, '/sign-in', { email: person.email, password: 'wrong' })
      await world.sql('UPDATE failures SET failures = 1000000, expires_ms = $1', Date.now() + 3_600_000)
      await open(page, '/sign-in')
      await send(page, '/sign-in', { email: person.email, password: PASSWORD })
      await shows(page, /too many attempts/i)
      await look('too-often')
      await world.sql('DELETE FROM failures')
    })
  })
})
