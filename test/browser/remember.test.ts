/** “Stay signed in” in a real browser that is closed and opened again. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openWorld, type World } from '../oauth/support.js'
import { openProfile, PATIENCE_MS } from './browser.js'

describe('a browser that was closed', () => {
  let world: World
  let folder: string

  beforeAll(async () => {
    world = await openWorld('sqlite')
    folder = await mkdtemp(join(tmpdir(), 'starling-profile-'))
  })
  afterAll(async () => {
    await world?.stop()
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  })

  async function visit<T>(profile: string, work: (context: BrowserContext) => Promise<T>): Promise<T> {
    const context = await openProfile(join(folder, profile))
    try {
      return await work(context)
    } finally {
      await context.close()
    }
  }

  /** The path at which somebody ends who wants to see the account. */
  const arrives = (profile: string): Promise<string> =>
    visit(profile, async (context) => {
      const page = await context.newPage()
      await page.goto(`${world.server.origin}/account`, { timeout: PATIENCE_MS })
      return new URL(page.url()).pathname
    })

  test.each([
    ['keeps those who asked to stay signed in', true],
    ['forgets those who did not', false],
  ])('%s [OAUTH-123] [OAUTH-125]', { timeout: 240_000 }, async (_what, isRemembered) => {
    const person = await world.addPerson()
    const profile = isRemembered ? 'remembered' : 'forgotten'
    await visit(profile, async (context) => {
      const page = await context.newPage()
      page.setDefaultTimeout(PATIENCE_MS)
      await page.goto(`${world.server.origin}/sign-in`)
      await page.getByLabel('E-mail address').fill(person.email)
      await page.getByLabel('Password').fill(person.password)
      await page.getByLabel('Stay signed in').setChecked(isRemembered)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('button', { name: 'Sign out' }).waitFor()
      const cookies = await context.cookies(world.server.origin)
      const session = cookies.find(({ name }) => name === '__Host-session')
      expect(session).toMatchObject({ httpOnly: true, secure: true, sameSite: 'Lax' })
      // A cookie without an end is the browser's for as long as it is open.
      expect((session?.expires ?? 0) > 0).toBe(isRemembered)
    })
    expect(await arrives(profile)).toBe(isRemembered ? '/account' : '/sign-in')
  })
})
