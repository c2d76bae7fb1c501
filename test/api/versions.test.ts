import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApi } from '../../src/api/openapi.js'
import { ROUTES } from '../../src/api/routes.js'
import { V1_3, V1_4, within, type Version } from '../../src/model/version.js'
import type { Answer, Client } from '../support/client.js'
import { ENGINES } from '../support/engines.js'
import { startServer, type TestServer } from '../support/server.js'
import { expectError, unchanged, unknownId } from './support.js'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'] as const

interface Session {
  email: string
  token: string
  at(version: string): Client
}

const keys = (answer: Answer): string[] => Object.keys(answer.json).sort()

async function session(server: TestServer): Promise<Session> {
  const { email, token } = await server.person()
  return { email, token, at: (version) => server.client(token, version) }
}

/** 404 as an error object, or for HEAD as a status alone. */
async function expectUnknown(api: Client, method: string, path: string, absolute = false): Promise<void> {
  const answer = await api.call(method, path, { absolute })
  if (method === 'HEAD') expect(answer.status, path).toBe(404)
  else expectError(answer, 404, `${method} ${path}`)
}

test('1.4 has every row of 1.3 and no other, with the same parameters, fields, statuses and texts [VER-7]', () => {
  const served = (version: Version) => ROUTES.filter(({ since, until }) => within(version, since, until))
  expect(served(V1_4)).toEqual(served(V1_3))
  const described = (version: Version): string =>
    JSON.stringify(openApi({ versions: [version], baseUrl: 'https://x.test' }))
  const asTheOneBefore = described(V1_4).replaceAll('v1.4', 'v1.3').replaceAll('1_4', '1_3')
  expect(asTheOneBefore.replace('"version":"1.4"', '"version":"1.3"') === described(V1_3)).toBe(true)
})

