/** Requests whose very framing is wrong: each has a connection of its own, which ends after it. */
import type { Random } from '../crash/random.js'
import { anyBytes, headerText, hexDigits, type Known } from './values.js'

/** The name of folders that only a request hidden inside another one would make. */
export const HIDDEN_NAME = 'hidden-request'

export interface BrokenCase {
  title: string
  bytes: Buffer
  /** Whether the bytes go to the port without TLS. */
  isPlain?: boolean
  /** Whether more than one answer would mean that a hidden request was read. */
  hidesOne?: boolean
  /** Whether the connection is dropped at once in place of an orderly end. */
  drops?: boolean
}

export function brokenCase(random: Random, known: Known): BrokenCase {
  return random.pick([
    requestLine,
    requestLine,
    headerLine,
    headerLine,
    lengths,
    chunks,
    hidden,
    hidden,
    truncated,
    huge,
    garbage,
    upgrade,
  ])(random, known)
}

const end = '\r\n\r\n'

function requestLine(random: Random): BrokenCase {
  const line = random.pick([
    'GET /',
    'GET / HTTP/1.0',
    'POST /api/v1.3/folders HTTP/1.0',
    'GET / HTTP/2.0',
    'GET / HTTP/9.9',
    'GET / http/1.1',
    'GET / HTTP/1.1 x',
    'GET  /  HTTP/1.1',
    'GET\t/\tHTTP/1.1',
    ' GET / HTTP/1.1',
    'get / HTTP/1.1',
    'FROBNICATE / HTTP/1.1',
    'GET HTTP/1.1',
    'GET api/v1.3/folders HTTP/1.1',
    'GET http://localhost/api/v1.3/folders/root HTTP/1.1',
    'GET http:// HTTP/1.1',
    'GET http://[ HTTP/1.1',
    'GET * HTTP/1.1',
    'OPTIONS * HTTP/1.1',
    'CONNECT localhost:443 HTTP/1.1',
    'CONNECT / HTTP/1.1',
    'PRI * HTTP/2.0',
    'GET /\u0000 HTTP/1.1',
    'GET /\u007f\u0001 HTTP/1.1',
    `GET /${'\u00ff'.repeat(20)} HTTP/1.1`,
    `${'A'.repeat(random.between(100, 20_000))} / HTTP/1.1`,
    `GET /${'a'.repeat(random.between(10_000, 60_000))} HTTP/1.1`,
    '\r\n\r\n\r\nGET / HTTP/1.1',
    'GET / HTTP/1.1\nHost: localhost\n\n',
    'GET / HTTP/1.1\rHost: localhost\r\r',
    'HTTP/1.1 200 OK',
    '',
  ])
  return {
    title: `request line ${JSON.stringify(line.slice(0, 60))}`,
    bytes: Buffer.from(`${line}\r\nHost: localhost${end}`, 'latin1'),
  }
}

function headerLine(random: Random, known: Known): BrokenCase {
  const line = random.pick([
    'no colon here',
    'Name : value',
    ': empty name',
    ' folded: first',
    'X-Fold: a\r\n b',
    'X-Nul: a\u0000b',
    'X-Return: a\rb',
    'X-Feed: a\nb',
    'X-Bell: \u0007',
    'X-\u00e9: 1',
    'X Y: 1',
    'X(: 1',
    'Host: other',
    'Host: a b',
    'Host: a/b',
    'Host: a@b',
    'Connection: close, keep-alive, upgrade',
    'Expect: something',
    'Expect: 100-continue, 200-ok',
    `Authorization: Bearer ${known.token}`,
    `${headerText(random)}: ${headerText(random)}`,
  ])
  const host = random.chance(0.85) ? 'Host: localhost\r\n' : ''
  const bytes = Buffer.from(
    `GET /api/v1.3/folders/root HTTP/1.1\r\n${host}Authorization: Bearer ${known.token}\r\n${line}${end}`,
    'latin1',
  )
  return { title: `header ${JSON.stringify(line.slice(0, 60))}, ${host === '' ? 'no host' : 'host'}`, bytes }
}

function lengths(random: Random, known: Known): BrokenCase {
  const line = random.pick([
    'Content-Length: abc',
    'Content-Length: -1',
    'Content-Length: +5',
    'Content-Length: 0x5',
    'Content-Length: 5, 5',
    'Content-Length: 5, 6',
    'Content-Length: 5\r\nContent-Length: 6',
    'Content-Length: 5\r\nContent-Length: 5',
    'Content-Length: 99999999999999999999999',
    'Content-Length: 9007199254740993',
    'Content-Length: ',
    'Content-Length: 5 5',
    'Content-Length: 1e1',
  ])
  return { title: `length ${JSON.stringify(line)}`, bytes: put(known, line, 'hello') }
}

