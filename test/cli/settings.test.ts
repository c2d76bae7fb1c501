import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import {
  COMMON_SETTINGS,
  gatherValues,
  SERVE_SETTINGS,
  serveSettings,
  type Setting,
} from '../../src/cli/settings.js'
import { MIGRATE_SETTINGS } from '../../src/cli/migrate-settings.js'
import { runCommand, type CommandResult } from '../support/server.js'
import { expectRefusal, newConfig, newFolder, printedJson } from './support.js'

const ALL: readonly Setting[] = [...COMMON_SETTINGS, ...SERVE_SETTINGS, ...MIGRATE_SETTINGS]
const variable = (name: string): string => `STARLING_${name.toUpperCase().replaceAll('-', '_')}`
const flagKey = (name: string): string =>
  name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

describe('a setting', () => {
  test.each(ALL)(
    '--$name comes from the flag, then the environment, then the config file',
    async ({ name, kind }) => {
      const [inFlag, inEnvironment, inFile] =
        kind === 'switch' ? [true, 'on', 'true'] : ['3', '2', kind === 'text' ? '"1"' : '1']
      const config = await newConfig(`${name} = ${inFile}\n`)
      const environment = { [variable(name)]: String(inEnvironment) }
      const flags = { [flagKey(name)]: inFlag }
      const value = (...from: Parameters<typeof gatherValues>): unknown => {
        const values = gatherValues(...from)
        if (kind === 'switch') return values.isOn(name)
        return Number(kind === 'text' ? values.text(name) : values.number(name))
      }
      if (kind === 'switch') {
        expect(value({}, {}, config)).toBe(true)
        expect(value({}, { [variable(name)]: 'off' }, config)).toBe(false)
        expect(value(flags, { [variable(name)]: 'off' }, undefined)).toBe(true)
        expect(value({}, {}, undefined)).toBe(false)
      } else {
        expect(value(flags, environment, config)).toBe(3)
        expect(value({}, environment, config)).toBe(2)
        expect(value({}, {}, config)).toBe(1)
      }
    },
  )

  test('is taken from the same places by the program itself', async () => {
    const folder = await newFolder()
    const config = await newConfig(`data = "${folder}/file"\n`)
    const show = async (args: string[], env: NodeJS.ProcessEnv): Promise<string> =>
      printedJson<{ id: string }>(await runCommand(['node', 'show', '--json', ...args], { env, cwd: folder }))
        .id
    const idOf = async (name: string): Promise<string> =>
      (await readFile(join(folder, name, 'node-id'), 'utf8')).trim()
    const environment = { STARLING_DATA: join(folder, 'environment') }
    const flag = ['--data', join(folder, 'flag'), '--config', config]
    expect(await show(flag, environment)).toBe(await idOf('flag'))
    expect(await show(['--config', config], environment)).toBe(await idOf('environment'))
    expect(await show(['--config', config], {})).toBe(await idOf('file'))
    expect(await show([], { STARLING_CONFIG: config })).toBe(await idOf('file'))
    expect(await show([], {})).toBe(await idOf('data'))
  })

  test('has the default that is written beside it', () => {
    const settings = serveSettings(gatherValues({}, {}, undefined)) as unknown as Record<string, unknown>
    const limits = settings['limits'] as Record<string, number>
    for (const [key, value] of Object.entries(limits)) {
      const name = key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
      expect(SERVE_SETTINGS.find((setting) => setting.name === name)?.fallback, key).toBe(String(value))
    }
    expect([
      settings['host'],
      settings['port'],
      settings['uploadsMax'],
      settings['uploadLifetimeMs'],
    ]).toEqual(['127.0.0.1', 8443, 100, 86_400_000])
    expect([
      settings['passwordLengthMin'],
      settings['legacyVersions'],
      settings['behindProxy'],
      settings['quotaBytes'],
    ]).toEqual([8, false, false, null])
  })

  test('--host takes an IPv6 address with and without brackets', () => {
    for (const host of ['::1', '[::1]'])
      expect(serveSettings(gatherValues({ host }, {}, undefined)).host).toBe('::1')
    expect(serveSettings(gatherValues({ host: '[::1]', behindProxy: true }, {}, undefined)).host).toBe('::1')
  })

  test('and its default are listed in the documentation, and nothing else is [LIMIT-17]', async () => {
    const path = fileURLToPath(new URL('../../docs/settings.md', import.meta.url))
    const rows = (await readFile(path, 'utf8'))
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) => line.slice(2, -2).split(' | '))
    expect(rows).toEqual(
      ALL.map(({ name, fallback, help }) => [`\`--${name}\``, `\`${variable(name)}\``, fallback, help]),
    )
  })
})