describe.each(ENGINES)('versions on %s', (engine) => {
  let server: TestServer

  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server.stop())

  test('1.0, 1.3 and 1.4 are served, all of them to one token [VER-1]', async () => {
    const { at } = await session(server)
    const ids = await Promise.all(
      ['1.0', '1.3', '1.4'].map(async (v) => (await at(v).get('/folders/root')).json.id),
    )
    expect(ids[0]).toMatch(/^[0-9a-f]{64}$/)
    expect(new Set(ids).size).toBe(1)
  })

  test.each(['0.9', '1.5', '1.10', '2.0', '1.30', '10.3', '1.1', '1.2', '1.03', '01.3'])(
    'version %s is not served, with a token or without [VER-2] [VER-5] [HTTP-67]',
    async (version) => {
      const { at } = await session(server)
      for (const api of [at(version), server.client(undefined, version)]) {
        for (const method of METHODS) await expectUnknown(api, method, '/folders/root')
      }
    },
  )

  test('the answer to a version that is switched off says how to switch it on [VER-5]', async () => {
    for (const version of ['1.1', '1.2']) {
      const answer = await server.client(undefined, version).get('/folders/root')
      expect(answer.json.message).toContain('--legacy-versions')
    }
    expect((await server.client(undefined, '1.5').get('/folders/root')).json.message).not.toContain('legacy')
  })

  test.each([
    '/api/v1/folders/root',
    '/api/1.3/folders/root',
    '/api/vfoo/folders/root',
    '/api/v1./folders/root',
    '/api/v1.3.0/folders/root',
    '/api/v-1.3/folders/root',
    '/api/V1.3/folders/root',
    '/api/v1%2E3/folders/root',
    '/api/folders/root',
    '/v1.3/folders/root',
    '/api/v1.3',
    '/api/',
    '/api',
  ])('the prefix of %s is unknown [VER-3]', async (path) => {
    const { at } = await session(server)
    for (const api of [at('1.3'), server.client()]) await expectUnknown(api, 'GET', path, true)
  })

  test('the OAuth routes have no version [VER-4]', async () => {
    const { at } = await session(server)
    for (const path of ['/auth/token', '/authorize', '/auth/tokeninfo', `/auth/token/${unknownId()}`]) {
      for (const method of ['GET', 'POST', 'DELETE']) await expectUnknown(at('1.3'), method, path)
    }
  })

  test.each(['1.0', '1.3', '1.4'])(
    'Location carries the version of the request, here %s [VER-6] [HTTP-91]',
    async (v) => {
      const { at } = await session(server)
      for (const noun of ['folders', 'files']) {
        const made = await at(v).post(`/${noun}`, { name: `a ${noun}`, parent: 'root' })
        expect(made.headers.location).toBe(`${server.origin}/api/v${v}/${noun}/${made.json.id}`)
      }
    },
  )

  test('what 1.4 would add is unknown to 1.0 and 1.3: routes are 404 and parameters are ignored [VER-8]', async () => {
    const { at } = await session(server)
    for (const version of ['1.0', '1.3']) {
      for (const path of ['/changes', '/events', '/folders/root/changes', '/search']) {
        await expectUnknown(at(version), 'GET', path)
      }
      const plain = await at(version).get('/folders/root')
      const asked = await at(version).get('/folders/root?cursor=1&depth=2&since=3')
      expect(asked.json).toEqual(plain.json)
      expect(asked.headers.etag).toBe(plain.headers.etag)
    }
  })

  describe('1.0', () => {
    test('has /children, which 1.3 and 1.4 do not [VER-10] [VER-11]', async () => {
      const { at } = await session(server)
      const folder = await at('1.3').folder('folder')
      const root = await at('1.0').get('/children')
      expect(root.status).toBe(200)
      expect(root.json).toEqual((await at('1.0').get('/children/root')).json)
      expect((root.json['folders'] as { name: string }[]).map(({ name }) => name)).toEqual(['folder'])
      expect((await at('1.0').get(`/children/${folder}`)).status).toBe(200)
      for (const version of ['1.3', '1.4']) {
        for (const path of ['/children', '/children/root', `/children/${folder}`]) {
          for (const method of METHODS) await expectUnknown(at(version), method, path)
        }
      }
    })

    test('has Children with parent, which 1.3 leaves out [VER-12]', async () => {
      const { at } = await session(server)
      const root = (await at('1.3').get('/folders/root')).json.id
      const old = await at('1.0').get('/children')
      expect(keys(old)).toEqual(['files', 'folders', 'parent'])
      expect(old.json.parent).toBe(root)
      for (const version of ['1.3', '1.4']) {
        expect(keys(await at(version).get('/folders/root/children'))).toEqual(['files', 'folders'])
      }
    })

    test('has Folder with id, name and is_shared alone [VER-13]', async () => {
      const { at } = await session(server)
      const folder = await at('1.0').post('/folders', { name: 'folder', parent: 'root' })
      const FIELDS = ['id', 'is_shared', 'name']
      expect(keys(folder)).toEqual(FIELDS)
      expect(keys(await at('1.0').get(`/folders/${folder.json.id}`))).toEqual(FIELDS)
      expect(keys(await at('1.0').put(`/folders/${folder.json.id}`, { name: 'new' }))).toEqual(FIELDS)
      const listed = (await at('1.0').get('/children')).json['folders'] as object[]
      expect(listed.map((element) => Object.keys(element).sort())).toEqual([FIELDS])
    })

    test('has File with id, name and mime_type, and with content size and last_modified [VER-14] [VER-16]', async () => {
      const { at } = await session(server)
      const file = await at('1.0').post('/files', { name: 'a.txt', parent: 'root' })
      const EMPTY = ['id', 'mime_type', 'name']
      expect(keys(file)).toEqual(EMPTY)
      expect(keys(await at('1.0').get(`/files/${file.json.id}`))).toEqual(EMPTY)
      expect(file.text).not.toContain('-1')
      await at('1.0').upload(file.json.id, 'hello')
      const full = await at('1.0').get(`/files/${file.json.id}`)
      expect(keys(full)).toEqual(['id', 'last_modified', 'mime_type', 'name', 'size'])
      expect(full.json['size']).toBe(5)
      const listed = (await at('1.0').get('/children')).json['files'] as object[]
      expect(listed).toEqual([full.json])
    })

    test('takes parent in bodies [VER-15] [FIELD-1]', async () => {
      const { at } = await session(server)
      const folder = await at('1.0').post('/folders', { name: 'folder', parent: 'root' })
      const file = await at('1.0').post('/files', { name: 'file', parent: folder.json.id })
      expect((await at('1.3').get(`/files/${file.json.id}`)).json.parent).toBe(folder.json.id)
      expect((await at('1.0').put(`/files/${file.json.id}`, { parent: 'root' })).status).toBe(200)
      expect((await at('1.3').get(`/files/${file.json.id}`)).json.parent).not.toBe(folder.json.id)
    })

    test('does not know fields, not even a broken one [VER-17]', async () => {
      const { at } = await session(server)
      const file = await at('1.0').file('a.txt', 'root', 'hello')
      for (const path of ['/folders/root', `/files/${file}`]) {
        const plain = await at('1.0').get(path)
        for (const query of [
          'fields=path,children',
          'fields=path&fields=children',
          'fields=',
          'fields=%zz',
        ]) {
          const asked = await at('1.0').get(`${path}?${query}`)
          expect(asked.status, query).toBe(200)
          expect(asked.json).toEqual(plain.json)
          expect(asked.headers.etag).toBe(plain.headers.etag)
          expect(asked.headers.etag).toBeDefined()
        }
      }
    })

    test('has none of the later routes, whatever the method and before the token [VER-18] [HTTP-53]', async () => {
      const { at } = await session(server)
      const file = await at('1.0').file('a.txt')
      for (const api of [at('1.0'), server.client(undefined, '1.0')]) {
        for (const path of [
          '/folders/root/path',
          '/folders/root/children',
          `/files/${file}/path`,
          '/users',
          '/users/me',
          '/users/me/shares',
          '/users/me/two_factor',
          '/invitees',
          '/invitees/a@x.test',
          '/shares',
          `/shares/${unknownId().slice(0, 32)}`,
          '/groups',
          '/groups/1',
          '/devices',
          `/devices/${unknownId().slice(0, 32)}`,
        ]) {
          for (const method of METHODS) await expectUnknown(api, method, path)
        }
      }
    })

    test('answers every successful upload with 200 where 1.3 says 204, with the same headers [VER-19] [UP-13]', async () => {
      const { at } = await session(server)
      for (const [version, ok] of [
        ['1.0', 200],
        ['1.3', 204],
        ['1.4', 204],
      ] as const) {
        const api = at(version)
        const file = await api.file(`${version}.txt`)
        const whole = await api.upload(file, 'hello')
        const begun = await api.upload(file, '', { 'Content-Range': 'bytes */*' })
        const id = String(begun.headers['upload-id'])
        const chunk = await api.upload(file, 'hel', { 'Content-Range': 'bytes 0-2/*', 'Upload-ID': id })
        const asked = await api.upload(file, '', { 'Content-Range': 'bytes */*', 'Upload-ID': id })
        const last = await api.upload(file, 'lo', { 'Content-Range': 'bytes 3-4/5', 'Upload-ID': id })
        expect([whole, begun, chunk, last].map(({ status }) => status)).toEqual([ok, ok, ok, ok])
        expect(asked.status).toBe(200)
        for (const answer of [whole, begun, chunk, asked, last]) expect(answer.text).toBe('')
        expect(whole.headers.etag).toMatch(/^"[^"]+"$/)
        expect(last.headers.etag).toBe(whole.headers.etag)
        expect(last.headers['upload-id']).toBeUndefined()
        expect(begun.headers['range']).toBeUndefined()
        for (const answer of [begun, chunk, asked]) {
          expect(answer.headers['upload-id']).toBe(id)
          expect(answer.headers.etag).toBeUndefined()
        }
        for (const answer of [chunk, asked]) expect(answer.headers['range']).toBe('bytes=0-2')
      }
    })

    test('and 1.3 answer a status query with 200 and continue each other’s uploads [VER-20] [VER-21]', async () => {
      const { at } = await session(server)
      const file = await at('1.0').file('a.txt')
      const begun = await at('1.0').upload(file, 'he', { 'Content-Range': 'bytes 0-1/*' })
      const id = String(begun.headers['upload-id'])
      for (const version of ['1.0', '1.3', '1.4']) {
        const asked = await at(version).upload(file, '', { 'Content-Range': 'bytes */*', 'Upload-ID': id })
        expect(asked.status).toBe(200)
        expect(asked.headers['range']).toBe('bytes=0-1')
      }
      await at('1.3').upload(file, 'll', { 'Content-Range': 'bytes 2-3/*', 'Upload-ID': id })
      const done = await at('1.0').upload(file, 'o', { 'Content-Range': 'bytes 4-4/5', 'Upload-ID': id })
      expect(done.status).toBe(200)
      expect((await at('1.3').get(`/files/${file}/content`)).text).toBe('hello')
    })

    test('accepts root in every place [VER-24]', async () => {
      const { at } = await session(server)
      const root = (await at('1.0').get('/folders/root')).json.id
      expect((await at('1.0').get(`/folders/${root.slice(0, 32)}`)).json.id).toBe(root)
      expect((await at('1.0').post('/folders', { name: 'a', parent: 'root' })).status).toBe(201)
      expect((await at('1.0').post('/folders', { name: 'b', parent: root.slice(0, 32) })).status).toBe(201)
      expectError(await at('1.0').get('/folders/appdata'), 404)
      expectError(await at('1.0').post('/folders', { name: 'c', parent: 'appdata' }), 404)
    })

    test('has conditions, ranges, chunks and conflicts as 1.3 has them [VER-26]', async () => {
      const { at } = await session(server)
      const seen = new Map<string, string>()
      for (const version of ['1.0', '1.3', '1.4']) {
        const api = at(version)
        const file = await api.file(`${version}.txt`, 'root', 'hello')
        const { etag } = (await api.get(`/files/${file}/content`)).headers
        const meta = (await api.get(`/files/${file}`)).headers.etag
        const answers = [
          await api.get(`/files/${file}`, { 'If-None-Match': meta }),
          await api.get(`/files/${file}/content`, { 'If-None-Match': etag }),
          await api.get(`/files/${file}/content`, { Range: 'bytes=1-2' }),
          await api.get(`/files/${file}/content`, { Range: 'bytes=9-' }),
          await api.put(`/files/${file}`, { name: 'x' }, { 'If-Match': '"stale"' }),
          await api.upload(file, 'x', { 'If-Match': '"stale"' }),
          await api.post('/files', { name: `${version}.txt`, parent: 'root' }),
          await api.upload(file, 'x', { 'Content-Range': 'bytes 1-1/2' }),
          await api.upload(file, 'x', { 'Content-Range': 'bytes 0-0/2', 'Upload-ID': unknownId() }),
        ]
        const begun = await api.upload(file, 'x', { 'Content-Range': 'bytes 0-0/9' })
        const id = String(begun.headers['upload-id'])
        answers.push(await api.upload(file, 'x', { 'Content-Range': 'bytes 5-5/9', 'Upload-ID': id }))
        seen.set(version, JSON.stringify(answers.map(({ status, text }) => [status, text])))
      }
      expect(seen.get('1.0')).toBe(seen.get('1.3'))
      expect(seen.get('1.4')).toBe(seen.get('1.3'))
      const statuses = (JSON.parse(seen.get('1.3') ?? '[]') as [number][]).map(([status]) => status)
      expect(statuses).toEqual([304, 304, 206, 416, 412, 412, 409, 400, 400, 416])
    })
  })

  test('1.3 and 1.4 show parent, content_state and with content etag, and sid of shared folders alone [VER-27]', async () => {
    const { at } = await session(server)
    for (const version of ['1.3', '1.4']) {
      const api = at(version)
      const root = await api.get('/folders/root')
      expect(keys(root)).toEqual(['id', 'is_shared', 'name', 'parent'])
      const file = await api.post('/files', { name: `${version}.txt`, parent: 'root' })
      expect(keys(file)).toEqual(['content_state', 'id', 'mime_type', 'name', 'parent'])
      const put = await api.upload(file.json.id, 'hello')
      const full = await api.get(`/files/${file.json.id}`)
      expect(keys(full)).toEqual([
        'content_state',
        'etag',
        'id',
        'last_modified',
        'mime_type',
        'name',
        'parent',
        'size',
      ])
      expect(full.json.parent).toBe(root.json.id)
      expect(`"${full.json.etag}"`).toBe(put.headers.etag)
    }
  })

  test('1.3 and 1.4 know the scope files.appdata [VER-29]', async () => {
    const email = await server.addUser()
    const token = await server.addToken(email, 'files.appdata,groups.read')
    for (const version of ['1.3', '1.4']) {
      expect((await server.client(token, version).get('/folders/appdata')).status).toBe(200)
    }
  })

  test('every documented call has the statuses and keys on record [VER-9]', async () => {
    const { at } = await session(server)
    const record: Record<string, unknown> = {}
    for (const version of ['1.0', '1.3']) {
      const api = at(version)
      const note = (name: string, answer: Answer): Answer => {
        const shape = answer.text.startsWith('{') ? keys(answer) : answer.text
        record[`${version} ${name}`] = [answer.status, shape]
        return answer
      }
      const folder = note('POST folder', await api.post('/folders', { name: `d${version}`, parent: 'root' }))
        .json.id
      const file = note('POST file', await api.post('/files', { name: 'f.txt', parent: folder })).json.id
      note('PUT content', await api.upload(file, 'hello'))
      note('GET folder', await api.get(`/folders/${folder}`))
      note('GET file', await api.get(`/files/${file}`))
      note('GET content', await api.get(`/files/${file}/content`))
      note(
        'GET children',
        await api.get(version === '1.0' ? `/children/${folder}` : `/folders/${folder}/children`),
      )
      note('GET path', await api.get(`/files/${file}/path`))
      note('PUT file', await api.put(`/files/${file}`, { name: 'g.txt' }))
      note('PUT folder', await api.put(`/folders/${folder}`, { name: `e${version}` }))
      note('DELETE file', await api.delete(`/files/${file}`))
      note('DELETE folder', await api.delete(`/folders/${folder}`))
    }
    expect(record).toEqual(RECORD)
  })
})

