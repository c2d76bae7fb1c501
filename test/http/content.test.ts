import { describe, expect, it } from 'vitest'
import { sendContent } from '../../src/http/content.js'
import type { ByteSource, ContentReply } from '../../src/http/content.js'
import { replyEmpty } from '../../src/http/reply.js'
import { ask, request, startServer } from './support.js'
import type { TestServer } from './support.js'
import type { HttpLimits } from '../../src/http/limits.js'

function patterned(size: number): Buffer {
  const bytes = Buffer.alloc(size)
  for (let at = 0; at + 4 <= size; at += 4) bytes.writeUInt32LE((at * 2654435761) >>> 0, at)
  return bytes
}

function memorySource(bytes: Buffer, closed: { count: number }, shortBy = 0): ByteSource {
  return {
    read: (buffer, position, length) => {
      const end = Math.min(position + length, bytes.length - shortBy)
      return Promise.resolve(position >= end ? 0 : bytes.copy(buffer, 0, position, end))
    },
    close: () => {
      closed.count++
      return Promise.resolve()
    },
  }
}

interface Served {
  server: TestServer
  closed: { count: number }
}

async function serve(
  bytes: Buffer,
  change: Partial<ContentReply> = {},
  limits: Partial<HttpLimits> = {},
  shortBy = 0,
): Promise<Served> {
  const closed = { count: 0 }
  const server = await startServer(async (exchange) => {
    if (exchange.path === '/next') return replyEmpty(exchange, 204)
    await sendContent(exchange, {
      source: memorySource(bytes, closed, shortBy),
      size: bytes.length,
      ranges: undefined,
      headers: { ETag: '"a"', 'Accept-Ranges': 'bytes' },
      contentType: 'text/plain',
      isCurrent: () => Promise.resolve(true),
      ...change,
    })
  }, limits)
  return { server, closed }
}

