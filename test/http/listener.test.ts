import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { readBody } from '../../src/http/body.js'
import type { Exchange } from '../../src/http/exchange.js'
import { replyEmpty, replyJson } from '../../src/http/reply.js'
import { ask, request, startServer, testCertificate, wait, Wire } from './support.js'

const echo = (exchange: Exchange): Promise<void> => {
  const { method, path, rawQuery } = exchange
  replyJson(exchange, 200, JSON.stringify({ method, path, rawQuery }))
  return Promise.resolve()
}

const echoBody = async (exchange: Exchange): Promise<void> => {
  const body = await readBody(exchange, 1024)
  replyJson(exchange, 200, JSON.stringify({ body: body.toString() }))
}

function expectError(
  answer: { status: number; json(): Record<string, unknown>; header(n: string): string | undefined },
  status: number,
  type: string,
): void {
  expect(answer.status).toBe(status)
  expect(answer.json()['type']).toBe(type)
  expect(answer.json()['message']).toMatch(/./)
  expect(answer.header('content-type')).toBe('application/json')
  expect(answer.header('access-control-allow-origin')).toBe('*')
  expect(answer.header('access-control-expose-headers')).toContain('Upload-ID')
  expect(answer.header('content-length')).toBeUndefined()
}

describe('the TLS port', () => {
  it('answers plain HTTP with a short text, closes, and goes on serving TLS [HTTP-2] [HTTP-3]', async () => {
    const server = await startServer(echo)
    for (const bytes of [
      'GET /api HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n\r\n',
      '\x01\x02\x03\xff',
    ]) {
      const plain = new Wire(connectTcp(server.port, '127.0.0.1'))
      plain.send(Buffer.from(bytes, 'latin1'))
      await plain.closed()
      const text = plain.received.toString()
      expect(text).toMatch(/^HTTP\/1\.1 400 /)
      expect(text).toContain('this port speaks HTTPS')
      expect(text).not.toMatch(/secret|Location|Set-Cookie|json/)
    }
    expect((await ask(server, request('GET /a'))).status).toBe(200)
  })

  it('survives a client that connects and leaves, or resets in the handshake [HTTP-3]', async () => {
    const server = await startServer(echo)
    const silent = connectTcp(server.port, '127.0.0.1', () => silent.destroy())
    const broken = connectTcp(server.port, '127.0.0.1', () => {
      broken.write(Buffer.from([0x16, 3, 1, 0, 200, 1, 2, 3]))
      setTimeout(() => broken.resetAndDestroy(), 20)
    })
    await wait(60)
    expect((await ask(server, request('GET /a'))).status).toBe(200)
    await expect.poll(() => server.listener.connections).toBe(1)
  })

  it('speaks TLS 1.2 and 1.3 and nothing older [HTTP-4]', async () => {
    const server = await startServer(echo)
    const { cert } = await testCertificate()
    const handshake = (version: 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3'): Promise<string> =>
      new Promise((resolve) => {
        const socket = connectTls({
          port: server.port,
          host: '127.0.0.1',
          ca: cert,
          servername: 'localhost',
          minVersion: version,
          maxVersion: version,
          ciphers: 'DEFAULT@SECLEVEL=0',
        })
        socket.once('secureConnect', () => resolve(socket.getProtocol() ?? ''))
        socket.once('error', () => resolve('refused'))
        socket.once('secureConnect', () => socket.destroy())
      })
    expect(await handshake('TLSv1.2')).toBe('TLSv1.2')
    expect(await handshake('TLSv1.3')).toBe('TLSv1.3')
    expect(await handshake('TLSv1.1')).toBe('refused')
  })

  it('negotiates http/1.1 with a client that prefers HTTP/2 [HTTP-14]', async () => {
    const server = await startServer(echo)
    const { cert } = await testCertificate()
    const socket = connectTls({
      port: server.port,
      host: '127.0.0.1',
      ca: cert,
      servername: 'localhost',
      ALPNProtocols: ['h2', 'http/1.1'],
    })
    await new Promise((resolve) => socket.once('secureConnect', resolve))
    expect(socket.alpnProtocol).toBe('http/1.1')
    socket.destroy()
  })
})

describe('behind a proxy', () => {
  it('serves a request whose X-Forwarded-Proto is https once, for the address the proxy saw [HTTP-6]', async () => {
    let client = ''
    const server = await startServer(
      (exchange) => {
        client = exchange.client
        return echo(exchange)
      },
      {},
      'proxy',
    )
    const headers = ['X-Forwarded-Proto: https', 'X-Forwarded-For: 203.0.113.9, 198.51.100.7']
    expect((await ask(server, request('GET /a', headers))).status).toBe(200)
    expect(client).toBe('198.51.100.7')
  })

  it.each([
    ['missing', []],
    ['empty', ['X-Forwarded-Proto: ']],
    ['http', ['X-Forwarded-Proto: http']],
    ['ftp', ['X-Forwarded-Proto: ftp']],
    ['repeated', ['X-Forwarded-Proto: https', 'X-Forwarded-Proto: https']],
    ['a list', ['X-Forwarded-Proto: https, http']],
  ])('refuses a request whose X-Forwarded-Proto is %s [HTTP-6]', async (_, headers) => {
    let handled = false
    const server = await startServer(
      (exchange) => {
        handled = true
        return echo(exchange)
      },
      {},
      'proxy',
    )
    expectError(await ask(server, request('GET /a', headers)), 400, 'BAD_ARGS')
    expect(handled).toBe(false)
  })

  it('ignores forwarding headers on the TLS port [HTTP-6]', async () => {
    let client = ''
    const server = await startServer((exchange) => {
      client = exchange.client
      return echo(exchange)
    })
    await ask(server, request('GET /a', ['X-Forwarded-Proto: http', 'X-Forwarded-For: 203.0.113.9']))
    expect(client).toBe('127.0.0.1')
  })
})

describe('the request head', () => {
  it.each(['GET /a', 'POST /a', 'DELETE /a'])(
    'refuses HTTP/1.0: %s [HTTP-9] [HTTP-10] [ERR-11]',
    async (line) => {
      let handled = false
      const server = await startServer((exchange) => {
        handled = true
        return echo(exchange)
      })
      const wire = await server.open()
      wire.send(`${line} HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}`)
      const answer = await wire.answer()
      expectError(answer, 505, 'BAD_ARGS')
      expect(answer.header('transfer-encoding')).toBeUndefined()
      await wire.closed()
      expect(handled).toBe(false)
    },
  )

  it.each([
    ['missing', []],
    ['repeated', ['Host: a', 'Host: a']],
    ['empty', ['Host: ']],
    ['with a blank', ['Host: a b']],
    ['with a slash', ['Host: a/b']],
    ['with user information', ['Host: u@a']],
    ['with a bad port', ['Host: a:x']],
  ])('refuses a Host that is %s [HTTP-13]', async (_, headers) => {
    const server = await startServer(echo)
    expectError(await ask(server, ['GET / HTTP/1.1', ...headers, '', ''].join('\r\n')), 400, 'BAD_ARGS')
  })

  it.each(['localhost', 'localhost:8443', '[::1]:8443', '127.0.0.1', 'xn--bcher-kva.example'])(
    'takes the Host %s [HTTP-13]',
    async (host) => {
      const server = await startServer(echo)
      expect((await ask(server, `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).status).toBe(200)
    },
  )

  it.each([
    ['both lengths', 'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['two different Content-Length', 'Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd'],
    ['a bare CR in a header', 'X-A: a\rb\r\n\r\n'],
    ['a NUL in a header', 'X-A: a\0b\r\n\r\n'],
    ['a malformed chunk', 'Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n'],
    ['a length that is no number', 'Content-Length: 1x\r\n\r\na'],
    ['an empty Transfer-Encoding', 'Transfer-Encoding:\r\n\r\n'],
  ])('refuses %s and reads no second request after it [HTTP-15] [ERR-1]', async (_, rest) => {
    const paths: string[] = []
    const server = await startServer(async (exchange) => {
      paths.push(exchange.path)
      await echoBody(exchange)
    })
    const wire = await server.open()
    wire.send(
      `POST /first HTTP/1.1\r\nHost: localhost\r\n${rest}GET /second HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    )
    const answer = await wire.answer()
    expectError(answer, 400, 'BAD_ARGS')
    expect(answer.header('transfer-encoding')).toBe('chunked')
    await wire.closed()
    expect(wire.received.length).toBe(0)
    expect(paths).not.toContain('/second')
  })

  it.each(['gzip, chunked', 'deflate,chunked', 'x, chunked'])(
    'refuses a body in the transfer coding %s, which nobody here takes apart [ERR-18]',
    async (coding) => {
      let handled = false
      const server = await startServer((exchange) => {
        handled = true
        return echo(exchange)
      })
      const wire = await server.open()
      wire.send(request('PUT /a', [`Transfer-Encoding: ${coding}`]) + '3\r\nabc\r\n0\r\n\r\n')
      expectError(await wire.answer(), 501, 'INTERNAL_ERROR')
      await wire.closed()
      expect(handled).toBe(false)
    },
  )

  it('does nothing of the requests behind an answer that ends the connection [HTTP-9] [HTTP-12]', async () => {
    const paths: string[] = []
    const server = await startServer(
      async (exchange) => {
        paths.push(exchange.path)
        await echo(exchange)
      },
      { requestsPerConnection: 2 },
    )
    for (const first of ['GET /old HTTP/1.2', 'GET /one HTTP/1.1\r\nHost: a\r\n\r\nGET /last HTTP/1.1']) {
      const wire = await server.open()
      wire.send(`${first}\r\nHost: a\r\n\r\nPOST /behind HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`)
      await wire.closed()
      expect(wire.received.toString()).toContain('Connection: close')
    }
    expect(paths).toEqual(['/one', '/last'])
  })

  it('takes the name of the chunked coding in any letter case [HTTP-16]', async () => {
    const server = await startServer(echoBody)
    const head = 'POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: \t CHUNKED \r\n\r\n'
    const answer = await ask(server, `${head}3\r\nabc\r\n0\r\n\r\n`)
    expect(answer.json()).toEqual({ body: 'abc' })
  })

  it.each(['DEL /files/1', 'BREW /pot'])(
    'answers the unknown method %s with an error object [HTTP-43] [ERR-18]',
    async (line) => {
      const server = await startServer(echo)
      expectError(await ask(server, request(line)), 501, 'INTERNAL_ERROR')
      expectError(await ask(server, 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n'), 501, 'INTERNAL_ERROR')
    },
  )

  it('refuses garbage as malformed [ERR-1]', async () => {
    const server = await startServer(echo)
    expectError(await ask(server, '\0\x01\x02 \r\n\r\n'), 400, 'BAD_ARGS')
    expectError(await ask(server, 'GET /a HTTP/7.3\r\nHost: a\r\n\r\n'), 505, 'BAD_ARGS')
  })

  it('refuses headers beyond the limit with 431, also while the client still sends [LIMIT-11] [ERR-11]', async () => {
    const server = await startServer(echo)
    expectError(await ask(server, request('GET /a', [`X-A: ${'a'.repeat(17_000)}`])), 431, 'BAD_ARGS')
    expectError(await ask(server, request(`GET /${'a'.repeat(17_000)}`)), 431, 'BAD_ARGS')
    expectError(await ask(server, request('GET /a', [`X-A: ${'a'.repeat(4_000_000)}`])), 431, 'BAD_ARGS')
    const many = Array.from({ length: 3_000 }, (_, index) => `X-${index}: 1`)
    expectError(await ask(server, request('GET /a', many)), 431, 'BAD_ARGS')
  })

  it('serves an absolute target by its path [HTTP-52]', async () => {
    const server = await startServer(echo)
    const answer = await ask(server, request('GET https://localhost:1/api/v1.3/x?y=1'))
    expect(answer.json()).toEqual({ method: 'GET', path: '/api/v1.3/x', rawQuery: 'y=1' })
    expect((await ask(server, request('GET http://localhost'))).json()['path']).toBe('/')
  })

  it('keeps the letter case and the encoding of the path', async () => {
    const server = await startServer(echo)
    expect((await ask(server, request('GET /API/a+b%2Bc'))).json()['path']).toBe('/API/a+b%2Bc')
  })

  it('ignores expectations other than 100-continue [HTTP-64]', async () => {
    const server = await startServer(echo)
    expect((await ask(server, request('GET /a', ['Expect: a-pony']))).status).toBe(200)
  })

  it('cuts a client that sends its head a byte at a time, with 408 [LIMIT-15] [ERR-20]', async () => {
    const server = await startServer(echo, { headersMs: 200 })
    const wire = await server.open()
    wire.send('GET /a HTTP/1.1\r\n')
    const drip = setInterval(() => wire.send('X'), 20)
    try {
      expectError(await wire.answer(), 408, 'BAD_ARGS')
      await wire.closed()
    } finally {
      clearInterval(drip)
    }
  })

  it('cuts a client that never speaks, before TLS and after [LIMIT-15]', async () => {
    const server = await startServer(echo, { headersMs: 100 })
    const silent = new Wire(connectTcp(server.port, '127.0.0.1'))
    const secure = await server.open()
    await Promise.all([silent.closed(), secure.closed()])
    await expect.poll(() => server.listener.connections).toBe(0)
  })
})

describe('a connection', () => {
  it('answers pipelined requests in order [HTTP-12]', async () => {
    const server = await startServer(async (exchange) => {
      await wait(exchange.path === '/1' ? 50 : 0)
      await echo(exchange)
    })
    const wire = await server.open()
    wire.send(['1', '2', '3'].map((name) => request(`GET /${name}`)).join(''))
    for (const name of ['/1', '/2', '/3']) expect((await wire.answer()).json()['path']).toBe(name)
  })

  it('sends the answers owed before the refusal of a broken request behind them [HTTP-12] [HTTP-15]', async () => {
    const server = await startServer(async (exchange) => {
      await wait(40)
      await echo(exchange)
    })
    const wire = await server.open()
    wire.send(`${request('GET /1')}BREW /pot HTTP/1.1\r\n\r\n`)
    expect((await wire.answer()).json()['path']).toBe('/1')
    expectError(await wire.answer(), 501, 'INTERNAL_ERROR')
  })

  it('is closed with the last request it may carry [LIMIT-16]', async () => {
    const server = await startServer(echo, { requestsPerConnection: 2 })
    const wire = await server.open()
    expect((await wire.send(request('GET /1')).answer()).header('connection')).toBe('keep-alive')
    expect((await wire.send(request('GET /2')).answer()).header('connection')).toBe('close')
    await wire.closed()
  })

  it('beyond the limit is answered 503, and dropped far beyond it [LIMIT-16] [ERR-18]', async () => {
    const server = await startServer(echo, { connections: 1, refusedConnections: 1 })
    const first = await server.open()
    const second = await server.open()
    await expect(server.open()).rejects.toThrow()
    expectError(await second.send(request('GET /a')).answer(), 503, 'INTERNAL_ERROR')
    await second.closed()
    expect((await first.send(request('GET /a')).answer()).status).toBe(200)
  })

  it('that is idle is closed after its time [LIMIT-16]', async () => {
    const server = await startServer(echo, { keepAliveMs: 50 })
    const { wire } = await ask(server, request('GET /a'))
    await wire.closed()
  })
})

describe('a handler', () => {
  it('that throws is answered with a fixed text and logged with its request [ERR-8] [ERR-6]', async () => {
    const server = await startServer((exchange) =>
      exchange.path === '/bug' ? Promise.reject(new Error('SELECT secret FROM /etc')) : echo(exchange),
    )
    const answer = await ask(server, request('GET /bug'))
    expectError(answer, 500, 'INTERNAL_ERROR')
    expect(answer.body.toString()).not.toMatch(/SELECT|etc/)
    expect(server.logged[0]?.level).toBe('error')
    expect(server.logged[0]?.fields['cause']).toContain('SELECT secret')
    expect(server.logged[0]?.fields['request']).toMatch(/^[0-9a-f]{12}-/)
    expect((await answer.wire.send(request('GET /a')).answer()).status).toBe(200)
  })

  it('that throws something odd, or sends nothing, is answered all the same [ERR-8]', async () => {
    const server = await startServer((exchange) => {
      if (exchange.path === '/odd') throw 'odd' // eslint-disable-line @typescript-eslint/only-throw-error
      return Promise.resolve()
    })
    expectError(await ask(server, request('GET /odd')), 500, 'INTERNAL_ERROR')
    expectError(await ask(server, request('GET /nothing')), 500, 'INTERNAL_ERROR')
    expect(server.logged.length).toBe(2)
  })

  it('that sends a header no client may see is a bug like any other [ERR-8]', async () => {
    const server = await startServer((exchange) => {
      if (exchange.path === '/always') exchange.extraHeaders['X-A'] = 'a\r\nb'
      replyJson(exchange, 200, '{}', exchange.path === '/good' ? {} : { 'X-B': 'a\nb' })
      return Promise.resolve()
    })
    expectError(await ask(server, request('GET /once')), 500, 'INTERNAL_ERROR')
    await (await server.open()).send(request('GET /always')).closed()
    expect((await ask(server, request('GET /good'))).status).toBe(200)
  })

  it('answers a request that would like to change the protocol', async () => {
    const server = await startServer(echo)
    const answer = await ask(server, request('GET /a', ['Connection: Upgrade', 'Upgrade: h2c']))
    expect(answer.status).toBe(200)
  })

  it('that fails after its head loses the connection [HTTP-24]', async () => {
    const server = await startServer((exchange) => {
      exchange.res.writeHead(200, { 'Transfer-Encoding': 'chunked' })
      exchange.res.write('a')
      return Promise.reject(new Error('late'))
    })
    const wire = await server.open()
    wire.send(request('GET /a'))
    await wire.closed()
    expect(wire.received.toString()).not.toContain('\r\n0\r\n\r\n')
  })
})

describe('stopping', () => {
  it('closes idle connections, finishes requests under way, and takes no new ones', async () => {
    let release = (): void => undefined
    const server = await startServer(
      async (exchange) => {
        if (exchange.path === '/slow') await new Promise<void>((resolve) => (release = resolve))
        replyEmpty(exchange, 204)
      },
      { stopMs: 5_000 },
    )
    const idle = (await ask(server, request('GET /a'))).wire
    const fresh = await server.open()
    const busy = (await server.open()).send(request('GET /slow'))
    await wait(50)
    const stopped = server.listener.stop()
    await Promise.all([idle.closed(), fresh.closed()])
    await expect(server.open()).rejects.toThrow()
    release()
    const answer = await busy.answer()
    expect(answer.status).toBe(204)
    expect(answer.header('connection')).toBe('close')
    await stopped
    await expect.poll(() => server.listener.connections).toBe(0)
  })

  it('cuts what takes longer than stopMs', async () => {
    const server = await startServer(() => new Promise(() => undefined), { stopMs: 50 })
    const wire = (await server.open()).send(request('GET /a'))
    await wait(30)
    await server.listener.stop()
    await wire.closed()
  })
})
