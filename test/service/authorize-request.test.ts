import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readAuthorizeRequest } from '../../src/oauth/authorize-request.js'
import { safeTarget } from '../../src/oauth/requests.js'

const CLIENT = {
  id: '11111111-2222-4333-8444-555555555555',
  name: 'An application',
  description: '',
  redirectUris: ['https://app.test/done?keep=this', 'com.example.app:/done'],
  isPublic: false,
}

const find = (id: string): Promise<typeof CLIENT | undefined> =>
  Promise.resolve(id === CLIENT.id ? CLIENT : undefined)

async function locationFor(query: string): Promise<string> {
  const read = await readAuthorizeRequest(query, find)
  return 'location' in read ? read.location : read.redirect({ code: 'abc' }).location
}

const BASE = `response_type=code&client_id=${CLIENT.id}&redirect_uri=https://app.test/done?keep=this&scope=files.read`

describe('the state', () => {
  test('comes back as it was, however it was encoded [OAUTH-21]', async () => {
    const anyText = fc.string({ unit: 'binary', maxLength: 200 })
    await fc.assert(
      fc.asyncProperty(anyText, async (state) => {
        const byComponent = new URL(await locationFor(`${BASE}&state=${encodeURIComponent(state)}`))
        expect(byComponent.searchParams.get('state')).toBe(state)
        const form = new URLSearchParams({ state }).toString()
        expect(new URL(await locationFor(`${BASE}&${form}`)).searchParams.get('state')).toBe(state)
      }),
    )
  })

  test('never breaks out of its parameter, whatever bytes it is made of [OAUTH-23]', async () => {
    const bytes = fc.uint8Array({ maxLength: 100 }).map((list) => Buffer.from(list).toString('latin1'))
    await fc.assert(
      fc.asyncProperty(bytes, async (raw) => {
        const location = await locationFor(`${BASE}&state=${raw.replaceAll('&', '')}`)
        expect(location).toMatch(/^[\x21-\x7e]+$/)
        expect([...new URL(location).searchParams.keys()]).toEqual(['keep', 'code', 'state'])
      }),
    )
  })
})

test('a target leads to this site or to the usual page, whatever it is [OAUTH-30]', () => {
  const texts = fc.oneof(
    fc.string(),
    fc.webUrl(),
    fc.constantFrom(
      '//evil.test',
      '/\\evil.test',
      '/\t/evil.test',
      'https:evil.test',
      '/..//evil.test',
      '/%2f%2fevil',
    ),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const target = safeTarget(text)
      expect(new URL(target, 'https://own.test').origin).toBe('https://own.test')
      expect(target).toMatch(/^\/[\x21-\x7e]*$/)
    }),
  )
  expect(safeTarget('/authorize?a=b%20c&d')).toBe('/authorize?a=b%20c&d')
})
