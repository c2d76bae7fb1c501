import { describe, expect, it } from 'vitest'
import {
  bodyLength,
  jsonContentType,
  parseJson,
  readBody,
  receiveBody,
  startBody,
} from '../../src/http/body.js'
import type { Exchange } from '../../src/http/exchange.js'
import { replyFailure } from '../../src/http/failures.js'
import { replyEmpty, replyJson } from '../../src/http/reply.js'
import { Failure } from '../../src/model/failures.js'
import { ask, request, startServer, wait } from './support.js'

const echoBody = async (exchange: Exchange): Promise<void> => {
  const body = await readBody(exchange, exchange.limits.jsonBytes)
  replyJson(exchange, 200, JSON.stringify({ length: body.length, text: body.toString('latin1', 0, 100) }))
}

const refuse = (exchange: Exchange): Promise<void> => {
  if (exchange.path === '/next') replyEmpty(exchange, 204)
  else replyFailure(exchange, new Failure('unauthorized', 'a token is needed'))
  return Promise.resolve()
}

describe('a whole body', () => {
  it('is read with a length, in chunks, or not at all [HTTP-16] [HTTP-17]', async () => {
    const server = await startServer(echoBody)
    const wire = await server.open()
    wire.send(request('PUT /a', ['Content-Length: 3'], 'abc'))
    expect((await wire.answer()).json()).toEqual({ length: 3, text: 'abc' })
    wire.send(request('POST /a', ['Transfer-Encoding: chunked'], '2\r\nab\r\n3;x=y\r\ncde\r\n0\r\n\r\n'))
    expect((await wire.answer()).json()).toEqual({ length: 5, text: 'abcde' })
    for (const headers of [[], ['Content-Length: 0']]) {
      expect((await wire.send(request('PUT /a', headers)).answer()).json()['length']).toBe(0)
    }
    wire.send(request('POST /a', ['Transfer-Encoding: chunked'], '0\r\n\r\n'))
    expect((await wire.answer()).json()['length']).toBe(0)
  })

  it('has a declared length, none, or an unknown one [HTTP-17]', async () => {
    const server = await startServer((exchange) => {
      replyJson(exchange, 200, JSON.stringify({ length: bodyLength(exchange) }))
      return Promise.resolve()
    })
    const wire = await server.open()
    expect((await wire.send(request('PUT /', ['Content-Length: 2'], 'ab')).answer()).json()['length']).toBe(2)
    expect((await wire.send(request('PUT /')).answer()).json()['length']).toBe(0)
    const chunked = request('PUT /', ['Transfer-Encoding: chunked'], '0\r\n\r\n')
    expect((await wire.send(chunked).answer()).json()).toEqual({})
  })

  it('over its limit is refused by its length at once, without a 100 [LIMIT-10] [HTTP-63]', async () => {
    const server = await startServer(echoBody, { jsonBytes: 10, refusedDrainMs: 50 })
    for (const expectation of [[], ['Expect: 100-continue']]) {
      const wire = await server.open()
      wire.send(request('PUT /a', ['Content-Length: 11', ...expectation]))
      const answer = await wire.answer()
      expect(answer.status).toBe(413)
      expect(answer.json()['type']).toBe('BAD_ARGS')
      expect(answer.header('connection')).toBe('close')
      await wire.closed()
    }
  })

  it('over its limit is refused while it grows, and the sender sees it [LIMIT-10]', async () => {
    const server = await startServer(echoBody, { jsonBytes: 10 })
    const wire = await server.open()
    wire.send(request('PUT /a', ['Transfer-Encoding: chunked']))
    for (let sent = 0; sent < 8; sent++) wire.send(`100000\r\n${'a'.repeat(1_048_576)}\r\n`)
    const answer = await wire.answer()
    expect(answer.status).toBe(413)
    expect(answer.header('connection')).toBe('close')
    await wire.closed()
  })

  it('that stalls or drips is answered 408 and cut [LIMIT-15] [ERR-20]', async () => {
    const server = await startServer(echoBody, {
      bodyIdleMs: 100,
      bodyWindowMs: 200,
      bodyWindowBytes: 50,
      refusedDrainMs: 50,
    })
    const stalled = (await server.open()).send(request('PUT /a', ['Content-Length: 1000'], 'abc'))
    const dripping = (await server.open()).send(request('PUT /a', ['Content-Length: 1000'], 'abc'))
    const drip = setInterval(() => dripping.send('a'), 20)
    try {
      for (const wire of [stalled, dripping]) {
        const answer = await wire.answer()
        expect(answer.status).toBe(408)
        expect(answer.json()['type']).toBe('BAD_ARGS')
        await wire.closed()
      }
    } finally {
      clearInterval(drip)
    }
  })

  it('of a client that leaves is nobody’s error', async () => {
    const server = await startServer(echoBody)
    const wire = await server.open()
    wire.send(request('PUT /a', ['Content-Length: 10'], 'abc'))
    await wait(50)
    wire.socket.destroy()
    await expect.poll(() => server.listener.connections).toBe(0)
    expect(server.logged).toEqual([])
  })
})

