/** A real Chromium, and pages of another origin whose scripts call the server. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import type { AxeResults } from 'axe-core'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'

const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** How long a page may take on a machine that has other things to do. */
export const PATIENCE_MS = 60_000

/** Nothing in the background may ask the network for anything. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** A browser that is not there is a failure: tests that silently skip prove nothing. */
function checkInstalled(): void {
  if (!existsSync(CHROMIUM)) {
    throw new Error(
      `These tests need Chromium and there is none at ${CHROMIUM}. ` +
        'Install the package chromium, or name the program in the variable CHROMIUM.',
    )
  }
}

export async function launchBrowser(): Promise<Browser> {
  checkInstalled()
  return chromium.launch({ executablePath: CHROMIUM, headless: true, args: ARGUMENTS })
}

/** A browser that keeps what it knows in that folder, for the next time that it is opened. */
export async function openProfile(folder: string): Promise<BrowserContext> {
  checkInstalled()
  return chromium.launchPersistentContext(folder, {
    executablePath: CHROMIUM,
    headless: true,
    args: ARGUMENTS,
    ignoreHTTPSErrors: true,
    timeout: PATIENCE_MS,
  })
}

/** What axe finds wrong with the page. It runs isolated from the page's policy, which lets no foreign script in. */
export async function audit(page: Page): Promise<string[]> {
  await page.evaluate(await readFile(AXE, 'utf8'))
  const results = await page.evaluate<AxeResults>('axe.run()')
  return results.violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`,
  )
}

export interface PageServer {
  readonly origin: string
  close(): Promise<void>
}

/** Serves an empty page; what its script does is up to the test. */
export async function servePage(): Promise<PageServer> {
  const server = createServer((_req, res) => {
    res.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' })
    res.end(
      '<!doctype html><html lang="en"><title>Another origin</title><link rel="icon" href="data:,"></html>',
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export interface ScriptCall {
  readonly method: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly body?: string | undefined
}

/** What a script got to see of an answer. */
export interface Seen {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** Makes the page's own script call another origin. Rejects when the browser hides the answer from the script. */
export function callFrom(page: Page, call: ScriptCall): Promise<Seen> {
  return page.evaluate(async ({ method, url, headers, body }: ScriptCall): Promise<Seen> => {
    const response = await fetch(url, { method, headers, body: body ?? null })
    const seen: Record<string, string> = {}
    response.headers.forEach((value, name) => (seen[name] = value))
    return { status: response.status, headers: seen, text: await response.text() }
  }, call)
}

export interface Preflight {
  readonly method: string
  readonly headers: readonly string[]
}

/** Collects what the browser asks for before the real requests; the page's script never sees these. */
export async function watchPreflights(page: Page): Promise<readonly Preflight[]> {
  const preflights: Preflight[] = []
  const session = await page.context().newCDPSession(page)
  session.on('Network.requestWillBeSent', ({ request }) => {
    if (request.method !== 'OPTIONS') return
    const headers = new Headers(request.headers)
    preflights.push({
      method: headers.get('access-control-request-method') ?? '',
      headers: (headers.get('access-control-request-headers') ?? '').split(','),
    })
  })
  await session.send('Network.enable')
  return preflights
}
