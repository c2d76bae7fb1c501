import { mkdtemp } from 'node:fs/promises'
import { connect as connectTcp } from 'node:net'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { onTestFinished } from 'vitest'
import { createListener } from '../../src/http/listener.js'
import type { Listener, ListenerOptions } from '../../src/http/listener.js'
import { DEFAULT_HTTP_LIMITS } from '../../src/http/limits.js'
import type { HttpLimits } from '../../src/http/limits.js'
import { ensureCertificate } from '../../src/http/tls.js'

export interface TestServer {
  readonly port: number
  readonly listener: Listener
  readonly logged: { level: string; message: string; fields: Record<string, unknown> }[]
  open(): Promise<Wire>
}

let certificate: Promise<{ cert: string; key: string }> | undefined

export function testCertificate(): Promise<{ cert: string; key: string }> {
  certificate ??= mkdtemp(join(tmpdir(), 'http-test-')).then((directory) =>
    ensureCertificate(directory, 'test-host.example'),
  )
  return certificate
}

/** Starts a real listener on a free port; it is stopped with the test. */
export async function startServer(
  handle: ListenerOptions['handle'],
  limits: Partial<HttpLimits> = {},
  transport: 'tls' | 'proxy' = 'tls',
): Promise<TestServer> {
  const logged: TestServer['logged'] = []
  const listener = createListener({
    tls: transport === 'tls' ? await testCertificate() : undefined,
    limits: { ...DEFAULT_HTTP_LIMITS, stopMs: 50, ...limits },
    handle,
    log: (level, message, fields) =>
      logged.push({ level, message, fields: fields as Record<string, unknown> }),
  })
  const { port } = await listener.listen(0, '127.0.0.1')
  onTestFinished(() => listener.stop())
  const { cert } = await testCertificate()
  const open = async (): Promise<Wire> => {
    const socket =
      transport === 'tls'
        ? connectTls({ port, host: '127.0.0.1', ca: cert, servername: 'localhost' })
        : connectTcp(port, '127.0.0.1')
    const wire = new Wire(socket)
    await new Promise<void>((resolve, reject) => {
      socket.once(transport === 'tls' ? 'secureConnect' : 'connect', resolve)
      socket.once('error', reject)
    })
    return wire
  }
  return { port, listener, logged, open }
}

export interface Answer {
  readonly status: number
  /** Header lines in order, names in lower case. */
  readonly lines: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
  header(name: string): string | undefined
  json(): Record<string, unknown>
}

/** A client connection that shows the bytes as they are. */
export class Wire {
  received = Buffer.alloc(0)
  ended = false
  readonly socket: Socket
  readonly #wakers = new Set<() => void>()

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk])
      this.#wake()
    })
    socket.on('error', () => undefined)
    for (const event of ['end', 'close']) {
      socket.on(event, () => {
        this.ended = true
        this.#wake()
      })
    }
    onTestFinished(() => void socket.destroy())
  }

  send(data: string | Buffer): this {
    this.socket.write(data)
    return this
  }

  /** Reads one answer by its framing; leaves what follows it. */
  async answer(method = 'GET'): Promise<Answer> {
    await this.until(() => this.received.includes('\r\n\r\n'))
    const headEnd = this.received.indexOf('\r\n\r\n')
    const [statusLine = '', ...rest] = this.received.toString('latin1', 0, headEnd).split('\r\n')
    this.received = this.received.subarray(headEnd + 4)
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
    const lines = rest.map((line): [string, string] => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    })
    const header = (name: string): string | undefined => lines.find(([key]) => key === name)?.[1]
    let body = Buffer.alloc(0)
    const hasBody = method !== 'HEAD' && status >= 200 && status !== 204 && status !== 304
    if (hasBody && header('transfer-encoding') === 'chunked') body = await this.#chunks()
    else if (hasBody) {
      await this.until(() => this.ended)
      body = this.received
      this.received = Buffer.alloc(0)
    }
    const json = (): Record<string, unknown> => JSON.parse(body.toString()) as Record<string, unknown>
    return { status, lines, body, header, json }
  }

  async closed(): Promise<void> {
    while (!this.ended) await this.#changed()
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.ended) throw new Error(`the connection ended after: ${this.received.toString('latin1')}`)
      await this.#changed()
    }
  }

  async #chunks(): Promise<Buffer<ArrayBuffer>> {
    const parts: Buffer[] = []
    for (;;) {
      await this.until(() => this.received.includes('\r\n'))
      const lineEnd = this.received.indexOf('\r\n')
      const size = parseInt(this.received.toString('latin1', 0, lineEnd), 16)
      await this.until(() => this.received.length >= lineEnd + 4 + size)
      parts.push(this.received.subarray(lineEnd + 2, lineEnd + 2 + size))
      this.received = this.received.subarray(lineEnd + 4 + size)
      if (size === 0) return Buffer.concat(parts)
    }
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => {
      const waker = (): void => {
        this.#wakers.delete(waker)
        resolve()
      }
      this.#wakers.add(waker)
    })
  }

  #wake(): void {
    for (const waker of [...this.#wakers]) waker()
  }
}

export function request(line: string, headers: string[] = [], body = ''): string {
  return [`${line} HTTP/1.1`, 'Host: localhost', ...headers, '', body].join('\r\n')
}

export async function ask(server: TestServer, text: string): Promise<Answer & { wire: Wire }> {
  const wire = await server.open()
  const answer = await wire.send(text).answer(text.slice(0, text.indexOf(' ')))
  return { ...answer, wire }
}

export function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
