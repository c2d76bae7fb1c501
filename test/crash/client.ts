/** One client on one kept-alive connection, which tells an answer from a cut connection. */
import { Agent as PlainAgent, request as plainRequest, type IncomingHttpHeaders } from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'
import type { Server } from './support.js'

const ANSWER_LIMIT_MS = 60_000

export interface Reply {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
  /** The client's port of the connection, by which a trace knows whose answer it sees. */
  port: number
}

/** No whole answer came: the outcome of the request is unknown. */
export class CutConnection extends Error {}

export interface Client {
  send(method: string, path: string, headers?: Record<string, string>, body?: Buffer): Promise<Reply>
  close(): void
}

export function connect(server: Pick<Server, 'origin' | 'behindProxy'>, token: string): Client {
  const [host, port] = server.origin.split(':')
  const agent = server.behindProxy
    ? new PlainAgent({ keepAlive: true, maxSockets: 1 })
    : new TlsAgent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
  const start = server.behindProxy ? plainRequest : tlsRequest
  return {
    close: () => agent.destroy(),
    send: (method, path, headers = {}, body) =>
      new Promise((succeed, fail) => {
        const cut = (error: Error): void => fail(new CutConnection(`${method} ${path}: ${error.message}`))
        const common = {
          authorization: `Bearer ${token}`,
          ...(server.behindProxy ? { 'x-forwarded-proto': 'https' } : {}),
        }
        const lengths = body === undefined ? {} : { 'content-length': String(body.length) }
        const request = start({
          agent,
          host,
          port,
          method,
          path: `/api/v1.3${path}`,
          headers: { ...common, ...lengths, ...headers },
        })
        request.setTimeout(ANSWER_LIMIT_MS, () => request.destroy(new Error('no answer in time')))
        request.once('error', cut)
        request.once('response', (response) => {
          const parts: Buffer[] = []
          const local = response.socket.localPort ?? 0
          response.on('data', (part: Buffer) => parts.push(part))
          response.once('error', cut)
          response.once('close', () => {
            if (!response.complete) return cut(new Error('the answer was cut'))
            succeed({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: Buffer.concat(parts),
              port: local,
            })
          })
        })
        request.end(body)
      }),
  }
}

export function sendJson(client: Client, method: string, path: string, value: unknown): Promise<Reply> {
  return client.send(method, path, { 'content-type': 'application/json' }, Buffer.from(JSON.stringify(value)))
}

/** What is wrong with an error answer: every 4xx and 5xx of the API carries a type and a message. */
export function errorShapeFault(reply: Reply): string | undefined {
  if (reply.status < 400 || reply.status === 416) return undefined
  if (reply.headers['access-control-allow-origin'] !== '*') return 'no Access-Control-Allow-Origin: *'
  try {
    const value = JSON.parse(reply.body.toString()) as { type?: unknown; message?: unknown }
    if (typeof value.type !== 'string' || typeof value.message !== 'string')
      return `no type and message: ${reply.body.toString().slice(0, 200)}`
    if (value.type === '' || value.message === '') return 'an empty type or message'
  } catch {
    return `no JSON: ${reply.body.toString().slice(0, 200)}`
  }
  return undefined
}
