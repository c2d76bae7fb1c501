import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { PUT_MAX_MS } from '../../../src/blob/s3-put.js'
import { commandDeps } from '../../../src/cli/installation.js'
import { SWEEP_GRACE_MS, sweep } from '../../../src/service/sweep.js'
import { expectRefusal, newFolder } from '../../cli/support.js'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { startMiddleman } from '../../support/middleman.js'
import { openRaw, requestHead } from '../../support/raw.js'
import { onlooker, type Onlooker } from '../../support/s3-client.js'
import { runCommand, startServer, type TestServer } from '../../support/server.js'
import { startSwift, type Swift } from '../../support/swift.js'
import {
  begin,
  bytesOf,
  eventually,
  expectBytes,
  expectRefused,
  expectStored,
  holdUpload,
  part,
  received,
  total,
} from './support.js'

const MIB = 1024 * 1024
const SMALL = bytesOf(64 * 1024, 1)
const MIDDLE = bytesOf(200_000, 2)
/** Goes to the store in two parts. */
const LARGE = bytesOf(33 * MIB, 3)

let swift: Swift
let eyes: Onlooker

beforeAll(async () => {
  swift = await startSwift()
  eyes = onlooker(swift)
})
afterAll(() => swift.stop())

describe.each(ENGINES)('content of a node on %s that keeps it in an S3 store', (engine) => {
  let bucket: string
  let server: TestServer
  let api: Client
  let token: string

  beforeAll(async () => {
    bucket = swift.bucketName()
    await eyes.createBucket(bucket)
    server = await startServer(engine, {
      workers: 2,
      content: { address: swift.content(bucket), credentials: swift.credentialsFile },
    })
    ;({ api, token } = await server.person())
  })
  afterAll(() => server.stop())

  const blobs = async (): Promise<string[]> =>
    (await eyes.keys(bucket)).filter((key) => key.startsWith('blobs/'))
  const staged = (): Promise<string[]> => readdir(join(server.dataDir, 'staging'))

  async function expectSound(): Promise<void> {
    const { stdout } = await server.command('check')
    expect(stdout).toBe('no broken invariant\n')
  }

  it('that is replaced between the look at it and its first byte is read as it is now', async () => {
    const target = new URL(swift.endpoint)
    const between = await startMiddleman({ host: target.hostname, port: Number(target.port) })
    onTestFinished(() => between.stop())
    const own = swift.bucketName()
    await eyes.createBucket(own)
    const endpoint = encodeURIComponent(`http://127.0.0.1:${between.port}`)
    const address = `s3://${own}?endpoint=${endpoint}&region=${swift.region}`
    const far = await startServer(engine, { content: { address, credentials: swift.credentialsFile } })
    onTestFinished(() => far.stop())
    const { api: client } = await far.person()
    const file = await client.file('replaced.bin', 'root', MIDDLE)
    const [before] = await eyes.keys(own).then((keys) => keys.filter((key) => key.startsWith('blobs/')))
    const held = between.holdNext((chunk) =>
      chunk.toString('latin1', 0, 200).startsWith(`GET /${own}/${before}`),
    )
    const reading = client.get(`/files/${file}/content`)
    const pass = await held
    const now = bytesOf(200_000, 12)
    expectStored(await client.upload(file, now))
    await expect.poll(() => eyes.keys(own), { timeout: 30_000 }).not.toContain(before)
    pass()
    const answer = await reading
    expect(answer.status).toBe(200)
    expectBytes(answer.body, now)
  })

  it('is stored, read whole and by ranges, replaced and deleted', async () => {
    const small = await api.file('small.bin', 'root', SMALL)
    expect(await blobs()).toEqual([])
    for (const content of [MIDDLE, LARGE]) {
      const id = await api.file('large.bin', 'root', content)
      expect(await blobs()).toHaveLength(1)
      expectBytes((await api.get(`/files/${id}/content`)).body, content)
      const single = await api.get(`/files/${id}/content`, { Range: 'bytes=100000-100099' })
      expect(single.status).toBe(206)
      expectBytes(single.body, content.subarray(100_000, 100_100))
      const last = await api.get(`/files/${id}/content`, { Range: 'bytes=-1000' })
      expectBytes(last.body, content.subarray(-1000))
      const several = await api.get(`/files/${id}/content`, { Range: 'bytes=0-9,150000-150009' })
      expect(several.body.includes(content.subarray(150_000, 150_010))).toBe(true)
      expectStored(await api.upload(id, content.subarray(1)))
      await eventually(async () => expect(await blobs()).toHaveLength(1))
      expect((await api.delete(`/files/${id}`)).status).toBe(204)
      await eventually(async () => expect(await blobs()).toEqual([]))
    }
    expectBytes((await api.get(`/files/${small}/content`)).body, SMALL)
    await expectSound()
  })

  it('is kept once however many files have it, and goes with the last of them', async () => {
    const first = await api.file('once.bin', 'root', MIDDLE)
    const second = await api.file('twice.bin', 'root', MIDDLE)
    await eventually(async () => expect(await blobs()).toHaveLength(1))
    await api.delete(`/files/${first}`)
    expectBytes((await api.get(`/files/${second}/content`)).body, MIDDLE)
    await api.delete(`/files/${second}`)
    await eventually(async () => expect(await blobs()).toEqual([]))
  })

  it('is read to its end while the same bytes are uploaded again, and cut when others are', async () => {
    const id = await api.file('read.bin', 'root', LARGE)
    for (const [next, isWhole] of [
      [LARGE, true],
      [LARGE.subarray(1), false],
    ] as const) {
      const raw = await openRaw(server)
      onTestFinished(() => raw.drop())
      raw.send(requestHead('GET', `/api/v1.3/files/${id}/content`, token))
      await raw.receive(10_000)
      raw.pause()
      expectStored(await api.upload(id, next))
      await eventually(async () => expect(await blobs()).toHaveLength(1))
      raw.resume()
      const answer = await raw.answer()
      expect(answer.isWhole).toBe(isWhole)
      expectBytes(answer.body, LARGE.subarray(0, answer.body.length))
      if (isWhole) expect(answer.body.length).toBe(LARGE.length)
    }
    await api.delete(`/files/${id}`)
  })

  describe('when the store is away', () => {
    it('is refused with 503 and nothing is lost: what was received is there, what was stored too', async () => {
      const small = await api.file('here.bin', 'root', SMALL)
      const id = await api.file('away.bin', 'root', MIDDLE)
      const uploadId = await begin(api, id)
      const half = LARGE.length / 2
      const headers = { 'Upload-ID': uploadId }
      await api.upload(id, LARGE.subarray(0, half), { ...headers, ...part(0, half - 1) })
      await swift.shut()
      try {
        const whole = await api.upload(id, LARGE)
        expectRefused(whole, 503, 'INTERNAL_ERROR')
        expect(whole.headers['retry-after']).toBe('5')
        const rest = LARGE.subarray(half)
        const last = { ...headers, ...part(half, LARGE.length - 1, LARGE.length) }
        expectRefused(await api.upload(id, rest, last), 503, 'INTERNAL_ERROR')
        expect(await received(api, id, uploadId)).toBe(LARGE.length)
        const refused = await api.get(`/files/${id}/content`)
        expectRefused(refused, 503, 'INTERNAL_ERROR')
        expect((await api.get(`/files/${id}`)).json['content_state']).toBe('AVAILABLE')
        expectBytes((await api.get(`/files/${small}/content`)).body, SMALL)
        await api.folder('made meanwhile')
        await expect.poll(() => server.log(), { timeout: 40_000 }).toContain('the content store failed')
      } finally {
        await swift.reopen()
      }
      expectBytes((await api.get(`/files/${id}/content`)).body, MIDDLE)
      expectStored(await api.upload(id, '', { ...headers, ...total(LARGE.length) }))
      expectBytes((await api.get(`/files/${id}/content`)).body, LARGE)
      expect(await staged()).toEqual([])
      await api.delete(`/files/${id}`)
      await expectSound()
    })

    it('is not needed to start, and is found when it is back', async () => {
      const id = await api.file('later.bin', 'root', MIDDLE)
      expect(await server.terminate()).toBe(0)
      await swift.shut()
      try {
        await server.restart()
        await expect
          .poll(() => server.log(), { timeout: 40_000 })
          .toContain('the content store cannot be reached')
        expect((await api.get('/folders/root')).status).toBe(200)
        expect((await api.get(`/files/${id}/content`)).status).toBe(503)
        const { status, stderr } = await server.command('check')
        expect([status, stderr]).toEqual([1, expect.stringContaining('cannot be reached')])
      } finally {
        await swift.reopen()
      }
      expectBytes((await api.get(`/files/${id}/content`)).body, MIDDLE)
      await api.delete(`/files/${id}`)
    })
  })

  it('is refused with 507 when the store is full, and what was there stays', async () => {
    const id = await api.file('full.bin', 'root', MIDDLE)
    await swift.setQuota(bucket, 300_000)
    expectRefused(await api.upload(id, bytesOf(250_000, 9)), 507, 'INSUFFICIENT_STORAGE')
    const old = server.client(token, '1.0')
    expectRefused(await old.upload(id, bytesOf(250_000, 9)), 500, 'INTERNAL_ERROR')
    expectBytes((await api.get(`/files/${id}/content`)).body, MIDDLE)
    expect(await staged()).toEqual([])
    await swift.setQuota(bucket, 1024 ** 4)
    expectStored(await api.upload(id, bytesOf(250_000, 9)))
    await api.delete(`/files/${id}`)
    await expectSound()
  })

  it('that a killed node left half-sent is swept, and only that', async () => {
    const id = await api.file('killed.bin', 'root', MIDDLE)
    const held = await holdUpload(server, { token, id, body: LARGE, sent: LARGE.length - 1 })
    await swift.freeze()
    const finishing = held.finish().catch(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, 300))
    await server.kill()
    await swift.thaw()
    await finishing
    await eyes.beginUpload(bucket, `blobs/${'a'.repeat(64)}.${'b'.repeat(16)}`)
    await server.restart()
    const laterMs = Date.now() + PUT_MAX_MS + SWEEP_GRACE_MS + 60_000
    const deps = { ...commandDeps(server.installation, () => undefined), now: () => laterMs }
    await sweep(deps, server.installation.db).removeLeftovers()
    expect(await eyes.uploads(bucket)).toEqual([])
    expect(await blobs()).toHaveLength(1)
    expectBytes((await api.get(`/files/${id}/content`)).body, MIDDLE)
    await api.delete(`/files/${id}`)
    await expectSound()
  })

  it('is looked for nowhere else: a node whose setting does not fit does not start', async () => {
    const database = server.databaseUrl === undefined ? [] : ['--database', server.databaseUrl]
    const here = ['--data', server.dataDir, ...database]
    const keys = ['--content-credentials', swift.credentialsFile]
    expect(await server.terminate()).toBe(0)
    expectRefusal(await runCommand(['serve', '--port', '0', ...here]), 1, /--content must say which/)
    const there = ['--content', swift.content('nobody-made-this'), ...keys]
    expectRefusal(await runCommand(['serve', '--port', '0', ...here, ...there]), 1, /no bucket/)
    const data = ['--data', await newFolder()]
    const taken = ['--content', swift.content(bucket)]
    expectRefusal(
      await runCommand(['serve', '--port', '0', ...data, ...taken], { env: swift.env }),
      1,
      /belongs to another installation/,
    )
    const unkeyed = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' }
    expectRefusal(
      await runCommand(['serve', '--port', '0', ...data, ...taken], { env: unkeyed }),
      1,
      /AWS_ACCESS_KEY_ID/,
    )
    const onDisk = await startServer(engine)
    onTestFinished(() => onDisk.stop())
    expectRefusal(await onDisk.command('user', 'list', ...taken), 1, /files of the data folder/)
    await server.restart()
  })
})
