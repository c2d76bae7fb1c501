import { copyFile, rename, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { bytesOf, expectBytes, expectStored, part, received } from '../api/content/support.js'
import { ACCOUNT, isSignInPage, signIn } from '../oauth/support.js'
import { dropDatabase } from '../support/engines.js'
import { startMiddleman } from '../support/middleman.js'
import { onlooker, type Onlooker } from '../support/s3-client.js'
import { runCommand, startServer, type CommandResult, type TestServer } from '../support/server.js'
import { startSwift, type Swift } from '../support/swift.js'
import {
  CHUNKED,
  CHUNKED_FIRST,
  emptyTarget,
  filesIn,
  LARGE,
  migrate,
  migrateKilled,
  populate,
  summaryOf,
  type Populated,
} from './migrate-world.js'
import { expectRefusal } from './support.js'

const MINUTES = 60_000
vi.setConfig({ testTimeout: 10 * MINUTES, hookTimeout: 10 * MINUTES })
const KIB = 1024

let swift: Swift
let eyes: Onlooker
beforeAll(async () => {
  swift = await startSwift()
  eyes = onlooker(swift)
})
afterAll(() => swift.stop())

async function newBucket(): Promise<string> {
  const bucket = swift.bucketName()
  await eyes.createBucket(bucket)
  return bucket
}

const toBucket = (bucket: string): string[] => [
  '--to-content',
  swift.content(bucket),
  '--to-content-credentials',
  swift.credentialsFile,
]
const inBucket = (bucket: string): string[] => [
  '--content',
  swift.content(bucket),
  '--content-credentials',
  swift.credentialsFile,
]
const placesIn = async (bucket: string): Promise<string[]> =>
  (await eyes.keys(bucket)).filter((key) => key.startsWith('blobs/')).map((key) => key.slice('blobs/'.length))
const placesOf = async (server: TestServer): Promise<string[]> =>
  Object.keys(await filesIn(join(server.dataDir, 'blobs')))

describe('one node of SQLite and a disk, moved to PostgreSQL and S3', () => {
  let all: Populated
  let server: TestServer
  let database: string
  let bucket: string
  let before: Record<string, string>
  let logged: string
  let blobs: Record<string, string>

  beforeAll(async () => {
    all = await populate()
    server = all.world.server
    database = await emptyTarget()
    bucket = await newBucket()
    before = await all.read()
    logged = (await server.command('log', '--json', '--limit', '1000')).stdout
    blobs = await filesIn(join(server.dataDir, 'blobs'))
    expect(await server.terminate()).toBe(0)
  })
  afterAll(async () => {
    await all.world.stop()
    await dropDatabase(database)
  })

  const settings = (): string[] => ['--database', database, ...inBucket(bucket)]
  const moved = (...args: string[]): Promise<CommandResult> =>
    runCommand([...args, '--data', server.dataDir, ...settings()])

  test('is killed in the midst of its content and goes on', async () => {
    const relay = await startMiddleman({ host: '127.0.0.1', port: Number(new URL(swift.endpoint).port) })
    onTestFinished(() => relay.stop())
    const relayed = `s3://${bucket}?endpoint=http://127.0.0.1:${relay.port}&region=${swift.region}`
    const args = ['--data', server.dataDir, '--to-database', database, ...toBucket(bucket)]
    const relayedArgs = args.map((arg) => (arg === swift.content(bucket) ? relayed : arg))
    for (const share of [0.1, 0.9]) {
      let sent = 0
      const killed = await migrateKilled(
        relay,
        relayedArgs,
        (chunk) => (sent += chunk.length) > LARGE.length * share,
      )
      expect(killed).toBeUndefined()
      expectRefusal(await moved('user', 'list'), 1, /unfinished migration/)
    }
    const done = await migrate([...args, '--json'])
    const { content, settings: next } = summaryOf(done)
    const sizes = Object.keys(blobs).length
    expect(content).toMatchObject({ blobs: sizes })
    expect(next).toEqual({
      data: server.dataDir,
      database,
      content: swift.content(bucket),
      'content-credentials': swift.credentialsFile,
    })
    expect(done.stderr).toMatch(new RegExp(`^content: ${sizes} of ${sizes} blobs, (\\d+) of \\1 bytes$`, 'm'))
    expect((await placesIn(bucket)).sort()).toEqual(Object.keys(blobs).sort())
    expect(await filesIn(join(server.dataDir, 'blobs'))).toEqual(blobs)
  })

  test('answers every request as before, to every token, with the same ids, tags and bytes', async () => {
    // Nothing may come from where the content was.
    await rename(join(server.dataDir, 'blobs'), join(server.dataDir, 'old-blobs'))
    await server.restart(['--legacy-versions', ...settings()])
    expect(await all.read()).toEqual(before)
    expect((await moved('log', '--json', '--limit', '1000')).stdout).toBe(logged)
    expect((await moved('check')).stdout).toBe('no broken invariant\n')
  })

  test('is still the node that it was, and continues the upload', async () => {
    const { O } = all.people
    const { id, uploadId } = all.upload
    expect(JSON.parse((await moved('node', 'show', '--json')).stdout)).toMatchObject({
      id: server.installation.nodeId,
      deselected: [expect.any(String)],
    })
    expect(await received(O.api, id, uploadId)).toBe(CHUNKED_FIRST)
    const rest = CHUNKED.subarray(CHUNKED_FIRST)
    expectStored(
      await O.api.upload(id, rest, {
        'Upload-ID': uploadId,
        ...part(CHUNKED_FIRST, CHUNKED.length - 1, CHUNKED.length),
      }),
    )
    expectBytes((await O.api.get(`/files/${id}/content`)).body, CHUNKED)
    const places = (await placesIn(bucket)).length
    await O.api.file('after the move', 'root', bytesOf(80 * KIB, 9))
    expect((await placesIn(bucket)).length).toBe(places + 1)
  })

  test('lets in whoever it let in, and nobody else', async () => {
    const { world, plain, careful, browser, app, code, appToken, revoked } = all
    expect(isSignInPage(await browser.open(ACCOUNT))).toBe(false)
    expect(isSignInPage(await world.browser().open(ACCOUNT))).toBe(true)
    for (const person of [plain, careful]) await world.signedIn(person)
    const stranger = world.browser()
    const wrong = { ...plain, password: 'not the password' }
    expect(isSignInPage(await signIn(stranger, await stranger.open(ACCOUNT), wrong))).toBe(true)
    expect(await world.isAlive(appToken)).toBe(true)
    expect(await world.isAlive(revoked)).toBe(false)
    const exchanged = await world.exchange(app, code)
    expect(exchanged.status, exchanged.text).toBe(200)
    expect(await world.isAlive(String(exchanged.json['access_token']))).toBe(true)
    expect((await world.exchange(app, code)).status).toBe(400)
    expect((await world.exchange({ ...app, secret: 'wrong' }, code)).status).toBe(401)
  })
})

describe('content alone', () => {
  let server: TestServer
  let bucket: string
  const contents = [bytesOf(70 * KIB, 11), bytesOf(300 * KIB, 12), Buffer.from('small')]
  const ids: string[] = []
  let token: string

  beforeAll(async () => {
    server = await startServer('sqlite')
    bucket = await newBucket()
    const person = await server.person()
    token = person.token
    for (const [index, content] of contents.entries()) {
      ids.push(await person.api.file(`file ${index}`, 'root', content))
    }
    expect(await server.terminate()).toBe(0)
  })
  afterAll(() => server.stop())

  const expectAll = async (): Promise<void> => {
    const api = server.client(token)
    for (const [index, id] of ids.entries()) {
      expectBytes((await api.get(`/files/${id}/content`)).body, contents[index] ?? Buffer.alloc(0))
    }
  }

  test('stays where it is when a blob is missing or damaged', async () => {
    const [place = ''] = await placesOf(server)
    const path = join(server.dataDir, 'blobs', place.slice(0, 2), place.slice(2, 4), place)
    const refused = new RegExp(`the content ${place.slice(0, 64)} is missing or damaged .*starling check`)
    await rename(path, `${path}-away`)
    const lost = await migrate(['--data', server.dataDir, ...toBucket(bucket)])
    expect([lost.status, lost.stderr]).toEqual([1, expect.stringMatching(refused)])
    await rename(`${path}-away`, path)
    const copy = join(server.dataDir, 'copy')
    await copyFile(path, copy)
    await truncate(path, 10)
    const short = await migrate(['--data', server.dataDir, ...toBucket(bucket)])
    expect([short.status, short.stderr]).toEqual([1, expect.stringMatching(refused)])
    await rm(path)
    await rename(copy, path)
    await server.restart()
    await expectAll()
    expect(await server.terminate()).toBe(0)
  })

  test('is not moved to a store that is not there or belongs to others', async () => {
    const move = (to: string): Promise<CommandResult> =>
      runCommand(['migrate', '--data', server.dataDir, ...toBucket(to)])
    expectRefusal(await move('no-such-bucket'), 1, /there is no bucket no-such-bucket/)
    const taken = await newBucket()
    await eyes.put(taken, 'owner', Buffer.from(`${'f'.repeat(32)}\n`))
    expectRefusal(await move(taken), 1, /belongs to another installation/)
    expect(await eyes.keys(taken)).toEqual(['owner'])
  })

  test('moves to S3 and back while the database stays', async () => {
    const places = (await placesOf(server)).sort()
    const there = await migrate(['--data', server.dataDir, ...toBucket(bucket), '--json'])
    expect(summaryOf(there)).toMatchObject({ content: { blobs: 2, bytes: 370 * KIB } })
    expect((await placesIn(bucket)).sort()).toEqual(places)
    // Told nothing, the node is not served from where its content was; commands know where it is.
    const bare = ['--port', '0', '--log-level', 'silent', '--data', server.dataDir]
    expectRefusal(await runCommand(['serve', ...bare]), 1, /keeps its content in an S3 store/)
    expect((await server.command('check')).stdout).toBe('no broken invariant\n')
    await server.restart(inBucket(bucket))
    await expectAll()
    expect(await server.terminate()).toBe(0)

    await rename(join(server.dataDir, 'blobs'), join(server.dataDir, 'old-blobs'))
    const back = await migrate([
      '--data',
      server.dataDir,
      ...inBucket(bucket),
      '--to-content',
      'disk',
      '--json',
    ])
    expect(summaryOf(back)).toEqual({
      content: { blobs: 2, bytes: 370 * KIB, copied: 2 },
      settings: { data: server.dataDir },
    })
    expect(await filesIn(join(server.dataDir, 'blobs'))).toEqual(
      await filesIn(join(server.dataDir, 'old-blobs')),
    )
    await server.restart()
    await expectAll()
    expect((await server.command('check')).stdout).toBe('no broken invariant\n')
    expect(await server.terminate()).toBe(0)

    const other = await newBucket()
    const again = await migrate(['--data', server.dataDir, ...toBucket(other)])
    expect(again.status, again.stderr).toBe(0)
    const next = await newBucket()
    const across = await migrate(['--data', server.dataDir, ...inBucket(other), ...toBucket(next)])
    expect(across.status, across.stderr).toBe(0)
    expect((await placesIn(next)).sort()).toEqual(places)
  })
})
