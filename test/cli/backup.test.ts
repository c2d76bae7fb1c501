import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bytesOf, expectBytes, part } from '../api/content/support.js'
import { startProgram } from '../deploy/program.js'
import { ROOT } from '../deploy/support.js'
import { client, type Client } from '../support/client.js'
import { runCommand, startServer, type TestServer } from '../support/server.js'
import { expectRefusal, newFolder, printedJson } from './support.js'

const LARGE = bytesOf(200_000, 1)
const SMALL = bytesOf(1000, 2)

interface Report {
  readonly blobs: number
  readonly copied: number
  readonly removed: number
  readonly missing: readonly string[]
}

describe('starling backup', () => {
  let server: TestServer
  let token: string
  let api: Client

  beforeAll(async () => {
    server = await startServer('sqlite', { workers: 2 })
    const person = await server.person()
    token = person.token
    api = person.api
  })
  afterAll(() => server.stop())

  const backUp = (folder: string) => server.command('backup', folder, '--json')

  /** A node on a copy of the backup, as it is restored: copied, then started. */
  async function restored<T>(folder: string, look: (copy: Client, data: string) => Promise<T>): Promise<T> {
    const data = join(await newFolder(), 'data')
    await cp(folder, data, { recursive: true })
    const program = [process.execPath, join(ROOT, 'bin', 'starling'), 'serve', '--data', data, '--port', '0']
    const env = { PATH: process.env['PATH'] ?? '', STARLING_WORKERS: '1' }
    const running = await startProgram(program, env, undefined)
    const agent = new Agent({ keepAlive: false })
    try {
      const ca = await readFile(join(data, 'tls', 'cert.pem'), 'utf8')
      return await look(
        client({ host: '127.0.0.1', port: running.port, ca, agent, token, version: '1.3' }),
        data,
      )
    } finally {
      agent.destroy()
      expect(await running.stop()).toBe(0)
    }
  }

  const check = (data: string) => runCommand(['check', '--data', data])

  it('makes a data folder that serves the same, with the same ids and tokens, without stopping the node', async () => {
    const large = await api.file('large.bin', 'root', LARGE)
    const small = await api.file('small.bin', 'root', SMALL)
    const halfway = await api.file('halfway.bin')
    expect((await api.upload(halfway, LARGE.subarray(0, 100_000), part(0, 99_999))).status).toBe(204)
    const folder = join(await newFolder(), 'backup')
    const report = printedJson<Report>(await backUp(folder))
    expect(report).toEqual({ blobs: 1, copied: 1, removed: 0, missing: [] })
    await restored(folder, async (copy, data) => {
      expectBytes((await copy.get(`/files/${large}/content`)).body, LARGE)
      expectBytes((await copy.get(`/files/${small}/content`)).body, SMALL)
      expect((await copy.get(`/files/${halfway}`)).json['content_state']).toBe('SYNCING')
      expect((await copy.get('/folders/root')).json).toEqual((await api.get('/folders/root')).json)
      expect(await check(data)).toMatchObject({ status: 0, stdout: 'no broken invariant\n' })
      expectBytes((await copy.get(`/files/${await copy.file('new', 'root', LARGE)}/content`)).body, LARGE)
    })
  })

  it('is for the eyes of its owner alone', async () => {
    const folder = join(await newFolder(), 'backup')
    expect((await backUp(folder)).status).toBe(0)
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    expect((await stat(join(folder, 'starling.db'))).mode & 0o777).toBe(0o600)
    expect((await stat(join(folder, 'tls', 'key.pem'))).mode & 0o777).toBe(0o600)
  })

  it('copies what is new when it is made again into the same folder, and removes what is gone', async () => {
    const folder = join(await newFolder(), 'backup')
    const kept = await api.file('kept', 'root', bytesOf(100_000, 3))
    const doomed = await api.file('doomed', 'root', bytesOf(100_000, 4))
    const first = printedJson<Report>(await backUp(folder))
    expect(first.copied).toBe(first.blobs)
    await api.delete(`/files/${doomed}`)
    const fresh = await api.file('fresh', 'root', bytesOf(100_000, 5))
    const second = printedJson<Report>(await backUp(folder))
    expect(second).toEqual({ blobs: first.blobs, copied: 1, removed: 1, missing: [] })
    await restored(folder, async (copy, data) => {
      for (const file of [kept, fresh]) expect((await copy.get(`/files/${file}/content`)).status).toBe(200)
      expect((await copy.get(`/files/${doomed}`)).status).toBe(404)
      expect((await check(data)).stdout).toBe('no broken invariant\n')
    })
  })

  it('is of one moment, with all its content, while files come and go', async () => {
    const files: string[] = []
    for (let index = 0; index < 30; index += 1)
      files.push(await api.file(`passing ${index}`, 'root', bytesOf(80_000, 100 + index)))
    const folder = join(await newFolder(), 'backup')
    const held = join(server.dataDir, 'blobs', 'held')
    const making = backUp(folder)
    // From here on the copy may or may not name what is deleted; if it does, it must have it.
    let isOver = false
    void making.then(() => (isOver = true))
    while (
      !isOver &&
      !(await readdir(held).then(
        () => true,
        () => false,
      ))
    )
      await delay(1)
    await Promise.all(
      files.map(async (file, index) => {
        if (index % 3 === 0) await api.upload(file, bytesOf(80_000, 200 + index))
        else await api.delete(`/files/${file}`)
      }),
    )
    const report = printedJson<Report>(await making)
    expect(report.missing).toEqual([])
    await restored(folder, async (copy, data) => {
      expect((await check(data)).stdout).toBe('no broken invariant\n')
      expect((await copy.get('/folders/root/children')).status).toBe(200)
    })
    expect((await readdir(join(server.dataDir, 'blobs'))).filter((name) => name.startsWith('held'))).toEqual(
      [],
    )
    expect((await server.command('check')).stdout).toBe('no broken invariant\n')
  })

  it('names content that was missing before, and copies everything else', async () => {
    const broken = await startServer('sqlite')
    try {
      const { api: own } = await broken.person()
      await own.file('there', 'root', LARGE)
      const lost = bytesOf(100_000, 6)
      await own.file('lost', 'root', lost)
      const blobs = join(broken.dataDir, 'blobs')
      const files = await readdir(blobs, { recursive: true, withFileTypes: true })
      for (const entry of files.filter((one) => one.isFile())) {
        const path = join(entry.parentPath, entry.name)
        if ((await stat(path)).size === lost.length) await rm(path)
      }
      const result = await broken.command('backup', join(await newFolder(), 'backup'), '--json')
      expect(result.status).toBe(1)
      expect(result.stderr).toMatch(/^starling: the content \S+ was missing before/)
      expect(JSON.parse(result.stdout)).toMatchObject({ blobs: 2, copied: 1 })
    } finally {
      await broken.stop()
    }
  })

  it('refuses to write over anything else, and what it cannot copy', async () => {
    const folder = await newFolder()
    await writeFile(join(folder, 'letter.txt'), 'dear Ada')
    expectRefusal(await server.command('backup', folder), 1, /neither empty nor a backup/)
    expect(await readdir(folder)).toEqual(['letter.txt'])
    expectRefusal(await server.command('backup', server.dataDir), 1, /neither empty nor a backup/)
    const empty = await newFolder()
    expectRefusal(
      await runCommand(['backup', join(empty, 'copy'), '--data', empty]),
      1,
      /there is no database in/,
    )
    expect(await readdir(empty)).toEqual([])
    await mkdir(join(empty, 'data'))
    const database = ['--database', 'postgres://127.0.0.1:1/none', '--data', join(empty, 'data')]
    expectRefusal(await runCommand(['backup', join(empty, 'copy'), ...database]), 1, /docs\/operating.md/)
    expectRefusal(await server.command('backup'), 2)
  })
})
