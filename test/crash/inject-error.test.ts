import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connect, CutConnection, errorShapeFault, sendJson, type Client, type Reply } from './client.js'
import { seededBytes } from './random.js'
import { hasStrace, inject } from './strace.js'
import { brokenInvariants, endServers, removeFolders, SEED, WHOLE, type Server } from './support.js'
import { newWorld, works, type World } from './world.js'

const isMissing = !hasStrace()
const CLIENTS = 4
const STEPS = 12
const SYNCS = ['fdatasync', 'fsync']
const NAMES = ['rename', 'renameat', 'renameat2', 'link', 'linkat', 'mkdir', 'mkdirat']

/** Writes at a position: connections never use them, so only files are hit. */
const WRITES = ['pwrite64', 'pwritev', 'pwritev2', 'fallocate']

interface Case {
  calls: readonly string[]
  error: 'ENOSPC' | 'EIO'
  when: string
  inSample?: boolean
}

const CASES: readonly Case[] = [
  { calls: WRITES, error: 'ENOSPC', when: '1+', inSample: true },
  { calls: SYNCS, error: 'EIO', when: '1+', inSample: true },
  { calls: SYNCS, error: 'EIO', when: '2', inSample: true },
  { calls: NAMES, error: 'ENOSPC', when: '1+', inSample: true },
  { calls: WRITES, error: 'EIO', when: '1+' },
  { calls: SYNCS, error: 'ENOSPC', when: '1+' },
  { calls: NAMES, error: 'EIO', when: '1+' },
  ...[1, 2, 3, 5, 8, 13].flatMap((time): Case[] => [
    { calls: WRITES, error: 'ENOSPC', when: `${time}` },
    { calls: WRITES, error: 'ENOSPC', when: `${time}+` },
    { calls: WRITES, error: 'EIO', when: `${time}` },
    { calls: ['fdatasync'], error: 'EIO', when: `${time}` },
    { calls: ['fsync'], error: 'EIO', when: `${time}` },
    { calls: NAMES, error: 'EIO', when: `${time}` },
    { calls: ['ftruncate'], error: 'EIO', when: `${time}` },
    { calls: ['unlink', 'unlinkat'], error: 'EIO', when: `${time}` },
  ]),
]

afterEach(endServers)
afterAll(removeFolders)

