import { spawn, type ChildProcess } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { get } from 'node:https'
import { createServer, type AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openInstallation } from '../../src/cli/installation.js'
import { holdUpload } from '../api/content/support.js'
import { dropDatabase, ENGINES, freshDatabaseUrl } from '../support/engines.js'
import { runCommand, startServer, type CommandResult } from '../support/server.js'
import { expectRefusal, newFolder } from './support.js'

const PROGRAM = fileURLToPath(new URL('../../bin/starling', import.meta.url))

interface Served {
  readonly child: ChildProcess
  readonly port: number
  stdout(): string
  /** SIGTERM, and the exit status. */
  end(): Promise<number | null>
}

/** Starts a node and waits for its line. */
async function serve(...args: string[]): Promise<Served> {
  const child = spawn(process.execPath, [PROGRAM, 'serve', '--workers', '1', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString()
      if (stdout.includes('\n')) resolve()
    })
    void ended.then(() => reject(new Error(stderr)))
  })
  return {
    child,
    port: Number(/:(\d+)\n/.exec(stdout)?.[1]),
    stdout: () => stdout,
    end: () => {
      child.kill('SIGTERM')
      return ended
    },
  }
}

/** The status of a request without a token, over a verified connection to that name. */
function statusAt(port: number, ca: string, servername: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, ca, servername, path: '/api/v1.3/folders/root', agent: false }
    get(options, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    }).once('error', reject)
  })
}

test('says exactly one line when it answers, with the port it took [HTTP-96]', async () => {
  const data = await newFolder()
  const running = await serve('--data', data, '--port', '0')
  const ca = await readFile(join(data, 'tls', 'cert.pem'), 'utf8')
  expect(await statusAt(running.port, ca, 'localhost')).toBe(401)
  expect(await running.end()).toBe(0)
  expect(running.stdout()).toMatch(/^listening on https:\/\/127\.0\.0\.1:[1-9]\d*\n$/)
})

test('makes a certificate for every name of the machine once, with a key for the owner alone [HTTP-97]', async () => {
  const data = await newFolder()
  const first = await serve('--data', data, '--port', '0')
  const cert = await readFile(join(data, 'tls', 'cert.pem'), 'utf8')
  const parsed = new X509Certificate(cert)
  for (const name of ['localhost', hostname().toLowerCase()]) expect(parsed.checkHost(name), name).toBe(name)
  for (const address of ['127.0.0.1', '::1']) expect(parsed.checkIP(address), address).toBe(address)
  for (const name of ['localhost', hostname().toLowerCase()])
    expect(await statusAt(first.port, cert, name)).toBe(401)
  expect((await stat(join(data, 'tls', 'key.pem'))).mode & 0o777).toBe(0o600)
  expect(await first.end()).toBe(0)
  const second = await serve('--data', data, '--port', '0')
  expect(await readFile(join(data, 'tls', 'cert.pem'), 'utf8')).toBe(cert)
  expect(await statusAt(second.port, cert, 'localhost')).toBe(401)
  expect(await second.end()).toBe(0)
})

test('takes a certificate of the operator, and refuses one that cannot be read', async () => {
  const [data, other] = [await newFolder(), await newFolder()]
  const made = await serve('--data', other, '--port', '0')
  await made.end()
  const files = ['--tls-cert', join(other, 'tls', 'cert.pem'), '--tls-key', join(other, 'tls', 'key.pem')]
  const running = await serve('--data', data, '--port', '0', ...files)
  expect(
    await statusAt(running.port, await readFile(join(other, 'tls', 'cert.pem'), 'utf8'), 'localhost'),
  ).toBe(401)
  await expect(stat(join(data, 'tls'))).rejects.toThrow(/ENOENT/)
  await running.end()
  const missing = ['--tls-cert', '/nonexistent/cert.pem', '--tls-key', '/nonexistent/key.pem']
  expectRefusal(
    await runCommand(['serve', '--data', data, '--port', '0', '--workers', '1', ...missing]),
    1,
    /cert\.pem/,
  )
})

test.each(['1', '2'])('says which files are no certificate and key (workers: %s)', async (workers) => {
  const data = await newFolder()
  const [cert, key] = [join(data, 'a.pem'), join(data, 'b.pem')]
  await writeFile(cert, 'no certificate\n')
  await writeFile(key, 'no key\n')
  const start = ['serve', '--data', data, '--port', '0', '--workers', workers]
  expectRefusal(await runCommand([...start, '--tls-cert', cert, '--tls-key', key]), 1, /a\.pem and .*b\.pem/)
  await mkdir(join(data, 'tls'))
  await writeFile(join(data, 'tls', 'cert.pem'), 'no certificate\n')
  await writeFile(join(data, 'tls', 'key.pem'), 'no key\n')
  expectRefusal(await runCommand(start), 1, /cert\.pem and .*key\.pem/)
})

