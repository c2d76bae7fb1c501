import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createNetServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { Failure } from '../model/failures.js'
import { ConnectionLost } from './body.js'
import { refuseBrokenRequest, refuseConnection } from './client-error.js'
import type { ParserError } from './client-error.js'
import { largeFramePool } from './download-frames.js'
import { splitTarget } from './exchange.js'
import type { Exchange } from './exchange.js'
import { INTERNAL_MESSAGE, replyFailure } from './failures.js'
import { admitTlsOnly } from './first-byte.js'
import type { HttpLimits } from './limits.js'
import { createProtocolServer } from './protocol-server.js'
import { believes } from './proxies.js'
import { rawFailure } from './raw-reply.js'
import { checkRequest, clientAddress } from './request-checks.js'

export interface ListenerOptions {
  /** Certificate and key as PEM; without them the listener speaks plain HTTP behind a proxy that ends TLS. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined
  readonly limits: HttpLimits
  /** Addresses and networks of proxies that speak TLS to the listener and say whom they speak for. */
  readonly trustedProxies?: readonly string[]
  /** Answers one request. What it throws is a bug, unless it is a Failure or a lost connection. */
  readonly handle: (exchange: Exchange) => void | Promise<void>
  readonly log: (level: 'info' | 'warn' | 'error', message: string, fields: object) => void
}

export interface Listener {
  listen(port: number, host: string): Promise<{ port: number }>
  /** Serves a connection that another process accepted. */
  take(socket: Socket): void
  /** Serves on for drainMs, and until it is stopped, closing each connection with its next answer. */
  drain(): Promise<void>
  /**
   * Accepts nothing more, closes idle connections, and resolves when the requests under way have been answered; those
   * that take longer than stopMs are cut.
   */
  stop(): Promise<void>
  /** It is draining or has been stopped. */
  readonly isStopping: boolean
  readonly connections: number
}

interface Connection {
  /** Over the limit: its first request is answered 503. */
  readonly isExcess: boolean
  /** Requests without a complete answer. */
  underWay: number
  /** Requests since it was opened. */
  requests: number
  newest: Exchange | undefined
  /** Pipelined requests that wait for their turn. */
  readonly waiting: Exchange[]
  readonly closing: boolean
}

