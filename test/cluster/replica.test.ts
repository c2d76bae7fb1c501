import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { findBlob } from '../../src/db/blobs.js'
import {
  expectContent,
  fileOf,
  filesOf,
  findingsOf,
  nodeShown,
  stateOf,
  until,
} from '../api/content/replica-support.js'
import { bytesOf, expectBytes, expectRefused, expectStored } from '../api/content/support.js'
import type { Answer, Client } from '../support/client.js'
import { startMiddleman, type Middleman } from '../support/middleman.js'
import { onlooker, type Onlooker } from '../support/s3-client.js'
import { startServer, type TestServer } from '../support/server.js'
import { startSwift, type Swift } from '../support/swift.js'

const MIB = 1024 * 1024
const SMALL = bytesOf(64 * 1024, 1)
const MIDDLE = bytesOf(200_000, 2)
const LARGE = bytesOf(20 * MIB, 3)

describe('two nodes over one PostgreSQL and one S3 store, one of them with a local copy', () => {
  let swift: Swift
  let eyes: Onlooker
  let bucket: string
  let door: Middleman
  let folder: string
  let through: TestServer
  let replica: TestServer
  let email: string
  let token: string
  /** The same person at the node that reads through and at the one with a copy. */
  let far: Client
  let near: Client
  let old: Client

  beforeAll(async () => {
    swift = await startSwift()
    eyes = onlooker(swift)
    bucket = swift.bucketName()
    await eyes.createBucket(bucket)
    door = await startMiddleman({ host: '127.0.0.1', port: Number(new URL(swift.endpoint).port) })
    folder = await mkdtemp(join(tmpdir(), 'starling-replica-'))
    const credentials = swift.credentialsFile
    through = await startServer('postgres', { content: { address: swift.content(bucket), credentials } })
    replica = await startServer('postgres', {
      workers: 2,
      content: { address: swift.content(bucket, door.port), credentials },
      replica: folder,
      ...(through.databaseUrl === undefined ? {} : { databaseUrl: through.databaseUrl }),
    })
    email = await through.addUser()
    token = await through.addToken(email)
    far = through.client(token)
    near = replica.client(token)
    old = replica.client(token, '1.0')
  })
  afterAll(async () => {
    await replica.stop()
    await through.stop()
    await door.stop()
    await swift.stop()
    await rm(folder, { recursive: true, force: true })
  })
  afterEach(async () => {
    door.heal()
    door.letGo()
    for (const { id } of (await far.get('/folders/root/children')).json['files'] as Answer['json'][]) {
      expect((await far.delete(`/files/${id}`)).status).toBe(204)
    }
    await until(async () => expect(await filesOf(folder)).toEqual([]))
    expect(await findingsOf(replica)).toEqual([])
  })

  it('say what is true of themselves: on its way at one, there at the other [NODE-19] [NODE-25] [DOWN-9] [STATE-15]', async () => {
    door.hold(0)
    const file = await far.file('a.bin', 'root', MIDDLE)
    const small = await far.file('small.bin', 'root', SMALL)
    expect(await stateOf(far, file)).toBe('AVAILABLE')
    expect(await stateOf(near, file)).toBe('SYNCING')
    expect(await stateOf(near, small)).toBe('AVAILABLE')
    await expectContent(far, file, MIDDLE)
    await expectContent(near, small, SMALL)
    const { etag } = await fileOf(far, file)
    expect(await fileOf(near, file)).toMatchObject({ etag })
    for (const api of [near, old]) {
      for (const headers of [{}, { Range: 'bytes=0-9' }, { 'If-None-Match': `"${etag}"` }]) {
        expectRefused(await api.get(`/files/${file}/content`, headers), 404, 'NOT_FOUND')
        expect((await api.head(`/files/${file}/content`, headers)).status).toBe(404)
      }
    }
    const plain = await fileOf(old, file)
    for (const key of ['size', 'last_modified', 'etag', 'content_state'])
      expect(plain).not.toHaveProperty(key)
    expect((await near.put(`/files/${file}`, { name: 'b.bin' })).status).toBe(200)
    door.letGo()
    await until(async () => expect(await stateOf(near, file)).toBe('AVAILABLE'))
    expect(await fileOf(old, file)).toMatchObject({ size: MIDDLE.length })
    door.refuse()
    for (const api of [near, old]) await expectContent(api, file, MIDDLE)
  })

  it('have new content of a file at once or not at all, never the old', async () => {
    const file = await far.file('a.bin', 'root', MIDDLE)
    await until(async () => expect(await stateOf(near, file)).toBe('AVAILABLE'))
    door.hold(0)
    const next = bytesOf(300_000, 5)
    expectStored(await far.upload(file, next))
    expect(await stateOf(near, file)).toBe('SYNCING')
    expectRefused(await near.get(`/files/${file}/content`), 404, 'NOT_FOUND')
    // Uploading is possible whatever the state, and what was uploaded here need not come.
    door.letGo()
    const own = bytesOf(250_000, 6)
    expectStored(await near.upload(file, own))
    expect(await stateOf(near, file)).toBe('AVAILABLE')
    for (const api of [near, far]) await expectContent(api, file, own)
    await until(async () => expect(await filesOf(folder)).toHaveLength(1))
  })

  it('long lists tell each change of state', async () => {
    const parent = await far.folder('many')
    const names = Array.from({ length: 60 }, (_, index) => `file ${String(index).padStart(3, '0')}.bin`)
    for (const name of names) await far.file(name, parent, 'small')
    const state = async (): Promise<string> => {
      const files = (await near.get(`/folders/${parent}/children`)).json['files'] as Answer['json'][]
      return String(files.find(({ id }) => id === file)?.['content_state'])
    }
    door.hold(0)
    const file = await far.file('late.bin', parent, MIDDLE)
    for (const expected of ['SYNCING', 'SYNCING']) expect(await state()).toBe(expected)
    door.letGo()
    await until(async () => expect(await state()).toBe('AVAILABLE'))
    // Now the list may be kept; a copy that is lost must be seen in it all the same.
    expect(await state()).toBe('AVAILABLE')
    const [path = ''] = await filesOf(folder)
    await rm(path)
    door.refuse()
    expectRefused(await near.get(`/files/${file}/content`), 503, 'INTERNAL_ERROR')
    await until(async () => expect(await state()).toBe('SYNCING'))
    door.heal()
    await until(async () => expect(await state()).toBe('AVAILABLE'))
    await expectContent(near, file, MIDDLE)
    expect((await far.delete(`/folders/${parent}`)).status).toBe(204)
  })

  it('a transfer that is killed leaves nothing that counts, and is made good', async () => {
    const file = await far.file('other.bin', 'root', MIDDLE)
    await until(async () => expect(await stateOf(near, file)).toBe('AVAILABLE'))
    door.hold(2 * MIB)
    const large = await far.file('large.bin', 'root', LARGE)
    await until(async () => expect(await incomingBytes()).toBeGreaterThan(0))
    await replica.kill()
    expect(await filesOf(folder)).toHaveLength(1)
    expect(await incomingBytes()).toBeLessThan(LARGE.length)
    door.refuse()
    await replica.restart()
    expect(await stateOf(near, file)).toBe('AVAILABLE')
    expect(await stateOf(near, large)).toBe('SYNCING')
    expectRefused(await near.get(`/files/${large}/content`), 404, 'NOT_FOUND')
    expect((await nodeShown(replica)).replica).toMatchObject({
      held: 1,
      held_bytes: MIDDLE.length,
      missing: 1,
      missing_bytes: LARGE.length,
      failed: 0,
    })
    door.letGo()
    door.heal()
    await until(async () => expect(await stateOf(near, large)).toBe('AVAILABLE'))
    door.refuse()
    await expectContent(near, large, LARGE)
    const some = await near.get(`/files/${large}/content`, { Range: 'bytes=8388600-8388615' })
    expectBytes(some.body, LARGE.subarray(8_388_600, 8_388_616))
    expect(await incomingBytes()).toBe(0)
  })

  async function incomingBytes(): Promise<number> {
    const names = await readdir(join(folder, 'incoming'))
    const sizes = await Promise.all(
      names.map(async (name) => (await stat(join(folder, 'incoming', name)).catch(() => ({ size: 0 }))).size),
    )
    return sizes.reduce((sum, size) => sum + size, 0)
  }

  it('a store that is away is waited for, and what is there is served meanwhile', async () => {
    const here = await far.file('here.bin', 'root', MIDDLE)
    await until(async () => expect(await stateOf(near, here)).toBe('AVAILABLE'))
    const late = await far.file('late.bin')
    door.refuse()
    expectStored(await far.upload(late, LARGE))
    await until(async () => expect((await nodeShown(replica)).replica).toHaveProperty('waiting_since'))
    expect(replica.log()).toContain('the local copy waits for the content store')
    expect(await stateOf(near, late)).toBe('SYNCING')
    await swift.shut()
    door.heal()
    await expectContent(near, here, MIDDLE)
    await swift.reopen()
    await until(async () => expect(await stateOf(near, late)).toBe('AVAILABLE'))
    await expectContent(near, late, LARGE)
    expect((await nodeShown(replica)).replica).toEqual({
      held: 2,
      held_bytes: MIDDLE.length + LARGE.length,
      missing: 0,
      missing_bytes: 0,
      failed: 0,
    })
  })

  it('a node without signals learns of what others receive and delete all the same', async () => {
    const client = new pg.Client({ connectionString: through.databaseUrl ?? '' })
    await client.connect()
    await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'starling signals' AND datname = current_database()`)
    await client.end()
    const file = await far.file('a.bin', 'root', MIDDLE)
    await until(async () => expect(await stateOf(near, file)).toBe('AVAILABLE'))
    expect((await far.delete(`/files/${file}`)).status).toBe(204)
    await until(async () => expect(await filesOf(folder)).toEqual([]))
  })

  it('content that is wrong in the store is never taken, and is counted until it is right', async () => {
    door.hold(0)
    const file = await far.file('a.bin', 'root', MIDDLE)
    const { etag } = await fileOf(far, file)
    const place = (await through.installation.db.read((tx) => findBlob(tx, etag)))?.place ?? ''
    await eyes.put(bucket, `blobs/${place}`, bytesOf(MIDDLE.length, 9))
    door.letGo()
    await until(async () =>
      expect((await nodeShown(replica)).replica).toMatchObject({ missing: 1, failed: 1 }),
    )
    expect(await stateOf(near, file)).toBe('SYNCING')
    expectRefused(await near.get(`/files/${file}/content`), 404, 'NOT_FOUND')
    expect(await filesOf(folder)).toEqual([])
    await eyes.put(bucket, `blobs/${place}`, MIDDLE)
    await until(async () => expect(await stateOf(near, file)).toBe('AVAILABLE'))
    await expectContent(near, file, MIDDLE)
    expect((await nodeShown(replica)).replica).toMatchObject({ missing: 0, failed: 0 })
  })

  it('deselecting at one frees nothing of the other, and no last copy goes [NODE-22] [NODE-23] [STATE-14]', async () => {
    const parent = await far.folder('off')
    const file = await near.file('a.bin', parent, MIDDLE)
    expect((await replica.command('node', 'deselect', parent)).status).toBe(0)
    expect([await stateOf(near, file), await stateOf(far, file)]).toEqual(['DESELECTED', 'AVAILABLE'])
    await until(async () => expect(await filesOf(folder)).toEqual([]))
    await expectContent(far, file, MIDDLE)
    expectRefused(await near.upload(file, 'x'), 404, 'NOT_FOUND')
    expectRefused(await old.upload(file, 'x'), 500, 'INTERNAL_ERROR')
    expectStored(await far.upload(file, LARGE))
    expect((await replica.command('node', 'select', parent)).status).toBe(0)
    await until(async () => expect(await stateOf(near, file)).toBe('AVAILABLE'))
    await expectContent(near, file, LARGE)
    expect((await far.delete(`/folders/${parent}`)).status).toBe(204)
  })
})
