import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ACCOUNT, givePassword, openWorld, PASSWORD, type World } from '../oauth/support.js'
import { ENGINES } from '../support/engines.js'
import { openWire, readAnswer } from '../support/wire.js'

const KIB = 1024
const ROOM_BYTES = 300 * KIB
/** However slow the machine is, nothing that is held ends by itself. */
const PATIENT = ['--body-idle-ms', '600000', '--body-window-ms', '600000']
const FORM = ['Host: localhost', 'Content-Type: application/x-www-form-urlencoded']

describe.each(ENGINES)('forms of people without an account (%s)', (engine) => {
  let world: World

  beforeAll(async () => {
    world = await openWorld(engine, { args: ['--large-forms-bytes', String(ROOM_BYTES), ...PATIENT] })
  })
  afterAll(() => world?.stop())

  /** A form that stops short of its end, so that what came of it has to be kept. */
  async function stalled(path: string, bytes: number): Promise<Awaited<ReturnType<typeof openWire>>> {
    const wire = await openWire(world.server)
    wire.send([`POST ${path} HTTP/1.1`, ...FORM, `Content-Length: ${bytes + 1}`, '', ''].join('\r\n'))
    wire.send('a'.repeat(bytes))
    return wire
  }

  /** Whether one more large form would be refused at this moment; it is complete, so it is answered. */
  async function isFull(): Promise<boolean> {
    const answer = await world.call('POST', '/auth/token', {
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: `code=${'a'.repeat(200 * KIB)}`,
    })
    expect([401, 503]).toContain(answer.status)
    if (answer.status === 503) expect(answer.headers['retry-after']).toMatch(/^\d+$/)
    return answer.status === 503
  }

  it('take no more memory together than they are given, and small ones are never refused for it', async () => {
    const person = await world.addPerson()
    expect(await isFull()).toBe(false)
    const held = [await stalled('/auth/token', 60 * KIB)]
    // A question takes room itself for a moment, so that a form may be refused which would have fitted.
    while (!(await isFull())) {
      held.push(await stalled(held.length % 2 === 0 ? '/auth/token' : '/sign-in', 200 * KIB))
    }
    const refused = await stalled('/forgot', 200 * KIB)
    expect((await readAnswer(refused, 'POST')).status).toBe(503)
    const browser = world.browser()
    const page = await givePassword(browser, await browser.open(ACCOUNT), person.email, PASSWORD)
    expect(page.status).toBe(200)
    for (const wire of held) (wire.socket as TLSSocket).destroy()
    await expect.poll(isFull, { timeout: 60_000 }).toBe(false)
  }, 180_000)
})
