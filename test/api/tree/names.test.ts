import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Answer, Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { startServer, type TestServer } from '../../support/server.js'
import {
  expectRefusal,
  KINDS,
  listing,
  make,
  namesIn,
  NEWER_VERSIONS,
  rootOf,
  VERSIONS,
  withoutChange,
  type Kind,
} from './support.js'

const SMILE = '\u{1f600}'
const COMPOSED = 'caf\u00e9'
const DECOMPOSED = 'cafe\u0301'

interface Naming {
  readonly title: string
  readonly kind: Kind
  /** Sends the name by this route; the object is to end up in the folder. */
  give(api: Client, folder: string, name: unknown): Promise<Answer>
}

let counter = 0

const NAMINGS: readonly Naming[] = KINDS.flatMap((kind): Naming[] => [
  {
    title: `POST /${kind}`,
    kind,
    give: (api, folder, name) => api.post(`/${kind}`, { name, parent: folder }),
  },
  {
    title: `PUT /${kind}`,
    kind,
    async give(api, folder, name) {
      const id = await make(api, kind, `before ${(counter += 1)}`, folder)
      return api.put(`/${kind}/${id}`, { name })
    },
  },
  {
    title: `PUT /${kind} with a new parent`,
    kind,
    async give(api, folder, name) {
      const id = await make(api, kind, `elsewhere ${(counter += 1)}`)
      return api.put(`/${kind}/${id}`, { name, parent: folder })
    },
  },
])

const WAYS = NEWER_VERSIONS.flatMap((version) => NAMINGS.map((naming) => ({ ...naming, version })))

