import { execFile } from 'node:child_process'
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { copyDependencies, makeReadOnly, makeWritable, startProgram } from './program.js'
import { dockerStages, ROOT } from './support.js'

const run = promisify(execFile)
/** The user that the image names, where we may become it. */
const USER = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : undefined

const steps = (name: string): string[][] =>
  dockerStages()
    .at(-1)
    ?.steps.filter(([step]) => step === name) ?? []

function settings(): Record<string, string> {
  const [, ...pairs] = steps('ENV')[0] ?? []
  return Object.fromEntries(pairs.map((pair) => pair.split('=') as [string, string]))
}

describe('what the Dockerfile puts into the image', () => {
  let folder: string
  let program: string
  let data: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'starling-image-'))
    await chmod(folder, 0o755)
    program = join(folder, 'opt', 'starling')
    data = join(folder, 'data')
    await mkdir(program, { recursive: true })
    await mkdir(data, { mode: 0o700 })
    if (USER !== undefined) await chown(data, USER.uid, USER.gid)
    for (const [, ...words] of steps('COPY')) await copy(words)
    await makeReadOnly(program)
  })
  afterAll(async () => {
    await makeWritable(program)
    await rm(folder, { recursive: true, force: true })
  })

  /** As the builder does it; what earlier stages make is here already, but for the dependencies of development. */
  async function copy(words: string[]): Promise<void> {
    const [from] = words.filter((word) => word.startsWith('--from='))
    const paths = words.filter((word) => !word.startsWith('--'))
    const target = paths.pop() ?? ''
    for (const path of paths) {
      if (from === '--from=modules') await copyDependencies(program)
      else {
        const source = join(ROOT, path.replace('/opt/starling/', ''))
        const isFolder = (await stat(source)).isDirectory()
        const name = target.endsWith('/') ? (path.split('/').at(-1) ?? '') : target
        await cp(source, join(program, name), { recursive: isFolder })
      }
    }
  }

  it('is enough to run, with a tree that nobody can write to and as nobody of importance', async () => {
    expect((await readdir(program)).sort()).toEqual(
      ['LICENSE', 'bin', 'dist', 'healthcheck.mjs', 'node_modules', 'package.json'].sort(),
    )
    const command = JSON.parse((steps('ENTRYPOINT')[0] ?? []).slice(1).join(' ')) as string[]
    expect(command).toEqual(['node', '/opt/starling/bin/starling'])
    const env = {
      PATH: process.env['PATH'] ?? '',
      ...settings(),
      STARLING_DATA: data,
      STARLING_PORT: '0',
      STARLING_WORKERS: '2',
    }
    const server = await startProgram(
      [process.execPath, join(program, 'bin', 'starling'), 'serve'],
      env,
      USER,
    )
    try {
      const check = join(program, 'healthcheck.mjs')
      const asking = { env: { ...env, STARLING_PORT: String(server.port) }, cwd: '/', ...USER }
      expect((await run(process.execPath, [check], asking)).stdout).toBe('status 200\n')
      const cli = (...args: string[]): Promise<{ stdout: string }> =>
        run(process.execPath, [join(program, 'bin', 'starling'), ...args], { env, cwd: '/', ...USER })
      expect((await cli('node', 'show')).stdout).toMatch(/^id +[0-9a-f]{32}\n/)
      expect((await cli('check')).stdout).toBe('no broken invariant\n')
    } finally {
      expect(await server.stop()).toBe(0)
    }
    expect((await readFile(join(data, 'node-id'), 'utf8')).trim()).toMatch(/^[0-9a-f]{32}$/)
  })

  it('is all of it sent to the builder, and nothing else', async () => {
    const rules = (await readFile(join(ROOT, '.dockerignore'), 'utf8'))
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    expect(rules[0]).toBe('*')
    const sent = rules.slice(1).map((rule) => rule.replace(/^!/, ''))
    const copied = dockerStages()
      .flatMap((stage) => stage.steps)
      .filter(([step, first]) => step === 'COPY' && first?.startsWith('--from=') !== true)
      .flatMap((words) => words.slice(1, -1))
    for (const path of copied)
      expect(sent.some((one) => path === one || path.startsWith(`${one}/`))).toBe(true)
    for (const one of sent)
      expect(copied.some((path) => path === one || path.startsWith(`${one}/`))).toBe(true)
  })
})
