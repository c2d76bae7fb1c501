// Installs the dependencies, if those that are there are not the ones of package-lock.json.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
const stampPath = join(root, 'node_modules', '.starling-stamp')
const NODE_MAJOR_MIN = 20

export function setup() {
  const major = Number(process.versions.node.split('.')[0])
  if (major < NODE_MAJOR_MIN) {
    process.stderr.write(`Starling needs Node ${NODE_MAJOR_MIN} or newer; this is ${process.version}.\n`)
    process.exit(1)
  }
  // A native module is compiled for one version of Node, so that version is part of what is installed.
  const stamp = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .update(`${process.versions.modules} ${process.platform} ${process.arch}`)
    .digest('hex')
  if (existsSync(stampPath) && readFileSync(stampPath, 'utf8') === stamp) return
  removeForeignBinary()
  process.stderr.write('Installing dependencies (the first time this compiles SQLite, a few minutes)...\n')
  // Not `npm ci`: it refuses a lock file that lacks binaries of other platforms, which a registry may not carry.
  const result = spawnSync('npm', ['install', '--no-save', '--no-audit', '--no-fund'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, npm_config_loglevel: 'error', ...localHeaders() },
  })
  if (result.status !== 0) {
    process.stderr.write('The dependencies could not be installed.\n')
    process.exit(1)
  }
  writeFileSync(stampPath, stamp)
}

/** npm leaves alone what is there, also when it was compiled for another version of Node. */
function removeForeignBinary() {
  const folder = join(root, 'node_modules', 'better-sqlite3')
  const binary = join(folder, 'build', 'Release', 'better_sqlite3.node')
  if (!existsSync(binary)) return
  const { status } = spawnSync(process.execPath, ['--eval', 'require(process.argv[1])', binary])
  if (status !== 0) rmSync(folder, { recursive: true })
}

/** Node's own headers, where they are installed beside it, spare the compiler a download. */
function localHeaders() {
  const prefix = dirname(dirname(process.execPath))
  return existsSync(join(prefix, 'include', 'node', 'node.h')) ? { npm_config_nodedir: prefix } : {}
}
