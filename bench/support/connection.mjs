// One keep-alive HTTPS connection with one request at a time. Node's own client would cost more than the servers it
// is to measure, so this one reads no more of an answer than its status, its length and the headers asked for.
import { once } from 'node:events'
import { connect } from 'node:tls'
import { CIPHER } from './tls.mjs'

const HEAD_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('0\r\n\r\n')
const NOTHING = Buffer.alloc(0)

export async function openConnection(url) {
  const { hostname, port, host } = new URL(url)
  const socket = connect({
    ...{ host: hostname, port: Number(port), rejectUnauthorized: false },
    ...{ minVersion: 'TLSv1.3', ciphers: CIPHER, ALPNProtocols: ['http/1.1'] },
  })
  await once(socket, 'secureConnect')
  socket.setNoDelay(true)

  let received = NOTHING
  let waiting
  socket.on('data', (data) => {
    received = received.length === 0 ? data : Buffer.concat([received, data])
    advance()
  })
  const fail = (error) => {
    waiting?.reject(error ?? new Error('the server closed the connection'))
    waiting = undefined
  }
  socket.on('error', fail)
  socket.on('close', () => fail())

  function advance() {
    const headEnd = received.indexOf(HEAD_END)
    if (headEnd < 0 || waiting === undefined) return
    const head = received.toString('latin1', 0, headEnd + 2)
    const status = Number(head.slice(9, 12))
    const bodyStart = headEnd + 4
    const end = bodyEnd(status, head, bodyStart)
    if (end === undefined) return
    const body = received.subarray(bodyStart, end)
    received = received.length === end ? NOTHING : received.subarray(end)
    const { resolve } = waiting
    waiting = undefined
    resolve({ status, head, body })
  }

  function bodyEnd(status, head, bodyStart) {
    if (status === 204 || status === 304) return bodyStart
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)
    if (length !== null) {
      const end = bodyStart + Number(length[1])
      return received.length >= end ? end : undefined
    }
    if (!/\r\ntransfer-encoding: *chunked/i.test(head)) return bodyStart
    for (let position = bodyStart; ;) {
      const lineEnd = received.indexOf('\r\n', position, 'latin1')
      if (lineEnd < 0) return undefined
      const size = Number.parseInt(received.toString('latin1', position, lineEnd), 16)
      if (size === 0)
        return received.length >= position + LAST_CHUNK.length ? position + LAST_CHUNK.length : undefined
      position = lineEnd + 2 + size + 2
      if (received.length < position) return undefined
    }
  }

  return {
    /** `headers` is a finished block of lines, each ended by CRLF. */
    request(method, path, headers, body) {
      const length = body === undefined ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`
      const head = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${headers}${length}\r\n`
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject }
        if (typeof body === 'object') socket.write(Buffer.concat([Buffer.from(head, 'latin1'), body]))
        else socket.write(head + (body ?? ''))
      })
    },
    close: () => socket.destroy(),
  }
}

/** The JSON of a small answer, chunked or not. */
export function jsonOf({ head, body }) {
  if (/\r\ncontent-length:/i.test(head)) return JSON.parse(body.toString())
  const pieces = []
  for (let position = 0; ;) {
    const lineEnd = body.indexOf('\r\n', position, 'latin1')
    const size = Number.parseInt(body.toString('latin1', position, lineEnd), 16)
    if (size === 0) return JSON.parse(Buffer.concat(pieces).toString())
    pieces.push(body.subarray(lineEnd + 2, lineEnd + 2 + size))
    position = lineEnd + 2 + size + 2
  }
}

export function headerOf({ head }, name) {
  return new RegExp(`\\r\\n${name}: *([^\\r]*)`, 'i').exec(head)?.[1]
}
