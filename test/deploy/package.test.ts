import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { copyDependencies, startProgram } from './program.js'
import { ROOT } from './support.js'

const run = promisify(execFile)

describe('the package that npm makes', () => {
  let folder: string
  let files: string[]
  let archive: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'starling-package-'))
    // It is built already, and a build beside running tests would take the program away from under them.
    const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
    const { stdout } = await run('npm', args, {
      cwd: ROOT,
      env: { ...process.env, npm_config_loglevel: 'error' },
    })
    const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[]
    files = packed?.files.map(({ path }) => path) ?? []
    archive = join(folder, packed?.filename ?? '')
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('holds the built program, its documentation and deploy, and no sources, tests or secrets', () => {
    for (const path of [
      'package.json',
      'bin/starling',
      'dist/main.js',
      'dist/THIRD-PARTY.txt',
      'docs/operating.md',
      'deploy/haproxy.cfg',
    ])
      expect(files).toContain(path)
    expect(files.filter((path) => /^dist\/migrations\/\d+.*\.sql$/.test(path)).length).toBeGreaterThan(4)
    expect(
      files.filter((path) =>
        /^(src|test|bench|scripts|data|node_modules|\.ci)\/|^deploy\/secrets/.test(path),
      ),
    ).toEqual([])
  })

  it('gives a working command where it is installed for everybody', async () => {
    // As `npm install --global` lays it out; the dependencies are those that are installed here.
    const installed = join(folder, 'lib', 'node_modules', 'starling')
    await mkdir(installed, { recursive: true })
    await mkdir(join(folder, 'bin'))
    await run('tar', ['-xzf', archive, '-C', installed, '--strip-components=1'])
    await copyDependencies(installed)
    await symlink('../lib/node_modules/starling/bin/starling', join(folder, 'bin', 'starling'))
    const env = { PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}` }
    const { stdout } = await run('starling', ['--help'], { env, cwd: '/' })
    expect(stdout).toMatch(/^Usage: starling /)
    const data = join(folder, 'data')
    const server = await startProgram(['starling', 'serve', '--data', data, '--port', '0'], env, undefined)
    try {
      const made = await run('starling', ['node', 'list', '--data', data], { env, cwd: '/' })
      expect(made.stdout).toMatch(/^[0-9a-f]{32} {2}alive/)
    } finally {
      expect(await server.stop()).toBe(0)
    }
  })
})
