// Installs the dependencies, if those that are there are not the ones of package-lock.json.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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
  process.stderr.write('Installing dependencies (the first time this compiles SQLite, a few minutes)...\n')
  const result = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root, stdio: ['ignore', 2, 2] })
  if (result.status !== 0) process.exit(1)
  writeFileSync(stampPath, stamp)
}
