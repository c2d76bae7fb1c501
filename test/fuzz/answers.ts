/** A strict reader of what the server sends back, and the rules that every answer keeps. */

export interface Answer {
  status: number
  headers: [name: string, value: string][]
  body: Buffer
}

export interface Read {
  answers: Answer[]
  /** What does not parse as HTTP, or undefined. An answer that is not yet whole is no fault. */
  fault: string | undefined
  /** Bytes of an answer that is not yet whole. */
  rest: number
}

/** @param methods of the requests, in order; an answer to HEAD has no body */
export function readAnswers(bytes: Buffer, methods: readonly string[]): Read {
  const answers: Answer[] = []
  let at = 0
  while (at < bytes.length) {
    const headEnd = bytes.indexOf('\r\n\r\n', at)
    const start = bytes.subarray(at, at + 9).toString('latin1')
    if (!'HTTP/1.1 '.startsWith(start.slice(0, 9)) && start !== 'HTTP/1.1 ')
      return { answers, fault: `no status line: ${JSON.stringify(start)}`, rest: bytes.length - at }
    if (headEnd < 0) break
    const [statusLine = '', ...lines] = bytes.subarray(at, headEnd).toString('latin1').split('\r\n')
    const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]*$/.exec(statusLine)?.[1])
    if (Number.isNaN(status))
      return { answers, fault: `bad status line ${JSON.stringify(statusLine)}`, rest: 0 }
    const headers: [string, string][] = []
    for (const line of lines) {
      const header = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/.exec(line)
      if (header === null)
        return { answers, fault: `bad header line ${JSON.stringify(line.slice(0, 200))}`, rest: 0 }
      headers.push([(header[1] ?? '').toLowerCase(), header[2] ?? ''])
    }
    const from = headEnd + 4
    if (status < 200) {
      at = from
      continue
    }
    const isChunked = headers.some(([name, value]) => name === 'transfer-encoding' && value === 'chunked')
    const isHead = methods[answers.length] === 'HEAD'
    const hasBody = status !== 204 && status !== 304 && !isHead
    if (isHead && /^[0-9a-f]+\r\n/i.test(bytes.subarray(from, from + 16).toString('latin1'))) {
      return { answers, fault: `status ${status} to HEAD has a body`, rest: 0 }
    }
    // An older protocol does not know chunks: that one refusal ends with the connection.
    if (hasBody && !isChunked && status === 505) {
      return {
        answers: [...answers, { status, headers, body: bytes.subarray(from) }],
        fault: undefined,
        rest: 0,
      }
    }
    if (hasBody && !isChunked) {
      return { answers, fault: `status ${status} has a body that is not chunked`, rest: 0 }
    }
    const body = hasBody ? readChunks(bytes, from) : { end: from, body: Buffer.alloc(0) }
    if (body === undefined) break
    if (typeof body === 'string') return { answers, fault: body, rest: 0 }
    answers.push({ status, headers, body: body.body })
    at = body.end
  }
  return { answers, fault: undefined, rest: bytes.length - at }
}

function readChunks(bytes: Buffer, from: number): { end: number; body: Buffer } | string | undefined {
  const parts: Buffer[] = []
  for (let at = from; ;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const line = bytes.subarray(at, lineEnd).toString('latin1')
    if (!/^[0-9a-fA-F]+$/.test(line)) return `bad chunk size ${JSON.stringify(line.slice(0, 60))}`
    const size = Number.parseInt(line, 16)
    const end = lineEnd + 2 + size + 2
    if (end > bytes.length) return undefined
    if (bytes.subarray(end - 2, end).toString('latin1') !== '\r\n')
      return 'a chunk does not end where it says'
    if (size === 0) return { end, body: Buffer.concat(parts) }
    parts.push(bytes.subarray(lineEnd + 2, end - 2))
    at = end
  }
}

/** Unknown method, another node, another protocol version, more content announced than fits. */
const ALLOWED_SERVER_ERRORS = new Set([501, 503, 505, 507])
const TYPES = new Set([
  'BAD_ARGS',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'NOT_FOUND',
  'CONFLICT',
  'INTERNAL_ERROR',
  'TOO_MANY_REQUESTS',
  'INSUFFICIENT_STORAGE',
])

/** The rules that an answer breaks. Pages of `/authorize` and the console may answer a person in HTML. */
export function answerFaults(answer: Answer, method: string, path: string): string[] {
  const faults: string[] = []
  const { status, body } = answer
  const values = (name: string): string[] =>
    answer.headers.filter(([have]) => have === name).map(([, value]) => value)
  if (status >= 500 && !ALLOWED_SERVER_ERRORS.has(status))
    faults.push(`status ${status}: ${body.toString().slice(0, 200)}`)
  if (values('content-length').length > 0) faults.push(`status ${status} has a Content-Length`)
  if (values('access-control-allow-origin').join() !== '*')
    faults.push(
      `status ${status}: Access-Control-Allow-Origin is ${JSON.stringify(values('access-control-allow-origin'))}`,
    )
  if (status < 400 || method === 'HEAD') return faults
  if (status === 416) return body.length === 0 ? faults : [...faults, '416 has a body']
  const isPage =
    values('content-type').some((type) => type.startsWith('text/html')) && !/^\/(api|auth)(\/|$)/.test(path)
  return isPage ? faults : [...faults, ...errorFaults(status, body)]
}

function errorFaults(status: number, body: Buffer): string[] {
  const text = body.toString()
  try {
    const value = JSON.parse(text) as { type?: unknown; message?: unknown }
    const isWhole =
      typeof value.type === 'string' &&
      TYPES.has(value.type) &&
      typeof value.message === 'string' &&
      value.message !== ''
    return isWhole ? [] : [`status ${status} without type and message: ${text.slice(0, 200)}`]
  } catch {
    return [`status ${status} without JSON: ${text.slice(0, 200)}`]
  }
}