describe.each(ENGINES)('names on %s', (engine) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(engine, { workers: 2 })
  })
  afterAll(() => server.stop())

  describe.each(WAYS)('by $title under $version', ({ kind, give, version }) => {
    let api: Client
    let folder: string
    beforeAll(async () => {
      api = (await server.person(undefined, version)).api
      folder = await api.folder('the folder')
    })

    const accepted = async (name: string): Promise<void> => {
      const answer = await give(api, folder, name)
      expect(answer.status, JSON.stringify(name)).toBeLessThan(300)
      expect(answer.json.name).toBe(name)
      expect((await api.get(`/${kind}/${answer.json.id}`)).json.name).toBe(name)
      expect(await namesIn(api, folder)).toContain(name)
    }

    const lasting = async (): Promise<string[]> =>
      (await namesIn(api, folder)).filter((name) => !name.startsWith('before '))

    /** Refused names leave nothing behind in the folder but what the attempts themselves had put there before. */
    const refused = async (names: readonly unknown[], status = 400): Promise<void> => {
      const before = await lasting()
      for (const name of names) expectRefusal(await give(api, folder, name), status, JSON.stringify(name))
      expect(await lasting()).toEqual(before)
    }

    it('accepts 1 character, 255 characters, and 255 characters of four bytes [NAME-1]', async () => {
      for (const name of ['x', 'n'.repeat(255), SMILE.repeat(255), '\uac00'.repeat(255)]) await accepted(name)
    })

    it('refuses 256 characters [NAME-2]', async () => {
      await refused(['n'.repeat(256), SMILE.repeat(256), 'n'.repeat(5000)])
    })

    it('refuses the empty name [NAME-3]', async () => {
      await refused([''])
    })

    it('refuses a slash at any place [NAME-4]', async () => {
      await refused(['/', '/a', 'a/', 'a/b', '../a'])
    })

    it('refuses every control character [NAME-5]', async () => {
      const codes = [...Array(0x20).keys(), ...Array.from({ length: 0x21 }, (_, index) => 0x7f + index)]
      await refused(codes.map((code) => `a${String.fromCharCode(code)}b`))
    })

    it('refuses one dot and two dots, and accepts other dots [NAME-6]', async () => {
      await refused(['.', '..'])
      for (const name of ['...', '.hidden', 'a.', '. ', '..a']) await accepted(name)
    })

    it('refuses half of a surrogate pair [NAME-7]', async () => {
      await refused(['\ud800', 'a\udc00', '\udc00\ud800', `${SMILE}\ud83d`])
    })

    it('refuses what is no string [NAME-9]', async () => {
      await refused([0, 7, true, false, [], ['a'], {}, { name: 'a' }])
    })

    it('keeps every other name code point for code point [NAME-11]', async () => {
      for (const name of [
        '\ud55c\uae00 \ubb38\uc11c',
        '\u1112\u1161\u11ab',
        `${SMILE}\u{1f469}\u200d\u{1f680}`,
        'de\u0301compose\u0301',
        ' leading and trailing ',
        'back\\slash',
        'quo"te',
        '100%',
        '%2f',
        'what?',
        '#1',
        'a:b',
        'CON',
        '\u00a0',
        '\u2028',
        '\ufeffmark',
        "it's; DROP TABLE objects --",
        '\ufdd0\uffff',
      ]) {
        await accepted(name)
      }
    })

    it('tells letter case apart [NAME-12]', async () => {
      await accepted('case')
      await accepted('CASE')
      await accepted('Case')
    })

    it('refuses the other normal form of a sibling [NAME-13]', async () => {
      await make(api, 'folders', COMPOSED, folder)
      await refused([DECOMPOSED], 409)
      await make(api, 'files', `file ${DECOMPOSED}`, folder)
      await refused([`file ${COMPOSED}`], 409)
    })

    it('refuses the name of a sibling of either kind [NAME-14]', async () => {
      await make(api, 'folders', 'a folder', folder)
      await make(api, 'files', 'a file', folder)
      await refused(['a folder', 'a file'], 409)
    })

    it('takes a name that stands in another folder [NAME-15]', async () => {
      const other = await api.folder(`other ${(counter += 1)}`)
      await make(api, 'folders', 'in another folder', other)
      await make(api, 'files', 'file in another folder', other)
      await accepted('in another folder')
      await accepted('file in another folder')
    })

    it('takes the name of a deleted sibling [NAME-16]', async () => {
      for (const gone of KINDS) {
        const id = await make(api, gone, `deleted of ${gone}`, folder)
        expect((await api.delete(`/${gone}/${id}`)).status).toBe(204)
        await accepted(`deleted of ${gone}`)
      }
    })

    it('takes the words of the aliases for ordinary names [NAME-20]', async () => {
      const root = await rootOf(api)
      const appdata = (await api.get('/folders/appdata')).json.id
      await accepted('root')
      await accepted('appdata')
      expect(await rootOf(api)).toBe(root)
      expect((await api.get('/folders/appdata')).json.id).toBe(appdata)
    })
  })

  it.each(VERSIONS)('refuses a body that is not valid UTF-8 under %s [NAME-8]', async (version) => {
    const { api, token } = await server.person(undefined, version)
    const folder = await api.folder('folder')
    const file = await api.file('file')
    const bytes = [[0xff], [0xc3], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]]
    await withoutChange(server.client(token), async () => {
      for (const [method, path] of [
        ['POST', '/folders'],
        ['POST', '/files'],
        ['PUT', `/folders/${folder}`],
        ['PUT', `/files/${file}`],
      ] as const) {
        for (const wrong of bytes) {
          const body = Buffer.concat([
            Buffer.from('{"parent":"root","name":"a'),
            Buffer.from(wrong),
            Buffer.from('"}'),
          ])
          const headers = { 'Content-Type': 'application/json' }
          expectRefusal(await api.call(method, path, { headers, body }), 400, `${method} ${wrong.join()}`)
        }
      }
    })
  })

  it.each(VERSIONS)(
    'refuses a new object without a name or with null under %s [NAME-10]',
    async (version) => {
      const { api, token } = await server.person(undefined, version)
      await withoutChange(server.client(token), async () => {
        for (const kind of KINDS) {
          expectRefusal(await api.post(`/${kind}`, { parent: 'root' }), 400)
          expectRefusal(await api.post(`/${kind}`, { name: null, parent: 'root' }), 400)
        }
      })
    },
  )

  it('renames an object to the other normal form of its own name [NAME-17]', async () => {
    const { api } = await server.person()
    for (const kind of KINDS) {
      const id = await make(api, kind, COMPOSED)
      for (const name of [DECOMPOSED, COMPOSED]) {
        const answer = await api.put(`/${kind}/${id}`, { name })
        expect(answer.status).toBe(200)
        expect(answer.json.name).toBe(name)
        expect(await namesIn(api)).toEqual([name])
      }
      await api.delete(`/${kind}/${id}`)
    }
  })

  it('lets one of 20 requests at once create a name [NAME-18]', async () => {
    const { api } = await server.person()
    for (let round = 0; round < 3; round += 1) {
      const folder = await api.folder(`round ${round}`)
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          api.post(index % 2 === 0 ? '/folders' : '/files', {
            name: index % 4 < 2 ? COMPOSED : DECOMPOSED,
            parent: folder,
          }),
        ),
      )
      const made = answers.filter((answer) => answer.status === 201)
      expect(made).toHaveLength(1)
      for (const answer of answers) if (answer.status !== 201) expectRefusal(answer, 409)
      const { folders, files } = await listing(api, folder)
      expect([...folders, ...files].map((item) => item.id)).toEqual([made[0]?.json.id])
    }
  })

  it('lets one of 20 renames at once take a name [NAME-18]', async () => {
    const { api } = await server.person()
    const ids = await Promise.all(Array.from({ length: 20 }, (_, index) => api.file(`before ${index}`)))
    const answers = await Promise.all(ids.map((id) => api.put(`/files/${id}`, { name: 'wanted' })))
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
    for (const answer of answers) if (answer.status !== 200) expectRefusal(answer, 409)
    expect((await namesIn(api)).filter((name) => name === 'wanted')).toEqual(['wanted'])
    expect(await namesIn(api)).toHaveLength(20)
  })
})
