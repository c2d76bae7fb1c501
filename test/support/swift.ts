/**
 * A real S3-compatible store for tests: OpenStack Swift with its S3 door, all in one on loopback, each test file its
 * own. It needs Debian's packages swift-proxy, swift-account, swift-container and swift-object, and a temporary folder
 * on a file system with extended attributes. A run without them fails; it never skips what it should prove.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, openSync, closeSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from './postgres.js'

const START_WAIT_MAX_MS = 60_000
const REGION = 'us-east-1'
const ACCESS_KEY = 'test:tester'
const SECRET_KEY = 'testing'
const SERVERS = ['account', 'container', 'object', 'proxy'] as const

type ServerName = (typeof SERVERS)[number]
type Ports = Readonly<Record<ServerName, number>>

export interface Swift {
  readonly endpoint: string
  readonly region: string
  readonly accessKey: string
  readonly secretKey: string
  /** A file with the keys, and the same in the environment. */
  readonly credentialsFile: string
  readonly env: Readonly<Record<string, string>>
  /** The setting of a node that keeps its content in the bucket; it may reach the store by another port. */
  content(bucket: string, port?: number): string
  /** A new name for a bucket; nothing is made. */
  bucketName(): string
  /** From now on the bucket takes this many bytes and no more. */
  setQuota(bucket: string, bytes: number): Promise<void>
  /** The door of the store is shut: connections are refused. */
  shut(): Promise<void>
  reopen(): Promise<void>
  /** The door still takes connections, but nobody answers. */
  freeze(): Promise<void>
  thaw(): Promise<void>
  stop(): Promise<void>
}

export async function startSwift(): Promise<Swift> {
  for (const name of SERVERS) requireProgram(program(name))
  const folder = await mkdtemp(join(tmpdir(), 'starling-swift-'))
  const ports = await takePorts()
  await mkdir(join(folder, 'devices', 'd1'), { recursive: true })
  for (const name of SERVERS) await writeFile(configOf(folder, name), configText(name, folder, ports))
  const credentialsFile = join(folder, 'credentials')
  await writeFile(
    credentialsFile,
    `[default]\naws_access_key_id = ${ACCESS_KEY}\naws_secret_access_key = ${SECRET_KEY}\n`,
  )
  await python(RINGS, folder, String(ports.account), String(ports.container), String(ports.object))
  const running = new Map<ServerName, ChildProcess>(
    SERVERS.map((name) => [name, launch(folder, name)] as const),
  )

  async function end(name: ServerName): Promise<void> {
    const server = running.get(name)
    if (server === undefined) return
    running.delete(name)
    const ended = new Promise((resolve) => server.once('exit', resolve))
    server.stdin?.end()
    if (server.exitCode === null) await ended
  }

  async function stop(): Promise<void> {
    await Promise.all(SERVERS.map(end))
    await rm(folder, { recursive: true, force: true })
  }

  try {
    for (const name of SERVERS) await untilReady(ports[name])
  } catch (error) {
    const log = await readFile(join(folder, 'log'), 'utf8')
    await stop()
    throw new Error(`Swift did not start: ${log}`, { cause: error })
  }

  const endpoint = `http://127.0.0.1:${ports.proxy}`
  return {
    endpoint,
    region: REGION,
    accessKey: ACCESS_KEY,
    secretKey: SECRET_KEY,
    credentialsFile,
    env: { AWS_ACCESS_KEY_ID: ACCESS_KEY, AWS_SECRET_ACCESS_KEY: SECRET_KEY, AWS_SESSION_TOKEN: '' },
    content: (bucket, port = ports.proxy) =>
      `s3://${bucket}?endpoint=${encodeURIComponent(`http://127.0.0.1:${port}`)}&region=${REGION}`,
    bucketName: () => `bucket-${randomBytes(8).toString('hex')}`,
    setQuota: (bucket, bytes) => python(QUOTA, folder, bucket, String(bytes)),
    shut: () => end('proxy'),
    async reopen() {
      running.set('proxy', launch(folder, 'proxy'))
      await untilReady(ports.proxy)
    },
    freeze: () => signalServer(folder, 'proxy', 'SIGSTOP'),
    thaw: () => signalServer(folder, 'proxy', 'SIGCONT'),
    stop,
  }
}

function program(name: ServerName): string {
  return `/usr/bin/swift-${name}-server`
}

function requireProgram(path: string): void {
  if (existsSync(path)) return
  throw new Error(
    'these tests need OpenStack Swift: install swift-proxy, swift-account, swift-container and swift-object',
  )
}

async function takePorts(): Promise<Ports> {
  const [account = 0, container = 0, object = 0, proxy = 0] = await Promise.all(SERVERS.map(freePort))
  return { account, container, object, proxy }
}