describe.skipIf(isMissing)('a node whose disk fails', () => {
  let world: World
  beforeEach(async () => {
    world = await newWorld(SEED + 30, CLIENTS, undefined, { workers: 1 })
  })

  const chosen = CASES.filter(({ inSample }) => WHOLE || inSample === true)

  test.each(chosen)(
    'says so, keeps what it acknowledged and works again after $error on $calls ($when) [ERR-8] [ERR-4]',
    async ({ calls, error, when }) => {
      const server = await world.start()
      await world.run(server, 20)
      const before = server.pids()
      const injection = await inject(server, calls, `error=${error}:when=${when}`)
      const seen = await provoke(world, server)
      const injected = await injection.stop()
      const isReplaced = before.some((pid) => !server.pids().includes(pid))
      const context = `${injected.length} calls failed, answers ${seen.replies.map(({ status }) => status).join(' ')}, ${seen.cuts} cuts; ${server.errors().slice(-600)}`
      for (const reply of seen.replies) {
        expect(reply.status, context).toBeGreaterThanOrEqual(500)
        expect(errorShapeFault(reply), context).toBeUndefined()
      }
      if (!isReplaced) expect(seen.cuts, context).toBe(0)
      // Without a working sync nothing may be acknowledged.
      if (calls === SYNCS && when === '1+') expect(seen.acknowledged, context).toBe(0)
      expect(server.isAlive(), context).toBe(true)
      expect(await world.faults(server), context).toEqual([])
      expect(await works(server, world.token, `works again ${world.acknowledged()}`), context).toBe(true)
      await world.run(server, 20)
      server.kill()
      await server.gone()
      const again = await world.start()
      expect(await world.faults(again), `after a restart; ${context}`).toEqual([])
      expect(await world.finish(again), `after a restart; ${context}`).toEqual([])
      await again.stop()
    },
  )

  test('answers 507 when the disk is full in mid-chunk, and the upload goes on when there is room [UP-57] [ERR-19]', async () => {
    const server = await world.start()
    const client = connect(server, world.token)
    const path = await newFile(client, 'chunks.bin')
    const bytes = seededBytes(31, 900_000)
    const first = await client.send(
      'PUT',
      path,
      { 'content-range': 'bytes 0-299999/900000' },
      bytes.subarray(0, 300_000),
    )
    const uploadId = String(first.headers['upload-id'])
    const staged = filesBelow(join(world.data, 'staging')).find((file) => statSync(file).size >= 300_000)
    expect(staged, 'a staged file of the first chunk').toBeDefined()
    const injection = await inject(server, [...WRITES, 'write', 'writev'], 'error=ENOSPC:when=1+', staged)
    const second = { 'content-range': 'bytes 300000-599999/900000', 'upload-id': uploadId }
    const refused = await client.send('PUT', path, second, bytes.subarray(300_000, 600_000))
    expect((await injection.stop()).length).toBeGreaterThan(0)
    expect(refused.status).toBe(507)
    expect(errorShapeFault(refused)).toBeUndefined()
    const other = connect(server, world.token)
    const status = await other.send('PUT', path, {
      'content-range': 'bytes */*',
      'upload-id': uploadId,
      'content-length': '0',
    })
    expect([status.status, status.headers['range']]).toEqual([200, 'bytes=0-299999'])
    expect((await other.send('PUT', path, second, bytes.subarray(300_000, 600_000))).status).toBe(204)
    const third = { 'content-range': 'bytes 600000-899999/900000', 'upload-id': uploadId }
    expect((await other.send('PUT', path, third, bytes.subarray(600_000))).status).toBe(204)
    expect((await other.send('GET', path)).body.equals(bytes)).toBe(true)
    expect(await world.faults(server)).toEqual([])
    await server.stop()
  })

  test.each(['whole', 'first chunk', 'next chunk', 'completion'])(
    'holds the old or the new bytes when the log cannot be synced for a %s [UP-58] [ERR-4]',
    async (shape) => {
      const server = await world.start()
      const client = connect(server, world.token)
      const path = await newFile(client, `unsynced ${shape}.bin`)
      const [old, next] = [seededBytes(33, 150_000), seededBytes(34, 300_000)]
      const chunk = (first: number, end: number, uploadId?: string): Promise<Reply> =>
        client.send(
          'PUT',
          path,
          {
            'content-range': `bytes ${first}-${end - 1}/300000`,
            ...(uploadId === undefined ? {} : { 'upload-id': uploadId }),
          },
          next.subarray(first, end),
        )
      expect((await client.send('PUT', path, {}, old)).status).toBe(204)
      const begun = shape === 'next chunk' || shape === 'completion' ? await chunk(0, 100_000) : undefined
      const uploadId = begun === undefined ? undefined : String(begun.headers['upload-id'])
      const log = filesBelow(world.data).find((file) => file.endsWith('-wal'))
      const injection = await inject(server, SYNCS, 'error=EIO:when=1+', log)
      const reply = await {
        whole: () => client.send('PUT', path, {}, next),
        'first chunk': () => chunk(0, 100_000),
        'next chunk': () => chunk(100_000, 200_000, uploadId),
        completion: () => chunk(100_000, 300_000, uploadId),
      }[shape as 'whole']()
      expect((await injection.stop()).length).toBeGreaterThan(0)
      expect(reply.status).toBeGreaterThanOrEqual(500)
      const content = await connect(server, world.token).send('GET', path)
      expect(content.status, 'reading the content').toBe(200)
      expect(content.body.equals(old) || content.body.equals(next), 'the old or the new content').toBe(true)
      expect(brokenInvariants(world.data)).toEqual([])
      server.kill()
      await server.gone()
    },
  )

  test('cuts an answer short when reading fails in its middle, without error text inside content [HTTP-24]', async () => {
    const server = await world.start()
    const client = connect(server, world.token)
    const path = await newFile(client, 'download.bin')
    const bytes = seededBytes(32, 12_000_000)
    expect((await client.send('PUT', path, {}, bytes)).status).toBe(204)
    const blob = filesBelow(join(world.data, 'blobs')).find((file) => statSync(file).size === bytes.length)
    expect(blob, 'the file of the content').toBeDefined()
    const injection = await inject(
      server,
      ['pread64', 'preadv', 'preadv2', 'read', 'readv', 'sendfile'],
      'error=EIO:when=2+',
      blob,
    )
    await expect(connect(server, world.token).send('GET', path)).rejects.toBeInstanceOf(CutConnection)
    expect((await injection.stop()).length).toBeGreaterThan(0)
    expect((await connect(server, world.token).send('GET', path)).body.equals(bytes)).toBe(true)
    expect(server.isAlive()).toBe(true)
    await server.stop()
  })
})

interface Provoked {
  acknowledged: number
  replies: Reply[]
  cuts: number
}

/** Every client works until its first failure, since the outcome of that one is not known before the disk works again. */
async function provoke(world: World, server: Server): Promise<Provoked> {
  const seen: Provoked = { acknowledged: 0, replies: [], cuts: 0 }
  const one = async (actor: World['actors'][number]): Promise<void> => {
    const client = connect(server, world.token)
    try {
      for (let step = 0; step < STEPS; step += 1) {
        const reply = await actor.step(client)
        if (reply.status >= 300) {
          seen.replies.push(reply)
          return
        }
        seen.acknowledged += 1
      }
    } catch (error) {
      if (!(error instanceof CutConnection)) throw error
      seen.cuts += 1
    } finally {
      client.close()
    }
  }
  await Promise.all(world.actors.map(one))
  return seen
}

async function newFile(client: Client, name: string): Promise<string> {
  const made = await sendJson(client, 'POST', '/files', { name, parent: 'root' })
  return `/files/${(JSON.parse(made.body.toString()) as { id: string }).id}/content`
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}
