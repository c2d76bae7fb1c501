import { readdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Answer } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import {
  bytesOf,
  expectBytes,
  expectEmpty,
  expectRefused,
  expectStored,
  STRONG_TAG,
  useServer,
  VERSIONS,
} from './support.js'

/** Content-Disposition by RFC 6266: a type and parameters, each a token or a quoted string. */
function parseDisposition(text: unknown): { type: string; parameters: Map<string, string> } {
  const match = /^([a-z]+)((?:;\s*[a-z]+\*?=(?:"(?:[^"\\]|\\.)*"|[^\s";,]+))*)$/.exec(String(text))
  if (match === null) throw new Error(`no valid Content-Disposition: ${String(text)}`)
  const parameters = new Map<string, string>()
  for (const [, name = '', value = ''] of (match[2] ?? '').matchAll(
    /;\s*([a-z]+\*?)=("(?:[^"\\]|\\.)*"|[^\s";,]+)/g,
  )) {
    expect(parameters.has(name)).toBe(false)
    parameters.set(name, value)
  }
  return { type: match[1] ?? '', parameters }
}

/** The headers that say something about the content, comparable between GET and HEAD. */
function comparable(answer: Answer): Record<string, unknown> {
  const type = answer.headers['content-type']?.replace(/boundary=.*/, 'boundary=…')
  return { ...answer.headers, 'content-type': type, date: undefined, status: answer.status }
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

describe.each(ENGINES)('a download on %s', (engine) => {
  const server = useServer(engine)

  describe.each(VERSIONS)('in version %s', (version) => {
    it('has the exact bytes and says everything about them in its headers [DOWN-1] [ETAG-2]', async () => {
      const { api } = await server().person(undefined, version)
      const id = await api.file('hello.txt', 'root', 'hello')
      const answer = await api.get(`/files/${id}/content`)
      expect(answer.status).toBe(200)
      expect(answer.text).toBe('hello')
      const file = (await api.get(`/files/${id}`)).json
      expect(answer.headers['content-type']).toBe(file['mime_type'])
      expect(answer.headers['content-disposition']).toEqual(expect.stringContaining('hello.txt'))
      expect(answer.headers.etag).toMatch(STRONG_TAG)
      expect(answer.headers['last-modified']).toBeDefined()
      expect(answer.headers['accept-ranges']).toBe('bytes')
      expect(answer.headers['x-content-type-options']).toBe('nosniff')
      expect(answer.headers['content-range']).toBeUndefined()
    })

    it('is 304 without a body when If-None-Match names the content tag, else whole [ETAG-17] [ETAG-2]', async () => {
      const { api } = await server().person(undefined, version)
      const id = await api.file('a.txt', 'root', 'hello')
      const old = String((await api.get(`/files/${id}/content`)).headers.etag)
      const tag = expectStored(await api.upload(id, 'hello again'), version)
      for (const method of ['GET', 'HEAD']) {
        for (const match of [tag, '*', `"other", ${tag}`, tag.slice(1, -1), `W/${tag}`]) {
          const answer = await api.call(method, `/files/${id}/content`, {
            headers: { 'If-None-Match': match },
          })
          expectEmpty(answer, 304)
          expect(answer.headers.etag).toBe(tag)
        }
        for (const match of ['"other"', old, tag.slice(0, -1), `'${tag.slice(1, -1)}'`, '', ' ']) {
          const answer = await api.call(method, `/files/${id}/content`, {
            headers: { 'If-None-Match': match },
          })
          expect(answer.status).toBe(200)
          expect(answer.headers.etag).toBe(tag)
          expect(answer.text).toBe(method === 'GET' ? 'hello again' : '')
        }
      }
    })

    it('is 404 for a file that has no content yet, whatever the conditions [DOWN-9]', async () => {
      const { api } = await server().person(undefined, version)
      const id = await api.file('empty.txt')
      for (const headers of [
        {},
        { Range: 'bytes=0-1' },
        { 'If-None-Match': '*' },
        { 'If-None-Match': '"x"' },
      ]) {
        expectRefused(await api.get(`/files/${id}/content`, headers), 404, 'NOT_FOUND')
        const head = await api.head(`/files/${id}/content`, headers)
        expect(head.status).toBe(404)
        expect(head.body.length).toBe(0)
      }
    })
  })

  it('is chunked and has no Content-Length, whatever the user agent [DOWN-2]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.bin', 'root', bytesOf(200_000))
    for (const agent of ['curl/8.0', 'Mozilla/5.0 (Windows NT 10.0)', 'python-requests/2.0', '']) {
      const answer = await api.get(`/files/${id}/content`, { 'User-Agent': agent })
      expect(answer.headers['transfer-encoding']).toBe('chunked')
      expect(answer.headers['content-length']).toBeUndefined()
      expectBytes(answer.body, bytesOf(200_000))
    }
  })

  it('has the type of the extension, or application/octet-stream [DOWN-3]', async () => {
    const { api } = await server().person()
    const types = {
      'a.txt': 'text/plain',
      'a.unheardof': 'application/octet-stream',
      a: 'application/octet-stream',
    }
    for (const [name, type] of Object.entries(types)) {
      const id = await api.file(name, 'root', 'x')
      expect((await api.get(`/files/${id}/content`)).headers['content-type']).toBe(type)
    }
  })

  it.each([
    'hello.txt',
    '日本語.pdf',
    'a"b.txt',
    '- x',
    'a;b=c.txt',
    '100%.txt',
    'a\\b.txt',
    "it's (1).txt",
    'é.txt',
  ])('suggests the file name %j in both forms [DOWN-4] [DOWN-5]', async (name) => {
    const { api } = await server().person()
    const id = await api.file(name, 'root', 'x')
    const { parameters } = parseDisposition(
      (await api.get(`/files/${id}/content`)).headers['content-disposition'],
    )
    expect(parameters.get('filename')).toMatch(/^"[ !#-.0-[\]-~]+"$/)
    const extended = parameters.get('filename*') ?? ''
    expect(extended).toMatch(/^UTF-8''(?:[A-Za-z0-9!#$&+.^_`|~-]|%[0-9A-F]{2})+$/)
    expect(decodeURIComponent(extended.slice("UTF-8''".length))).toBe(name)
  })

  it('offers active types as attachments and harmless ones inline [DOWN-6]', async () => {
    const { api } = await server().person()
    const expected = {
      attachment: ['html', 'htm', 'xhtml', 'svg', 'xml', 'pdf', 'js'],
      inline: ['txt', 'png', 'jpg'],
    }
    for (const [type, extensions] of Object.entries(expected)) {
      for (const extension of extensions) {
        const id = await api.file(`a.${extension}`, 'root', 'x')
        const answer = await api.get(`/files/${id}/content`)
        expect(`${extension} ${parseDisposition(answer.headers['content-disposition']).type}`).toBe(
          `${extension} ${type}`,
        )
      }
    }
  })

  it('has a Last-Modified of the minute of last_modified [DOWN-7]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt', 'root', 'hello')
    const modified = String((await api.get(`/files/${id}/content`)).headers['last-modified'])
    expect(new Date(modified).toUTCString()).toBe(modified)
    const { last_modified: minute } = (await api.get(`/files/${id}`)).json
    expect(`${new Date(modified).toISOString().slice(0, 16)}Z`).toBe(minute)
  })

  it('of empty content is 200 with zero bytes and all headers [DOWN-8]', async () => {
    const { api } = await server().person()
    const id = await api.file('empty.txt', 'root', '')
    const answer = await api.get(`/files/${id}/content`)
    expectEmpty(answer, 200)
    expect(answer.headers['content-type']).toBe('text/plain')
    expect(answer.headers['content-disposition']).toBeDefined()
    expect(answer.headers.etag).toMatch(STRONG_TAG)
    expect(answer.headers['last-modified']).toBeDefined()
    expect(answer.headers['accept-ranges']).toBe('bytes')
    expect(answer.headers['x-content-type-options']).toBe('nosniff')
  })

  it('is 404 when the stored bytes are gone [DOWN-10]', async () => {
    const { api } = await server().person()
    const body = bytesOf(123_457, 77)
    const id = await api.file('gone.bin', 'root', body)
    let removed = 0
    for (const path of await filesBelow(server().dataDir)) {
      if ((await stat(path)).size !== body.length) continue
      await unlink(path)
      removed += 1
    }
    expect(removed).toBe(1)
    expectRefused(await api.get(`/files/${id}/content`), 404, 'NOT_FOUND')
    expectRefused(await api.get(`/files/${id}/content`, { Range: 'bytes=0-1' }), 404, 'NOT_FOUND')
    expect((await api.head(`/files/${id}/content`)).status).toBe(404)
    expectStored(await api.upload(id, body))
    expectBytes((await api.get(`/files/${id}/content`)).body, body)
  })

  it('is refused for a wrong id, a hidden file, a folder, a token without the right and no token [DOWN-11]', async () => {
    const { api, email } = await server().person()
    const id = await api.file('a.txt', 'root', 'hello')
    const folder = await api.folder('folder')
    const deleted = await api.file('deleted.txt', 'root', 'hello')
    await api.delete(`/files/${deleted}`)
    const other = await (await server().person()).api.file('theirs.txt', 'root', 'hello')
    for (const wrong of [
      'bla',
      id.slice(1),
      `${id}0`,
      id.toUpperCase().replace(/^./, 'A'),
      `${id.slice(0, 63)}g`,
    ]) {
      expectRefused(await api.get(`/files/${wrong}/content`), 400, 'BAD_ARGS')
    }
    for (const missing of [`${id.slice(0, 32)}${'1'.repeat(32)}`, deleted, other, folder, 'root']) {
      expectRefused(await api.get(`/files/${missing}/content`), 404, 'NOT_FOUND')
    }
    const writer = server().client(await server().addToken(email, 'files.write'))
    expectRefused(await writer.get(`/files/${id}/content`), 403, 'FORBIDDEN')
    expectRefused(await server().client().get(`/files/${id}/content`), 401, 'UNAUTHORIZED')
    const reader = server().client(await server().addToken(email, 'files.read'))
    expect((await reader.get(`/files/${id}/content`)).text).toBe('hello')
  })

  it('takes the token from the query when there is no header [DOWN-12]', async () => {
    const { api, token } = await server().person()
    const id = await api.file('a.txt', 'root', 'hello')
    const anyone = server().client()
    expect((await anyone.get(`/files/${id}/content?token=${token}`)).text).toBe('hello')
    const head = await anyone.head(`/files/${id}/content?token=${token}`)
    expect(head.status).toBe(200)
    expect(head.headers.etag).toMatch(STRONG_TAG)
    expectRefused(await anyone.get(`/files/${id}/content?token=${'0'.repeat(64)}`), 401, 'UNAUTHORIZED')
  })

  it('refuses two tokens, and a token in the query anywhere else [DOWN-13]', async () => {
    const { api, token } = await server().person()
    const id = await api.file('a.txt', 'root', 'hello')
    const anyone = server().client()
    expectRefused(await api.get(`/files/${id}/content?token=${token}`), 401, 'UNAUTHORIZED')
    expectRefused(await anyone.get(`/files/${id}/content?token=${token}&token=${token}`), 401, 'UNAUTHORIZED')
    for (const path of [`/files/${id}`, `/files/${id}/path`, '/folders/root', '/folders/root/children']) {
      expectRefused(await anyone.get(`${path}?token=${token}`), 401, 'UNAUTHORIZED')
    }
    const put = await anyone.call('PUT', `/files/${id}/content?token=${token}`, { body: 'changed' })
    expectRefused(put, 401, 'UNAUTHORIZED')
    expect((await api.get(`/files/${id}/content`)).text).toBe('hello')
  })

  it('ignores Accept and sends no other coding [DOWN-14] [DOWN-15]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt', 'root', 'hello'.repeat(1000))
    const plain = await api.get(`/files/${id}/content`)
    for (const headers of [
      { Accept: 'application/json' },
      { Accept: 'nonsense' },
      { 'Accept-Encoding': 'gzip, br' },
    ]) {
      const answer = await api.get(`/files/${id}/content`, headers)
      expect(answer.status).toBe(200)
      expectBytes(answer.body, plain.body)
      expect(answer.headers['content-encoding']).toBeUndefined()
      expect(answer.headers.etag).toBe(plain.headers.etag)
    }
  })

  it('lets scripts of other origins read its headers [DOWN-16]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt', 'root', 'hello')
    for (const headers of [{}, { Range: 'bytes=0-1' }, { Range: 'bytes=9-' }, { 'If-None-Match': '*' }]) {
      const answer = await api.get(`/files/${id}/content`, headers)
      const exposed = String(answer.headers['access-control-expose-headers']).split(/\s*,\s*/)
      expect(exposed).toEqual(expect.arrayContaining(['ETag', 'Content-Range', 'Content-Disposition']))
    }
  })

  it('answers HEAD with the status and the headers of GET and no body [DOWN-17]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt', 'root', 'hello')
    const large = await api.file('large.bin', 'root', bytesOf(300_000))
    const empty = await api.file('none.txt')
    const cases = [
      [id, {}, 200],
      [large, {}, 200],
      [id, { Range: 'bytes=0-1' }, 206],
      [id, { Range: 'bytes=0-1,3-4' }, 206],
      [large, { Range: 'bytes=0-100000,200000-' }, 206],
      [id, { 'If-None-Match': '*' }, 304],
      [id, { Range: 'bytes=5-' }, 416],
      [empty, {}, 404],
    ] as const
    for (const [file, headers, status] of cases) {
      const get = await api.get(`/files/${file}/content`, headers)
      const head = await api.head(`/files/${file}/content`, headers)
      expect(get.status).toBe(status)
      expect(comparable(head)).toEqual(comparable(get))
      expect(head.body.length).toBe(0)
      expect(head.headers['content-length']).toBeUndefined()
    }
  })

  it('is 304 for a matching If-None-Match with a Range, and the range for another one [DOWN-18]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt', 'root', 'hello')
    const tag = String((await api.get(`/files/${id}/content`)).headers.etag)
    for (const range of ['bytes=0-1', 'bytes=9-']) {
      expectEmpty(await api.get(`/files/${id}/content`, { Range: range, 'If-None-Match': tag }), 304)
    }
    const partial = await api.get(`/files/${id}/content`, { Range: 'bytes=0-1', 'If-None-Match': '"other"' })
    expect(partial.status).toBe(206)
    expect(partial.text).toBe('he')
  })

  it('returns 64 MiB byte for byte [DOWN-19]', async () => {
    const { api } = await server().person()
    const body = bytesOf(64 * 1024 * 1024, 19)
    const id = await api.file('large.bin', 'root', body)
    expectBytes((await api.get(`/files/${id}/content`)).body, body)
    const tail = await api.get(`/files/${id}/content`, { Range: 'bytes=-5000000' })
    expect(tail.status).toBe(206)
    expectBytes(tail.body, body.subarray(-5_000_000))
  })

  it('has a tag that depends on the bytes alone [ETAG-4]', async () => {
    const { api } = await server().person()
    const folder = await api.folder('folder')
    const id = await api.file('a.txt', 'root', 'hello')
    const tagNow = async (): Promise<unknown> => (await api.head(`/files/${id}/content`)).headers.etag
    const first = await tagNow()
    await api.put(`/files/${id}`, { name: 'b.txt' })
    expect(await tagNow()).toBe(first)
    await api.put(`/files/${id}`, { parent: folder })
    expect(await tagNow()).toBe(first)
    expect(expectStored(await api.upload(id, 'hello'))).toBe(first)
    expect(await tagNow()).toBe(first)
    expect(expectStored(await api.upload(id, 'other'))).not.toBe(first)
    expect(await tagNow()).not.toBe(first)
    expect(expectStored(await api.upload(id, 'hello'))).toBe(first)
    expect(await tagNow()).toBe(first)
  })

  it('has no tag on 416, nor has an upload that is still in progress [ETAG-5]', async () => {
    const { api } = await server().person()
    const id = await api.file('a.txt', 'root', 'hello')
    const refused = await api.get(`/files/${id}/content`, { Range: 'bytes=9-' })
    expectEmpty(refused, 416)
    expect(refused.headers.etag).toBeUndefined()
    const started = await api.upload(id, 'abc', { 'Content-Range': 'bytes 0-2/*' })
    expectEmpty(started, 204)
    expect(started.headers.etag).toBeUndefined()
    const upload = { 'Upload-ID': String(started.headers['upload-id']) }
    const status = await api.upload(id, '', { ...upload, 'Content-Range': 'bytes */*' })
    expectEmpty(status, 200)
    expect(status.headers.etag).toBeUndefined()
    const gap = await api.upload(id, 'xyz', { ...upload, 'Content-Range': 'bytes 7-9/*' })
    expectEmpty(gap, 416)
    expect(gap.headers.etag).toBeUndefined()
  })
})
