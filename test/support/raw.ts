/** A TLS connection on which a test decides the moment of every byte. */
import { connect } from 'node:tls'

export interface Where {
  readonly host: string
  readonly port: number
  readonly ca: string
}

export interface RawAnswer {
  readonly status: number
  /** By lower-case name; repeated lines are joined with a comma. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** False when the connection ended before the body did. */
  readonly isWhole: boolean
}

export interface RawConnection {
  send(bytes: Buffer | string): void
  /** The next answer, informational ones included. Rejects when the connection ends without one. */
  answer(): Promise<RawAnswer>
  /** Resolves when at least this many bytes have come in all. */
  receive(bytes: number): Promise<void>
  /** Stops and starts reading from the socket, as a slow client does. */
  pause(): void
  resume(): void
  /** Everything that no call of `answer` has taken. */
  rest(): Buffer
  /** Ends the sending side in order; what was sent arrives. */
  end(): void
  /** Cuts the connection. */
  drop(): void
  readonly closed: Promise<void>
}

/** The head of a request with the token, ready to be sent. */
export function requestHead(
  method: string,
  path: string,
  token: string | undefined,
  headers: Readonly<Record<string, string | number>> = {},
): string {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: localhost']
  if (token !== undefined) lines.push(`Authorization: Bearer ${token}`)
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** One chunk of the chunked transfer coding; an empty one ends the body. */
export function codedChunk(bytes: Buffer | string): Buffer {
  const data = Buffer.from(bytes)
  return Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n')])
}

export async function openRaw(where: Where): Promise<RawConnection> {
  const socket = connect({
    host: where.host.replace(/^\[|\]$/g, ''),
    port: where.port,
    ca: where.ca,
    servername: 'localhost',
  })
  let parts: Buffer[] = []
  let totalBytes = 0
  let isOver = false
  let wake: (() => void)[] = []
  const notify = (): void => {
    const waiting = wake
    wake = []
    for (const resolve of waiting) resolve()
  }
  socket.on('data', (part: Buffer) => {
    parts.push(part)
    totalBytes += part.length
    notify()
  })
  // A reset is one of the ways in which a connection ends; the tests look at what came before it.
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      isOver = true
      notify()
      resolve()
    })
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('secureConnect', resolve)
    socket.once('error', reject)
  })

  const gathered = (): Buffer => {
    const all = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
    parts = [all]
    return all
  }
  const more = (): Promise<void> => new Promise((resolve) => wake.push(resolve))
  /**
   * Heads and bodies end with a line, a body with an empty one. To look only then keeps a body of many megabytes from
   * being put together anew for each part of it.
   */
  const mayBeWhole = (): boolean => {
    if (isOver) return true
    const tail = Buffer.concat(
      parts.slice(-EMPTY_LINE.length).map((part) => part.subarray(-EMPTY_LINE.length)),
    )
    const isSmall = (parts[0]?.length ?? 0) < LARGE_BYTES
    return tail.subarray(isSmall ? -1 : -EMPTY_LINE.length).equals(isSmall ? LINE_FEED : EMPTY_LINE)
  }

  return {
    send: (bytes) => void socket.write(bytes),
    async answer() {
      for (;;) {
        while (!mayBeWhole()) await more()
        const bytes = gathered()
        const parsed = parseAnswer(bytes, isOver)
        if (parsed !== undefined) {
          parts = [bytes.subarray(parsed.consumed)]
          return parsed.answer
        }
        if (isOver)
          throw new Error(`the connection ended without an answer: ${bytes.toString('latin1', 0, 200)}`)
        await more()
      }
    },
    async receive(bytes) {
      while (totalBytes < bytes) {
        if (isOver) throw new Error(`the connection ended after ${totalBytes} bytes`)
        await more()
      }
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    rest: gathered,
    end: () => void socket.end(),
    drop: () => void socket.destroy(),
    closed,
  }
}

const LINE_FEED = Buffer.from('\n')
const EMPTY_LINE = Buffer.from('\r\n\r\n')
const LARGE_BYTES = 1024 * 1024

interface Parsed {
  readonly answer: RawAnswer
  readonly consumed: number
}

/** Undefined while more bytes are needed; of a connection that is over, what there is of the answer. */
function parseAnswer(bytes: Buffer, isOver: boolean): Parsed | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [first = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1])
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
  }
  const start = headEnd + 4
  if (headers['transfer-encoding'] !== 'chunked') {
    return { answer: { status, headers, body: Buffer.alloc(0), isWhole: true }, consumed: start }
  }
  const { body, end } = decodeChunks(bytes, start)
  if (end === undefined && !isOver) return undefined
  return { answer: { status, headers, body, isWhole: end !== undefined }, consumed: end ?? bytes.length }
}

/** The decoded bytes from a position on; `end` is undefined when the last chunk has not come. */
function decodeChunks(bytes: Buffer, start: number): { body: Buffer; end: number | undefined } {
  const parts: Buffer[] = []
  let at = start
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return { body: Buffer.concat(parts), end: undefined }
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    const from = lineEnd + 2
    if (size === 0) {
      const end = bytes.length >= from + 2 ? from + 2 : undefined
      return { body: Buffer.concat(parts), end }
    }
    parts.push(bytes.subarray(from, Math.min(from + size, bytes.length)))
    if (bytes.length < from + size + 2) return { body: Buffer.concat(parts), end: undefined }
    at = from + size + 2
  }
}