function chunks(random: Random, known: Known): BrokenCase {
  const body = random.pick([
    'zz\r\nhello\r\n0\r\n\r\n',
    '-5\r\nhello\r\n0\r\n\r\n',
    'ffffffffffffffffffff\r\nhello',
    '7fffffffffffffff\r\nhello',
    '5hello\r\n0\r\n\r\n',
    '5\r\nhelloworld\r\n0\r\n\r\n',
    '5\r\nhel',
    '5\nhello\n0\n\n',
    '5\r\nhello\r\n0\r\nbad trailer\r\n\r\n',
    `5;${'x'.repeat(random.between(100, 60_000))}\r\nhello\r\n0\r\n\r\n`,
    `0\r\n${'X-T: 1\r\n'.repeat(3000)}\r\n`,
    '0x5\r\nhello\r\n0\r\n\r\n',
    ' 5\r\nhello\r\n0\r\n\r\n',
    '\r\n\r\n',
    '5\r\nhello\r\n',
  ])
  const coding = random.pick([
    'chunked',
    'chunked',
    'chunked',
    'gzip, chunked',
    'chunked, chunked',
    'xchunked',
    'chunked, identity',
    'identity',
    'chunked;x',
    '',
  ])
  return {
    title: `chunks ${JSON.stringify(body.slice(0, 40))} with ${coding}`,
    bytes: put(known, `Transfer-Encoding: ${coding}`, body),
  }
}

/** Shapes that a proxy and a server may frame differently; behind each stands a write that must never happen. */
function hidden(random: Random, known: Known): BrokenCase {
  const json = JSON.stringify({ name: `${HIDDEN_NAME}-${hexDigits(random, 8)}`, parent: 'root' })
  const inner = `POST /api/v1.3/folders HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${known.token}\r\nContent-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`
  const afterChunks = `0\r\n\r\n${inner}`
  const [line, body] = random.pick<readonly [string, string]>([
    [`Content-Length: ${afterChunks.length}\r\nTransfer-Encoding: chunked`, afterChunks],
    [`Transfer-Encoding: chunked\r\nContent-Length: ${afterChunks.length}`, afterChunks],
    [`Content-Length: 5\r\nTransfer-Encoding : chunked`, `0\r\n\r\n${inner}`],
    [`Content-Length: ${afterChunks.length}\r\nTransfer-Encoding:\u000bchunked`, afterChunks],
    [`Content-Length: 0\r\nContent-Length: ${inner.length}`, inner],
    [`Content-Length: ${inner.length}\r\nContent-Length: 0`, inner],
    [`Transfer-Encoding: chunked\r\nTransfer-Encoding: identity`, afterChunks],
    [`Transfer-Encoding: identity\r\nContent-Length: 0`, inner],
    [`Content-Length: ${inner.length}`, inner],
    [`X: y\rContent-Length: ${inner.length}`, inner],
    [`Content-Length: +0`, inner],
    [`Transfer-Encoding: chunked`, `1\r\nZ\r\nzz\r\n${inner}`],
  ])
  return {
    title: `hidden request behind ${JSON.stringify(line)}`,
    bytes: put(known, line, body),
    hidesOne: true,
  }
}

function truncated(random: Random, known: Known): BrokenCase {
  const whole = put(known, `Content-Length: ${random.pick([10, 100_000])}`, 'x'.repeat(random.between(0, 9)))
  const bytes = random.chance(0.5) ? whole : whole.subarray(0, random.between(1, whole.length))
  return { title: 'truncated request', bytes, drops: random.chance(0.3) }
}

function huge(random: Random): BrokenCase {
  const lines = random.pick([
    () => `X-Huge: ${'h'.repeat(random.between(15_000, 100_000))}`,
    () => `${'N'.repeat(random.between(10_000, 70_000))}: 1`,
    () =>
      Array.from({ length: random.between(500, 4000) }, (_, index) => `X-${index}: ${index}`).join('\r\n'),
    () => `Cookie: ${'a=b; '.repeat(10_000)}`,
    () => `Authorization: Bearer ${'f'.repeat(50_000)}`,
  ])()
  return {
    title: 'huge headers',
    bytes: Buffer.from(`GET /api/v1.3/folders/root HTTP/1.1\r\nHost: localhost\r\n${lines}${end}`, 'latin1'),
  }
}

function garbage(random: Random): BrokenCase {
  const isPlain = random.chance(0.5)
  const bytes = random.pick([
    () => anyBytes(random, random.between(1, 4000)),
    () => Buffer.alloc(random.between(1, 5000)),
    () => Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'),
    () => Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, ...anyBytes(random, 200)]),
    () => Buffer.from('\u0016\u0003\u0001'),
    () => Buffer.from('SSH-2.0-x\r\n'),
  ])()
  return {
    title: `garbage ${isPlain ? 'without TLS' : 'inside TLS'}`,
    bytes,
    isPlain,
    drops: random.chance(0.2),
  }
}

function upgrade(random: Random): BrokenCase {
  const to = random.pick(['websocket', 'h2c', 'TLS/1.0', 'x'])
  const lines = `Connection: Upgrade\r\nUpgrade: ${to}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nHTTP2-Settings: AAMAAABkAAQAAP__`
  return {
    title: `upgrade to ${to}`,
    bytes: Buffer.from(`GET /api/v1.3/folders/root HTTP/1.1\r\nHost: localhost\r\n${lines}${end}`),
  }
}

function put(known: Known, lines: string, body: string): Buffer {
  const head = `PUT /api/v1.3/files/${known.file}/content HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${known.token}\r\n${lines}\r\n\r\n`
  return Buffer.from(head + body, 'latin1')
}
