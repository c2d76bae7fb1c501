import { describe, expect, it } from 'vitest'
import { isPreflight, replyPreflight } from '../../src/http/cors.js'
import type { Exchange } from '../../src/http/exchange.js'
import { FAILURES, replyFailure } from '../../src/http/failures.js'
import type { FailureOptions } from '../../src/http/failures.js'
import { replyBytes, replyEmpty, replyJson } from '../../src/http/reply.js'
import { Failure } from '../../src/model/failures.js'
import type { FailureKind } from '../../src/model/failures.js'
import { ask, request, startServer } from './support.js'
import type { Answer, TestServer } from './support.js'

const server = (reply: (exchange: Exchange) => void): Promise<TestServer> =>
  startServer((exchange) => {
    reply(exchange)
    return Promise.resolve()
  })

const failing = (failure: Failure, options?: FailureOptions): Promise<TestServer> =>
  server((exchange) => replyFailure(exchange, failure, options))

const count = (answer: Answer, name: string): number => answer.lines.filter(([key]) => key === name).length

describe('framing', () => {
  it('sends bodies chunked and without a length [HTTP-19] [HTTP-27]', async () => {
    const running = await server((exchange) => {
      if (exchange.path === '/page') replyBytes(exchange, 200, 'text/html', Buffer.from('<p>é'))
      else replyJson(exchange, 201, '{"a":"é"}', { Location: '/x' })
    })
    for (const path of ['/json', '/page']) {
      const answer = await ask(running, request(`GET ${path}`))
      expect(answer.header('transfer-encoding')).toBe('chunked')
      expect(answer.header('content-length')).toBeUndefined()
    }
    const answer = await ask(running, request('GET /json'))
    expect(answer.status).toBe(201)
    expect(answer.header('location')).toBe('/x')
    expect(answer.header('content-type')).toBe('application/json')
    expect(answer.json()).toEqual({ a: 'é' })
  })

  it.each([204, 304])('sends %i without any framing [HTTP-20]', async (status) => {
    const running = await server((exchange) => replyEmpty(exchange, status, { ETag: '"a"' }))
    const { wire, ...answer } = await ask(running, request('GET /'))
    expect(answer.status).toBe(status)
    expect(answer.header('etag')).toBe('"a"')
    expect(answer.header('transfer-encoding')).toBeUndefined()
    expect(answer.header('content-length')).toBeUndefined()
    expect((await wire.send(request('GET /')).answer()).status).toBe(status)
    expect(wire.received.length).toBe(0)
  })

  it.each([200, 302, 416])('sends an empty %i as an empty chunked body [HTTP-21]', async (status) => {
    const running = await server((exchange) => replyEmpty(exchange, status))
    const { wire, ...answer } = await ask(running, request('DELETE /'))
    expect(answer.header('transfer-encoding')).toBe('chunked')
    expect(answer.header('content-length')).toBeUndefined()
    expect(answer.body.length).toBe(0)
    expect((await wire.send(request('GET /')).answer()).status).toBe(status)
  })

  it('sends no body to HEAD, for success and for errors [HTTP-22] [ERR-2]', async () => {
    const running = await server((exchange) => {
      if (exchange.path === '/a') replyJson(exchange, 200, '{"a":1}')
      else if (exchange.path === '/empty') replyEmpty(exchange, 200)
      else replyFailure(exchange, new Failure('notFound', 'nothing here'))
    })
    const wire = await running.open()
    for (const [path, status] of [
      ['/a', 200],
      ['/empty', 200],
      ['/b', 404],
    ] as const) {
      const answer = await wire.send(request(`HEAD ${path}`)).answer('HEAD')
      expect(answer.status).toBe(status)
      expect(answer.header('content-length')).toBeUndefined()
    }
    const next = await wire.send(request('GET /a')).answer()
    expect(next.json()).toEqual({ a: 1 })
  })

  it('frames mixed answers so that each next one parses [HTTP-11]', async () => {
    const statuses = [200, 204, 304, 401, 404, 412, 416, 200, 204]
    const running = await server((exchange) => {
      const status = Number(exchange.path.slice(1))
      const kinds: Record<number, FailureKind> = {
        401: 'unauthorized',
        404: 'notFound',
        412: 'preconditionFailed',
        416: 'rangeNotSatisfiable',
      }
      const kind = kinds[status]
      if (kind !== undefined) replyFailure(exchange, new Failure(kind, 'no'))
      else replyEmpty(exchange, status)
    })
    const wire = await running.open()
    for (const status of statuses) {
      expect((await wire.send(request(`GET /${status}`)).answer()).status).toBe(status)
    }
    wire.send(statuses.map((status) => request(`GET /${status}`)).join(''))
    for (const status of statuses) expect((await wire.answer()).status).toBe(status)
  })

  it('cuts a client that asks for a long list and reads nothing [LIMIT-15]', async () => {
    const running = await startServer(
      (exchange) => Promise.resolve(replyJson(exchange, 200, `"${'a'.repeat(30_000_000)}"`)),
      { drainIdleMs: 200 },
    )
    const wire = (await running.open()).send(request('GET /'))
    wire.socket.pause()
    await expect.poll(() => running.listener.connections, { timeout: 40_000 }).toBe(0)
  })

  it('ignores Accept and Accept-Encoding [HTTP-23] [HTTP-65]', async () => {
    const running = await server((exchange) => replyJson(exchange, 200, '{}'))
    const headers = ['Accept-Encoding: gzip, deflate, br', 'Accept: text/html, image/gif, */*; q=0.2']
    const answer = await ask(running, request('GET /', headers))
    expect(answer.header('content-encoding')).toBeUndefined()
    expect(answer.body.toString()).toBe('{}')
  })

  it('forbids caching unless the reply says otherwise, and repeats lines of a list', async () => {
    const running = await server((exchange) => {
      exchange.extraHeaders['Set-Cookie'] = ['a=1', 'b=2']
      replyJson(exchange, 200, '{}', exchange.path === '/token' ? { 'Cache-Control': 'no-store' } : {})
    })
    const answer = await ask(running, request('GET /'))
    expect(answer.header('cache-control')).toBe('private, no-transform, no-cache')
    expect(count(answer, 'set-cookie')).toBe(2)
    const token = await ask(running, request('GET /token'))
    expect(token.lines.filter(([key]) => key === 'cache-control')).toEqual([['cache-control', 'no-store']])
  })
})

