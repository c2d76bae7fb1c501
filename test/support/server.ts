/** A real server in a process of its own, over a real database, with a client that speaks TLS to it. */
import { spawn, type ChildProcess } from 'node:child_process'
import { readFile, mkdtemp, rm } from 'node:fs/promises'
import { Agent } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseS3Address } from '../../src/blob/s3-address.js'
import { commandDeps, openInstallation, type Installation } from '../../src/cli/installation.js'
import { accounts } from '../../src/service/accounts.js'
import { apps } from '../../src/service/apps.js'
import { COMMAND_LINE } from '../../src/service/journal.js'
import { tokens } from '../../src/service/tokens.js'
import { layCertificate } from './certificate.js'
import { client, CURRENT, type Client } from './client.js'
import { dropDatabase, freshDatabaseUrl, type Engine } from './engines.js'

const PROGRAM = fileURLToPath(new URL('../../bin/starling', import.meta.url))
const START_TIMEOUT_MS = 60_000

export const RW = 'files.read,files.write'

export interface CommandResult {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

export interface TestServer {
  readonly engine: Engine
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  readonly host: string
  readonly port: number
  readonly origin: string
  /** The certificate to trust. */
  readonly ca: string
  readonly pid: number
  /** What the server has written to standard error so far. */
  log(): string
  /** Opened in the test's own process, beside the running server. */
  readonly installation: Installation
  /** Makes a user (a fresh address when none is given) and returns the address. */
  addUser(options?: { email?: string; admin?: boolean; quotaBytes?: number }): Promise<string>
  addApp(name?: string): Promise<{ id: string; secret: string }>
  addToken(email: string, scope?: string, options?: { app?: string; lifetime?: number }): Promise<string>
  revoke(token: string): Promise<void>
  /** A client of version 1.3 (or another) with that token; without a token it sends no Authorization. */
  client(token?: string, version?: string): Client
  /** A new user with a client holding these scopes. */
  person(scope?: string, version?: string): Promise<{ email: string; token: string; api: Client }>
  /** Runs `starling …` on this server's data. */
  command(...args: string[]): Promise<CommandResult>
  /** kill -9 of every process of the node. */
  kill(): Promise<void>
  /** SIGTERM; resolves with the exit status. */
  terminate(): Promise<number | null>
  /** Resolves with the exit status when the process has ended, whoever ended it. */
  ended(): Promise<number | null>
  /** Starts it again on the same data and port settings. */
  restart(args?: readonly string[]): Promise<void>
  stop(): Promise<void>
}

export interface StartOptions {
  readonly args?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  /** An S3 store for the content, and the file with its keys. */
  readonly content?: { readonly address: string; readonly credentials: string }
  /** A folder for the node's own copy of that content. */
  readonly replica?: string
  /** Files of a certificate to use instead of one of its own. */
  readonly tls?: { readonly cert: string; readonly key: string }
  /** The address of a database that another server made; it is left in place. */
  readonly databaseUrl?: string
  /** Default 1; a node of several processes is asked for where it matters. */
  readonly workers?: number
}

export async function startServer(engine: Engine, options: StartOptions = {}): Promise<TestServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'starling-server-'))
  const databaseUrl = options.databaseUrl ?? (await freshDatabaseUrl(engine))
  const { content, tls } = options
  await layCertificate(dataDir)
  const stored = [
    ...(databaseUrl === undefined ? [] : ['--database', databaseUrl]),
    ...(content === undefined
      ? []
      : ['--content', content.address, '--content-credentials', content.credentials]),
    ...(options.replica === undefined ? [] : ['--replica', options.replica]),
  ]
  const installation = await openInstallation(
    {
      dataDir,
      database: databaseUrl,
      content: content === undefined ? undefined : parseS3Address(content.address),
      contentCredentials: content?.credentials,
      replica: options.replica,
    },
    () => undefined,
  )
  const deps = commandDeps(installation, () => undefined)
  let counter = 0
  let running = await launch(options.args ?? [])

  async function launch(args: readonly string[]): Promise<Running> {
    return start(
      [
        'serve',
        '--data',
        dataDir,
        '--port',
        '0',
        '--workers',
        String(options.workers ?? 1),
        ...stored,
        ...(tls === undefined ? [] : ['--tls-cert', tls.cert, '--tls-key', tls.key]),
        ...args,
      ],
      options.env,
    )
  }

  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const plain = (options.args ?? []).includes('--behind-proxy')
  const ca = plain ? '' : await readFile(tls?.cert ?? join(dataDir, 'tls', 'cert.pem'), 'utf8')

  const server: TestServer = {
    engine,
    dataDir,
    databaseUrl,
    installation,
    ca,
    get host() {
      return running.host
    },
    get port() {
      return running.port
    },
    get origin() {
      return `https://${running.host}:${running.port}`
    },
    get pid() {
      return running.process.pid ?? 0
    },
    log: () => running.log(),

    async addUser({ email, admin = false, quotaBytes } = {}) {
      const address = email ?? `user${(counter += 1)}-${process.pid}@x.test`
      await installation.db.write(async (tx) => {
        await accounts(deps).add(tx, COMMAND_LINE, {
          email: address,
          firstName: 'Test',
          lastName: 'Person',
          isAdmin: admin,
          passwordHash: null,
        })
        if (quotaBytes !== undefined) await accounts(deps).setQuota(tx, COMMAND_LINE, address, quotaBytes)
      })
      return address
    },

    async addApp(name = 'An application') {
      const { app, secret } = await installation.db.write((tx) =>
        apps(deps).add(tx, COMMAND_LINE, {
          name,
          description: '',
          redirectUris: ['https://app.test/done'],
          isPublic: false,
          tokenLifetimeSeconds: 31_536_000,
        }),
      )
      return { id: app.id, secret: secret ?? '' }
    },

    async addToken(email, scope = RW, { app, lifetime } = {}) {
      const issued = await installation.db.write((tx) =>
        tokens(deps).issue(tx, COMMAND_LINE, { email, scope, appId: app, lifetimeSeconds: lifetime }),
      )
      return issued.access_token
    },

    async revoke(token) {
      await installation.db.write((tx) => tokens(deps).revoke(tx, COMMAND_LINE, token))
    },

    client: (token, version = CURRENT) =>
      client({
        get host() {
          return running.host
        },
        get port() {
          return running.port
        },
        ca,
        agent,
        token,
        version,
      }),

    async person(scope = RW, version = CURRENT) {
      const email = await server.addUser()
      const token = await server.addToken(email, scope)
      return { email, token, api: server.client(token, version) }
    },

    command: (...args) => runCommand([...args, '--data', dataDir, ...stored]),

    async kill() {
      process.kill(-(running.process.pid ?? 0), 'SIGKILL')
      await running.ended
    },

    async terminate() {
      running.process.kill('SIGTERM')
      return running.ended
    },

    ended: () => running.ended,

    async restart(args) {
      running = await launch(args ?? options.args ?? [])
    },

    async stop() {
      agent.destroy()
      if (running.process.exitCode === null && running.process.signalCode === null) {
        process.kill(-(running.process.pid ?? 0), 'SIGKILL')
        await running.ended
      }
      await installation.close()
      await rm(dataDir, { recursive: true, force: true })
      if (options.databaseUrl === undefined) await dropDatabase(databaseUrl)
    },
  }
  return server
}

export interface Running {
  readonly process: ChildProcess
  readonly host: string
  readonly port: number
  readonly ended: Promise<number | null>
  log(): string
}

export async function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Running> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  let stdout = ''
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
  const line = await new Promise<RegExpExecArray>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`the server did not start: ${stderr}`)), START_TIMEOUT_MS)
    const settle = (): void => clearTimeout(timer)
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString()
      const match = /^listening on https:\/\/(\[[^\]]+\]|[^:\s]+):(\d+)$/m.exec(stdout)
      if (match === null) return
      settle()
      resolve(match)
    })
    child.once('exit', (code) => {
      settle()
      reject(new Error(`the server ended with ${code}: ${stderr}`))
    })
  })
  return { process: child, host: line[1] ?? '', port: Number(line[2]), ended, log: () => stderr }
}

/** Runs the command line to its end. */
export function runCommand(
  args: readonly string[],
  options: { stdin?: string | Buffer; env?: NodeJS.ProcessEnv; cwd?: string } = {},
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [PROGRAM, ...args], {
      stdio: 'pipe',
      env: { ...process.env, ...options.env },
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    child.stdin.end(options.stdin ?? '')
    child.once('close', (code) => resolve({ status: code ?? -1, stdout, stderr }))
  })
}
