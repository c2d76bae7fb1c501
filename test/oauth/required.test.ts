/** What a browser would not send without, the server does not take without either: every form, every such field. */
import { describe, expect, test } from 'vitest'
import { dump } from '../api/support.js'
import { ENGINES } from '../support/engines.js'
import { fieldsOf, inputOf, type Browser, type Page } from './browser.js'
import type { Form } from './page.js'
import { givePassword, openWorld, PASSWORD, totp, type World } from './support.js'

const LINK = /\/set-up\?code=[0-9a-f]{64}/

/** Every field that a page asks for, by the path that the form is sent to; `:id` is an application's. */
const EXPECTED = {
  '/set-up': ['email', 'first_name', 'last_name', 'password'],
  '/sign-in': ['email', 'password'],
  '/sign-in/second-factor': ['code'],
  '/sign-up': ['code', 'first_name', 'last_name', 'password'],
  '/sign-up/address': ['email'],
  '/forgot': ['email'],
  '/reset': ['code', 'password'],
  '/account': ['first_name', 'last_name'],
  '/account/password': ['current_password', 'password'],
  '/account/second-factor/enrol': ['code', 'password'],
  '/account/second-factor/recovery-codes': ['password'],
  '/account/second-factor/leave': ['password'],
  '/account/tokens': ['name'],
  '/admin/apps': ['name', 'redirect_uris', 'token_lifetime'],
  '/admin/apps/:id': ['name', 'redirect_uris', 'token_lifetime'],
  '/admin/apps/:id/remove': ['confirm'],
}

/** What each field is given when it is not the one left out. */
function values(person: { key: string }): Record<string, string> {
  return {
    email: 'somebody-else@x.test',
    password: PASSWORD,
    current_password: PASSWORD,
    first_name: 'Ann',
    last_name: 'Lee',
    name: 'A name',
    redirect_uris: 'https://app.test/new',
    token_lifetime: '60',
    code: person.key === '' ? '123456' : totp(person.key),
  }
}

describe.each(ENGINES)('a field that a form requires on %s', (engine) => {
  test(
    'is required by the server, not by the browser alone [OAUTH-97] [INV-22]',
    { timeout: 240_000 },
    async () => {
      const world = await openWorld(engine, { args: ['--signup', 'open'] })
      try {
        const seen: Record<string, string[]> = {}
        const look = (browser: Browser, page: Page, key = ''): Promise<void> =>
          checkPage(world, browser, page, key, seen)

        await expect.poll(() => LINK.exec(world.server.log())?.[0], { timeout: 30_000 }).toBeDefined()
        const first = world.browser()
        await look(first, await first.open(LINK.exec(world.server.log())?.[0] ?? ''))

        const admin = await world.addPerson({ admin: true })
        const protectedOne = await world.addPerson({ secondFactor: true })
        const app = await world.addApp()
        for (const target of ['/sign-in', '/sign-up', '/forgot', '/reset']) {
          const browser = world.browser()
          await look(browser, await browser.open(target))
        }
        const half = world.browser()
        const asked = await givePassword(half, await half.open('/sign-in'), protectedOne.email, PASSWORD)
        await look(half, asked, protectedOne.key)

        const own = ['/account', '/account/password', '/account/second-factor', '/account/tokens']
        const inside = await world.signedIn(admin)
        for (const target of [...own, '/admin/apps', `/admin/apps/${app.id}`]) {
          await look(inside, await inside.open(target))
        }
        const guarded = await world.signedIn(protectedOne)
        await look(guarded, await guarded.open('/account/second-factor'))

        expect(seen).toEqual(EXPECTED)
      } finally {
        await world.stop()
      }
    },
  )
})

async function checkPage(
  world: World,
  browser: Browser,
  page: Page,
  key: string,
  seen: Record<string, string[]>,
): Promise<void> {
  expect(page.status, page.words).toBe(200)
  for (const form of page.forms) {
    const required = form.controls.filter(({ isRequired }) => isRequired)
    if (required.length === 0) continue
    fillIn(form, key)
    const place = form.action.replace(/[0-9a-f-]{36}/, ':id')
    seen[place] = required.map(({ name }) => name)
    for (const { name } of required) {
      for (const given of [undefined, '', '  ']) {
        const before = lasting(await dump(world.server))
        const fields = fieldsOf(form, form.buttons[0])
        fields.delete(name)
        if (given !== undefined) fields.set(name, given)
        const answer = await browser.request('POST', form.action, {
          headers: {
            'Content-Type': 'application/x-www-form-urlencoded',
            Origin: world.server.origin,
            'Sec-Fetch-Site': 'same-origin',
          },
          body: fields.toString(),
        })
        const what = `${place} without ${name} (${String(given)})`
        expect([400, 401, 403, 404], `${what}: ${answer.text}`).toContain(answer.status)
        expect(lasting(await dump(world.server)), what).toBe(before)
      }
    }
  }
}

function fillIn(form: Form, key: string): void {
  const known = values({ key })
  for (const one of form.controls) {
    if (one.type === 'checkbox') one.isChecked = true
    else if (one.type !== 'hidden') one.value = known[one.name] ?? one.value
  }
  // The code of the mail, where a page asks for one, is not six digits.
  if (form.action === '/reset' || form.action === '/sign-up') inputOf(form, 'text').value = 'ab'.repeat(32)
}

/** A half session counts wrong codes; that is all that may change. */
function lasting(text: string): string {
  return text.replaceAll(/\["tries",\d+\]/g, '')
}
