// A PostgreSQL of the benchmark's own, as durable as its defaults make it.
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../support/net.mjs'
import { run, start, stop } from '../support/processes.mjs'

const INSTALLED = '/usr/lib/postgresql'
const START_PATIENCE_MS = 30_000

function binaries() {
  if (!existsSync(INSTALLED)) return undefined
  return readdirSync(INSTALLED)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(INSTALLED, version, 'bin'))
    .find((folder) => existsSync(join(folder, 'initdb')))
}

export const missing = () => (binaries() === undefined ? 'PostgreSQL is not installed' : undefined)

/** It refuses to run as root. */
function owner() {
  if (process.getuid() !== 0) return {}
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((text) => /^(postgres|nobody):/.test(text))
  const [, , uid, gid] = line.split(':')
  return { uid: Number(uid), gid: Number(gid) }
}

export async function startPostgres(context) {
  const folder = context.newFolder('postgres')
  const user = owner()
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  if (user.uid !== undefined) for (const path of [folder, data]) chownSync(path, user.uid, user.gid)
  const options = { ...user, cwd: folder }
  await run(join(binaries(), 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '--locale=C'], options)
  const port = await freePort()
  writeFileSync(
    join(data, 'postgresql.auto.conf'),
    `port = ${port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\nmax_connections = 300\n`,
  )
  const child = start(join(binaries(), 'postgres'), ['-D', data], options)
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  await untilReady(url, child)
  let count = 0
  return {
    pid: child.pid,
    stop: () => stop(child),
    /** The address of a new, empty database. */
    async database() {
      const name = `bench_${count++}`
      await query(url, `CREATE DATABASE ${name}`)
      return url.replace(/postgres$/, name)
    },
  }
}

async function query(url, text) {
  const { Client } = createRequire(import.meta.url)('pg')
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

async function untilReady(url, child) {
  const deadline = Date.now() + START_PATIENCE_MS
  for (;;) {
    try {
      return await query(url, 'SELECT 1')
    } catch (error) {
      if (Date.now() > deadline || child.exitCode !== null)
        throw new Error(`PostgreSQL did not start: ${error.message} ${child.complaints}`)
      await sleep(50)
    }
  }
}
