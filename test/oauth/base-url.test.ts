import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writtenMails } from '../support/outbox.js'
import { ask, requestText } from '../support/wire.js'
import type { Browser } from './browser.js'
import { ACCOUNT, isSignInPage, openWorld, signIn, type Person, type World } from './support.js'

const BASE = 'https://files.example.test'

describe('a server that knows its own address', () => {
  let world: World
  let admin: Person
  let browser: Browser

  beforeAll(async () => {
    world = await openWorld('sqlite', { args: ['--base-url', BASE] })
    admin = await world.addPerson({ admin: true })
    browser = await world.signedIn(admin)
  })
  afterAll(() => world?.stop())

  test('names it in appconfig.json, whatever Host says [HTTP-92] [OAUTH-99]', async () => {
    const app = await world.addApp()
    const page = await browser.open(`/admin/apps/${app.id}`)
    const form = page.forms.find(({ action }) => action.endsWith('/config'))
    if (form === undefined) throw new Error(page.words)
    const { answer } = await browser.submit(form, form.buttons[0], page)
    expect(answer.json['hostname']).toBe('files.example.test')
  })

  test('names it in the links of its mails [HTTP-92] [OAUTH-32]', async () => {
    const guest = world.browser()
    const page = await guest.open('/forgot')
    const [form] = page.forms
    const field = form?.controls.find(({ type }) => type !== 'hidden')
    if (form === undefined || field === undefined) throw new Error(page.words)
    field.value = admin.email
    await guest.submit(form, form.buttons[0], page)
    await expect.poll(async () => (await mails()).join(), { timeout: 40_000 }).toContain(`${BASE}/reset?`)
    expect((await mails()).join()).not.toContain(world.server.origin)
  })

  test('sends people to sign in without naming another, and takes forms of its own address [HTTP-92] [OAUTH-110]', async () => {
    const target = requestText(`GET ${ACCOUNT}`).replace('Host: localhost', 'Host: evil.test')
    const sent = await ask(world.server, target)
    expect(sent.status).toBe(303)
    expect(new URL(sent.headers['location'] ?? '', BASE).origin).toBe(BASE)
    const page = await browser.open(ACCOUNT)
    const form = page.forms.find(({ buttons }) => buttons.some(({ words }) => /^sign out$/i.test(words)))
    if (form === undefined) throw new Error(page.words)
    const foreign = await browser.submit(form, form.buttons[0], page, { Origin: 'https://evil.test' })
    expect(foreign.status).toBe(403)
    const own = await browser.submit(form, form.buttons[0], page, { Origin: BASE })
    expect(own.status).toBeLessThan(400)
    expect(isSignInPage(await browser.open(ACCOUNT))).toBe(true)
    await signIn(browser, await browser.open(ACCOUNT), admin)
  })

  async function mails(): Promise<string[]> {
    const waiting = await world.server.installation.db.read((tx) =>
      tx.all<{ body: string }>('SELECT body FROM mails WHERE recipient = $1', admin.email),
    )
    return [...(await writtenMails(world.server.dataDir)), ...waiting.map(({ body }) => body)]
  }
})
