// `npm test`: sets up everything and runs the tests; arguments after `--` go to vitest.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { root, setup } from './setup.mjs'

setup()
const { build } = await import('./build.mjs')
build()
const args = process.argv.slice(2)
const env = { ...process.env }
const sample = args.indexOf('--sample')
if (sample >= 0) {
  args.splice(sample, 1)
  env.CRASH_SAMPLE = '1'
}
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
const result = spawnSync(process.execPath, [vitest, 'run', ...args], { cwd: root, stdio: 'inherit', env })
process.exit(result.status ?? 1)