const FOLDER_1_0 = ['id', 'is_shared', 'name']
const FOLDER_1_3 = ['id', 'is_shared', 'name', 'parent']
const FILE_1_3 = ['content_state', 'etag', 'id', 'last_modified', 'mime_type', 'name', 'parent', 'size']
const FILE_1_0 = ['id', 'last_modified', 'mime_type', 'name', 'size']

/** The promise to clients: a later release may add keys, and must change nothing else here. */
const RECORD = {
  '1.0 POST folder': [201, FOLDER_1_0],
  '1.0 POST file': [201, ['id', 'mime_type', 'name']],
  '1.0 PUT content': [200, ''],
  '1.0 GET folder': [200, FOLDER_1_0],
  '1.0 GET file': [200, FILE_1_0],
  '1.0 GET content': [200, 'hello'],
  '1.0 GET children': [200, ['files', 'folders', 'parent']],
  '1.0 GET path': [404, ['message', 'type']],
  '1.0 PUT file': [200, FILE_1_0],
  '1.0 PUT folder': [200, FOLDER_1_0],
  '1.0 DELETE file': [204, ''],
  '1.0 DELETE folder': [204, ''],
  '1.3 POST folder': [201, FOLDER_1_3],
  '1.3 POST file': [201, ['content_state', 'id', 'mime_type', 'name', 'parent']],
  '1.3 PUT content': [204, ''],
  '1.3 GET folder': [200, FOLDER_1_3],
  '1.3 GET file': [200, FILE_1_3],
  '1.3 GET content': [200, 'hello'],
  '1.3 GET children': [200, ['files', 'folders']],
  '1.3 GET path': [200, ['folders']],
  '1.3 PUT file': [200, FILE_1_3],
  '1.3 PUT folder': [200, FOLDER_1_3],
  '1.3 DELETE file': [204, ''],
  '1.3 DELETE folder': [204, ''],
}