describe('origins', () => {
  it('are all allowed, once, on every kind of answer, whatever Origin says [HTTP-30] [HTTP-31] [HTTP-32]', async () => {
    const running = await server((exchange) => {
      if (exchange.path === '/json') replyJson(exchange, 200, '{}')
      else if (exchange.path === '/empty') replyEmpty(exchange, 204)
      else replyFailure(exchange, new Failure(exchange.path.slice(1) as FailureKind, 'no'))
    })
    const kinds = Object.keys(FAILURES)
    for (const path of ['json', 'empty', ...kinds]) {
      for (const origin of [[], ['Origin: null'], ['Origin: \x7f%%garbage'.replace('\x7f', '')]]) {
        const answer = await ask(running, request(`GET /${path}`, origin))
        expect(count(answer, 'access-control-allow-origin')).toBe(1)
        expect(answer.header('access-control-allow-origin')).toBe('*')
        expect(answer.header('access-control-expose-headers')).toBe(
          'ETag, Location, Range, Content-Range, Content-Disposition, Upload-ID, Retry-After',
        )
        expect(answer.header('access-control-allow-credentials')).toBeUndefined()
        answer.wire.socket.destroy()
      }
    }
  })

  it('may ask for anything in advance, without a token and on any path [HTTP-33] [HTTP-34] [HTTP-35]', async () => {
    const running = await server((exchange) => {
      if (isPreflight(exchange)) replyPreflight(exchange)
      else replyEmpty(exchange, 200)
    })
    for (const path of ['/api/v1.3/me', '/auth/token', '/nope', '/api/v9.9/x']) {
      const answer = await ask(
        running,
        request(`OPTIONS ${path}`, [
          'Access-Control-Request-Method: BREW',
          'Access-Control-Request-Headers: endpoint-consistency, Content-Range,upload-id, bad name, "x"',
          'Authorization: Bearer garbage',
        ]),
      )
      expect(answer.status).toBe(204)
      expect(answer.header('access-control-allow-origin')).toBe('*')
      expect(answer.header('access-control-allow-methods')).toBe('GET,HEAD,PUT,POST,PATCH,DELETE,OPTIONS')
      expect(answer.header('access-control-allow-headers')).toBe(
        'endpoint-consistency, Content-Range, upload-id',
      )
      expect(Number(answer.header('access-control-max-age'))).toBeGreaterThanOrEqual(86_400)
      expect(answer.header('transfer-encoding')).toBeUndefined()
    }
  })

  it('tells a pre-flight from an OPTIONS without Access-Control-Request-Method', async () => {
    const running = await server((exchange) => replyJson(exchange, 200, String(isPreflight(exchange))))
    expect((await ask(running, request('OPTIONS /'))).body.toString()).toBe('false')
    const method = ['Access-Control-Request-Method: GET']
    expect((await ask(running, request('GET /', method))).body.toString()).toBe('false')
    expect((await ask(running, request('OPTIONS /', method))).body.toString()).toBe('true')
  })
})

