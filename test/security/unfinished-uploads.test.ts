import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { randomHex } from '../../src/model/secrets.js'
import { UNFINISHED_BYTES_MIN } from '../../src/service/space.js'
import { expectError } from '../api/support.js'
import { ENGINES } from '../support/engines.js'
import { RW, startServer, type TestServer } from '../support/server.js'

const QUOTA = 1_000

describe.each(ENGINES)('unfinished uploads (%s)', (engine) => {
  let server: TestServer

  beforeAll(async () => {
    server = await startServer(engine)
  })
  afterAll(() => server?.stop())

  async function someone(options: { admin?: boolean; quotaBytes?: number } = {}) {
    const email = await server.addUser(options)
    const api = server.client(await server.addToken(email, RW))
    return { email, api, file: await api.file('big.bin') }
  }

  /** As if these bytes had been received before, in an upload that nobody ends. */
  async function hold(email: string, file: string, bytes: number): Promise<void> {
    await server.installation.db.write((tx) =>
      tx.run(
        `INSERT INTO uploads (id, node_id, user_id, sid, oid, staged, received, used_ms)
         SELECT $1, $2, id, $3, $4, $5, $6, $7 FROM users WHERE email = $8`,
        randomHex(32),
        server.installation.nodeId,
        file.slice(0, 32),
        file.slice(32),
        randomHex(16),
        bytes,
        Date.now(),
        email,
      ),
    )
  }

  const chunk = { 'Content-Range': 'bytes 0-9/*' }

  it('of one person cannot fill the node beyond the quota, and are nobody else’s matter', async () => {
    const greedy = await someone({ quotaBytes: QUOTA })
    const other = await someone({ quotaBytes: QUOTA })
    const started = await greedy.api.upload(greedy.file, 'x'.repeat(10), chunk)
    expect(started.status).toBe(204)
    await hold(greedy.email, greedy.file, UNFINISHED_BYTES_MIN - 20)
    expect((await greedy.api.upload(greedy.file, 'x'.repeat(10), chunk)).status).toBe(204)
    expectError(await greedy.api.upload(greedy.file, 'x'.repeat(10), chunk), 507)
    expectError(
      await greedy.api.upload(greedy.file, 'x', {
        'Content-Range': 'bytes 10-10/*',
        'Upload-ID': String(started.headers['upload-id']),
      }),
      507,
    )
    expect((await greedy.api.upload(greedy.file, 'x'.repeat(QUOTA))).status).toBe(204)
    const rewound = await greedy.api.upload(greedy.file, 'y'.repeat(10), {
      'Content-Range': 'bytes 0-9/10',
      'Upload-ID': String(started.headers['upload-id']),
    })
    expect(rewound.status).toBe(204)
    expect((await greedy.api.upload(greedy.file, 'x'.repeat(10), chunk)).status).toBe(204)
    expect((await other.api.upload(other.file, 'x'.repeat(10), chunk)).status).toBe(204)
  })

  it('that come at the same moment together hold no more either', async () => {
    const greedy = await someone({ quotaBytes: QUOTA })
    await hold(greedy.email, greedy.file, UNFINISHED_BYTES_MIN - 30)
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => greedy.api.upload(greedy.file, 'x'.repeat(10), chunk)),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 204)).toHaveLength(3)
    expect(statuses.filter((status) => status === 507)).toHaveLength(9)
  })

  it('are bound by the quota itself where that is larger, and by the node alone where there is none', async () => {
    const rich = await someone({ quotaBytes: 2 * UNFINISHED_BYTES_MIN })
    await hold(rich.email, rich.file, UNFINISHED_BYTES_MIN)
    expect((await rich.api.upload(rich.file, 'x'.repeat(10), chunk)).status).toBe(204)
    await hold(rich.email, rich.file, UNFINISHED_BYTES_MIN - 10)
    expectError(await rich.api.upload(rich.file, 'x'.repeat(10), chunk), 507)
    for (const free of [await someone(), await someone({ admin: true, quotaBytes: QUOTA })]) {
      await hold(free.email, free.file, 3 * UNFINISHED_BYTES_MIN)
      expect((await free.api.upload(free.file, 'x'.repeat(10), chunk)).status).toBe(204)
    }
  })
})
