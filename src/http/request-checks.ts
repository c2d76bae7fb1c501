import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { Failure } from '../model/failures.js'
import type { Belief } from './proxies.js'

/** Checks what every request must have before anybody looks at its path; throws the refusal. */
export function checkRequest(req: IncomingMessage, behindProxy: boolean): void {
  if (req.httpVersionMajor !== 1 || req.httpVersionMinor !== 1) {
    throw new Failure('httpVersion', 'only HTTP/1.1 is served', { Connection: 'close' })
  }
  checkFraming(req)
  if (behindProxy && !isForwardedHttps(req)) {
    throw new Failure('badArgs', 'X-Forwarded-Proto must be https; this port is for a proxy that ends TLS')
  }
  if (!hasValidHost(req)) throw new Failure('badArgs', 'the request needs exactly one valid Host header')
}

/** The parser takes other codings beside chunked, whose bytes nobody undoes, and an empty header for no header. */
function checkFraming(req: IncomingMessage): void {
  const coding = req.headers['transfer-encoding']?.trim().toLowerCase()
  if (coding === undefined || coding === 'chunked') return
  const kind = coding === '' ? 'badArgs' : 'notImplemented'
  throw new Failure(kind, 'Transfer-Encoding must be chunked', { Connection: 'close' })
}

/** The peer's address; behind a proxy the last one of X-Forwarded-For, which the proxy itself has added. */
export function clientAddress(req: IncomingMessage, isBelieved: Belief): string {
  const peer = req.socket.remoteAddress ?? ''
  if (!isBelieved(peer)) return peer
  const forwarded = req.headersDistinct['x-forwarded-for']?.at(-1)?.split(',').at(-1)?.trim() ?? ''
  return isIP(forwarded) === 0 ? peer : forwarded
}

function isForwardedHttps(req: IncomingMessage): boolean {
  const lines = req.headersDistinct['x-forwarded-proto']
  return lines?.length === 1 && lines[0]?.toLowerCase() === 'https'
}

/** A host as RFC 3986 has it (without user information), or a bracketed IPv6 address, and maybe a port. */
const AUTHORITY = /^(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+)(?::[0-9]{0,5})?$/

function hasValidHost(req: IncomingMessage): boolean {
  const { host } = req.headers
  if (host === undefined || !AUTHORITY.test(host)) return false
  let lines = 0
  const { rawHeaders } = req
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') lines++
  }
  return lines === 1
}
