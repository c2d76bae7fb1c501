/** A real load balancer in front of real nodes, run by the configuration that `deploy` offers, as it stands. */
import { spawn } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ensureCertificate } from '../../src/http/tls.js'
import { steadyPort } from './postgres.js'
import type { TestServer } from './server.js'

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url))
const START_WAIT_MAX_MS = 60_000
const STOP_WAIT_MAX_MS = 15_000

export const BALANCERS = ['haproxy', 'nginx'] as const
export type BalancerKind = (typeof BALANCERS)[number]

export interface Balancer {
  readonly host: string
  readonly port: number
  readonly ca: string
  stop(): Promise<void>
}

/** The nodes have one certificate in common. */
export async function startBalancer(kind: BalancerKind, nodes: readonly TestServer[]): Promise<Balancer> {
  const folder = await mkdtemp(join(tmpdir(), `starling-${kind}-`))
  await ensureCertificate(folder, hostname())
  const ca = await readFile(join(folder, 'cert.pem'), 'utf8')
  const key = await readFile(join(folder, 'key.pem'), 'utf8')
  await writeFile(join(folder, 'both.pem'), `${ca}\n${key}`)
  await writeFile(join(folder, 'nodes.pem'), nodes[0]?.ca ?? '')
  const port = await steadyPort()
  const names: Record<string, string> = {
    STARLING_BIND: `127.0.0.1:${port}`,
    STARLING_CERTIFICATE: join(folder, 'both.pem'),
    STARLING_NODES_CA: join(folder, 'nodes.pem'),
  }
  for (const [index, node] of nodes.entries()) {
    names[`STARLING_NODE_${index + 1}`] = `127.0.0.1:${node.port}`
    names[`STARLING_NODE_${index + 1}_ID`] = node.installation.nodeId
  }
  const [program, args] = await commandOf(kind, folder, names)
  const child = spawn(program, args, { env: { ...process.env, ...names }, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said += String(chunk)))
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await Promise.race([ended, delay(STOP_WAIT_MAX_MS, undefined, { ref: false })])
    child.kill('SIGKILL')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
  for (const deadline = Date.now() + START_WAIT_MAX_MS; !(await answers(port));) {
    if (Date.now() > deadline || child.exitCode !== null) {
      await stop()
      throw new Error(`${kind} did not start: ${said}`)
    }
    await delay(100)
  }
  return { host: '127.0.0.1', port, ca, stop }
}

async function commandOf(
  kind: BalancerKind,
  folder: string,
  names: Readonly<Record<string, string>>,
): Promise<[string, string[]]> {
  if (kind === 'haproxy') return ['/usr/sbin/haproxy', ['-db', '-f', join(DEPLOY, 'haproxy.cfg')]]
  return ['/usr/sbin/nginx', await nginxArgs(folder, names)]
}

/** Our configuration, filled in; what nginx writes goes to the folder, since its usual places are root's alone. */
export async function nginxArgs(folder: string, names: Readonly<Record<string, string>>): Promise<string[]> {
  const text = await readFile(join(DEPLOY, 'nginx.conf'), 'utf8')
  const filled = text.replace(/\$\{(STARLING_\w+)\}/g, (_, name: string) => names[name] ?? '')
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${join(folder, kind)};`,
  )
  const config = join(folder, 'nginx.conf')
  await writeFile(config, filled.replace('http {', `http { access_log off; ${places.join(' ')}`))
  // Started by root, nginx works as somebody else.
  await chmod(folder, 0o711)
  const globals = `daemon off; pid ${join(folder, 'nginx.pid')}; error_log stderr warn;`
  return ['-p', folder, '-e', 'stderr', '-c', config, '-g', globals]
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const finish = (isThere: boolean) => () => {
      socket.destroy()
      resolve(isThere)
    }
    socket.once('connect', finish(true))
    socket.once('error', finish(false))
  })
}
