// OpenStack Swift with its S3 door, all in one on loopback, one copy of everything.
import { createHash, createHmac } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../support/net.mjs'
import { run, start, stop } from '../support/processes.mjs'

const SERVERS = ['account', 'container', 'object', 'proxy']
const START_PATIENCE_MS = 60_000
const KEY = 'bench:bench'
const SECRET = 'bench'
const REGION = 'us-east-1'
const BUCKET = 'bench'

const program = (server) => `/usr/bin/swift-${server}-server`

export const name = 'Swift as S3 store'
export const missing = () =>
  SERVERS.every((server) => existsSync(program(server))) ? undefined : 'OpenStack Swift is not installed'

const RINGS = `
import sys
from os.path import join
from swift.common.ring import RingBuilder
for name, port in zip(('account', 'container', 'object'), sys.argv[2:]):
    builder = RingBuilder(4, 1, 1)
    builder.add_dev(dict(id=0, region=1, zone=1, ip='127.0.0.1', port=int(port), device='disk', weight=1))
    builder.rebalance()
    builder.get_ring().save(join(sys.argv[1], name + '.ring.gz'))
`

const DOORS = [
  'catch_errors',
  'gatekeeper',
  'healthcheck',
  'cache',
  'listing_formats',
  's3api',
  'tempauth',
  'slo',
]

function config(server, folder, port) {
  const filters = server === 'proxy' ? DOORS : ['healthcheck']
  const settings = {
    cache: 'use = egg:swift#memcache\nmemcache_servers = 127.0.0.1:1',
    s3api: `use = egg:swift#s3api\nlocation = ${REGION}`,
    tempauth: `use = egg:swift#tempauth\nuser_bench_bench = ${SECRET} .admin`,
  }
  return [
    '[DEFAULT]',
    ...['bind_ip = 127.0.0.1', `bind_port = ${port}`, 'workers = 0', `user = ${userInfo().username}`],
    ...[`swift_dir = ${folder}`, `devices = ${join(folder, 'devices')}`, 'mount_check = false'],
    ...['log_level = ERROR', 'fallocate_reserve = 0'],
    '[pipeline:main]',
    `pipeline = ${filters.join(' ')} ${server}-server`,
    `[app:${server}-server]`,
    `use = egg:swift#${server}`,
    ...(server === 'proxy' ? ['allow_account_management = true', 'account_autocreate = true'] : []),
    ...filters.flatMap((filter) => [`[filter:${filter}]`, settings[filter] ?? `use = egg:swift#${filter}`]),
    '',
  ].join('\n')
}

export async function startSwift(context) {
  const folder = context.newFolder('swift')
  mkdirSync(join(folder, 'devices', 'disk'), { recursive: true })
  const ports = {}
  for (const server of SERVERS) ports[server] = await freePort()
  for (const server of SERVERS)
    writeFileSync(join(folder, `${server}.conf`), config(server, folder, ports[server]))
  const credentials = join(folder, 'credentials')
  writeFileSync(credentials, `[default]\naws_access_key_id = ${KEY}\naws_secret_access_key = ${SECRET}\n`)
  await run(
    '/usr/bin/python3',
    ['-c', RINGS, folder, ports.account, ports.container, ports.object].map(String),
  )
  const children = SERVERS.map((server) =>
    start(program(server), [join(folder, `${server}.conf`)], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    }),
  )
  for (const [index, server] of SERVERS.entries()) await untilHealthy(ports[server], children[index])
  await makeBucket(ports.proxy)
  const endpoint = encodeURIComponent(`http://127.0.0.1:${ports.proxy}`)
  return {
    credentials,
    content: `s3://${BUCKET}?endpoint=${endpoint}&region=${REGION}`,
    stop: () => Promise.all(children.map(stop)),
  }
}

function ask(port, options) {
  return new Promise((resolve, reject) => {
    const asking = request({ host: '127.0.0.1', port, agent: false, timeout: 2000, ...options }, (answer) => {
      answer.resume()
      answer.once('end', () => resolve(answer.statusCode))
    })
    asking.once('timeout', () => asking.destroy(new Error('no answer')))
    asking.once('error', reject)
    asking.end()
  })
}

async function untilHealthy(port, child) {
  const deadline = Date.now() + START_PATIENCE_MS
  for (;;) {
    const status = await ask(port, { path: '/healthcheck' }).catch(() => 0)
    if (status === 200) return
    if (Date.now() > deadline || child.exitCode !== null)
      throw new Error(`Swift did not start: ${child.complaints}`)
    await sleep(100)
  }
}

/** One signed request, which the server under test has no word for: it wants its bucket to be there. */
async function makeBucket(port) {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '')
  const day = time.slice(0, 8)
  const empty = createHash('sha256').update('').digest('hex')
  const host = `127.0.0.1:${port}`
  const signed = { host, 'x-amz-content-sha256': empty, 'x-amz-date': time }
  const names = Object.keys(signed).join(';')
  const lines = Object.entries(signed).map(([key, value]) => `${key}:${value}\n`)
  const canonical = `PUT\n/${BUCKET}\n\n${lines.join('')}\n${names}\n${empty}`
  const scope = `${day}/${REGION}/s3/aws4_request`
  const digest = createHash('sha256').update(canonical).digest('hex')
  const hmac = (key, text) => createHmac('sha256', key).update(text).digest()
  const key = [day, REGION, 's3', 'aws4_request'].reduce(hmac, `AWS4${SECRET}`)
  const signature = hmac(key, `AWS4-HMAC-SHA256\n${time}\n${scope}\n${digest}`).toString('hex')
  const authorization = `AWS4-HMAC-SHA256 Credential=${KEY}/${scope}, SignedHeaders=${names}, Signature=${signature}`
  const headers = { ...signed, authorization }
  const status = await ask(port, { method: 'PUT', path: `/${BUCKET}`, headers, timeout: 30_000 })
  if (status !== 200) throw new Error(`the bucket could not be made: ${status}`)
}