describe('wrong usage', () => {
  const run = (...args: string[]): Promise<CommandResult> => runCommand(args)

  test.each([
    [[]],
    [['frobnicate']],
    [['user']],
    [['user', 'frobnicate']],
    [['user', 'add']],
    [['user', 'list', 'extra']],
    [['user', 'list', '--frobnicate']],
    [['user', 'admin', 'a@x.test']],
    [['token', 'revoke']],
    [['node', 'capacity']],
    [['serve', '--frobnicate']],
    [['serve', 'extra']],
    [['serve', '--port']],
    [['--frobnicate']],
  ])('%j exits 2 with one line', async (args) => {
    expectRefusal(await run(...args), 2)
  })

  test.each([
    ['--port', 'x'],
    ['--port', '65536'],
    ['--port', '-1'],
    ['--workers', '0'],
    ['--workers', '1000'],
    ['--max-uploads', '0'],
    ['--upload-lifetime', '0'],
    ['--capacity', '1.5'],
    ['--quota', 'much'],
    ['--base-url', 'http://x.test'],
    ['--base-url', 'nonsense'],
    ['--base-url', 'https://x.test?a'],
    ['--base-url', 'https://x.test/#a'],
    ['--base-url', 'https://user@x.test'],
    ['--database', 'mysql://x.test/starling'],
    ['--signup', 'everybody'],
    ['--log-level', 'loud'],
    ['--tls-cert', '/tmp/cert.pem'],
    ['--tls-key', '/tmp/key.pem'],
    ['--password-min', '0'],
    ['--header-bytes', '0'],
    ['--content', 'files'],
    ['--content', 's3://'],
    ['--content', 's3://UPPER'],
    ['--content', 's3://bucket?endpoint=ftp://x.test'],
    ['--content', 's3://bucket?endpoint=https://x.test/path'],
    ['--content', 's3://bucket/../up'],
    ['--content', 's3://bucket?colour=red'],
    ['--content', 's3://bucket?path-style=perhaps'],
    ['--data', ''],
  ])('serve %s %s exits 2 and names the setting', async (flag, value) => {
    const data = flag === '--data' ? [] : ['--data', await newFolder()]
    expectRefusal(await run('serve', '--port', '0', ...data, flag, value), 2, new RegExp(flag))
  })

  test('of the environment is told by the name of the setting', async () => {
    const env = { STARLING_DATA: await newFolder(), STARLING_PORT: 'x' }
    expectRefusal(await runCommand(['serve'], { env }), 2, /--port/)
    expectRefusal(
      await runCommand(['serve'], { env: { ...env, STARLING_PORT: '0', STARLING_BEHIND_PROXY: 'perhaps' } }),
      2,
      /--behind-proxy/,
    )
  })

  test.each([
    ['an unknown setting', 'colour = "red"\n', /colour/],
    ['broken TOML', 'port = = 1\n', /config file/],
    ['a wrong type', 'port = "x"\n', /--port/],
    ['a table', '[port]\nx = 1\n', /--port/],
    ['a fraction', 'workers = 1.5\n', /--workers/],
  ])('%s in the config file exits 2', async (_, text, pattern) => {
    const data = ['--data', await newFolder()]
    expectRefusal(await run('serve', ...data, '--config', await newConfig(text)), 2, pattern)
  })

  test('a config file that is not there exits 2', async () => {
    const data = ['--data', await newFolder()]
    expectRefusal(await run('user', 'list', ...data, '--config', '/nonexistent.toml'), 2, /nonexistent\.toml/)
  })

  test('--help is no error and lists what there is', async () => {
    const help = await run('--help')
    expect([help.status, help.stderr]).toEqual([0, ''])
    for (const command of ['serve', 'user', 'app', 'token', 'node', 'check'])
      expect(help.stdout).toContain(command)
    const serve = await run('serve', '--help')
    expect(serve.status).toBe(0)
    for (const { name } of [...COMMON_SETTINGS, ...SERVE_SETTINGS])
      expect(serve.stdout).toContain(`--${name}`)
    for (const [group, words] of [
      ['user', ['add', 'list', 'remove', 'passwd', 'admin', 'quota']],
      ['app', ['add', 'list', 'remove', 'config']],
      ['token', ['add', 'list', 'revoke']],
      ['node', ['show', 'deselect', 'select', 'capacity']],
    ] as const) {
      const { stdout, status } = await run(group, '--help')
      expect(status).toBe(0)
      for (const word of words) expect(stdout).toContain(`  ${word} `)
    }
  })
})