describe.each(ENGINES)('legacy versions on %s', (engine) => {
  let server: TestServer

  beforeAll(async () => {
    server = await startServer(engine, { args: ['--legacy-versions', '--capacity', '1000'] })
  })
  afterAll(() => server.stop())

  test('1.1 is 1.0 with people and shares: no path, children below a folder or fields [VER-30]', async () => {
    const { at } = await session(server)
    const api = at('1.1')
    const file = await api.file('a.txt')
    expect((await api.get('/children')).status).toBe(200)
    for (const path of [
      '/folders/root/path',
      '/folders/root/children',
      `/files/${file}/path`,
      '/users/me/quota',
      '/users/me/two_factor',
      '/groups',
      '/invitees/a@x.test',
    ]) {
      await expectUnknown(api, 'GET', path)
    }
    const plain = await api.get('/folders/root')
    expect(keys(plain)).toEqual(['id', 'is_shared', 'name'])
    const asked = await api.get('/folders/root?fields=path,children')
    expect(asked.json).toEqual(plain.json)
    expect(asked.headers.etag).toBe(plain.headers.etag)
  })

  test('1.2 is 1.1 with path, children and fields, and keeps /children [VER-31] [FIELD-45]', async () => {
    const { at } = await session(server)
    const api = at('1.2')
    const folder = await api.folder('folder')
    const file = await api.file('a.txt', folder)
    expect((await api.get('/children')).status).toBe(200)
    expect((await api.get(`/folders/${folder}/children`)).status).toBe(200)
    expect((await api.get(`/folders/${folder}/path`)).status).toBe(200)
    expect((await api.get(`/files/${file}/path`)).status).toBe(200)
    const asked = await api.get(`/folders/${folder}?fields=path,children`)
    expect(keys(asked)).toEqual(['children', 'id', 'is_shared', 'name', 'path'])
    expect(asked.headers.etag).toBeUndefined()
    for (const path of ['/users/me/two_factor', '/groups', '/invitees/a@x.test'])
      await expectUnknown(api, 'GET', path)
  })

  test.each(['1.1', '1.2'])(
    '%s answers every successful upload with 200 [VER-32] [FIELD-46]',
    async (version) => {
      const { at } = await session(server)
      const api = at(version)
      const file = await api.file('a.txt')
      const begun = await api.upload(file, '', { 'Content-Range': 'bytes */*' })
      const id = String(begun.headers['upload-id'])
      const chunk = await api.upload(file, 'hel', { 'Content-Range': 'bytes 0-2/*', 'Upload-ID': id })
      const asked = await api.upload(file, '', { 'Content-Range': 'bytes */*', 'Upload-ID': id })
      const last = await api.upload(file, '', { 'Content-Range': 'bytes */3', 'Upload-ID': id })
      const whole = await api.upload(file, 'hello')
      expect([begun, chunk, asked, last, whole].map(({ status }) => status)).toEqual([
        200, 200, 200, 200, 200,
      ])
    },
  )

  test('a lack of space is 507 since 1.3 and a 500 before [VER-22] [VER-33] [ERR-19]', async () => {
    const { at } = await session(server)
    const file = await at('1.3').file('a.txt', 'root', 'old')
    const body = 'x'.repeat(2000)
    await unchanged(server, async () => {
      for (const version of ['1.0', '1.1', '1.2']) {
        const answer = await at(version).upload(file, body)
        expectError(answer, 500, version)
        expect(answer.text).not.toContain('INSUFFICIENT_STORAGE')
      }
      for (const version of ['1.3', '1.4']) expectError(await at(version).upload(file, body), 507, version)
    })
    expect((await at('1.3').get(`/files/${file}/content`)).text).toBe('old')
  })

  test('a file that this node does not hold is 404 for an upload since 1.3 and a 500 before [VER-23]', async () => {
    const { at } = await session(server)
    const folder = await at('1.3').folder('folder')
    const file = await at('1.3').file('a.txt', folder)
    expect((await server.command('node', 'deselect', folder)).status).toBe(0)
    await unchanged(server, async () => {
      for (const version of ['1.0', '1.1', '1.2'])
        expectError(await at(version).upload(file, 'x'), 500, version)
      for (const version of ['1.3', '1.4']) expectError(await at(version).upload(file, 'x'), 404, version)
    })
  })

  test('1.0, 1.3 and 1.4 answer as they do without them [VER-34]', async () => {
    const { at } = await session(server)
    expect(keys(await at('1.0').get('/folders/root'))).toEqual(FOLDER_1_0)
    expect(keys(await at('1.3').get('/folders/root'))).toEqual(FOLDER_1_3)
    expect(keys(await at('1.4').get('/folders/root'))).toEqual(FOLDER_1_3)
    await expectUnknown(at('1.0'), 'GET', '/folders/root/children')
    await expectUnknown(at('1.3'), 'GET', '/children')
    await expectUnknown(at('1.4'), 'GET', '/children')
    const file = await at('1.3').file('a.txt')
    expect((await at('1.0').upload(file, 'x')).status).toBe(200)
    expect((await at('1.3').upload(file, 'x')).status).toBe(204)
    expect((await at('1.4').upload(file, 'x')).status).toBe(204)
  })
})
