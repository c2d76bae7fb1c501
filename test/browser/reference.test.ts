import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.js'
import { launchBrowser } from './browser.js'

const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 3 }
const DESKTOP = { viewport: { width: 1440, height: 900 } }

/** Runs before anything of the page; the page's policy does not hold for it. */
const COLLECT_VIOLATIONS = `
  window.violations = []
  document.addEventListener('securitypolicyviolation', (event) => window.violations.push(event.blockedURI))
`

describe('the reference page in a browser', () => {
  let server: TestServer
  let browser: Browser

  beforeAll(async () => {
    browser = await launchBrowser()
    server = await startServer('sqlite')
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  async function openReference(options: BrowserContextOptions) {
    const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options })
    const page = await context.newPage()
    const complaints: string[] = []
    const requested: string[] = []
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('requestfailed', (request) => complaints.push(`failed: ${request.url()}`))
    page.on('request', (request) => requested.push(request.url()))
    await page.addInitScript(COLLECT_VIOLATIONS)
    const response = await page.goto(`${server.origin}/docs`, { waitUntil: 'networkidle' })
    expect(response?.status()).toBe(200)
    return { page, complaints, requested, close: () => context.close() }
  }

  test.each([
    ['a phone', PHONE],
    ['a desktop', DESKTOP],
  ])('fits on %s, and loads without a complaint and from this server alone', async (_name, options) => {
    const { page, complaints, requested, close } = await openReference(options)
    expect(complaints).toEqual([])
    expect(await page.evaluate('window.violations')).toEqual([])
    expect(requested.sort()).toEqual([`${server.origin}/docs`, `${server.origin}/docs/style.css`])
    expect(await page.evaluate('document.styleSheets[0].cssRules.length')).toBeGreaterThan(10)
    expect(await page.locator('article').count()).toBeGreaterThan(10)

    const { width } = options.viewport
    expect(await page.evaluate('window.innerWidth')).toBe(width)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    expect(await page.evaluate('window.scrollTo(500, 0), window.scrollX')).toBe(0)
    await close()
  })

  test('lets nothing else in, whatever gets into its text', async () => {
    const { page, complaints, close } = await openReference(DESKTOP)
    await page.evaluate(`{
      const image = document.createElement('img')
      image.src = 'https://elsewhere.test/a.png'
      const script = document.createElement('script')
      script.textContent = 'window.hasRun = true'
      document.body.append(image, script)
    }`)
    await expect
      .poll(() => page.evaluate('window.violations'))
      .toEqual(expect.arrayContaining(['https://elsewhere.test/a.png', 'inline']))
    expect(await page.evaluate('window.hasRun')).toBeUndefined()
    expect(complaints).toContain('failed: https://elsewhere.test/a.png')
    await close()
  })
})
