// npm run bench: Starling beside its peers on this machine, as one table of ratios.
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import * as children from './rows/children.mjs'
import * as download from './rows/download.mjs'
import * as folder from './rows/folder.mjs'
import * as growth from './rows/growth.mjs'
import * as people from './rows/people.mjs'
import * as replica from './rows/replica.mjs'
import { BINARY } from './peers/starling.mjs'
import * as signIn from './rows/sign-in.mjs'
import * as smallFiles from './rows/small-files.mjs'
import * as upload from './rows/upload.mjs'
import { wrkMissing } from './support/load.mjs'
import { endEverythingOnExit, removeAtEnd } from './support/processes.mjs'
import { rowLines, tableHead } from './support/report.mjs'
import { makeScope } from './support/scope.mjs'
import { makeCertificate } from './support/tls.mjs'

const FAMILIES = [download, upload, smallFiles, folder, children, people, signIn, replica, growth]

const USAGE = `usage: node bench/run.mjs [--rounds N] [--only NAME] [--quick] [--out FILE] [--dir DIR]

  --rounds N   rounds of each row, in which the servers take turns (default 3; 1 with --quick)
  --only NAME  only rows whose name begins with NAME, or contenders of a row as ROW/SERVER; may be repeated
  --quick      smaller files and shorter runs: a first impression, not a result
  --out FILE   writes the table there as well
  --dir DIR    where the servers keep their data while they run (default: the folder for temporary files)
`

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string' },
    only: { type: 'string', multiple: true, default: [] },
    quick: { type: 'boolean', default: false },
    out: { type: 'string' },
    dir: { type: 'string', default: tmpdir() },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  process.stdout.write(USAGE)
  process.exit(0)
}
const rounds = Number(options.rounds ?? (options.quick ? 1 : 3))
if (!Number.isInteger(rounds) || rounds < 1) {
  process.stderr.write(USAGE)
  process.exit(2)
}

const MIB = 1024 ** 2
const sizes = options.quick
  ? { bytes: 256 * MIB, seconds: 2, listingSeconds: 2, growthSeconds: 1, objects: 200_000 }
  : { bytes: 1024 * MIB, seconds: 4, listingSeconds: 3, growthSeconds: 2, objects: 1_000_000 }

endEverythingOnExit()
mkdirSync(options.dir, { recursive: true })
const base = mkdtempSync(join(options.dir, 'starling-bench-'))
removeAtEnd(base)

let folders = []
let folderCount = 0
const agreed = new Map()
const context = {
  ...{ folder: base, sizes, rounds, tls: await makeCertificate(base) },
  newFolder(label) {
    const path = join(base, `${label}-${folderCount++}`)
    mkdirSync(path, { mode: 0o755 })
    folders.push(path)
    return path
  },
  takeFolders() {
    const taken = folders
    folders = []
    return taken
  },
  saw: ({ name, tls }) => agreed.set(name, tls),
}
// Apache's workers run under another account and must reach the files below.
chmodSync(base, 0o755)

const progress = (text) => process.stderr.write(`${text}\n`)

function chosen(row) {
  if (options.only.length === 0) return row.contenders
  return row.contenders.filter(({ name }) =>
    options.only.some((only) => {
      const [rowName, server] = only.split('/')
      return (
        row.key.startsWith(rowName) &&
        (server === undefined || name.toLowerCase().startsWith(server.toLowerCase()))
      )
    }),
  )
}

/** Opens the contenders, lets them take turns, and gives the samples of each; a failure ends that contender alone. */
async function measure(row) {
  const results = new Map(row.contenders.map(({ name }) => [name, { missing: 'left out by --only' }]))
  const active = []
  for (const { name, missing, open } of chosen(row)) {
    const reason = missing()
    results.set(name, reason === undefined ? { samples: [] } : { missing: reason })
    if (reason !== undefined) continue
    try {
      const contender = await open()
      await contender.warmUp()
      active.push({ name, sample: contender.sample })
    } catch (error) {
      fail(results, row, name, error)
    }
  }
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < active.length; turn++) {
      const { name, sample } = active[(turn + round) % active.length]
      const result = results.get(name)
      if (result.failure !== undefined) continue
      try {
        const taken = await sample()
        result.samples.push(taken)
        const { amount, seconds, cpuSeconds } = taken
        progress(
          `${row.key} round ${round + 1} ${name}: ${amount.toFixed(2)} in ${seconds.toFixed(2)} s, CPU ${cpuSeconds.toFixed(2)} s`,
        )
      } catch (error) {
        fail(results, row, name, error)
      }
    }
  }
  return results
}

function fail(results, row, name, error) {
  results.set(name, { failure: error.message.replaceAll(/[|\s]+/g, ' ').slice(0, 200) })
  progress(`${row.key} ${name} failed: ${error.stack}`)
}

const lines = []
const began = Date.now()
const loadBefore = loadavg()[0]
for (const family of FAMILIES) {
  const scope = makeScope(context)
  try {
    for (const row of await family.rows(context, scope)) {
      if (chosen(row).length > 0) lines.push(...rowLines(row, await measure(row)))
    }
  } finally {
    await scope.close()
  }
}

const mode = options.quick ? ', --quick: a first impression, not a result' : ''
const report = [
  '# Starling beside its peers',
  '',
  `${new Date().toISOString().slice(0, 16)}Z, ${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 1024 ** 3)} GiB, ` +
    `Linux ${release()}, Node ${process.version}; ${rounds} round(s)${mode}; load average before: ${loadBefore.toFixed(2)}; ` +
    `took ${Math.round((Date.now() - began) / 1000)} s.`,
  `Starling: ${BINARY}. TLS: ${[...agreed].map(([name, tls]) => `${name} ${tls}`).join(', ') || 'no server ran'}.`,
  ...(wrkMissing() === undefined ? [] : [`${wrkMissing()}.`]),
  '',
  ...tableHead(),
  ...lines,
  '',
  'Values are medians of the rounds (lowest–highest); ratios are medians of the ratios of each round, Starling divided by the other.',
  "Server CPU is user and system time of the server's whole process tree. Starling's uploads are durable and hashed before they are",
  "answered; nginx and @tus/server leave the bytes to the kernel's cache. Everything runs on 127.0.0.1, clients on the same cores.",
  '',
].join('\n')
process.stdout.write(report)
if (options.out !== undefined) writeFileSync(options.out, report)
process.exit(0)
