/** Drives the real program for the crash and fuzz suites: data folders, processes, the command line. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { livePids, processFields } from '../support/processes.js'

const PROGRAM = resolve(process.env['STARLING_BIN'] ?? 'bin/starling')
const START_LIMIT_MS = 60_000
const STOP_LIMIT_MS = 30_000

/** Whether every point is swept; a sample is the default, so that the suites stay short. */
export const WHOLE = process.env['CRASH_POINTS'] === 'all'
export const SEED = Number(process.env['CRASH_SEED'] ?? 1)

/** The number of points of a sweep: all of them, a number given by CRASH_POINTS, or the sample. */
export function points(all: number, sample: number): number {
  if (WHOLE) return all
  const wanted = Number(process.env['CRASH_POINTS'] ?? sample)
  return Math.max(1, Math.min(all, Number.isInteger(wanted) ? wanted : sample))
}

/** A new folder for a data folder or traces; `removeFolders` takes all of them away. */
export function newFolder(): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'starling-crash-'))
  folders.push(folder)
  return folder
}

const folders: string[] = []

export function removeFolders(): void {
  if (process.env['CRASH_KEEP'] !== undefined) return
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
}

export interface ServerOptions {
  data: string
  workers?: number
  args?: readonly string[]
  env?: Readonly<Record<string, string>>
  behindProxy?: boolean
  /** A command that the server is started under, such as strace and its flags. */
  under?: readonly string[]
  startLimitMs?: number
}

export interface Server {
  readonly origin: string
  readonly behindProxy: boolean
  /** The leader of the process group. */
  readonly pid: number
  /** Every live process of the group. */
  pids(): number[]
  /** Ends the whole group as `kill -9` does, at once. */
  kill(): void
  /** Resolves when no process of the group is left. */
  gone(): Promise<void>
  /** Asks for an orderly end; the exit status. */
  stop(): Promise<number | null>
  isAlive(): boolean
  /** What the processes wrote to standard error, for messages of failed tests. */
  errors(): string
}

const running = new Set<Server>()

export async function startServer(options: ServerOptions): Promise<Server> {
  const behindProxy = options.behindProxy ?? false
  const command = [...(options.under ?? []), PROGRAM, 'serve', '--data', options.data, '--port', '0']
  command.push(
    '--workers',
    String(options.workers ?? 1),
    ...(behindProxy ? ['--behind-proxy'] : []),
    ...(options.args ?? []),
  )
  const child = spawn(command[0] ?? PROGRAM, command.slice(1), {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, UV_USE_IO_URING: '0', ...options.env },
  })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-20_000)))
  const origin = await listeningOrigin(child, () => errors, options.startLimitMs ?? START_LIMIT_MS)
  const pid = child.pid ?? 0
  const server: Server = {
    origin,
    behindProxy,
    pid,
    pids: () => groupPids(pid),
    kill: () => signalGroup(pid, 'SIGKILL'),
    gone: async () => {
      while (groupPids(pid).length > 0) await sleep(5)
      running.delete(server)
    },
    stop: () => stopChild(child, pid, server),
    isAlive: () => child.exitCode === null && child.signalCode === null,
    errors: () => errors,
  }
  running.add(server)
  return server
}

/** Ends what a failed test may have left behind. */
export async function endServers(): Promise<void> {
  for (const server of running) {
    server.kill()
    await server.gone()
  }
}

function listeningOrigin(child: ChildProcess, errors: () => string, limitMs: number): Promise<string> {
  return new Promise((succeed, fail) => {
    let output = ''
    const give = (error: Error): void => {
      clearTimeout(timer)
      if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL')
      fail(error)
    }
    const timer = setTimeout(() => give(new Error(`the server did not start in time: ${errors()}`)), limitMs)
    child.once('error', give)
    child.once('exit', (code, signal) =>
      give(new Error(`the server ended at start (${code ?? signal}): ${errors()}`)),
    )
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      const port = /^listening on https?:\/\/\S+:(\d+)\s*$/m.exec(output)?.[1]
      if (port === undefined) return
      clearTimeout(timer)
      child.removeAllListeners('exit')
      succeed(`127.0.0.1:${port}`)
    })
  })
}

async function stopChild(child: ChildProcess, pid: number, server: Server): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = new Promise<void>((done) => child.once('exit', () => done()))
    child.kill('SIGTERM')
    const late = setTimeout(() => signalGroup(pid, 'SIGKILL'), STOP_LIMIT_MS)
    await ended
    clearTimeout(late)
  }
  signalGroup(pid, 'SIGKILL')
  await server.gone()
  return child.exitCode
}

export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function groupPids(group: number): number[] {
  return livePids().filter((pid) => processFields(pid)?.group === group)
}

/** Resident memory of all processes of the group, in bytes. */
export function residentBytes(server: Server): number {
  let sum = 0
  for (const pid of server.pids()) {
    try {
      sum += Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
    } catch {
      // The process ended between the two looks.
    }
  }
  return sum
}

export interface Ran {
  status: number | null
  output: string
  errors: string
}

export function runProgram(args: readonly string[], env: Readonly<Record<string, string>> = {}): Ran {
  const ran = spawnSync(PROGRAM, args, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
    timeout: 120_000,
  })
  return {
    status: ran.status,
    output: ran.stdout ?? '',
    errors: (ran.stderr ?? '') + (ran.error?.message ?? ''),
  }
}

function runForJson(args: readonly string[]): Record<string, unknown> {
  const ran = runProgram([...args, '--json'])
  if (ran.status !== 0) throw new Error(`starling ${args.join(' ')} gave ${ran.status}: ${ran.errors}`)
  return JSON.parse(ran.output) as Record<string, unknown>
}

/** Makes a user in the data folder and a token that may read and write all files of that user. */
export function addUserWithToken(data: string, email: string): string {
  runForJson(['user', 'add', email, '--first-name', 'Crash', '--last-name', 'Test', '--data', data])
  const token = runForJson([
    'token',
    'add',
    '--user',
    email,
    '--scope',
    'files.read,files.write',
    '--data',
    data,
  ])['access_token']
  if (typeof token !== 'string') throw new Error('token add printed no access_token')
  return token
}

/** The broken invariants that `starling check` names; none when the data is sound. */
export function brokenInvariants(data: string): string[] {
  const ran = runProgram(['check', '--data', data])
  if (ran.status === 0) return []
  const lines = ran.output.split('\n').filter((line) => line !== '')
  return lines.length > 0 ? lines : [`check gave ${ran.status}: ${ran.errors}`]
}
