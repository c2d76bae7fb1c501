import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.js'
import {
  callFrom,
  launchBrowser,
  servePage,
  watchPreflights,
  type PageServer,
  type Preflight,
  type Seen,
} from './browser.js'

const CHUNK = 'abcdefghij'.repeat(10_000)
const CONTENT = CHUNK + CHUNK.toUpperCase() + 'the end'
const STRICT = { 'endpoint-consistency': 'strict' }

describe('a page of another origin', () => {
  let server: TestServer
  let pages: PageServer
  let browser: Browser
  let page: Page
  let preflights: readonly Preflight[]
  let token: string

  beforeAll(async () => {
    browser = await launchBrowser()
    server = await startServer('sqlite')
    pages = await servePage()
    token = (await server.person()).token
    const context = await browser.newContext({ ignoreHTTPSErrors: true })
    page = await context.newPage()
    preflights = await watchPreflights(page)
    await page.goto(pages.origin)
  })
  afterAll(async () => {
    await browser?.close()
    await pages?.close()
    await server?.stop()
  })

  function call(
    method: string,
    path: string,
    { headers = {}, body }: { headers?: Record<string, string>; body?: string } = {},
  ): Promise<Seen> {
    const url = path.startsWith('https:') ? path : `${server.origin}/api/v1.3${path}`
    return callFrom(page, {
      method,
      url,
      headers: { authorization: `Bearer ${token}`, ...STRICT, ...headers },
      body,
    })
  }

  const post = (path: string, value: object): Promise<Seen> =>
    call('POST', path, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) })

  const upload = (id: string, headers: Record<string, string>, body?: string): Promise<Seen> =>
    call('PUT', `/files/${id}/content`, { headers, ...(body === undefined ? {} : { body }) })

  function json(seen: Seen): Record<string, unknown> {
    expect(seen.headers['content-type']).toMatch(/^application\/json/)
    return JSON.parse(seen.text) as Record<string, unknown>
  }

  function expectRefused(seen: Seen, status: number, type: string): void {
    expect(seen.status).toBe(status)
    expect(json(seen)).toEqual({ type, message: expect.stringMatching(/./) as string })
  }

  async function created(path: '/files' | '/folders', name: string, parent: string): Promise<string> {
    const answer = await post(path, { name, parent })
    expect(answer.status).toBe(201)
    const id = String(json(answer)['id'])
    expect(answer.headers['location']).toBe(`${server.origin}/api/v1.3${path}/${id}`)
    expect(answer.headers['etag']).toMatch(/^W\/"[^"]+"$/)
    return id
  }

  test('is of another origin, and its script cannot read what is not meant for it', async () => {
    expect(await page.evaluate('location.origin')).toBe(pages.origin)
    const other = await servePage()
    try {
      await expect(callFrom(page, { method: 'GET', url: other.origin, headers: {} })).rejects.toThrow(/fetch/)
    } finally {
      await other.close()
    }
  })

  test('lists, creates, uploads in chunks, downloads a range and deletes, and reads every header and error [HTTP-39]', async () => {
    expect(json(await call('GET', '/folders/root/children'))).toMatchObject({ folders: [], files: [] })
    const folder = await created('/folders', 'Photos', 'root')
    const file = await created('/files', 'a.txt', folder)

    const begun = await upload(file, { 'content-range': 'bytes 0-99999/*' }, CHUNK)
    expect(begun.status).toBe(204)
    expect(begun.headers['range']).toBe('bytes=0-99999')
    const own = { 'upload-id': begun.headers['upload-id'] ?? '' }
    expect(own['upload-id']).toMatch(/^[0-9a-f]{64}$/)
    const next = { ...own, 'content-range': 'bytes 100000-199999/200007' }
    const second = await upload(file, next, CHUNK.toUpperCase())
    expect([second.status, second.headers['range']]).toEqual([204, 'bytes=0-199999'])
    const status = await upload(file, { ...own, 'content-range': 'bytes */*' })
    expect([status.status, status.headers['range']]).toEqual([200, 'bytes=0-199999'])
    const last = await upload(file, { ...own, 'content-range': 'bytes 200000-200006/200007' }, 'the end')
    expect([last.status, last.headers['upload-id']]).toEqual([204, undefined])
    const tag = last.headers['etag'] ?? ''
    expect(tag).toMatch(/^"[^"]+"$/)

    const whole = await call('GET', `/files/${file}/content`)
    expect([whole.status, whole.text === CONTENT, whole.headers['etag']]).toEqual([200, true, tag])
    expect(whole.headers['content-disposition']).toContain('a.txt')
    const range = await call('GET', `/files/${file}/content`, { headers: { range: 'bytes=199995-200003' } })
    expect([range.status, range.text]).toEqual([206, 'FGHIJthe '])
    expect(range.headers['content-range']).toBe('bytes 199995-200003/200007')
    const beyond = await call('GET', `/files/${file}/content`, { headers: { range: 'bytes=999999-' } })
    expect([beyond.status, beyond.headers['content-range']]).toEqual([416, 'bytes */200007'])
    const same = await call('GET', `/files/${file}/content`, { headers: { 'if-none-match': tag } })
    expect([same.status, same.text, same.headers['etag']]).toEqual([304, '', tag])
    const head = await call('HEAD', `/files/${file}/content`)
    expect([head.status, head.text, head.headers['etag']]).toEqual([200, '', tag])

    const listed = json(await call('GET', `/folders/${folder}/children`))
    expect(listed['files']).toEqual([expect.objectContaining({ id: file, name: 'a.txt', size: 200_007 })])

    expectRefused(await post('/folders', { name: 'Photos', parent: 'root' }), 409, 'CONFLICT')
    expectRefused(await call('GET', `/files/${folder.slice(0, 32)}${'f'.repeat(32)}`), 404, 'NOT_FOUND')
    expectRefused(await call('GET', '/no/such/route'), 404, 'NOT_FOUND')
    expectRefused(await post('/folders', { name: '', parent: 'root' }), 400, 'BAD_ARGS')
    const stale = await call('DELETE', `/files/${file}`, { headers: { 'if-match': '"stale"' } })
    expectRefused(stale, 412, 'CONFLICT')

    const current = await call('GET', `/files/${file}`)
    const deletion = await call('DELETE', `/files/${file}`, {
      headers: { 'if-match': current.headers['etag'] ?? '' },
    })
    expect([deletion.status, deletion.text]).toEqual([204, ''])
    expectRefused(await call('GET', `/files/${file}`), 404, 'NOT_FOUND')
    expect((await call('DELETE', `/folders/${folder}`)).status).toBe(204)
    expect(json(await call('GET', '/folders/root/children'))).toMatchObject({ folders: [], files: [] })
  })

  test('reads the 401 of a token that is unknown or that it revoked itself, and goes on with a new one [FIELD-36] [HTTP-39]', async () => {
    const unknown = await call('GET', '/folders/root', { headers: { authorization: 'Bearer nobody' } })
    expectRefused(unknown, 401, 'UNAUTHORIZED')
    const person = await server.person()
    const asPerson = { headers: { authorization: `Bearer ${person.token}` } }
    expect((await call('GET', '/folders/root', asPerson)).status).toBe(200)
    const revoked = await callFrom(page, {
      method: 'DELETE',
      url: `${server.origin}/auth/token/${person.token}`,
      headers: {},
    })
    expect([revoked.status, revoked.text]).toEqual([200, ''])
    expectRefused(await call('GET', '/folders/root', asPerson), 401, 'UNAUTHORIZED')
    const twice = await callFrom(page, {
      method: 'DELETE',
      url: `${server.origin}/auth/token/${person.token}`,
      headers: {},
    })
    expect(twice.status).toBe(404)
    expect(json(twice)).toMatchObject({ type: 'NOT_FOUND', error: 'invalid_request' })
    const renewed = await server.addToken(person.email)
    const again = await call('GET', '/folders/root', { headers: { authorization: `Bearer ${renewed}` } })
    expect(again.status).toBe(200)
  })

  test('was asked about by the browser before each kind of call [FIELD-37]', async () => {
    const file = await created('/files', 'asked.txt', 'root')
    const everything = {
      'content-range': 'bytes 0-3/4',
      'if-match': '*',
      'if-none-match': '"x"',
      'upload-id': '0',
    }
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE']) {
      // The browser remembers an answer for a day, so each kind of call asks about an address of its own.
      const path = `/files/${file}/content?asked=${method}`
      const seen = await call(method, path, { headers: everything })
      expect(seen.status).toBeGreaterThanOrEqual(200)
      const names = ['authorization', 'endpoint-consistency', ...Object.keys(everything)].sort()
      await expect.poll(() => preflights).toContainEqual({ method, headers: names })
    }
  })
})