describe('a download', () => {
  it.each([0, 1, 1000, 262_143, 262_144, 262_145, 3_000_001])(
    'of %i bytes comes whole and chunked, and the connection stays usable [HTTP-19]',
    async (size) => {
      const bytes = patterned(size)
      const { server, closed } = await serve(bytes)
      const { wire, ...answer } = await ask(server, request('GET /'))
      expect(answer.status).toBe(200)
      expect(answer.header('transfer-encoding')).toBe('chunked')
      expect(answer.header('content-length')).toBeUndefined()
      expect(answer.header('content-type')).toBe('text/plain')
      expect(answer.header('etag')).toBe('"a"')
      expect(answer.header('access-control-allow-origin')).toBe('*')
      expect(answer.body.equals(bytes)).toBe(true)
      expect((await wire.send(request('GET /next')).answer()).status).toBe(204)
      expect(closed.count).toBe(1)
    },
  )

  it('of one range is 206 with Content-Range [HTTP-19]', async () => {
    const bytes = patterned(600_000)
    const { server } = await serve(bytes, { ranges: [{ start: 5, end: 500_004 }] })
    const answer = await ask(server, request('GET /'))
    expect(answer.status).toBe(206)
    expect(answer.header('content-range')).toBe('bytes 5-500004/600000')
    expect(answer.body.equals(bytes.subarray(5, 500_005))).toBe(true)
  })

  it('of several ranges is multipart, in order, with a closing delimiter [HTTP-19]', async () => {
    const bytes = patterned(700_000)
    const ranges = [
      { start: 0, end: 0 },
      { start: 10, end: 300_000 },
      { start: 699_998, end: 699_999 },
    ]
    const { server } = await serve(bytes, { ranges, boundary: 'BOUND' })
    const answer = await ask(server, request('GET /'))
    expect(answer.status).toBe(206)
    expect(answer.header('content-type')).toBe('multipart/byteranges; boundary=BOUND')
    expect(answer.header('content-range')).toBeUndefined()
    const parts = ranges.map(({ start, end }, index) =>
      Buffer.concat([
        Buffer.from(
          `${index === 0 ? '' : '\r\n'}--BOUND\r\nContent-Type: text/plain\r\nContent-Range: bytes ${start}-${end}/700000\r\n\r\n`,
        ),
        bytes.subarray(start, end + 1),
      ]),
    )
    expect(answer.body.equals(Buffer.concat([...parts, Buffer.from('\r\n--BOUND--\r\n')]))).toBe(true)
  })

  it('asked for by HEAD has the same headers and no body [HTTP-22]', async () => {
    const { server, closed } = await serve(patterned(500_000), { ranges: [{ start: 1, end: 2 }] })
    const wire = await server.open()
    const got = await wire.send(request('GET /')).answer()
    const head = await wire.send(request('HEAD /')).answer('HEAD')
    expect(head.status).toBe(206)
    const names = (lines: typeof head.lines): string[] =>
      lines.map(([name, value]) => (name === 'date' ? name : `${name}: ${value}`))
    expect(names(head.lines)).toEqual(names(got.lines))
    expect((await wire.send(request('GET /next')).answer()).status).toBe(204)
    expect(closed.count).toBe(2)
  })

  it('answers pipelined requests in order [HTTP-12]', async () => {
    const bytes = patterned(400_000)
    const { server } = await serve(bytes)
    const wire = await server.open()
    wire.send(request('GET /') + request('GET /next') + request('GET /'))
    expect((await wire.answer()).body.equals(bytes)).toBe(true)
    expect((await wire.answer()).status).toBe(204)
    expect((await wire.answer()).body.equals(bytes)).toBe(true)
  })

  it.each([10, 700_000])(
    'of %i bytes that is outdated at its end is cut before it [HTTP-24]',
    async (size) => {
      const { server, closed } = await serve(patterned(size), { isCurrent: () => Promise.resolve(false) })
      const wire = (await server.open()).send(request('GET /'))
      await wire.closed()
      expect(wire.received.includes('\r\n0\r\n\r\n')).toBe(false)
      expect(wire.received.length).toBeLessThan(size + 400)
      await expect.poll(() => closed.count).toBe(1)
      expect(server.logged).toEqual([])
    },
  )

  it('can be cut from outside', async () => {
    let abort = (): void => undefined
    const { server, closed } = await serve(patterned(50_000_000), { onAbort: (cut) => (abort = cut) })
    const wire = (await server.open()).send(request('GET /'))
    await wire.until(() => wire.received.length > 100_000)
    abort()
    await wire.closed()
    expect(wire.received.length).toBeLessThan(50_000_000)
    await expect.poll(() => closed.count).toBe(1)
    expect(server.logged).toEqual([])
  })

  it('leaves the connection alone when it is cut from outside after its end', async () => {
    let abort = (): void => undefined
    const { server } = await serve(patterned(300_000), { onAbort: (cut) => (abort = cut) })
    const wire = (await server.open()).send(request('GET /'))
    await wire.until(() => wire.received.includes('\r\n0\r\n\r\n'))
    abort()
    const before = wire.received.length
    wire.send(request('GET /'))
    await wire.until(() => wire.received.length > before + 300_000)
    expect(wire.received.subarray(before, before + 15).toString()).toBe('HTTP/1.1 200 OK')
  })

  it('whose source fails at once gets a status, and later loses the connection without error text [HTTP-24]', async () => {
    const bytes = patterned(1_000_000)
    const early = await serve(bytes, {}, {}, 1_000_000)
    expect((await ask(early.server, request('GET /'))).status).toBe(500)
    const late = await serve(bytes, {}, {}, 300_000)
    const wire = (await late.server.open()).send(request('GET /'))
    await wire.closed()
    expect(wire.received.toString('latin1')).not.toContain('INTERNAL_ERROR')
    expect(wire.received.includes('\r\n0\r\n\r\n')).toBe(false)
    await expect.poll(() => late.server.logged.length).toBe(1)
    expect([early.closed.count, late.closed.count]).toEqual([1, 1])
  })

  it('of a client that leaves is ended and its source closed', async () => {
    const { server, closed } = await serve(patterned(50_000_000))
    const wire = (await server.open()).send(request('GET /'))
    await wire.until(() => wire.received.length > 100_000)
    wire.socket.destroy()
    await expect.poll(() => closed.count).toBe(1)
    expect(server.logged).toEqual([])
  })

  it('of a client that reads nothing is cut, of a slow but steady one not [LIMIT-15]', async () => {
    const bytes = patterned(24_000_000)
    const { server, closed } = await serve(bytes, {}, { drainIdleMs: 400 })
    const idle = (await server.open()).send(request('GET /'))
    idle.socket.pause()
    await expect.poll(() => closed.count, { timeout: 40_000 }).toBe(1)
    const patient = await serve(bytes, {}, { drainIdleMs: 5_000 })
    const slow = (await patient.server.open()).send(request('GET /'))
    // The pauses add up to more than the limit, and none of them comes near it.
    let sincePause = 0
    slow.socket.on('data', (chunk: Buffer) => {
      sincePause += chunk.length
      if (sincePause < 1_000_000) return
      sincePause = 0
      slow.socket.pause()
      setTimeout(() => slow.socket.resume(), 300)
    })
    expect((await slow.answer()).body.length).toBe(bytes.length)
  })
})
