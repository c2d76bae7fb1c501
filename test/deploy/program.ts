/** A copy of the program as it is shipped: without sources, tools and the dependencies of development. */
import { spawn } from 'node:child_process'
import { chmod, cp, mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ROOT } from './support.js'

const START_WAIT_MAX_MS = 60_000
/** What SQLite was compiled from; the Dockerfile leaves it behind as well. */
const LEFT_BEHIND = /\/better-sqlite3(-13)?\/(deps|src)(\/|$)|\/better-sqlite3\/build\/.*\/obj/

/** The packages that package-lock.json has for production and that are installed here. */
export async function copyDependencies(target: string): Promise<void> {
  const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>
  }
  const paths = Object.entries(lock.packages)
    .filter(([path, { dev, devOptional }]) => path !== '' && dev !== true && devOptional !== true)
    .map(([path]) => path)
  for (const path of paths) {
    if (!(await isThere(join(ROOT, path)))) continue
    await mkdir(dirname(join(target, path)), { recursive: true })
    await cp(join(ROOT, path), join(target, path), {
      recursive: true,
      // Packages inside packages have lines of their own.
      filter: (from) =>
        !LEFT_BEHIND.test(from) && !from.slice(join(ROOT, path).length).includes('/node_modules'),
    })
  }
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/** Nobody may write anywhere in the tree. */
export async function makeReadOnly(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await makeReadOnly(path)
    else if (entry.isFile()) await chmod(path, ((await stat(path)).mode & 0o555) | 0o444)
  }
  await chmod(folder, 0o555)
}

/** So that it can be removed again. */
export async function makeWritable(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await makeWritable(join(folder, entry.name))
  }
}

export interface Started {
  readonly port: number
  log(): string
  /** SIGTERM; resolves with the exit status. */
  stop(): Promise<number | null>
}

/** Starts a server with this environment and nothing of ours. */
export async function startProgram(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  user: { uid: number; gid: number } | undefined,
): Promise<Started> {
  const [program = '', ...args] = command
  const child = spawn(program, args, { cwd: '/', env, stdio: ['ignore', 'pipe', 'pipe'], ...user })
  let stdout = ''
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
  const port = await new Promise<number>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`it did not start: ${stderr}`))
    }, START_WAIT_MAX_MS)
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString()
      const match = /^listening on https:\/\/\S+:(\d+)$/m.exec(stdout)
      if (match === null) return
      clearTimeout(timer)
      resolve(Number(match[1]))
    })
    child.once('error', reject)
    void ended.then((code) => {
      clearTimeout(timer)
      reject(new Error(`it ended with ${code}: ${stderr}`))
    })
  })
  return {
    port,
    log: () => stderr,
    async stop() {
      child.kill('SIGTERM')
      return ended
    },
  }
}
