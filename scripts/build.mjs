// Bundles the sources into dist/, if anything changed since the last time. Types are checked by `npm run types`.
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const stampPath = join(root, 'dist', '.stamp')
const require = createRequire(import.meta.url)

function digest() {
  const hash = createHash('sha256')
  for (const entry of readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    hash.update(path.slice(root.length)).update('\0').update(readFileSync(path)).update('\0')
  }
  for (const name of ['scripts/build.mjs', 'tsconfig.json', 'package-lock.json'])
    hash.update(readFileSync(join(root, name)))
  return hash.digest('hex')
}

export async function build() {
  const stamp = digest()
  if (existsSync(stampPath) && readFileSync(stampPath, 'utf8') === stamp) return
  // Built beside the old one and put in its place at once, so that nothing ever runs half a build.
  const fresh = join(root, `dist.${process.pid}`)
  try {
    const packages = await bundle(fresh)
    writeFileSync(join(fresh, 'THIRD-PARTY.txt'), licences(packages))
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true })
    // The bundler has told what is wrong with the sources.
    if (error.errors === undefined) throw error
    process.exit(1)
  }
  cpSync(join(root, 'src', 'db', 'migrations'), join(fresh, 'migrations'), { recursive: true })
  writeFileSync(join(fresh, '.stamp'), stamp)
  const old = join(root, `dist.old.${process.pid}`)
  if (existsSync(join(root, 'dist'))) renameSync(join(root, 'dist'), old)
  renameSync(fresh, join(root, 'dist'))
  rmSync(old, { recursive: true, force: true })
}

/** Few files instead of some hundred: most of a start is finding, reading and linking them. Returns what went in. */
async function bundle(folder) {
  const esbuild = require('esbuild')
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: ['src/main.ts'],
    outdir: folder,
    bundle: true,
    // What is imported when it is needed stays in files of its own.
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Packages in the older format ask for Node's own modules by this name.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    external: ['@napi-rs/blake-hash', '@node-rs/argon2', '*.node', 'pg-native'],
    plugins: [binaryOfSqlite, tableOfTypes],
    legalComments: 'none',
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    logLevel: 'warning',
  })
  await esbuild.stop()
  const inputs = Object.keys(metafile.inputs).filter((path) => path.includes('node_modules/'))
  const packages = inputs.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)[0])
  return new Set([...packages, 'node_modules/mime-types', 'node_modules/mime-db'])
}

/** The package looks for its binary from where its own file lies. */
const binaryOfSqlite = standIn(
  'bindings',
  () => 'module.exports = (name) => require(`better-sqlite3/build/Release/${name}`)',
)

/** The types by extension, worked out here and not at every start from all that is known of all types. */
const tableOfTypes = standIn('mime-types', () => {
  const text = JSON.stringify(JSON.stringify(require('mime-types').types))
  return `export const types = Object.assign(Object.create(null), JSON.parse(${text}))`
})

function standIn(name, contents) {
  return {
    name,
    setup(build) {
      build.onResolve({ filter: new RegExp(`^${name}$`) }, () => ({ path: name, namespace: name }))
      build.onLoad({ filter: /.*/, namespace: name }, () => ({ contents: contents(), resolveDir: root }))
    },
  }
}

/** The terms of the packages that were bundled, which ask to go wherever the code goes. */
function licences(paths) {
  const parts = [...paths].sort().map((path) => {
    const folder = join(root, path)
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const files = readdirSync(folder).filter((entry) => /^(licen[cs]e|notice)/i.test(entry))
    const text = files.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n') || license
    if (text === undefined) throw new Error(`${name} does not say under which terms it may be used`)
    return `${name} ${version}\n\n${text}\n`
  })
  return `Starling's files hold code of these packages.\n\n${parts.join(`\n${'-'.repeat(80)}\n\n`)}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { setup } = await import('./setup.mjs')
  setup()
  await build()
}
