/** A browser's session is for pages: over the API it opens nothing, on any route, in any version, in any method. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROUTES } from '../../src/api/routes.js'
import { compareVersions, V1_0, V1_3, V1_4, versionText } from '../../src/model/version.js'
import { unchanged } from '../api/support.js'
import { ENGINES } from '../support/engines.js'
import type { Browser } from './browser.js'
import { givePassword, isSecondFactorPage, openWorld, PASSWORD, type World } from './support.js'

const VERSIONS = [V1_0, V1_3, V1_4]
/** Well-formed values for the named segments; a name without one here fails. */
const SEGMENTS: Readonly<Record<string, string>> = {
  ':id': 'root',
  ':email': 'me',
  ':share': 'a'.repeat(32),
  ':group': '7',
  ':device': 'a'.repeat(32),
  ':member': 'me',
}

function targetOf(path: string): string {
  return path.replace(/:\w+/g, (name) => SEGMENTS[name] ?? expect.fail(`no value for ${name} of ${path}`))
}

describe.each(ENGINES)('a session without a token on %s', (engine) => {
  let world: World
  const browsers = new Map<string, Browser>()

  beforeAll(async () => {
    world = await openWorld(engine)
    browsers.set('P19 signed in', await world.signedIn(await world.addPerson({ admin: true })))
    const person = await world.addPerson({ secondFactor: true, admin: true })
    const half = world.browser()
    const page = await givePassword(half, await half.open('/sign-in'), person.email, PASSWORD)
    expect(isSecondFactorPage(page)).toBe(true)
    browsers.set('P20 half signed in', half)
  })
  afterAll(() => world.stop())

  test.each(['P19 signed in', 'P20 half signed in'])(
    '%s is refused on every route and changes nothing [AUTH-73]',
    async (who) => {
      const browser = browsers.get(who)
      let tried = 0
      await unchanged(world.server, async () => {
        for (const version of VERSIONS) {
          for (const { method, path, since, until } of ROUTES) {
            if (compareVersions(version, since) < 0) continue
            if (until !== undefined && compareVersions(version, until) > 0) continue
            const target = `/api/v${versionText(version)}${targetOf(path)}`
            const answer = await browser?.request(method, target, {
              headers: { 'Content-Type': 'application/json' },
              ...(method === 'GET' || method === 'DELETE' ? {} : { body: '{}' }),
            })
            expect(answer?.status, `${method} ${target}`).toBe(401)
            tried += 1
          }
        }
      })
      expect(tried).toBeGreaterThan(ROUTES.length)
    },
  )
})