describe('failures', () => {
  const table: [FailureKind, number, string][] = [
    ['badArgs', 400, 'BAD_ARGS'],
    ['methodNotAllowed', 405, 'BAD_ARGS'],
    ['requestTimeout', 408, 'BAD_ARGS'],
    ['bodyTooLarge', 413, 'BAD_ARGS'],
    ['uriTooLong', 414, 'BAD_ARGS'],
    ['unsupportedMediaType', 415, 'BAD_ARGS'],
    ['expectationFailed', 417, 'BAD_ARGS'],
    ['headersTooLarge', 431, 'BAD_ARGS'],
    ['httpVersion', 505, 'BAD_ARGS'],
    ['unauthorized', 401, 'UNAUTHORIZED'],
    ['forbidden', 403, 'FORBIDDEN'],
    ['notFound', 404, 'NOT_FOUND'],
    ['conflict', 409, 'CONFLICT'],
    ['preconditionFailed', 412, 'CONFLICT'],
    ['tooManyRequests', 429, 'TOO_MANY_REQUESTS'],
    ['internal', 500, 'INTERNAL_ERROR'],
    ['notImplemented', 501, 'INTERNAL_ERROR'],
    ['unavailable', 503, 'INTERNAL_ERROR'],
    ['insufficientStorage', 507, 'INSUFFICIENT_STORAGE'],
  ]

  it.each(table)(
    'of kind %s are %i %s [ERR-1] [ERR-7] [ERR-11] [ERR-16] [ERR-18] [ERR-19] [ERR-20]',
    async (kind, status, type) => {
      const answer = await ask(await failing(new Failure(kind, 'limit is wrong: <b>')), request('GET /'))
      expect(answer.status).toBe(status)
      expect(answer.json()).toEqual({ type, message: 'limit is wrong: <b>' })
      expect(answer.header('content-type')).toBe('application/json')
      expect(answer.header('x-content-type-options')).toBe('nosniff')
    },
  )

  it('of every kind are in this test [ERR-11]', () => {
    expect(new Set([...table.map(([kind]) => kind), 'rangeNotSatisfiable'])).toEqual(
      new Set(Object.keys(FAILURES)),
    )
  })

  it('send 416 with an empty body [ERR-2]', async () => {
    const failure = new Failure('rangeNotSatisfiable', 'no', { 'Content-Range': 'bytes */5' })
    const answer = await ask(await failing(failure), request('GET /'))
    expect(answer.status).toBe(416)
    expect(answer.body.length).toBe(0)
    expect(answer.header('content-range')).toBe('bytes */5')
    expect(answer.header('transfer-encoding')).toBe('chunked')
  })

  it('challenge with Bearer unless they bring a challenge or belong to OAuth [ERR-12]', async () => {
    const challenge = async (failure: Failure, options?: FailureOptions): Promise<string | undefined> =>
      (await ask(await failing(failure, options), request('GET /'))).header('www-authenticate')
    expect(await challenge(new Failure('unauthorized', 'no'))).toBe('Bearer realm="Starling"')
    expect(
      await challenge(new Failure('unauthorized', 'no', { 'WWW-Authenticate': 'Basic realm="x"' })),
    ).toBe('Basic realm="x"')
    expect(await challenge(new Failure('unauthorized', 'no'), { pairs: 'oauth' })).toBe(
      'Basic realm="Starling"',
    )
    expect(await challenge(new Failure('forbidden', 'no'))).toBeUndefined()
  })

  it('carry ETag, Allow and Retry-After [ERR-16] [ERR-17]', async () => {
    const header = async (failure: Failure, name: string): Promise<string | undefined> =>
      (await ask(await failing(failure), request('GET /'))).header(name)
    expect(await header(new Failure('preconditionFailed', 'no', { ETag: '"a"' }), 'etag')).toBe('"a"')
    expect(await header(new Failure('methodNotAllowed', 'no', { Allow: 'GET' }), 'allow')).toBe('GET')
    expect(await header(new Failure('tooManyRequests', 'no'), 'retry-after')).toBe('1')
    expect(await header(new Failure('tooManyRequests', 'no', { 'Retry-After': '9' }), 'retry-after')).toBe(
      '9',
    )
  })

  it('hide a full store from the first version of the API [ERR-19]', async () => {
    const failure = new Failure('insufficientStorage', 'the store is full')
    const answer = await ask(await failing(failure, { storageAsInternal: true }), request('GET /'))
    expect(answer.status).toBe(500)
    expect(answer.json()['type']).toBe('INTERNAL_ERROR')
  })

  it('send both pairs to OAuth clients [ERR-1]', async () => {
    const body = async (failure: Failure, options: FailureOptions): Promise<object> =>
      (await ask(await failing(failure, options), request('GET /'))).json()
    expect(await body(new Failure('badArgs', 'no'), { pairs: 'oauth', error: 'invalid_grant' })).toEqual({
      error: 'invalid_grant',
      error_description: 'no',
      type: 'BAD_ARGS',
      message: 'no',
    })
    expect(await body(new Failure('unauthorized', 'no'), { pairs: 'oauth' })).toMatchObject({
      error: 'invalid_client',
    })
  })

  it('shorten overlong messages and never cut a character in half [ERR-6]', async () => {
    const answer = await ask(
      await failing(new Failure('badArgs', `name ${'😀'.repeat(5_000)}`)),
      request('GET /'),
    )
    const message = String(answer.json()['message'])
    expect(message.length).toBeLessThanOrEqual(300)
    expect(message).toMatch(/^name (?:😀)+…$/u)
  })
})
