/** How people come to their accounts, in a browser: the first of all, those who are invited, and those who just come. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openWorld, type World } from '../oauth/support.js'
import { audit, launchBrowser, PATIENCE_MS } from './browser.js'

const SET_UP = /\/set-up\?code=[0-9a-f]{64}/
const OWN = 'a password of my own'

describe.each([
  ['a phone', { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }, 'dark'],
  ['a desktop', { viewport: { width: 1280, height: 800 } }, 'light'],
] as const)('a new person on %s', (device, size, colorScheme) => {
  let world: World
  let browser: Browser

  beforeAll(async () => {
    browser = await launchBrowser()
    world = await openWorld('sqlite', { args: ['--signup', 'open'] })
  })
  afterAll(async () => {
    await browser?.close()
    await world?.stop()
  })

  /** In a browser without scripts; `look` shows what is there to one with scripts, for the sake of axe. */
  async function visit(work: (page: Page, look: (target: string) => Promise<void>) => Promise<void>) {
    const options = { ignoreHTTPSErrors: true, colorScheme, ...size }
    const context = await browser.newContext({ ...options, javaScriptEnabled: false })
    const auditing = await browser.newContext(options)
    try {
      const page = await context.newPage()
      const other = await auditing.newPage()
      for (const one of [page, other]) one.setDefaultTimeout(PATIENCE_MS)
      await work(page, async (target) => {
        await other.goto(`${world.server.origin}${target}`)
        expect(await audit(other), target).toEqual([])
        const width = Number(await other.evaluate('document.documentElement.scrollWidth'))
        expect(width, target).toBeLessThanOrEqual(size.viewport.width)
        const folder = process.env['SCREENSHOTS']
        if (folder !== undefined) {
          const name = `${new URL(other.url()).pathname.slice(1)}-${device.replace(' ', '-')}.png`
          await other.screenshot({ path: join(folder, name), fullPage: true })
        }
      })
    } finally {
      await context.close()
      await auditing.close()
    }
  }

  async function fillIn(page: Page, email?: string): Promise<void> {
    if (email !== undefined) await page.getByLabel('E-mail address').fill(email)
    await page.getByLabel('First name').fill('Nina')
    await page.getByLabel('Last name').fill('New')
    await page.locator('input[autocomplete=new-password]').fill(OWN)
  }

  async function mailTo(email: string): Promise<string> {
    const outbox = join(world.server.dataDir, 'outbox')
    const names = await readdir(outbox).catch(() => [])
    const files = await Promise.all(names.map((name) => readFile(join(outbox, name), 'utf8').catch(() => '')))
    return files
      .filter((text) => text.includes(email))
      .join('\n')
      .replaceAll(/=\r?\n/g, '')
      .replaceAll('=3D', '=')
  }

  test('is the first, by the link that the server printed, and an admin', async () => {
    await expect.poll(() => SET_UP.exec(world.server.log())?.[0], { timeout: PATIENCE_MS }).toBeDefined()
    const link = SET_UP.exec(world.server.log())?.[0] ?? ''
    await visit(async (page, look) => {
      await look(link)
      await page.goto(`${world.server.origin}${link}`)
      await fillIn(page, 'first@x.test')
      await page.getByRole('button', { name: 'Make the first account' }).click()
      await page.getByRole('button', { name: /^sign out$/i }).waitFor()
      await page.getByRole('link', { name: 'All applications' }).click()
      await page.getByRole('heading', { name: 'Registered applications' }).waitFor()
      const again = await page.goto(`${world.server.origin}${link}`)
      expect(again?.status()).toBe(404)
    })
  })

  test('is invited, and signs up by the code of the invitation [OAUTH-128] [INV-17]', async () => {
    const { email: root } = await world.addPerson({ admin: true })
    const admin = world.server.client(await world.server.addToken(root, 'user.read,organization.admin'))
    const email = `invited-${device.replace(' ', '-')}@x.test`
    const made = await admin.post('/invitees', { email_to: email })
    expect(made.status).toBe(201)
    const target = `/sign-up?code=${String(made.json['signup_code'])}`
    await visit(async (page, look) => {
      await look(target)
      await page.goto(`${world.server.origin}${target}`)
      await page.getByText(email).waitFor()
      await fillIn(page)
      await page.getByRole('button', { name: /^sign up$/i }).click()
      await page.getByText(`Signed in as ${email}`).waitFor()
    })
  })

  test('just comes, and goes on by the mail that the address gets [OAUTH-129] [INV-24]', async () => {
    const email = `comes-${device.replace(' ', '-')}@x.test`
    await visit(async (page, look) => {
      await look('/sign-up')
      await page.goto(`${world.server.origin}/sign-in`)
      await page.getByRole('link', { name: /^sign up$/i }).click()
      await page.getByLabel('E-mail address').fill(email)
      await page.getByRole('button', { name: 'Send a mail' }).click()
      await page.getByText('A mail is on its way').waitFor()
      const link = /https:\/\/\S+\/sign-up\?code=[0-9a-f]{64}/
      await expect.poll(() => mailTo(email), { timeout: PATIENCE_MS }).toMatch(link)
      await page.goto(link.exec(await mailTo(email))?.[0] ?? '')
      await page.getByText(email).waitFor()
      await fillIn(page)
      await page.getByRole('button', { name: /^sign up$/i }).click()
      await page.getByText(`Signed in as ${email}`).waitFor()
    })
  })
})
