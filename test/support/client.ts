/** A client that shows everything of an answer and adds nothing to a request. */
import { request as httpsRequest, type Agent } from 'node:https'
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'

/** The version that is meant where a test names none; `npm run test:next` sets the one that comes after. */
export const CURRENT = process.env['STARLING_TEST_VERSION'] ?? '1.3'

export interface ClientOptions {
  readonly host: string
  readonly port: number
  readonly ca: string
  readonly agent: Agent
  readonly token: string | undefined
  readonly version: string
}

export interface CallOptions {
  readonly headers?: OutgoingHttpHeaders
  /** An object becomes JSON with its Content-Type; bytes and text are sent as they are. */
  readonly json?: unknown
  readonly body?: Buffer | string | AsyncIterable<Buffer>
  /** The path is absolute instead of relative to the version's prefix. */
  readonly absolute?: boolean
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
  readonly text: string
  /** The body as JSON; typed loosely because tests look at it key by key. */
  readonly json: Record<string, unknown> & {
    id: string
    name: string
    parent: string
    type: string
    message: string
    etag: string
  }
  /** The connection was closed before the end of the body. */
  readonly isCut: boolean
}

export interface Client {
  readonly token: string | undefined
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  get(path: string, headers?: OutgoingHttpHeaders): Promise<Answer>
  head(path: string, headers?: OutgoingHttpHeaders): Promise<Answer>
  post(path: string, json: unknown, headers?: OutgoingHttpHeaders): Promise<Answer>
  put(path: string, json: unknown, headers?: OutgoingHttpHeaders): Promise<Answer>
  delete(path: string, headers?: OutgoingHttpHeaders): Promise<Answer>
  /** PUT /files/<id>/content */
  upload(id: string, body: Buffer | string, headers?: OutgoingHttpHeaders): Promise<Answer>
  /** Makes a folder or a file and returns its id; throws when that is refused. */
  folder(name: string, parent?: string): Promise<string>
  file(name: string, parent?: string, content?: Buffer | string): Promise<string>
}

export function client(options: ClientOptions): Client {
  const call: Client['call'] = (method, path, { headers = {}, json, body, absolute = false } = {}) =>
    new Promise((resolve, reject) => {
      const sent: OutgoingHttpHeaders = { ...headers }
      if (
        options.token !== undefined &&
        sent['authorization'] === undefined &&
        sent['Authorization'] === undefined
      ) {
        sent['Authorization'] = `Bearer ${options.token}`
      }
      const payload = json === undefined ? body : JSON.stringify(json)
      if (json !== undefined) setUnlessGiven(sent, 'Content-Type', 'application/json')
      const isStream = payload !== undefined && typeof payload !== 'string' && !Buffer.isBuffer(payload)
      if (payload !== undefined && !isStream && !isGiven(sent, 'Transfer-Encoding')) {
        setUnlessGiven(sent, 'Content-Length', Buffer.byteLength(payload))
      }
      const request = httpsRequest(
        {
          host: options.host.replace(/^\[|\]$/g, ''),
          port: options.port,
          ca: options.ca,
          agent: options.agent,
          method,
          path: absolute ? path : `/api/v${options.version}${path}`,
          headers: sent,
        },
        (response) => {
          const chunks: Buffer[] = []
          const finish = (isCut: boolean): void => {
            const bytes = Buffer.concat(chunks)
            const text = bytes.toString('utf8')
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              rawHeaders: response.rawHeaders,
              body: bytes,
              text,
              get json() {
                return JSON.parse(text) as Answer['json']
              },
              isCut,
            })
          }
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('end', () => finish(false))
          response.on('error', () => finish(true))
        },
      )
      request.on('error', reject)
      if (isStream) {
        void (async () => {
          for await (const chunk of payload) request.write(chunk)
          request.end()
        })()
      } else request.end(payload)
    })

  const made = async (path: string, name: string, parent: string): Promise<string> => {
    const answer = await call('POST', path, { json: { name, parent } })
    if (answer.status !== 201) throw new Error(`${path} ${name}: ${answer.status} ${answer.text}`)
    return answer.json.id
  }

  return {
    token: options.token,
    call,
    get: (path, headers = {}) => call('GET', path, { headers }),
    head: (path, headers = {}) => call('HEAD', path, { headers }),
    post: (path, json, headers = {}) => call('POST', path, { json, headers }),
    put: (path, json, headers = {}) => call('PUT', path, { json, headers }),
    delete: (path, headers = {}) => call('DELETE', path, { headers }),
    upload: (id, body, headers = {}) => call('PUT', `/files/${id}/content`, { body, headers }),
    folder: (name, parent = 'root') => made('/folders', name, parent),
    async file(name, parent = 'root', content) {
      const id = await made('/files', name, parent)
      if (content !== undefined) {
        const answer = await call('PUT', `/files/${id}/content`, { body: content })
        if (answer.status >= 300) throw new Error(`upload of ${name}: ${answer.status} ${answer.text}`)
      }
      return id
    },
  }
}

function isGiven(headers: OutgoingHttpHeaders, name: string): boolean {
  return Object.keys(headers).some((key) => key.toLowerCase() === name.toLowerCase())
}

function setUnlessGiven(headers: OutgoingHttpHeaders, name: string, value: string | number): void {
  if (!isGiven(headers, name)) headers[name] = value
}