describe('a JSON route', () => {
  const route = async (exchange: Exchange): Promise<void> => {
    jsonContentType(exchange)
    replyJson(exchange, 200, JSON.stringify(parseJson(await readBody(exchange, 1000), 64)))
  }

  it.each(['application/json', 'APPLICATION/JSON; charset="x"', 'application/octet-stream', undefined])(
    'reads a body declared as %s [HTTP-54] [HTTP-56]',
    async (type) => {
      const server = await startServer(route)
      const headers = ['Content-Length: 7', ...(type === undefined ? [] : [`Content-Type: ${type}`])]
      expect((await ask(server, request('POST /', headers, '{"a":1}'))).json()).toEqual({ a: 1 })
    },
  )

  it.each([
    'text/plain',
    'application/xml',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
  ])('refuses a body declared as %s [HTTP-55] [ERR-11]', async (type) => {
    const server = await startServer(route)
    const answer = await ask(
      server,
      request('POST /', ['Content-Length: 7', `Content-Type: ${type}`], '{"a":1}'),
    )
    expect(answer.status).toBe(415)
    expect(answer.json()['type']).toBe('BAD_ARGS')
  })

  it('refuses a broken body and keeps the connection [HTTP-58]', async () => {
    const server = await startServer(route)
    const { status, wire } = await ask(server, request('POST /', ['Content-Length: 5'], '{"a":'))
    expect(status).toBe(400)
    expect((await wire.send(request('POST /', ['Content-Length: 2'], '{}')).answer()).status).toBe(200)
  })
})

