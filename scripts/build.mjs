// Compiles the sources into dist/, if anything changed since the last time.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const stampPath = join(root, 'dist', '.stamp')

function digest() {
  const hash = createHash('sha256')
  for (const entry of readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    hash.update(path.slice(root.length)).update('\0').update(readFileSync(path)).update('\0')
  }
  for (const name of ['tsconfig.json', 'tsconfig.build.json', 'package-lock.json'])
    hash.update(readFileSync(join(root, name)))
  return hash.digest('hex')
}

export function build() {
  const stamp = digest()
  if (existsSync(stampPath) && readFileSync(stampPath, 'utf8') === stamp) return
  // Compiled beside the old one and put in its place at once, so that nothing ever runs half a build.
  const fresh = join(root, `dist.${process.pid}`)
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const result = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--outDir', fresh], {
    cwd: root,
    stdio: 'inherit',
  })
  if (result.status !== 0) {
    rmSync(fresh, { recursive: true, force: true })
    process.exit(1)
  }
  cpSync(join(root, 'src', 'db', 'migrations'), join(fresh, 'db', 'migrations'), { recursive: true })
  writeFileSync(join(fresh, '.stamp'), stamp)
  const old = join(root, `dist.old.${process.pid}`)
  if (existsSync(join(root, 'dist'))) renameSync(join(root, 'dist'), old)
  renameSync(fresh, join(root, 'dist'))
  rmSync(old, { recursive: true, force: true })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { setup } = await import('./setup.mjs')
  setup()
  build()
}
