/** Connections to a running server that show the bytes as they are. */
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Wire } from '../http/support.js'
import type { Answer } from './client.js'
import type { TestServer } from './server.js'

/** Plain behind a proxy, TLS otherwise. */
export async function openWire(server: TestServer): Promise<Wire> {
  const { port, ca } = server
  const host = server.host.replace(/^\[|\]$/g, '')
  const isPlain = ca === ''
  const socket = isPlain ? connectTcp(port, host) : connectTls({ port, host, ca, servername: 'localhost' })
  const wire = new Wire(socket)
  await new Promise<void>((resolve, reject) => {
    socket.once(isPlain ? 'connect' : 'secureConnect', resolve)
    socket.once('error', reject)
  })
  return wire
}

/** A request as text: the line without the protocol, header lines, the body. */
export function requestText(line: string, headers: readonly string[] = [], body = ''): string {
  return [`${line} HTTP/1.1`, 'Host: localhost', ...headers, '', body].join('\r\n')
}

export function bearer(token: string): string {
  return `Authorization: Bearer ${token}`
}

/** One answer of a connection, in the shape of the client's. */
export interface WireAnswer {
  readonly status: number
  readonly headers: Record<string, string>
  /** Header lines in order, names in lower case. */
  readonly lines: readonly (readonly [name: string, value: string])[]
  readonly text: string
  readonly json: Answer['json']
}

export async function readAnswer(wire: Wire, method = 'GET'): Promise<WireAnswer> {
  const answer = await wire.answer(method)
  const text = answer.body.toString()
  return {
    status: answer.status,
    headers: Object.fromEntries(answer.lines),
    lines: answer.lines,
    text,
    get json() {
      return JSON.parse(text) as Answer['json']
    },
  }
}

/** Sends one request over a connection of its own. */
export async function ask(server: TestServer, text: string | Buffer): Promise<WireAnswer> {
  const wire = await openWire(server)
  wire.send(text)
  const answer = await readAnswer(wire, text.toString('latin1').split(' ')[0])
  wire.socket.destroy()
  return answer
}