describe('an unread body', () => {
  it.each(['GET', 'HEAD', 'DELETE'])(
    'of %s is ignored and the next request parses [HTTP-62]',
    async (method) => {
      const server = await startServer(refuse)
      const wire = await server.open()
      for (const body of ['""', '{"broken', 'a'.repeat(1_048_576)]) {
        const headers = [`Content-Length: ${body.length}`, 'Content-Type: application/json']
        expect((await wire.send(request(`${method} /a`, headers, body)).answer(method)).status).toBe(401)
        expect((await wire.send(request('GET /next')).answer()).status).toBe(204)
      }
    },
  )

  it('of many MiB does not keep its sender from reading the refusal [UP-88]', async () => {
    const server = await startServer(refuse)
    const wire = await server.open()
    const body = 'a'.repeat(20_000_000)
    wire.send(request('PUT /a', [`Content-Length: ${body.length}`], body))
    const answer = await wire.answer()
    expect(answer.status).toBe(401)
    expect(answer.json()['type']).toBe('UNAUTHORIZED')
    expect((await wire.send(request('GET /next')).answer()).status).toBe(204)
  })

  it('of a client that asked to close does not reset the answer either [UP-88]', async () => {
    const server = await startServer(refuse)
    const wire = await server.open()
    const body = 'a'.repeat(20_000_000)
    wire.send(request('PUT /a', [`Content-Length: ${body.length}`, 'Connection: close'], body))
    expect((await wire.answer()).json()['type']).toBe('UNAUTHORIZED')
    await wire.closed()
  })

  it('is refused before it comes [HTTP-83]', async () => {
    const server = await startServer(refuse)
    const answer = await ask(server, request('PUT /a', ['Content-Length: 20000000']))
    expect(answer.status).toBe(401)
  })

  it.each([
    ['bytes', { refusedDrainBytes: 100_000 }],
    ['time', { refusedDrainMs: 100 }],
  ])('is read within a limit of %s [UP-87] [LIMIT-15]', async (_, limits) => {
    const server = await startServer(refuse, limits)
    const wire = await server.open()
    wire.send(request('PUT /a', ['Content-Length: 2000000'], 'a'.repeat(200_000)))
    await wire.closed()
    await expect.poll(() => server.listener.connections).toBe(0)
  })

  it('is never taken for a request [UP-87]', async () => {
    const paths: string[] = []
    const server = await startServer((exchange) => {
      paths.push(exchange.path)
      return refuse(exchange)
    })
    const body = request('GET /smuggled')
    const wire = await server.open()
    await wire.send(request('PUT /a', [`Content-Length: ${body.length}`], body)).answer()
    await wire.send(request('GET /next')).answer()
    expect(paths).toEqual(['/a', '/next'])
  })
})

