import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { formWith } from '../oauth/browser.js'
import { openWorld, type World } from '../oauth/support.js'
import { ENGINES } from '../support/engines.js'

const MAKE = /^make/i

describe.each(ENGINES)('a token (%s)', (engine) => {
  let world: World

  beforeAll(async () => {
    world = await openWorld(engine)
  })
  afterAll(() => world?.stop())

  it('is not made for a list of scopes that is longer than any request of an application can be', async () => {
    const person = await world.addPerson()
    const browser = await world.signedIn(person)
    const page = await browser.open('/account/tokens')
    const form = formWith(page, MAKE)
    const hidden = form.controls.find(({ name }) => name === 'form_token')
    const post = async (count: number): Promise<number> => {
      const fields = new URLSearchParams({ form_token: hidden?.value ?? '', name: 'many', days: '1' })
      for (let index = 0; index < count; index += 1) {
        fields.append('scope', `files.read:${index.toString(16).padStart(64, '0')}`)
      }
      const answer = await browser.request('POST', '/account/tokens', {
        headers: {
          'Content-Type': 'application/x-www-form-urlencoded',
          Origin: world.server.origin,
          'Sec-Fetch-Site': 'same-origin',
        },
        body: fields.toString(),
      })
      return answer.status
    }
    expect(await post(10_000)).toBe(400)
    expect(await post(100)).toBe(200)
    const rows = await world.server.installation.db.read((tx) =>
      tx.all<{ scopes: string }>(
        'SELECT t.scopes FROM tokens t JOIN users u ON u.id = t.user_id WHERE u.email = $1',
        person.email,
      ),
    )
    expect(rows.map(({ scopes }) => scopes.split(',').length)).toEqual([100])
  })
})
