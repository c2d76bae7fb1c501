import { existsSync } from 'node:fs'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { bytesOf, eventually, expectBytes } from '../api/content/support.js'
import { dropDatabase, ENGINES, freshDatabaseUrl } from '../support/engines.js'
import { onlooker } from '../support/s3-client.js'
import { runCommand, start, startServer, type CommandResult, type TestServer } from '../support/server.js'
import { startSwift, type Swift } from '../support/swift.js'
import { expectRefusal, newFolder, printedJson } from './support.js'

const LARGE = bytesOf(200_000, 1)
const NAMES = ['--first-name', 'Ada', '--last-name', 'Byron']

let swift: Swift
beforeAll(async () => {
  swift = await startSwift()
})
afterAll(() => swift.stop())

async function newStore(): Promise<{ address: string; credentials: string }> {
  const bucket = swift.bucketName()
  await onlooker(swift).createBucket(bucket)
  return { address: swift.content(bucket), credentials: swift.credentialsFile }
}

describe.each(ENGINES)('a command beside a node on %s and S3', (engine) => {
  let server: TestServer
  let replica: string
  beforeAll(async () => {
    replica = await mkdtemp(join(tmpdir(), 'starling-served-'))
    server = await startServer(engine, { content: await newStore(), replica })
  })
  afterAll(async () => {
    await server.stop()
    await rm(replica, { recursive: true, force: true })
  })

  /** The data folder is all that it is told. */
  const run = (...args: string[]): Promise<CommandResult> => runCommand([...args, '--data', server.dataDir])

  test('works on what the node is served with, told nothing but its data folder', async () => {
    const email = `ada-${engine}@x.test`
    expect((await run('user', 'add', email, ...NAMES)).stdout).toBe(`made ${email}\n`)
    const token = printedJson<{ access_token: string }>(
      await run('token', 'add', '--user', email, '--scope', 'files.read,files.write', '--json'),
    ).access_token
    const api = server.client(token)
    const folder = await api.folder('folder')
    const file = await api.file('large.bin', folder, LARGE)
    expect(printedJson(await run('node', 'show', '--json'))).toMatchObject({
      id: server.installation.nodeId,
      used: LARGE.length,
      replica: { held: 1, missing: 0 },
    })
    expect((await run('node', 'deselect', folder)).status).toBe(0)
    expect((await api.get(`/files/${file}`)).json['content_state']).toBe('DESELECTED')
    expect((await run('node', 'select', folder)).status).toBe(0)
    await eventually(async () => expectBytes((await api.get(`/files/${file}/content`)).body, LARGE))
    expect((await run('check')).stdout).toBe('no broken invariant\n')
    expect((await run('token', 'revoke', token)).status).toBe(0)
    expect((await api.get('/folders/root')).status).toBe(401)
    expect(existsSync(join(server.dataDir, 'starling.db'))).toBe(engine === 'sqlite')
  })

  test('takes what it is told before what it finds, and makes no backup of half a node', async () => {
    const elsewhere = await freshDatabaseUrl('postgres')
    onTestFinished(() => dropDatabase(elsewhere))
    expect(printedJson(await run('user', 'list', '--json', '--database', elsewhere ?? ''))).toEqual([])
    expectRefusal(await run('backup', join(await newFolder(), 'copy')), 1, /docs\/operating\.md/)
  })

  test('finds it in a file for the owner alone, which is broken or whole', async () => {
    const path = join(server.dataDir, 'served.json')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await server.terminate()).toBe(0)
    await writeFile(path, 'half')
    expectRefusal(await run('user', 'list'), 1, /served\.json cannot be read/)
    await server.restart()
    expect((await run('user', 'list')).status).toBe(0)
  })
})

describe('a command of another data folder', () => {
  test('decides nothing about the content before the first start of a node', async () => {
    const databaseUrl = (await freshDatabaseUrl('postgres')) ?? ''
    onTestFinished(() => dropDatabase(databaseUrl))
    const args = ['--data', await newFolder(), '--database', databaseUrl]
    expect((await runCommand(['user', 'add', 'ada@x.test', ...NAMES, ...args])).status).toBe(0)
    const server = await startServer('postgres', { databaseUrl, content: await newStore() })
    onTestFinished(() => server.stop())
    const api = server.client(await server.addToken('ada@x.test'))
    const file = await api.file('large.bin', 'root', LARGE)
    expectBytes((await api.get(`/files/${file}/content`)).body, LARGE)
  })

  test('needs no content store unless it is about content', async () => {
    const server = await startServer('postgres', { content: await newStore() })
    onTestFinished(() => server.stop())
    const { email, api } = await server.person()
    await api.file('large.bin', 'root', LARGE)
    const args = ['--data', await newFolder(), '--database', server.databaseUrl ?? '']
    const listed = printedJson<{ email: string }[]>(await runCommand(['user', 'list', '--json', ...args]))
    expect(listed.map((user) => user.email)).toEqual([email])
    expectRefusal(await runCommand(['check', ...args]), 1, /--content must say which/)
    expect((await runCommand(['user', 'remove', email, ...args])).status).toBe(0)
    expect((await api.get('/folders/root')).status).toBe(401)
    expectRefusal(
      await runCommand(['serve', '--port', '0', '--log-level', 'silent', ...args]),
      1,
      /--content must say which/,
    )
  })

  test('says sqlite and disk for what is in the data folder, whatever it was served with', async () => {
    const server = await startServer('postgres')
    onTestFinished(() => server.stop())
    const { email } = await server.person()
    const run = async (...args: string[]): Promise<string[]> =>
      printedJson<{ email: string }[]>(
        await runCommand(['user', 'list', '--json', '--data', server.dataDir, ...args]),
      ).map((user) => user.email)
    expect(await run()).toEqual([email])
    expect(await run('--database', 'sqlite', '--content', 'disk')).toEqual([])
    expect(await run()).toEqual([email])
  })

  test('is not needed to notice that a start forgets its database: the start says so, once', async () => {
    const server = await startServer('postgres')
    onTestFinished(() => server.stop())
    const startedWithout = async (): Promise<string> => {
      const running = await start(['serve', '--data', server.dataDir, '--port', '0', '--workers', '1'])
      process.kill(running.process.pid ?? 0, 'SIGTERM')
      await running.ended
      return running.log()
    }
    expect(await server.terminate()).toBe(0)
    expect(await startedWithout()).toMatch(/last served with a PostgreSQL database/)
    expect(await startedWithout()).not.toMatch(/PostgreSQL/)
    await server.restart()
    expect(server.log()).not.toMatch(/last served/)
  })
})