describe('Expect: 100-continue', () => {
  const headers = ['Content-Length: 3', 'Expect: 100-continue']

  it('is answered when the body is wanted, once, and then finally [UP-85] [HTTP-63]', async () => {
    const server = await startServer(async (exchange) => {
      await wait(20)
      startBody(exchange)
      startBody(exchange)
      await echoBody(exchange)
    })
    const wire = await server.open()
    wire.send(request('PUT /a', headers))
    await wire.until(() => wire.received.includes('\r\n\r\n'))
    expect(wire.received.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    expect((await wire.answer()).status).toBe(100)
    expect((await wire.send('abc').answer()).json()['text']).toBe('abc')
    wire.send(request('PUT /a', headers, 'abc'))
    expect((await wire.answer()).status).toBe(100)
    expect((await wire.answer()).status).toBe(200)
  })

  it('of a refused request gets the final status alone and the connection closes [UP-86] [UP-87] [HTTP-63]', async () => {
    const paths: string[] = []
    const server = await startServer((exchange) => {
      paths.push(exchange.path)
      return refuse(exchange)
    })
    const wire = await server.open()
    wire.send(request('PUT /a', headers))
    const answer = await wire.answer()
    expect(answer.status).toBe(401)
    expect(answer.header('connection')).toBe('close')
    await wire.closed()
    const impatient = await server.open()
    impatient.send(
      request('PUT /a', ['Content-Length: 50', 'Expect: 100-continue'], request('GET /smuggled').padEnd(50)),
    )
    expect((await impatient.answer()).status).toBe(401)
    await impatient.closed()
    expect(paths).not.toContain('/smuggled')
  })
})

describe('an upload', () => {
  it('reaches its sink in order, whatever its type, and waits for it [HTTP-57]', async () => {
    let busy = 0
    let overlaps = 0
    const parts: Buffer[] = []
    const server = await startServer(async (exchange) => {
      const outcome = await receiveBody(exchange, async (chunk) => {
        if (++busy > 1) overlaps++
        parts.push(Buffer.from(chunk))
        await wait(1)
        busy--
      })
      replyJson(exchange, 200, JSON.stringify(outcome))
    })
    const body = Buffer.alloc(3_000_000, 'abcdefg\0\xff', 'latin1')
    const wire = await server.open()
    wire.send(
      request('PUT /', [`Content-Length: ${body.length}`, 'Content-Type: application/json; charset=x']),
    )
    const answer = await wire.send(body).answer()
    expect(answer.body.toString()).toBe('"complete"')
    expect(Buffer.concat(parts).equals(body)).toBe(true)
    expect(overlaps).toBe(0)
    const empty = await wire.send(request('PUT /')).answer()
    expect(empty.body.toString()).toBe('"complete"')
  })

  it('that is cut gives every byte that came and is lost', async () => {
    const outcomes: string[] = []
    let bytes = 0
    const server = await startServer(async (exchange) => {
      const slow = exchange.path === '/slow'
      outcomes.push(
        await receiveBody(exchange, (chunk) => {
          bytes += chunk.length
          return slow ? wait(50) : undefined
        }),
      )
      replyEmpty(exchange, 204)
    })
    for (const path of ['/fast', '/slow']) {
      bytes = 0
      const wire = await server.open()
      wire.send(request(`PUT ${path}`, ['Content-Length: 100000'], 'a'.repeat(30_000)))
      await expect.poll(() => bytes).toBeGreaterThan(0)
      wire.socket.end()
      await expect.poll(() => outcomes.length).toBe(path === '/fast' ? 1 : 2)
      expect(bytes).toBe(30_000)
    }
    expect(outcomes).toEqual(['lost', 'lost'])
    expect(server.logged).toEqual([])
  })

  it('whose sink fails is stopped and can be refused', async () => {
    let bytes = 0
    const server = await startServer(async (exchange) => {
      const error = new Failure('insufficientStorage', 'full')
      await receiveBody(exchange, (chunk) => {
        bytes += chunk.length
        if (exchange.path === '/throws') throw error
        return Promise.reject(error)
      })
    })
    for (const path of ['/throws', '/rejects']) {
      bytes = 0
      const body = 'a'.repeat(4_000_000)
      const wire = await server.open()
      wire.send(request(`PUT ${path}`, [`Content-Length: ${body.length}`], body))
      expect((await wire.answer()).status).toBe(507)
      expect(bytes).toBeLessThan(1_000_000)
    }
  })

  const limits = { bodyIdleMs: 150, bodyWindowMs: 200, bodyWindowBytes: 100 }

  it('that stalls or drips is cut, a slow but steady one is not [LIMIT-15]', async () => {
    const outcomes: Record<string, string> = {}
    const server = await startServer(async (exchange) => {
      outcomes[exchange.path] = await receiveBody(exchange, () => undefined)
      replyEmpty(exchange, 204)
    }, limits)
    const open = async (path: string): Promise<Awaited<ReturnType<typeof server.open>>> =>
      (await server.open()).send(request(`PUT ${path}`, ['Content-Length: 2000'], 'a'))
    const [stalled, dripping, steady] = [await open('/stalled'), await open('/drips'), await open('/steady')]
    const timer = setInterval(() => {
      dripping.send('a')
      steady.send('a'.repeat(40))
    }, 20)
    try {
      await Promise.all([stalled.closed(), dripping.closed()])
      steady.send('a'.repeat(2_000))
      expect((await steady.answer()).status).toBe(204)
      expect(outcomes).toEqual({ '/stalled': 'lost', '/drips': 'lost', '/steady': 'complete' })
    } finally {
      clearInterval(timer)
    }
  })

  it('is not blamed for the time its sink takes [LIMIT-15]', async () => {
    let outcome = ''
    const server = await startServer(async (exchange) => {
      outcome = await receiveBody(exchange, () => wait(400))
      replyEmpty(exchange, 204)
    }, limits)
    const answer = await ask(server, request('PUT /', ['Content-Length: 5'], 'abcde'))
    expect(answer.status).toBe(204)
    expect(outcome).toBe('complete')
  })
})
