import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { s3Credentials } from '../../src/blob/s3-credentials.js'
import { gatherValues, serveSettings } from '../../src/cli/settings.js'
import { at, compose, DEPLOY, mapping, textAt, texts } from './support.js'

const run = promisify(execFile)

describe('what compose-prepare.sh makes', () => {
  let folder: string
  let secrets: string
  const read = (name: string): Promise<string> => readFile(join(secrets, name), 'utf8')
  const prepare = (...args: string[]): Promise<unknown> =>
    run('/bin/sh', [join(folder, 'compose-prepare.sh'), ...args])

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'starling-compose-'))
    secrets = join(folder, 'secrets')
    for (const name of ['compose-prepare.sh', 'haproxy.cfg']) await cp(join(DEPLOY, name), join(folder, name))
    await prepare('https://sync.example.org:8443')
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('is what compose.yaml reads, and nothing else', async () => {
    const { services, secrets: declared } = compose()
    const files = new Set(Object.values(mapping(declared)).map((one) => textAt(one, 'file')))
    const used = new Set<string>()
    for (const service of Object.values(mapping(services))) {
      for (const name of texts(at(service, 'secrets'))) used.add(textAt(declared, name, 'file'))
      for (const file of texts(at(service, 'env_file'))) files.add(file)
      for (const mount of texts(at(service, 'volumes')))
        if (mount.startsWith('./secrets/')) files.add(mount.split(':')[0] ?? '')
    }
    for (const file of used) expect(files).toContain(file)
    expect((await readdir(secrets)).map((name) => `./secrets/${name}`).sort()).toEqual([...files].sort())
  })

  it('is closed to everybody else by its folder, and open to the accounts of the containers', async () => {
    expect((await stat(secrets)).mode & 0o777).toBe(0o700)
    for (const name of await readdir(secrets))
      expect((await stat(join(secrets, name))).mode & 0o777).toBe(0o644)
  })

  it('is never made over what is there', async () => {
    await expect(prepare('https://other.example.org')).rejects.toMatchObject({ code: 1 })
    await expect(prepare('http://sync.example.org')).rejects.toMatchObject({ code: 2 })
    expect((await readdir(folder)).filter((name) => name.startsWith('secrets'))).toEqual(['secrets'])
  })

  it('are settings that a node takes, with one password for the database at both ends', async () => {
    const environment = mapping(at(compose(), 'services', 'one', 'environment')) as Record<string, string>
    const settings = serveSettings(gatherValues({}, environment, join(secrets, 'settings')))
    expect(settings.database).toBe(`postgres://starling:${await read('database_password')}@postgres/starling`)
    expect(settings.baseUrl).toBe('https://sync.example.org:8443')
    expect(settings.content).toMatchObject({ bucket: 'starling', region: 'us-east-1' })
    const keys = await s3Credentials(join(secrets, 'content_keys'), {})()
    const [user] = (JSON.parse(await read('store_users')) as { identities: { credentials: unknown[] }[] })
      .identities
    expect(user?.credentials).toEqual([{ accessKey: keys.accessKey, secretKey: keys.secretKey }])
  })

  it('are ids of nodes and certificates that HAProxy takes', async () => {
    const environment = mapping(at(compose(), 'services', 'balancer', 'environment')) as Record<
      string,
      string
    >
    const ids = Object.fromEntries(
      (await read('balancer.env'))
        .trim()
        .split('\n')
        .map((line) => line.split('=') as [string, string]),
    )
    for (const number of [1, 2]) {
      expect(ids[`STARLING_NODE_${number}_ID`]).toMatch(/^[0-9a-f]{32}$/)
      expect(ids[`STARLING_NODE_${number}_ID`]).toBe((await read(`node_${number}_id`)).trim())
    }
    const env = {
      ...environment,
      ...ids,
      STARLING_CERTIFICATE: join(secrets, 'balancer_certificate'),
      STARLING_NODES_CA: join(secrets, 'nodes_certificate'),
    }
    await run('/usr/sbin/haproxy', ['-c', '-f', join(folder, 'haproxy.cfg')], { env })
  })
})
