/** Each case breaks two rules at once and must see the earlier one; nothing may be changed by any of them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENGINES } from '../support/engines.js'
import { startServer, type TestServer } from '../support/server.js'
import type { Wire } from '../http/support.js'
import { bearer, openWire, readAnswer, requestText } from '../support/wire.js'
import { CASES, CHANGES, UPLOAD_CASES, type Who } from './order-table.js'
import { expectError, unchanged, unknownId } from './support.js'

describe.each(ENGINES)('of two broken rules the earlier one is answered on %s', (engine) => {
  let server: TestServer
  const tokens: Partial<Record<Who, string>> = {}
  const ids: Record<string, string> = {}

  beforeAll(async () => {
    server = await startServer(engine, { args: ['--capacity', '1000', '--max-uploads', '1'] })
    const owner = await server.person()
    ids['FOLDER'] = await owner.api.folder('folder')
    ids['BELOW'] = await owner.api.folder('below', ids['FOLDER'])
    ids['FILE'] = await owner.api.file('file.txt', 'root', 'hello')
    const stranger = await server.person()
    ids['FOREIGN'] = await stranger.api.file('foreign.txt', 'root', 'foreign')
    tokens.owner = owner.token
    tokens.garbage = unknownId()
    tokens.reader = await server.addToken(owner.email, 'files.read')
    tokens.scopeless = await server.addToken(owner.email, 'user.read')
    tokens.limited = await server.addToken(
      owner.email,
      `files.read:${ids['FOLDER']},files.write:${ids['FOLDER']}`,
    )
    tokens.stranger = stranger.token
  })
  afterAll(() => server.stop())

  const filled = (text: string): string =>
    text.replace(/FILE|FOLDER|BELOW|FOREIGN|UNKNOWN/g, (word) => ids[word] ?? unknownId())

  test.each(CASES)('$title is $status $ids', async ({ who, method, path, version, options = {}, status }) => {
    const sent =
      options.json === undefined
        ? options
        : { ...options, json: JSON.parse(filled(JSON.stringify(options.json))) as object }
    const api = server.client(tokens[who], version)
    expectError(await unchanged(server, () => api.call(method, filled(path), sent)), status)
  })

  test.each(UPLOAD_CASES)(
    '%s comes before a lack of space or of a slot, and before the first byte of the body [HTTP-82]',
    async (_, who, id, headers, status) => {
      const api = server.client(tokens[who])
      const body = 'x'.repeat(2000)
      await unchanged(server, async () => expectError(await api.upload(filled(id), body, headers), status))
      await withSlotTaken(async () => {
        expectError(await api.upload(filled(id), 'x'.repeat(2000), headers), status)
        const wire = await openWire(server)
        wire.send(
          requestText(`PUT /api/v1.3/files/${filled(id)}/content`, [
            bearer(tokens[who] ?? ''),
            'Content-Length: 2000',
            'Expect: 100-continue',
            ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
          ]),
        )
        expectError(await readAnswer(wire, 'PUT'), status)
      })
    },
  )

  test('and without them the lack of a slot and the lack of space are told [HTTP-82] [ERR-17]', async () => {
    const api = server.client(tokens.owner)
    const file = ids['FILE'] ?? ''
    await withSlotTaken(async () => {
      const refused = await ask100(file, 500)
      expectError(refused, 429)
      expect(refused.headers['retry-after']).toMatch(/^[1-9]\d*$/)
    })
    expectError(await api.upload(file, 'x'.repeat(2000)), 507)
    expectError(await ask100(file, 2000), 507)
  })

  async function ask100(file: string, length: number): ReturnType<typeof readAnswer> {
    const wire = await openWire(server)
    wire.send(
      requestText(`PUT /api/v1.3/files/${file}/content`, [
        bearer(tokens.owner ?? ''),
        `Content-Length: ${length}`,
        'Expect: 100-continue',
      ]),
    )
    return readAnswer(wire, 'PUT')
  }

  /** Holds the only slot of the node with a body that does not go on. */
  async function withSlotTaken(body: () => Promise<void>): Promise<void> {
    const api = server.client(tokens.owner)
    const file = await api.file('slot.txt')
    const wire = await openWire(server)
    wire.send(
      requestText(`PUT /api/v1.3/files/${file}/content`, [
        bearer(tokens.owner ?? ''),
        'Content-Length: 10',
        'Expect: 100-continue',
      ]),
    )
    expect((await wire.answer('PUT')).status).toBe(100)
    await body()
    wire.send('0123456789')
    expect((await wire.answer('PUT')).status).toBe(204)
    await api.delete(`/files/${file}`)
  }

  test.each(CHANGES)(
    '$title is $status also where the token is known and the body comes with the head $ids',
    async ({ who, method, path, version, options = {}, status }) => {
      const { json, body = '' } = options
      const text = json === undefined ? (body as string) : filled(JSON.stringify(json))
      const headers = Object.entries(options.headers ?? {}).map(
        ([name, value]) => `${name}: ${String(value)}`,
      )
      const wire = await knownWire(tokens[who] ?? '')
      await unchanged(server, async () => {
        wire.send(inOnePiece(`${method} /api/v${version}${filled(path)}`, tokens[who] ?? '', text, headers))
        expectError(await readAnswer(wire, method), status)
      })
    },
  )

  test.each(UPLOAD_CASES)(
    '%s comes before a lack of space also where the token is known and the body comes with the head [HTTP-82]',
    async (_, who, id, given, status) => {
      const headers = Object.entries(given).map(([name, value]) => `${name}: ${value}`)
      const line = `PUT /api/v1.3/files/${filled(id)}/content`
      const wire = await knownWire(tokens[who] ?? '')
      await unchanged(server, async () => {
        wire.send(inOnePiece(line, tokens[who] ?? '', 'x'.repeat(2000), headers))
        expectError(await readAnswer(wire, 'PUT'), status)
      })
    },
  )

  test('content that comes with its head needs room, and one that is here already as much [HTTP-82] [ERR-17]', async () => {
    const api = server.client(tokens.owner)
    const [full, second] = [await api.file('full.txt', 'root', 'x'.repeat(800)), await api.file('second.txt')]
    const wire = await knownWire(tokens.owner ?? '')
    for (const length of [801, 800]) {
      const text = 'x'.repeat(length)
      wire.send(inOnePiece(`PUT /api/v1.3/files/${second}/content`, tokens.owner ?? '', text))
      expectError(await readAnswer(wire, 'PUT'), 507)
      const late = await openWire(server)
      late.send(requestText(`PUT /api/v1.3/files/${second}/content`, lengthOf(tokens.owner ?? '', text)))
      expectError(await readAnswer(late, 'PUT'), 507)
    }
    wire.send(inOnePiece(`PUT /api/v1.3/files/${second}/content`, tokens.owner ?? '', 'fits'))
    expect((await readAnswer(wire, 'PUT')).status).toBe(204)
    expect((await api.get(`/files/${second}/content`)).body.toString()).toBe('fits')
    for (const id of [full, second]) await api.delete(`/files/${id}`)
  })

  test('a token that is known is worth nothing from the moment it is revoked [HTTP-69]', async () => {
    const { token, api } = await server.person()
    const file = await api.file('mine.txt')
    const wire = await knownWire(token)
    await server.revoke(token)
    await unchanged(server, async () => {
      for (let again = 0; again < 2; again++) {
        wire.send(inOnePiece(`PUT /api/v1.3/files/${file}/content`, token, 'late'))
        expectError(await readAnswer(wire, 'PUT'), 401)
        wire.send(inOnePiece('POST /api/v1.3/folders', token, '{"name":"late","parent":"root"}'))
        expectError(await readAnswer(wire, 'POST'), 401)
      }
    })
  })

  /** A connection to a process that has just looked at the token. */
  async function knownWire(token: string): Promise<Wire> {
    const wire = await openWire(server)
    wire.send(inOnePiece('POST /api/v1.3/folders', token, '{'))
    expectError(await readAnswer(wire, 'POST'), 400)
    return wire
  }

  function inOnePiece(line: string, token: string, text: string, headers: readonly string[] = []): string {
    const isTyped = headers.some((header) => header.startsWith('Content-Type'))
    const type = isTyped || !text.startsWith('{') ? [] : ['Content-Type: application/json']
    return requestText(line, [...lengthOf(token, text), ...type, ...headers], text)
  }

  function lengthOf(token: string, text: string): string[] {
    return [bearer(token), `Content-Length: ${Buffer.byteLength(text)}`]
  }

  test('a refusal for want of a token does not wait for the body [HTTP-83]', async () => {
    for (const headers of [[], [bearer(unknownId())]]) {
      const wire = await openWire(server)
      wire.send(
        requestText(`PUT /api/v1.3/files/${ids['FILE']}/content`, ['Content-Length: 1000000', ...headers]),
      )
      expectError(await readAnswer(wire, 'PUT'), 401)
    }
  })
})
