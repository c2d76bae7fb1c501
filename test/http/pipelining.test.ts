import { describe, expect, it } from 'vitest'
import { readBody } from '../../src/http/body.js'
import type { Exchange } from '../../src/http/exchange.js'
import { replyJson } from '../../src/http/reply.js'
import { ask, request, startServer, wait } from './support.js'

/** A handler that answers with path and body after a while and knows how many of its calls ran at once. */
function countingHandler(takesMs: (exchange: Exchange) => number): {
  handle: (exchange: Exchange) => Promise<void>
  readonly begun: string[]
  readonly mostAtOnce: number
} {
  const begun: string[] = []
  let running = 0
  let mostAtOnce = 0
  return {
    async handle(exchange) {
      begun.push(exchange.path)
      running += 1
      mostAtOnce = Math.max(mostAtOnce, running)
      const body = await readBody(exchange, 1024)
      await wait(takesMs(exchange))
      running -= 1
      replyJson(exchange, 200, JSON.stringify({ path: exchange.path, body: body.toString() }))
    },
    begun,
    get mostAtOnce() {
      return mostAtOnce
    },
  }
}

describe('pipelined requests', () => {
  it.each(['tls', 'proxy'] as const)(
    'are handled one at a time and answered in order over %s [HTTP-12]',
    async (transport) => {
      // The earlier a request, the longer it takes: handled at once, they would end in the opposite order.
      const counting = countingHandler(({ path }) => 30 - 3 * Number(path.slice(1)))
      const server = await startServer(counting.handle, {}, transport)
      const wire = await server.open()
      const paths = Array.from({ length: 10 }, (_, index) => `/${index}`)
      const lines = transport === 'proxy' ? ['X-Forwarded-Proto: https'] : []
      wire.send(paths.map((path) => request(`GET ${path}`, lines)).join(''))
      for (const path of paths) expect((await wire.answer()).json()['path']).toBe(path)
      expect(counting.begun).toEqual(paths)
      expect(counting.mostAtOnce).toBe(1)
      expect((await wire.send(request('GET /after', lines)).answer()).json()['path']).toBe('/after')
    },
  )

  it('keep their bodies while they wait for their turn [HTTP-12]', async () => {
    const counting = countingHandler(() => 20)
    const server = await startServer(counting.handle)
    const wire = await server.open()
    const bodies = ['first', 'the second', '']
    const asked = bodies.map((body, index) =>
      request(`POST /${index}`, [`Content-Length: ${body.length}`], body),
    )
    wire.send(asked.join(''))
    for (const [index, body] of bodies.entries()) {
      expect((await wire.answer()).json()).toEqual({ path: `/${index}`, body })
    }
    expect(counting.mostAtOnce).toBe(1)
  })

  it('of two connections do not wait for each other [HTTP-12]', async () => {
    const counting = countingHandler(({ path }) => (path === '/slow' ? 300 : 0))
    const server = await startServer(counting.handle)
    const slow = await server.open()
    slow.send(request('GET /slow') + request('GET /behind'))
    await expect.poll(() => counting.begun).toEqual(['/slow'])
    expect((await ask(server, request('GET /other'))).status).toBe(200)
    expect(counting.begun).toEqual(['/slow', '/other'])
    for (const path of ['/slow', '/behind']) expect((await slow.answer()).json()['path']).toBe(path)
  })

  it('up to the limit are all answered [LIMIT-16]', async () => {
    const counting = countingHandler(() => 10)
    const server = await startServer(counting.handle, { pipelinedRequests: 4 })
    const wire = await server.open()
    // One is under way and four wait.
    const paths = Array.from({ length: 5 }, (_, index) => `/${index}`)
    wire.send(paths.map((path) => request(`GET ${path}`)).join(''))
    for (const path of paths) expect((await wire.answer()).json()['path']).toBe(path)
  })

  it('beyond the limit cut their sender off while others are served [LIMIT-16]', async () => {
    const counting = countingHandler(({ path }) => (path === '/other' ? 0 : 100))
    const server = await startServer(counting.handle, { pipelinedRequests: 4 })
    const other = await server.open()
    const greedy = await server.open()
    greedy.send(Array.from({ length: 6 }, (_, index) => request(`GET /${index}`)).join(''))
    await greedy.closed()
    expect(greedy.received.toString('latin1')).toBe('')
    expect((await other.send(request('GET /other')).answer()).status).toBe(200)
    await wait(200)
    // What waited on the connection that was cut is never handled.
    expect(counting.begun.filter((path) => path !== '/other')).toEqual(['/0'])
    await expect.poll(() => server.listener.connections).toBe(1)
    expect((await ask(server, request('GET /other'))).status).toBe(200)
    expect(server.logged).toEqual([])
  })
})
