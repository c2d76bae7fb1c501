/** What the tests of content share: a server for a suite, checks of answers, bytes, uploads that are held open. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { CURRENT, type Client } from '../../support/client.js'
import type { Engine } from '../../support/engines.js'
import { openRaw, requestHead, type RawAnswer, type RawConnection } from '../../support/raw.js'
import { startServer, type StartOptions, type TestServer } from '../../support/server.js'

export const VERSIONS = ['1.0', '1.3', '1.4'] as const

/** The status of an upload request that did what it should. */
export function okStatus(version: string): number {
  return ['1.0', '1.1', '1.2'].includes(version) ? 200 : 204
}

const LOG_TAIL = 4_000

/** One server for all tests of the surrounding suite. */
export function useServer(engine: Engine, options?: StartOptions): () => TestServer {
  let server: TestServer | undefined
  beforeAll(async () => {
    server = await startServer(engine, options)
  })
  afterEach(({ task }) => {
    if (task.result?.state === 'fail')
      process.stderr.write(`the log of its node:\n${server?.log().slice(-LOG_TAIL)}\n`)
  })
  afterAll(async () => {
    await server?.stop()
  })
  return () => {
    if (server === undefined) throw new Error('the server is not running yet')
    return server
  }
}

interface AnyAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

/** The error object of the table, with its headers. */
export function expectRefused(answer: AnyAnswer, status: number, type: string): void {
  expect(`${answer.status} ${answer.body.toString()}`).toMatch(new RegExp(`^${status} `))
  const body = JSON.parse(answer.body.toString()) as Record<string, unknown>
  expect(body['type']).toBe(type)
  expect(body['message']).toEqual(expect.stringMatching(/./))
  expect(answer.headers['content-type']).toBe('application/json')
  expect(answer.headers['access-control-allow-origin']).toBe('*')
  expect(answer.headers['content-length']).toBeUndefined()
}

/** No body, and no framing where the status forbids one. */
export function expectEmpty(answer: AnyAnswer, status: number): void {
  expect(`${answer.status} ${answer.body.toString()}`).toBe(`${status} `)
  expect(answer.headers['content-length']).toBeUndefined()
  expect(answer.headers['transfer-encoding']).toBe(status === 204 || status === 304 ? undefined : 'chunked')
}

export const STRONG_TAG = /^"[^"]+"$/

/** An upload request that completed the content. */
export function expectStored(answer: AnyAnswer, version = CURRENT): string {
  expectEmpty(answer, okStatus(version))
  expect(answer.headers['etag']).toMatch(STRONG_TAG)
  expect(answer.headers['upload-id']).toBeUndefined()
  expect(answer.headers['range']).toBeUndefined()
  return String(answer.headers['etag'])
}

/** An upload request after which the upload is in progress; returns its Upload-ID. */
export function expectProgress(answer: AnyAnswer, received: number, status = 204): string {
  expectEmpty(answer, status)
  expect(answer.headers['etag']).toBeUndefined()
  expect(answer.headers['range']).toBe(received === 0 ? undefined : `bytes=0-${received - 1}`)
  expect(answer.headers['upload-id']).toMatch(/^[0-9a-f]{64}$/)
  return String(answer.headers['upload-id'])
}

/** Bytes that look random and are the same in every run. */
export function bytesOf(length: number, seed = 1): Buffer {
  const words = new Uint32Array(Math.ceil(length / 4))
  let state = (seed * 2654435761) >>> 0 || 1
  for (let index = 0; index < words.length; index += 1) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    words[index] = state
  }
  return Buffer.from(words.buffer, 0, length)
}

/** Buffers of many megabytes are compared without printing them. */
export function expectBytes(actual: Buffer, expected: Buffer): void {
  expect(actual.length).toBe(expected.length)
  expect(actual.equals(expected)).toBe(true)
}

export async function contentOf(api: Client, id: string): Promise<string> {
  const answer = await api.get(`/files/${id}/content`)
  return answer.status === 200 ? answer.text : `${answer.status}`
}

/** A range of an upload: `part(0, 4)` is `bytes 0-4/*`. */
export function part(first: number, last: number, total: number | '*' = '*'): Record<string, string> {
  return { 'Content-Range': `bytes ${first}-${last}/${total}` }
}

export function total(length: number | '*' = '*'): Record<string, string> {
  return { 'Content-Range': `bytes */${length}` }
}

/** Asks for an Upload-ID without sending data. */
export async function begin(api: Client, id: string): Promise<string> {
  const answer = await api.upload(id, '', total())
  const uploadId = answer.headers['upload-id']
  if (typeof uploadId !== 'string') throw new Error(`no Upload-ID: ${answer.status} ${answer.text}`)
  return uploadId
}

/** The bytes received for an Upload-ID, by the status query; 0 for the 400 of an unused one. */
export async function received(api: Client, id: string, uploadId: string): Promise<number> {
  const answer = await api.upload(id, '', { 'Upload-ID': uploadId, ...total() })
  const end = /^bytes=0-(\d+)$/.exec(String(answer.headers['range']))?.[1]
  if (answer.status === 200 && end !== undefined) return Number(end) + 1
  if (answer.status === 400) return 0
  throw new Error(`no status: ${answer.status} ${answer.text}`)
}

const PATIENCE_MS = 40_000

/** Waits for something that the server does in the background. */
export async function eventually(check: () => Promise<unknown>, patienceMs = PATIENCE_MS): Promise<void> {
  const deadline = Date.now() + patienceMs
  for (;;) {
    try {
      await check()
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
      await sleep(25)
    }
  }
}

export interface HeldUpload {
  readonly raw: RawConnection
  /** Sends the rest of the body and returns the answer. */
  finish(): Promise<RawAnswer>
}

/**
 * An upload that the server is receiving: it has asked for the body with 100 Continue and got the first `sent` bytes.
 * Until `finish` the rest stays away.
 */
export async function holdUpload(
  server: TestServer,
  options: {
    token: string
    id: string
    body: Buffer
    sent?: number
    headers?: Record<string, string>
    version?: string
  },
): Promise<HeldUpload> {
  const { token, id, body, sent = 1, headers = {}, version = CURRENT } = options
  const raw = await openRaw(server)
  const path = `/api/v${version}/files/${id}/content`
  raw.send(
    requestHead('PUT', path, token, { 'Content-Length': body.length, Expect: '100-continue', ...headers }),
  )
  const interim = await raw.answer()
  if (interim.status !== 100) throw new Error(`refused: ${interim.status} ${interim.body.toString()}`)
  raw.send(body.subarray(0, sent))
  return {
    raw,
    finish() {
      raw.send(body.subarray(sent))
      return raw.answer()
    },
  }
}

/** Sends a PUT of content with exactly these headers and returns the first answer, informational or not. */
export async function putRaw(
  server: TestServer,
  options: {
    token: string | undefined
    id: string
    headers?: Record<string, string | number>
    body?: Buffer | string
    version?: string
  },
): Promise<RawAnswer> {
  const { token, id, headers = {}, body = '', version = CURRENT } = options
  const raw = await openRaw(server)
  try {
    raw.send(requestHead('PUT', `/api/v${version}/files/${id}/content`, token, headers))
    raw.send(body)
    return await raw.answer()
  } finally {
    raw.drop()
  }
}
