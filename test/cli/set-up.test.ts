import { describe, expect, test } from 'vitest'
import { control, inputOf } from '../oauth/browser.js'
import { openWorld } from '../oauth/support.js'
import { ENGINES } from '../support/engines.js'

const MAKE = /first account/i
const LINK = /\/set-up\?code=[0-9a-f]{64}/g

describe.each(ENGINES)('a new installation on %s', (engine) => {
  test('says where the first admin is made, and takes the newest link, once', async () => {
    const world = await openWorld(engine)
    try {
      const { server } = world
      const newest = async (): Promise<string> => {
        await expect.poll(() => server.log().match(LINK), { timeout: 40_000 }).not.toBeNull()
        return server.log().match(LINK)?.at(-1) ?? ''
      }
      const old = await newest()
      await server.terminate()
      await server.restart()
      const link = await newest()
      expect(link).not.toBe(old)
      expect((await world.browser().open(old)).status).toBe(404)
      expect((await world.browser().open('/set-up')).status).toBe(404)

      const browser = world.browser()
      const page = await browser.open(link)
      const late = await world.browser().open(link)
      expect(late.status).toBe(200)
      await browser.press(page, MAKE, (form) => {
        inputOf(form, 'username').value = ' Ada@X.test '
        control(form, /first name/i).value = 'Ada'
        control(form, /last name/i).value = 'Byron'
        inputOf(form, 'new-password').value = 'a password of my own'
      })
      expect((await browser.open('/account')).words).toContain('ada@x.test')
      expect((await browser.open('/admin/apps')).status).toBe(200)

      expect((await world.browser().open(link)).status).toBe(404)
      const users = await server.command('user', 'list', '--json')
      expect(JSON.parse(users.stdout)).toMatchObject([{ email: 'ada@x.test', is_admin: true }])
      await server.terminate()
      await server.restart()
      expect(server.log()).not.toMatch(LINK)
    } finally {
      await world.stop()
    }
  })
})
