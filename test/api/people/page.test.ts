import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { useServer } from '../content/support.js'
import { expectError, unchanged } from '../support.js'
import { administrator, FULL, newAddress, ok, PLAIN_KEYS, type Json } from './support.js'

const PEOPLE = Array.from({ length: 45 }, (_, index) => `u${String(index + 1).padStart(2, '0')}@x.test`)
const RUNS = 6

interface Page {
  readonly emails: string[]
  readonly more: unknown
}

function pageOf(answer: Answer): Page {
  ok(answer, 200)
  expect(Object.keys(answer.json)).toEqual(['has_more', 'data'])
  const data = answer.json['data'] as Json[]
  return { emails: data.map((user) => String(user['email'])), more: answer.json['has_more'] }
}

/** u`first` … u`last` */
function between(first: number, last: number): string[] {
  return PEOPLE.slice(first - 1, last)
}

describe.each(ENGINES)('the list of users on %s', (engine) => {
  const server = useServer(engine)
  let api: Client

  beforeAll(async () => {
    for (const email of PEOPLE) await server().addUser({ email })
    api = server().client(await server().addToken('u01@x.test', 'user.read'))
  })

  const list = async (query = ''): Promise<Page> => pageOf(await api.get(`/users${query}`))

  test('holds the first 20 by itself, as many as asked for otherwise, and all of them for 0 [PAGE-01] [PAGE-04] [PAGE-06] [PAGE-07] [LIMIT-1]', async () => {
    expect(await list()).toEqual({ emails: between(1, 20), more: true })
    expect(await list('?limit=0')).toEqual({ emails: PEOPLE, more: false })
    expect(await list('?limit=1')).toEqual({ emails: between(1, 1), more: true })
    expect(await list('?limit=44')).toEqual({ emails: between(1, 44), more: true })
    for (const limit of [45, 46, 1000, 2 ** 31, 2 ** 40, Number.MAX_SAFE_INTEGER])
      expect(await list(`?limit=${limit}`)).toEqual({ emails: PEOPLE, more: false })
  })

  test('needs user.read [PAGE-02]', async () => {
    const scopes = FULL.replace('user.read,', '')
    expectError(
      await server()
        .client(await server().addToken('u02@x.test', scopes))
        .get('/users'),
      403,
    )
  })

  test('with no limit and one user in the range holds that one [PAGE-05]', async () => {
    for (const query of [
      '?limit=0&after=u44@x.test',
      '?limit=0&before=u02@x.test',
      '?limit=0&after=u09@x.test&before=u11@x.test',
    ]) {
      const page = await list(query)
      expect([page.emails.length, page.more], query).toEqual([1, false])
    }
  })

  test('refuses a limit that is no whole number from 0, by name and before the scope [PAGE-08] [LIMIT-2] [HTTP-48] [HTTP-73]', async () => {
    const scopeless = server().client(await server().addToken('u03@x.test', 'files.read'))
    for (const query of [
      'limit=-1',
      'limit=1.5',
      'limit=1e2',
      'limit=abc',
      'limit=',
      'limit=+5',
      'limit=%205',
      'limit=0x10',
      'limit=5&limit=5',
      'limit=5&limit=6',
      'limit=9007199254740993',
      'limit=%ff',
    ]) {
      for (const caller of [api, scopeless]) {
        const answer = await caller.get(`/users?${query}`)
        expectError(answer, 400, query)
        expect(answer.json.message, query).toContain('limit')
      }
    }
  })

  test('goes on after a user [PAGE-09] [PAGE-10] [PAGE-11]', async () => {
    expect(await list('?after=u10@x.test&limit=5')).toEqual({ emails: between(11, 15), more: true })
    expect(await list('?after=u40@x.test&limit=5')).toEqual({ emails: between(41, 45), more: false })
    expect(await list('?after=u10@x.test')).toEqual({ emails: between(11, 30), more: true })
    for (const end of ['u45@x.test', 'zzz'])
      expect(await list(`?after=${end}`)).toEqual({ emails: [], more: false })
  })

  test('goes back before a user, ascending all the same [PAGE-12] [PAGE-13] [PAGE-14]', async () => {
    expect(await list('?before=u10@x.test&limit=5')).toEqual({ emails: between(5, 9), more: true })
    expect(await list('?before=u06@x.test&limit=5')).toEqual({ emails: between(1, 5), more: false })
    expect(await list('?before=u30@x.test')).toEqual({ emails: between(10, 29), more: true })
    for (const end of ['u01@x.test', 'a'])
      expect(await list(`?before=${end}`)).toEqual({ emails: [], more: false })
  })

  test('with both ends is what lies between them, going forward [PAGE-15] [PAGE-16]', async () => {
    const ends = '?after=u10@x.test&before=u20@x.test'
    expect(await list(`${ends}&limit=5`)).toEqual({ emails: between(11, 15), more: true })
    expect(await list(`${ends}&limit=9`)).toEqual({ emails: between(11, 19), more: false })
    expect(await list(`${ends}&limit=8`)).toEqual({ emails: between(11, 18), more: true })
    expect(await list(`${ends}&limit=0`)).toEqual({ emails: between(11, 19), more: false })
    for (const query of ['?after=u20@x.test&before=u20@x.test', '?after=u20@x.test&before=u10@x.test'])
      expect(await list(query)).toEqual({ emails: [], more: false })
  })

  test('compares a cursor as text: nobody’s, `me`, upper case, with blanks around it [PAGE-17] [PAGE-18] [PAGE-21] [FIELD-5]', async () => {
    expect((await list('?after=u105&limit=2')).emails).toEqual(between(10, 11))
    expect((await list('?after=:2&limit=2')).emails).toEqual(between(1, 2))
    expect((await list('?before=:2&limit=2')).emails).toEqual([])
    expect((await list('?after=me&limit=2')).emails).toEqual(between(1, 2))
    expect((await list('?before=me')).emails).toEqual([])
    for (const form of ['U10@X.TEST', '%20u10@x.test%20', '%09U10@x.Test'])
      expect(await list(`?after=${form}&limit=5`)).toEqual({ emails: between(11, 15), more: true })
  })

  test('refuses an empty cursor by name [PAGE-19]', async () => {
    for (const name of ['after', 'before']) {
      for (const value of ['', '%20', '%20%09']) {
        const answer = await api.get(`/users?${name}=${value}`)
        expectError(answer, 400, `${name}=${value}`)
        expect(answer.json.message).toContain(name)
      }
    }
  })

  test('does nothing but compare, whatever is in a cursor [PAGE-24]', async () => {
    await unchanged(server(), async () => {
      for (const text of [
        "u10@x.test' OR '1'='1",
        "'; DROP TABLE users; --",
        'u10%',
        'u__@x.test',
        '"u10"',
        '\\',
        '$1',
        '*',
        'u10@x.test\u0001',
      ]) {
        const after = PEOPLE.filter((email) => email > text.toLowerCase())
        expect((await list(`?limit=0&after=${encodeURIComponent(text)}`)).emails, text).toEqual(after)
        const before = PEOPLE.filter((email) => email < text.toLowerCase())
        expect((await list(`?limit=0&before=${encodeURIComponent(text)}`)).emails, text).toEqual(before)
      }
    })
  })

  test('shows address and names of real accounts alone, to an admin too, and has no tag [PAGE-03] [PAGE-25] [PAGE-26]', async () => {
    const admin = await administrator(server(), 'zadmin@x.test')
    const invited = newAddress('invited')
    ok(await admin.api.post('/invitees', { email_to: invited }), 201)
    for (const caller of [api, admin.api]) {
      const answer = ok(await caller.get('/users?limit=0'), 200)
      expect(answer.headers['etag']).toBeUndefined()
      expect(pageOf(answer).emails).toEqual([...PEOPLE, 'zadmin@x.test'])
      for (const user of answer.json['data'] as Json[]) expect(Object.keys(user)).toEqual(PLAIN_KEYS)
    }
    ok(await admin.api.delete(`/invitees/${invited}`), 204)
    ok(await admin.api.delete('/users/u45@x.test'), 200)
    expect((await list('?after=u45@x.test')).emails).toEqual(['zadmin@x.test'])
  })

  test('takes a plus in a cursor for a plus, raw or encoded [PAGE-20] [FIELD-5]', async () => {
    for (const email of ['a+1@x.test', 'a+2@x.test']) await server().addUser({ email })
    for (const cursor of ['a%2B1@x.test', 'a+1@x.test', 'a%2B1%40x.test'])
      expect(await list(`?after=${cursor}&limit=1`)).toEqual({ emails: ['a+2@x.test'], more: true })
    for (const cursor of ['a%2B2@x.test', 'a+2@x.test'])
      expect(await list(`?before=${cursor}&limit=1`)).toEqual({ emails: ['a+1@x.test'], more: false })
  })

  /** From end to end with a cursor, forwards or backwards, doing something between the pages. */
  async function walk(
    limit: number,
    isForward: boolean,
    between: (page: number) => Promise<unknown> = () => Promise.resolve(),
  ): Promise<string[]> {
    const seen: string[] = []
    let cursor = ''
    for (let turn = 0; turn < 1000; turn += 1) {
      const ends =
        cursor === '' ? (isForward ? '' : '&before=~') : `&${isForward ? 'after' : 'before'}=${cursor}`
      const { emails, more } = await list(`?limit=${limit}${ends}`)
      if (isForward) seen.push(...emails)
      else seen.unshift(...emails)
      if (more === false) return seen
      expect(emails).toHaveLength(limit)
      cursor = encodeURIComponent((isForward ? emails.at(-1) : emails[0]) ?? '')
      await between(turn)
    }
    throw new Error('the walk did not end')
  }

  test('is walked from end to end with every user once, in order, both ways [PAGE-22]', async () => {
    const all = (await list('?limit=0')).emails
    expect(all).toEqual([...all].sort())
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 60 }), fc.boolean(), async (limit, isForward) => {
        expect(await walk(limit, isForward)).toEqual(all)
      }),
      {
        numRuns: RUNS,
        examples: [
          [1, true],
          [1, false],
          [all.length, true],
          [all.length, false],
        ],
      },
    )
  })

  test('is walked with every lasting user once while others come and go [PAGE-23]', async () => {
    const admin = await administrator(server(), 'zz-admin@x.test')
    const lasting = (await list('?limit=0')).emails
    let comers = 0
    const changes = fc.array(
      fc.record({ comes: fc.boolean(), letter: fc.constantFrom('a', 'u05', 'u1', 'u33', 'v', 'zz') }),
      { minLength: 1, maxLength: 12 },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 2, max: 9 }),
        fc.boolean(),
        changes,
        async (limit, isForward, moves) => {
          const visitors: string[] = []
          const seen = await walk(limit, isForward, async (page) => {
            const move = moves[page % moves.length]
            if (move === undefined) return
            if (move.comes) {
              const email = `${move.letter}.visitor${(comers += 1)}@x.test`
              visitors.push(email)
              const names = { first_name: 'V', last_name: 'V' }
              ok(await admin.api.post('/users', { email, ...names }), 201)
            } else {
              const email = visitors.shift()
              if (email !== undefined) ok(await admin.api.delete(`/users/${email}`), 200)
            }
          })
          expect(seen).toEqual([...seen].sort())
          expect(new Set(seen).size).toBe(seen.length)
          expect(seen.filter((email) => lasting.includes(email))).toEqual(lasting)
          for (const email of visitors) ok(await admin.api.delete(`/users/${email}`), 200)
        },
      ),
      { numRuns: RUNS },
    )
  })
})