function configOf(folder: string, name: ServerName): string {
  return join(folder, `${name}-server.conf`)
}

function configText(name: ServerName, folder: string, ports: Ports): string {
  const common = `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${ports[name]}
workers = 0
user = ${userInfo().username}
swift_dir = ${folder}
devices = ${join(folder, 'devices')}
mount_check = false
log_level = WARNING
fallocate_reserve = 0
`
  return name === 'proxy' ? `${common}${PROXY}` : `${common}${storage(name)}`
}

function storage(name: ServerName): string {
  return `
[pipeline:main]
pipeline = healthcheck ${name}-server

[filter:healthcheck]
use = egg:swift#healthcheck

[app:${name}-server]
use = egg:swift#${name}
`
}

/** A cache is asked for but nobody is there to keep it, so what is set about a bucket counts at once. */
const PROXY = `
[pipeline:main]
pipeline = catch_errors gatekeeper healthcheck cache listing_formats s3api tempauth container-quotas slo dlo versioned_writes symlink proxy-server

[app:proxy-server]
use = egg:swift#proxy
allow_account_management = true
account_autocreate = true
conn_timeout = 10
node_timeout = 60
error_suppression_limit = 1000000

[filter:catch_errors]
use = egg:swift#catch_errors

[filter:gatekeeper]
use = egg:swift#gatekeeper

[filter:healthcheck]
use = egg:swift#healthcheck

[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1

[filter:listing_formats]
use = egg:swift#listing_formats

[filter:s3api]
use = egg:swift#s3api
location = ${REGION}

[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = ${SECRET_KEY} .admin

[filter:container-quotas]
use = egg:swift#container_quotas

[filter:slo]
use = egg:swift#slo

[filter:dlo]
use = egg:swift#dlo

[filter:versioned_writes]
use = egg:swift#versioned_writes
allow_object_versioning = true

[filter:symlink]
use = egg:swift#symlink
`

/** Rings say where things are kept: here always on the one device. */
const RINGS = `
import sys
from os.path import join
from swift.common.ring import RingBuilder
folder, ports = sys.argv[1], sys.argv[2:]
for name, port in zip(('account', 'container', 'object'), ports):
    builder = RingBuilder(4, 1, 1)
    builder.add_dev(dict(id=0, region=1, zone=1, ip='127.0.0.1', port=int(port), device='d1', weight=1))
    builder.rebalance()
    builder.get_ring().save(join(folder, name + '.ring.gz'))
`

/** Told to the server that keeps the bucket, since the S3 door has no word for it. */
const QUOTA = `
import sys
from swift.common.direct_client import direct_put_container
from swift.common.ring import Ring
folder, bucket, limit = sys.argv[1:]
part, nodes = Ring(folder, ring_name='container').get_nodes('AUTH_test', bucket)
direct_put_container(nodes[0], part, 'AUTH_test', bucket, headers={'X-Container-Meta-Quota-Bytes': limit})
`

/** Debian's packages belong to Debian's Python, whichever one the path names. */
async function python(script: string, ...args: string[]): Promise<void> {
  await promisify(execFile)('/usr/bin/python3', ['-c', script, ...args])
}

/** The shell ends the server when its input ends, so also when the test run is killed. The server is in no group of ours. */
const KEEPER =
  'pid=$1; shift; "$@" & server=$!; echo $server > "$pid"; cat > /dev/null; kill -KILL $server; wait $server'

function launch(folder: string, name: ServerName): ChildProcess {
  const log = openSync(join(folder, 'log'), 'a')
  try {
    return spawn(
      '/bin/sh',
      ['-c', KEEPER, 'sh', pidOf(folder, name), program(name), configOf(folder, name), '-v'],
      {
        cwd: folder,
        detached: true,
        stdio: ['pipe', log, log],
      },
    )
  } finally {
    closeSync(log)
  }
}

function pidOf(folder: string, name: ServerName): string {
  return join(folder, `${name}.pid`)
}

async function signalServer(folder: string, name: ServerName, signal: NodeJS.Signals): Promise<void> {
  process.kill(Number(await readFile(pidOf(folder, name), 'utf8')), signal)
}

async function untilReady(port: number): Promise<void> {
  const deadline = Date.now() + START_WAIT_MAX_MS
  for (;;) {
    try {
      await healthy(port)
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
      await delay(100)
    }
  }
}

function healthy(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = get({ host: '127.0.0.1', port, path: '/healthcheck', agent: false }, (response) => {
      response.resume()
      response.once('end', () => (response.statusCode === 200 ? resolve() : reject(new Error('not ready'))))
    })
    request.once('error', reject)
    request.setTimeout(1000, () => request.destroy(new Error('no answer')))
  })
}
