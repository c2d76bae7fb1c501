import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DONE, openWorld, type World } from '../oauth/support.js'
import { ENGINES } from '../support/engines.js'

const CENTURY = 3_153_600_000

describe.each(ENGINES)('the life of tokens (%s)', (engine) => {
  let world: World

  beforeAll(async () => {
    world = await openWorld(engine)
  })
  afterAll(() => world?.stop())

  it('ends on a date that can be shown, so that nobody is kept from the list where tokens are revoked', async () => {
    const person = await world.addPerson()
    const browser = await world.signedIn(person)
    const app = await world.addApp({ lifetime: CENTURY })
    expect(await world.isAlive(await world.grant(browser, app))).toBe(true)
    const page = await browser.open('/account/apps')
    expect(page.status).toBe(200)
    expect(page.words).toContain(app.name)
    for (const lifetime of [CENTURY + 1, Number.MAX_SAFE_INTEGER]) {
      await expect(world.addApp({ lifetime })).rejects.toThrow(/lifetime/)
      await expect(world.server.addToken(person.email, 'files.read', { lifetime })).rejects.toThrow(
        /lifetime/,
      )
      const added = await world.server.command(
        ...['app', 'add', 'Long', '--redirect-uri', DONE, '--token-lifetime', String(lifetime)],
      )
      expect(added.status).not.toBe(0)
      expect(added.stderr).toContain('lifetime')
    }
  })
})
