import { appendFile, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { expectRefusal, newFolder } from '../../cli/support.js'
import type { Client } from '../../support/client.js'
import { ENGINES } from '../../support/engines.js'
import { onlooker } from '../../support/s3-client.js'
import { runCommand, startServer, type TestServer } from '../../support/server.js'
import { startMiddleman, type Middleman } from '../../support/middleman.js'
import { startSwift, type Swift } from '../../support/swift.js'
import { FULL } from '../people/support.js'
import { expectContent, fileOf, filesOf, findingsOf, nodeShown, stateOf, until } from './replica-support.js'
import {
  begin,
  bytesOf,
  expectBytes,
  expectRefused,
  expectStored,
  holdUpload,
  part,
  total,
} from './support.js'

const MIB = 1024 * 1024
const SMALL = bytesOf(64 * 1024, 1)
const MIDDLE = bytesOf(200_000, 2)
/** Three blocks, the last one not full. */
const LARGE = bytesOf(9 * MIB, 3)

let swift: Swift
beforeAll(async () => {
  swift = await startSwift()
})
afterAll(() => swift.stop())

describe.each(ENGINES)(
  'a node on %s with a local copy of what is in its S3 store',
  { timeout: 240_000 },
  (engine) => {
    let door: Middleman
    let folder: string
    let server: TestServer

    beforeAll(async () => {
      const bucket = swift.bucketName()
      await onlooker(swift).createBucket(bucket)
      door = await startMiddleman({ host: '127.0.0.1', port: Number(new URL(swift.endpoint).port) })
      folder = await mkdtemp(join(tmpdir(), 'starling-replica-'))
      server = await startServer(engine, {
        workers: 2,
        content: { address: swift.content(bucket, door.port), credentials: swift.credentialsFile },
        replica: folder,
      })
    })
    afterAll(async () => {
      await server.stop()
      await door.stop()
      await rm(folder, { recursive: true, force: true })
    })
    afterEach(async () => {
      expect(await findingsOf(server)).toEqual([])
    })

    const person = (): Promise<{ api: Client; token: string }> => server.person(FULL)

    async function run(...args: string[]): Promise<void> {
      const { status, stderr } = await server.command(...args)
      expect(`${status} ${stderr}`).toBe('0 ')
    }

    /** What the store sends is nothing: whatever is served now is the node's own. */
    async function withoutStore(work: () => Promise<unknown>): Promise<void> {
      door.refuse()
      try {
        await work()
      } finally {
        door.heal()
      }
    }

    it('holds what is uploaded to it, whole or in chunks, and serves it without the store [NODE-18] [STATE-3]', async () => {
      const { api } = await person()
      const whole = await api.file('whole.bin', 'root', LARGE)
      const chunked = await api.file('chunked.bin')
      const id = { 'Upload-ID': await begin(api, chunked) }
      await api.upload(chunked, LARGE.subarray(1, 5 * MIB), { ...id, ...part(0, 5 * MIB - 2) })
      expect(await stateOf(api, chunked)).toBe('SYNCING')
      await api.upload(chunked, LARGE.subarray(5 * MIB), { ...id, ...part(5 * MIB - 1, LARGE.length - 2) })
      expectStored(await api.upload(chunked, '', { ...id, ...total(LARGE.length - 1) }))
      const small = await api.file('small.bin', 'root', SMALL)
      const same = await api.file('same.bin', 'root', LARGE)
      for (const file of [whole, chunked, small, same]) expect(await stateOf(api, file)).toBe('AVAILABLE')
      await withoutStore(async () => {
        await expectContent(api, whole, LARGE)
        await expectContent(api, same, LARGE)
        await expectContent(api, chunked, LARGE.subarray(1))
        await expectContent(api, small, SMALL)
        const ranges = await api.get(`/files/${whole}/content`, { Range: 'bytes=4194300-4194309' })
        expect(ranges.status).toBe(206)
        expectBytes(ranges.body, LARGE.subarray(4_194_300, 4_194_310))
        const last = await api.get(`/files/${whole}/content`, { Range: 'bytes=-5' })
        expectBytes(last.body, LARGE.subarray(-5))
      })
      const { replica } = await nodeShown(server)
      expect(replica).toMatchObject({ held: 2, held_bytes: 2 * LARGE.length - 1, missing: 0, failed: 0 })
      for (const file of [whole, chunked, small, same]) await api.delete(`/files/${file}`)
    })

    it('lets go of its copies with the content, and of those that were replaced [NODE-31]', async () => {
      const { api } = await person()
      const file = await api.file('a.bin', 'root', LARGE)
      const other = await api.file('b.bin', 'root', MIDDLE)
      expect(await filesOf(folder)).toHaveLength(2)
      expectStored(await api.upload(file, LARGE.subarray(2)))
      await until(async () => expect(await filesOf(folder)).toHaveLength(2))
      await expectContent(api, file, LARGE.subarray(2))
      expect((await nodeShown(server)).used).toBe(LARGE.length - 2 + MIDDLE.length)
      await api.delete(`/files/${file}`)
      await api.delete(`/files/${other}`)
      expect((await nodeShown(server)).used).toBe(0)
      await until(async () => expect(await filesOf(folder)).toEqual([]))
    })

    it('is set not to hold folders, nested ones and those in shares, and brings them back when it is set to [NODE-20] [NODE-22] [STATE-5] [STATE-6] [STATE-7] [STATE-8] [UP-76]', async () => {
      const { api, token } = await person()
      const share = (await api.post('/shares', { name: 'Shared' })).json.id
      const top = await api.folder('in the share', share)
      const outer = await api.folder('outer')
      const inner = await api.folder('inner', outer)
      const files = {
        shared: await api.file('s.bin', top, bytesOf(100_000, 10)),
        outer: await api.file('o.bin', outer, bytesOf(100_000, 11)),
        inner: await api.file('i.bin', inner, bytesOf(100_000, 12)),
        small: await api.file('small.bin', inner, SMALL),
        beside: await api.file('beside.bin', 'root', bytesOf(100_000, 13)),
      }
      const states = async (): Promise<Record<string, string>> =>
        Object.fromEntries(
          await Promise.all(
            Object.entries(files).map(async ([name, file]) => [name, await stateOf(api, file)] as const),
          ),
        )
      const before = await fileOf(api, files.inner)
      for (const id of [top, inner, outer]) await run('node', 'deselect', id)
      const off = { shared: 'DESELECTED', outer: 'DESELECTED', inner: 'DESELECTED', small: 'DESELECTED' }
      expect(await states()).toEqual({ ...off, beside: 'AVAILABLE' })
      expect(await fileOf(api, files.inner)).toMatchObject({ etag: before.etag })
      for (const file of [files.shared, files.inner, files.small]) {
        expectRefused(await api.get(`/files/${file}/content`), 404, 'NOT_FOUND')
        expectRefused(await api.upload(file, MIDDLE), 404, 'NOT_FOUND')
        expectRefused(await server.client(token, '1.0').upload(file, MIDDLE), 500, 'INTERNAL_ERROR')
      }
      await until(async () => expect(await filesOf(folder)).toHaveLength(1))
      expect((await nodeShown(server)).used).toBe(100_000)
      // The inner one stays deselected by itself.
      await run('node', 'select', outer)
      await until(async () =>
        expect(await states()).toEqual({ ...off, outer: 'AVAILABLE', beside: 'AVAILABLE' }),
      )
      for (const id of [inner, top]) await run('node', 'select', id)
      expect(['SYNCING', 'AVAILABLE']).toContain(await stateOf(api, files.inner))
      await until(async () => expect(new Set(Object.values(await states()))).toEqual(new Set(['AVAILABLE'])))
      expect(await fileOf(api, files.inner)).toEqual(before)
      await withoutStore(async () => {
        await expectContent(api, files.inner, bytesOf(100_000, 12))
        await expectContent(api, files.shared, bytesOf(100_000, 10))
        await expectContent(api, files.small, SMALL)
      })
      await api.delete(`/folders/${outer}`)
      await api.delete(`/files/${files.beside}`)
      await api.delete(`/files/${files.shared}`)
      await until(async () => expect(await filesOf(folder)).toEqual([]))
    })

    it('follows files into deselected folders and out of them [NODE-21] [STATE-9] [STATE-10]', async () => {
      const { api } = await person()
      const off = await api.folder('off')
      await run('node', 'deselect', off)
      const made = (await api.post('/files', { name: 'new.bin', parent: off })).json
      expect(made['content_state']).toBe('DESELECTED')
      const file = await api.file('a.bin', 'root', MIDDLE)
      expect(await filesOf(folder)).toHaveLength(1)
      const moved = (await api.put(`/files/${file}`, { parent: off })).json
      expect(moved['content_state']).toBe('DESELECTED')
      await until(async () => expect(await filesOf(folder)).toEqual([]))
      const back = (await api.put(`/files/${file}`, { parent: 'root' })).json
      expect(['SYNCING', 'AVAILABLE']).toContain(back['content_state'])
      await until(async () => expect(await stateOf(api, file)).toBe('AVAILABLE'))
      await withoutStore(() => expectContent(api, file, MIDDLE))
      // Content that another file has too is held as long as one of them lies where content is held.
      const twin = await api.file('twin.bin', 'root', MIDDLE)
      await api.put(`/files/${file}`, { parent: off })
      expect(await stateOf(api, twin)).toBe('AVAILABLE')
      await withoutStore(() => expectContent(api, twin, MIDDLE))
      await api.delete(`/folders/${off}`)
      await api.delete(`/files/${twin}`)
      await until(async () => expect(await filesOf(folder)).toEqual([]))
    })

    it('has a capacity of its own, which may change while it runs [NODE-24] [NODE-28] [NODE-30] [STATE-11] [STATE-12] [STATE-13] [UP-70] [UP-75]', async () => {
      const { api, token } = await person()
      const old = server.client(token, '1.0')
      const kept = await api.file('kept.bin', 'root', MIDDLE)
      const empty = await api.file('empty.bin')
      const off = await api.folder('off')
      const away = await api.file('away.bin', off, bytesOf(150_000, 20))
      await run('node', 'deselect', off)
      await until(async () => expect((await nodeShown(server)).used).toBe(MIDDLE.length))
      await run('node', 'capacity', String(MIDDLE.length + 100_000))
      expect(await stateOf(api, empty)).toBe('SYNCING')
      expectRefused(await api.upload(empty, bytesOf(100_001, 21)), 507, 'INSUFFICIENT_STORAGE')
      expectRefused(await old.upload(empty, bytesOf(100_001, 21)), 500, 'INTERNAL_ERROR')
      // There is room, but not for that.
      await run('node', 'select', off)
      await until(async () => expect(await stateOf(api, away)).toBe('INSUFFICIENT_STORAGE'))
      expectRefused(await api.get(`/files/${away}/content`), 404, 'NOT_FOUND')
      expect(await fileOf(api, away)).not.toHaveProperty('size')
      await run('node', 'capacity', String(MIDDLE.length))
      expect(await stateOf(api, empty)).toBe('INSUFFICIENT_STORAGE')
      expect(await stateOf(api, kept)).toBe('AVAILABLE')
      expectRefused(await api.upload(empty, 'x'), 507, 'INSUFFICIENT_STORAGE')
      await expectContent(api, kept, MIDDLE)
      await run('node', 'capacity', String(MIDDLE.length + 150_000))
      await until(async () => expect(await stateOf(api, away)).toBe('AVAILABLE'))
      await expectContent(api, away, bytesOf(150_000, 20))
      expect((await nodeShown(server)).used).toBe(MIDDLE.length + 150_000)
      // Freed by a deletion, then claimed by two of which one fits.
      await api.delete(`/files/${away}`)
      expect(await stateOf(api, empty)).toBe('SYNCING')
      const second = await api.file('second.bin')
      const uploads = await Promise.all(
        [empty, second].map(async (id, index) => {
          const held = await holdUpload(server, {
            token,
            id,
            body: bytesOf(90_000, 22 + index),
            sent: 50_000,
          })
          return async () => {
            const answer = await held.finish()
            held.raw.drop()
            return answer
          }
        }),
      )
      const answers = await Promise.all(uploads.map((finish) => finish()))
      expect(answers.map(({ status }) => status).sort()).toEqual([204, 507])
      expect((await nodeShown(server)).used).toBe(MIDDLE.length + 90_000)
      await run('node', 'capacity', 'none')
      for (const id of [kept, empty, second]) await api.delete(`/files/${id}`)
      await until(async () => expect(await filesOf(folder)).toEqual([]))
    })

    it('tells a change of state to a conditional GET, and takes every tag of the file on a write', async () => {
      const { api } = await person()
      const off = await api.folder('off')
      const file = await api.file('a.bin', off, bytesOf(150_000, 30))
      const tags: string[] = []
      const unlike = async (): Promise<void> => {
        for (const tag of tags) {
          expect((await api.get(`/files/${file}`, { 'If-None-Match': tag })).status).toBe(200)
        }
        tags.push(String((await api.get(`/files/${file}`)).headers.etag))
      }
      await unlike()
      await run('node', 'deselect', off)
      await unlike()
      await until(async () => expect(await filesOf(folder)).toEqual([]))
      door.refuse()
      try {
        await run('node', 'select', off)
        expect(await stateOf(api, file)).toBe('SYNCING')
        await unlike()
        await run('node', 'capacity', '0')
        expect(await stateOf(api, file)).toBe('INSUFFICIENT_STORAGE')
        await unlike()
        const [available] = tags
        const renamed = await api.put(`/files/${file}`, { name: 'b.bin' }, { 'If-Match': available })
        expect(renamed.status).toBe(200)
      } finally {
        door.heal()
      }
      await run('node', 'capacity', 'none')
      await api.delete(`/folders/${off}`)
    })

    it('never serves a copy that is not what it should be, and brings it again', async () => {
      const { api } = await person()
      const spoil: readonly ((path: string) => Promise<void>)[] = [
        (path) => rm(path),
        (path) => truncate(path, LARGE.length - 1),
        (path) => appendFile(path, 'x'),
        async (path) => {
          const bytes = await readFile(path)
          bytes[5 * MIB] = (bytes[5 * MIB] ?? 0) ^ 1
          await writeFile(path, bytes)
        },
        (path) => writeFile(path, Buffer.alloc(LARGE.length)),
      ]
      const file = await api.file('a.bin', 'root', LARGE)
      for (const [index, how] of spoil.entries()) {
        const [path = ''] = await filesOf(folder)
        await how(path)
        const expected = [
          'replica-missing',
          'replica-length',
          'replica-length',
          'replica-hash',
          'replica-hash',
        ]
        expect(await findingsOf(server)).toEqual([expected[index]])
        if (index === 0) {
          const { status, stdout } = await server.command('check')
          expect([status, stdout]).toEqual([1, expect.stringMatching(/^replica-missing: /)])
        }
        if (index % 2 === 0) await expectContent(api, file, LARGE)
        else {
          const some = await api.get(`/files/${file}/content`, {
            Range: `bytes=${5 * MIB - 10}-${5 * MIB + 9}`,
          })
          expectBytes(some.body, LARGE.subarray(5 * MIB - 10, 5 * MIB + 10))
        }
        await until(async () => {
          const [now = path] = await filesOf(folder)
          expect(now).not.toBe(path)
        })
        await until(async () => expect(await stateOf(api, file)).toBe('AVAILABLE'))
        await withoutStore(() => expectContent(api, file, LARGE))
      }
      await api.delete(`/files/${file}`)
      await until(async () => expect(await filesOf(folder)).toEqual([]))
    })

    it('finds what it lacks when it starts with an old folder or an empty one', async () => {
      const { api } = await person()
      const contents = [LARGE, MIDDLE, bytesOf(100_000, 40)]
      const files = await Promise.all(contents.map((content, index) => api.file(`${index}`, 'root', content)))
      const expectAll = (): Promise<void> =>
        until(async () => {
          for (const file of files) expect(await stateOf(api, file)).toBe('AVAILABLE')
          expect(await filesOf(folder)).toHaveLength(3)
        })
      const [one = ''] = await filesOf(folder)
      await server.kill()
      await rm(one)
      await writeFile(join(folder, 'incoming', 'ab'.repeat(16)), 'half')
      await writeFile(join(folder, 'files', 'leftover'), 'not ours')
      await server.restart()
      await expectAll()
      expect(await readdir(join(folder, 'incoming'))).toEqual([])
      await server.kill()
      for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true })
      await server.restart()
      await expectAll()
      await withoutStore(async () => {
        for (const [index, file] of files.entries()) {
          await expectContent(api, file, contents[index] ?? LARGE)
        }
      })
      for (const file of files) await api.delete(`/files/${file}`)
      await until(async () => expect(await filesOf(folder)).toEqual([]))
    })

    it('tells of its progress [NODE-36]', async () => {
      const { api } = await person()
      const file = await api.file('a.bin', 'root', MIDDLE)
      const shown = await nodeShown(server)
      expect(shown).toMatchObject({ used: MIDDLE.length, deselected: [] })
      expect(shown.replica).toEqual({
        held: 1,
        held_bytes: MIDDLE.length,
        missing: 0,
        missing_bytes: 0,
        failed: 0,
      })
      const { stdout } = await server.command('node', 'show')
      expect(stdout).toContain(`held        1 contents, ${MIDDLE.length} bytes\n`)
      const admin = await server.addUser({ admin: true })
      const client = server.client(await server.addToken(admin, 'organization.admin'))
      await until(async () => {
        const { text } = await client.call('GET', '/metrics', { absolute: true })
        expect(text).toMatch(/^starling_replica_held 1$/m)
        expect(text).toMatch(new RegExp(`^starling_replica_held_bytes ${MIDDLE.length}$`, 'm'))
        expect(text).toMatch(/^starling_replica_missing 0$/m)
        expect(text).toMatch(/^starling_replica_stalled 0$/m)
        expect(text).toMatch(/^starling_requests_total/m)
      })
      await api.delete(`/files/${file}`)
    })

    it('is wrong usage without an S3 store, and one folder is the copy of one node', async () => {
      const data = await newFolder()
      expectRefusal(
        await runCommand(['serve', '--data', data, '--replica', folder]),
        2,
        /--replica .*--content/,
      )
      const address = swift.content(swift.bucketName())
      await onlooker(swift).createBucket(address.slice(5, address.indexOf('?')))
      const args = ['--data', data, '--content', address, '--content-credentials', swift.credentialsFile]
      const other = await runCommand([
        'serve',
        '--port',
        '0',
        '--log-level',
        'silent',
        ...args,
        '--replica',
        folder,
      ])
      expectRefusal(other, 1, /another node/)
    })
  },
)