test('says that a host is not known', async () => {
  // No name has a part that long, so nobody is asked for it.
  const host = `${'a'.repeat(70)}.test`
  const start = ['serve', '--workers', '1', '--data', await newFolder(), '--port', '0']
  expectRefusal(await runCommand([...start, '--host', host]), 1, /host a+\.test is not known/)
})

test.each(ENGINES)(
  'finishes what is under way although it is told to stop twice, on %s [HTTP-18]',
  async (engine) => {
    const server = await startServer(engine)
    onTestFinished(() => server.stop())
    const { api, token } = await server.person()
    const id = await api.file('under way')
    const upload = await holdUpload(server, { token, id, body: Buffer.from('0123456789'), sent: 4 })
    process.kill(server.pid, 'SIGTERM')
    await vi.waitFor(() => expect(server.log()).toContain('"stopping"'), { timeout: 30_000 })
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGTERM', 'SIGINT'] as const) process.kill(server.pid, signal)
    expect((await upload.finish()).status).toBe(204)
    expect(await server.ended()).toBe(0)
  },
)

test('says that a file in place of the database is none', async () => {
  const data = await newFolder()
  await writeFile(join(data, 'starling.db'), 'no database, but long enough to be looked at. '.repeat(100))
  expectRefusal(await runCommand(['user', 'list', '--data', data]), 1, /starling\.db cannot be used/)
})

test('says at once that a folder cannot be made where the system makes none', async () => {
  expectRefusal(await runCommand(['user', 'list', '--data', '/proc/starling']), 1, /data folder \/proc/)
})

describe.each(ENGINES)('a node that cannot start on %s', (engine) => {
  async function fresh(): Promise<{ data: string; args: string[] }> {
    const data = await newFolder()
    const url = await freshDatabaseUrl(engine)
    onTestFinished(() => dropDatabase(url))
    return { data, args: ['--data', data, ...(url === undefined ? [] : ['--database', url])] }
  }
  const attempt = (...args: string[]): Promise<CommandResult> =>
    runCommand(['serve', '--workers', '1', ...args])

  test('says that the data folder is in use, and leaves the other one alone', async () => {
    const server = await startServer(engine)
    onTestFinished(() => server.stop())
    const { api } = await server.person()
    for (const workers of ['1', '2']) {
      const second = await server.command('serve', '--port', '0', '--workers', workers)
      expectRefusal(second, 1, /in use by another server/)
    }
    expect((await api.get('/folders/root')).status).toBe(200)
  })

  test.each(['1', '2'])('says that the port is taken (workers: %s)', async (workers) => {
    const blocker = createServer()
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void blocker.close())
    const { port } = blocker.address() as AddressInfo
    const { args } = await fresh()
    const refused = await attempt(...args, '--port', String(port), '--workers', workers)
    expect(refused.stdout).toBe('')
    expect(refused.status).toBe(1)
    expect(refused.stderr.trim().split('\n').at(-1)).toMatch(
      new RegExp(`^starling: 127\\.0\\.0\\.1:${port} is taken`),
    )
    expectRefusal(refused, 1)
  })

  test('says that the data is of a newer version, and so does every command', async () => {
    const { data, args } = await fresh()
    const installation = await openInstallation({ dataDir: data, database: args[3] }, () => undefined)
    await installation.db.write((tx) => tx.run('INSERT INTO schema_version (version) VALUES ($1)', 999))
    await installation.close()
    expectRefusal(await attempt(...args, '--port', '0'), 1, /newer version of Starling/)
    expectRefusal(await runCommand(['user', 'list', ...args]), 1, /newer version of Starling/)
  })

  test('says that the data folder cannot be used', async () => {
    const { data, args } = await fresh()
    const rest = args.slice(2)
    await writeFile(join(data, 'file'), 'x')
    expectRefusal(await attempt('--data', join(data, 'file'), ...rest, '--port', '0'), 1, /data folder/)
    expectRefusal(
      await runCommand(['user', 'list', '--data', join(data, 'file', 'below'), ...rest]),
      1,
      /data folder/,
    )
    await mkdir(join(data, 'closed'), { mode: 0o700 })
    if (process.getuid?.() !== 0) await chmod(join(data, 'closed'), 0)
    await chmod(data, 0o755)
    expectRefusal(await asNobody('user', 'list', '--data', join(data, 'closed'), ...rest), 1, /data folder/)
  })

  test('says that the database does not answer', async () => {
    const data = await newFolder()
    const url = 'postgres://nobody@127.0.0.1:1/nothing'
    const args = engine === 'postgres' ? ['--database', url] : ['--database', 'mysql://x']
    const refused = await runCommand(['user', 'list', '--data', data, ...args])
    expect([1, 2]).toContain(refused.status)
    expect(refused.stdout).toBe('')
    expect(refused.stderr).toMatch(/^starling: [^\n]+\n$/)
  })
})

/** Root may read everything, so the command runs as somebody who may not. */
function asNobody(...args: string[]): Promise<CommandResult> {
  const NOBODY = 65_534
  const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: 'pipe', ...identity })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    child.once('close', (code) => resolve({ status: code ?? -1, stdout, stderr }))
  })
}