/** The door of the server: everything that must hold for a request before its path is looked at. */
export function createListener(options: ListenerOptions): Listener {
  const { limits } = options
  const behindProxy = options.tls === undefined
  const isBelieved = behindProxy ? () => true : believes(options.trustedProxies ?? [])
  const shared = { draining: false, stopping: false }
  const largeForms = { bytes: 0 }
  const largeFrames = largeFramePool(limits.largeFramesBytes)
  const open = new Map<Socket, Connection>()
  /** The same records by the socket that node's HTTP server knows: the one inside TLS. */
  const inner = new WeakMap<Duplex, Connection>()
  const idPrefix = randomBytes(6).toString('hex')
  let requests = 0
  let onEmpty = (): void => undefined

  const server = createProtocolServer(options.tls, limits)
  server.on('request', (req, res) => accept(req, res, false))
  server.on('checkContinue', (req, res) => accept(req, res, true))
  server.on('checkExpectation', (req, res) => accept(req, res, false))
  server.on('connect', (_req: IncomingMessage, socket: Duplex) =>
    refuseConnection(socket, rawFailure('notImplemented', 'CONNECT is not served'), limits),
  )
  server.on('clientError', (error: ParserError, socket: Duplex) =>
    refuseBrokenRequest(error, socket, inner.get(socket)?.newest, limits),
  )
  server.on('secureConnection', (socket: TLSSocket & { readonly _parent?: Socket }) => {
    const connection = socket._parent === undefined ? undefined : open.get(socket._parent)
    if (connection !== undefined) inner.set(socket, connection)
  })

  const front = createNetServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: !behindProxy })
  front.on('connection', take)

  function take(socket: Socket): void {
    // Only a socket that was accepted here is made so.
    socket.allowHalfOpen = true
    if (open.size >= limits.connections + limits.refusedConnections) return void socket.destroy()
    const connection: Connection = {
      isExcess: open.size >= limits.connections,
      underWay: 0,
      requests: 0,
      newest: undefined,
      waiting: [],
      get closing() {
        return shared.draining || this.requests >= limits.requestsPerConnection
      },
    }
    open.set(socket, connection)
    inner.set(socket, connection)
    socket.once('close', () => {
      open.delete(socket)
      if (open.size === 0) onEmpty()
    })
    if (behindProxy) server.emit('connection', socket)
    else admitTlsOnly(socket, limits, () => server.emit('connection', socket))
  }

  /** A load balancer that has just connected is about to send its request, and may not send it twice. */
  function isIdle({ underWay, requests: count }: Connection): boolean {
    return underWay === 0 && (count > 0 || limits.drainMs === 0)
  }

  function accept(req: IncomingMessage, res: ServerResponse, expectsContinue: boolean): void {
    const { socket } = req
    const connection = inner.get(socket)
    if (connection === undefined) return void socket.destroy()
    const { path, rawQuery } = splitTarget(req.url ?? '/')
    const exchange: Exchange = {
      req,
      res,
      id: `${idPrefix}-${(++requests).toString(36)}`,
      method: req.method ?? '',
      path,
      rawQuery,
      limits,
      expectsContinue,
      startedMs: Date.now(),
      extraHeaders: {},
      client: clientAddress(req, isBelieved),
      connection,
      largeForms,
      largeFrames,
      continued: false,
    }
    connection.requests++
    connection.newest = exchange
    connection.underWay++
    res.once('close', () => {
      connection.underWay--
      if (connection.newest === exchange) connection.newest = undefined
      // Requests behind an answer that ends the connection cannot be answered, so nothing of them may be done.
      if (!socket.writable) connection.waiting.length = 0
      const next = connection.waiting.shift()
      if (next !== undefined) void answer(next, connection)
      // A reply that began before the stop has promised to keep the connection.
      if (shared.stopping && connection.underWay === 0) socket.destroySoon()
    })
    // One request of a connection at a time: what a client may ask for at once does not grow with its patience.
    if (connection.underWay === 1) return void answer(exchange, connection)
    connection.waiting.push(exchange)
    if (connection.waiting.length > limits.pipelinedRequests) socket.destroy()
  }

  async function answer(exchange: Exchange, connection: Connection): Promise<void> {
    try {
      if (connection.isExcess) throw new Failure('unavailable', 'too many open connections', BUSY_HEADERS)
      checkRequest(exchange.req, behindProxy)
      const handling = options.handle(exchange)
      if (handling !== undefined) await handling
      if (!exchange.res.headersSent && !exchange.res.destroyed) throw new Error('the handler sent no reply')
    } catch (error) {
      answerThrown(exchange, error)
    }
    // A client that asks and never reads would otherwise hold its connection, and the replies, for ever.
    const { res, req } = exchange
    if (!res.writableFinished && !res.destroyed) req.socket.setTimeout(limits.drainIdleMs)
  }

  function answerThrown(exchange: Exchange, error: unknown): void {
    const { res, req } = exchange
    if (error instanceof ConnectionLost) return void req.socket.destroy()
    const isFailure = error instanceof Failure
    if (!isFailure || res.headersSent) logBug(exchange, error)
    if (res.headersSent) return void req.socket.destroy()
    try {
      replyFailure(exchange, isFailure ? error : new Failure('internal', INTERNAL_MESSAGE))
    } catch (replyError) {
      // A header that cannot be sent; without this the whole process would end.
      logBug(exchange, replyError)
      req.socket.destroy()
    }
  }

  function logBug(exchange: Exchange, error: unknown): void {
    const cause = error instanceof Error ? (error.stack ?? error.message) : String(error)
    options.log('error', 'a request failed unexpectedly', { request: exchange.id, cause })
  }

  return {
    listen: (port, host) =>
      new Promise((resolve, reject) => {
        front.once('error', reject)
        front.listen({ port, host, backlog: BACKLOG }, () => {
          front.off('error', reject)
          front.on('error', (error) => options.log('error', 'the listener failed', { cause: error.message }))
          resolve({ port: (front.address() as AddressInfo).port })
        })
      }),
    take,
    drain: async () => {
      shared.draining = true
      if (limits.drainMs > 0) await delay(limits.drainMs)
    },
    stop: async () => {
      shared.draining = true
      shared.stopping = true
      front.close()
      const emptied = new Promise<void>((resolve) => {
        onEmpty = resolve
        if (open.size === 0) resolve()
      })
      for (const [socket, connection] of open) if (isIdle(connection)) socket.destroy()
      const linger = setTimeout(() => {
        for (const [socket, connection] of open) if (connection.underWay === 0) socket.destroy()
      }, NEW_CONNECTION_MS)
      const timer = setTimeout(() => open.forEach((_, socket) => socket.destroy()), limits.stopMs)
      await emptied
      clearTimeout(linger)
      clearTimeout(timer)
      server.close()
    },
    get isStopping() {
      return shared.draining
    },
    get connections() {
      return open.size
    },
  }
}

const BACKLOG = 1024
const NEW_CONNECTION_MS = 2_000
const BUSY_HEADERS = { Connection: 'close', 'Retry-After': '1' }
