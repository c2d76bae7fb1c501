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

  test('gives its first account to one of those who open the link at once', async () => {
    const world = await openWorld(engine)
    try {
      const found = (): string | undefined => world.server.log().match(LINK)?.at(-1)
      await expect.poll(found, { timeout: 40_000 }).toBeDefined()
      const pages = await Promise.all(
        Array.from({ length: 4 }, async () => {
          const browser = world.browser()
          return { browser, page: await browser.open(found() ?? '') }
        }),
      )
      const told = await Promise.all(
        pages.map(({ browser, page }, index) =>
          browser.press(page, MAKE, (form) => {
            inputOf(form, 'username').value = `admin${String(index)}@x.test`
            control(form, /first name/i).value = 'Ada'
            control(form, /last name/i).value = 'Byron'
            inputOf(form, 'new-password').value = 'a password of my own'
          }),
        ),
      )
      expect(told.filter(({ status }) => status === 200)).toHaveLength(1)
      expect(told.filter(({ status }) => status === 404)).toHaveLength(3)
      const users = await world.server.command('user', 'list', '--json')
      expect(JSON.parse(users.stdout)).toHaveLength(1)
      const inside = await Promise.all(
        pages.map(async ({ browser }) => (await browser.request('GET', '/account')).status),
      )
      expect(inside.filter((status) => status === 200)).toHaveLength(1)
    } finally {
      await world.stop()
    }
  })

  test('has no link any more when the command line has made an account', async () => {
    const world = await openWorld(engine)
    try {
      const found = (): string | undefined => world.server.log().match(LINK)?.at(-1)
      await expect.poll(found, { timeout: 40_000 }).toBeDefined()
      const browser = world.browser()
      const page = await browser.open(found() ?? '')
      expect(page.status).toBe(200)
      await world.addPerson()
      expect((await world.browser().open(found() ?? '')).status).toBe(404)
      const late = await browser.press(page, MAKE, (form) => {
        inputOf(form, 'username').value = 'late@x.test'
        control(form, /first name/i).value = 'Late'
        control(form, /last name/i).value = 'Comer'
        inputOf(form, 'new-password').value = 'a password of my own'
      })
      expect(late.status).toBe(404)
      expect((await browser.request('GET', '/account')).status).toBe(303)
    } finally {
      await world.stop()
    }
  })
})
