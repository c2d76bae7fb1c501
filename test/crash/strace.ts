/** strace as a tool of the tests: watching a server, or making its calls fail. */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { newFolder, type Server } from './support.js'
import { parseTrace, type Call } from './trace.js'

const STRING_BYTES_MAX = 2_000_000
const ATTACH_LIMIT_MS = 20_000

const isThere = spawnSync('strace', ['-V']).status === 0

/** False where strace is missing, which is an error in continuous integration and a message elsewhere. */
export function hasStrace(): boolean {
  if (isThere) return true
  if (process.env['CI'] === 'true') throw new Error('strace is missing; the crash suites need it')
  process.stderr.write('strace is missing: the tests of injected failures and of power loss do not run\n')
  return false
}

/** The command that runs a server and writes down these calls with all their bytes. */
export function watching(calls: readonly string[], file: string): string[] {
  return [...common(file), '--seccomp-bpf', '-e', `trace=${optional(calls)}`]
}

/**
 * The command that runs a server and does something to some of its calls, such as `signal=KILL:when=3`. The count is
 * that of each thread. The faster seccomp filter is not used: strace injects no signals with it.
 */
export function injecting(calls: readonly string[], what: string, file: string): string[] {
  return [...common(file, 0), '-e', `trace=${optional(calls)}`, '-e', `inject=${optional(calls)}:${what}`]
}

/** Ends the processes of a server that runs under strace, so that strace can write its last line. */
export async function endUnderStrace(server: Server): Promise<void> {
  for (const pid of server.pids()) {
    if (pid !== server.pid) killOne(pid)
  }
  await server.gone()
}

export interface Injection {
  /** Lets the server alone again; the calls that were changed. */
  stop(): Promise<Call[]>
}

/** Makes calls of a running server fail until `stop`. With a path, only calls on that file. */
export async function inject(
  server: Server,
  calls: readonly string[],
  what: string,
  path?: string,
): Promise<Injection> {
  const file = join(newFolder(), 'trace')
  const targets = server.pids().flatMap((pid) => ['-p', String(pid)])
  const only = path === undefined ? [] : ['-P', path]
  const flags = [
    ...common(file, 0),
    ...only,
    '-e',
    `trace=${optional(calls)}`,
    '-e',
    `inject=${optional(calls)}:${what}`,
  ]
  // The first element is the program itself; -qq would hide the line that tells when it is attached.
  const child = spawn('strace', [...flags.slice(1).filter((flag) => flag !== '-qq'), ...targets], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = new Promise<void>((done) => child.once('exit', () => done()))
  const end = Date.now() + ATTACH_LIMIT_MS
  while ((output.match(/ attached/g)?.length ?? 0) < targets.length / 2) {
    if (Date.now() > end || child.exitCode !== null) throw new Error(`strace did not attach: ${output}`)
    await sleep(10)
  }
  return {
    stop: async () => {
      child.kill('SIGINT')
      await ended
      return parseTrace(readFileSync(file, 'utf8')).filter(({ isInjected }) => isInjected)
    },
  }
}

function common(file: string, bytes = STRING_BYTES_MAX): string[] {
  return ['strace', '-f', '-qq', '-yy', '-xx', '-s', String(bytes), '-e', 'signal=none', '-o', file]
}

/** A question mark lets strace ignore a call that this machine does not have. */
function optional(calls: readonly string[]): string {
  return calls.map((call) => `?${call}`).join(',')
}

function killOne(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
