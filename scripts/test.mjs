// `npm test`: sets up everything and runs the tests; arguments after `--` go to vitest.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { root, setup } from './setup.mjs'

setup()
const { build } = await import('./build.mjs')
await build()
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
const env = { ...process.env }
// Each process would read these at its start, for longer than the rest of it takes, and the tests trust nobody outside.
delete env.NODE_EXTRA_CA_CERTS
const result = spawnSync(process.execPath, [vitest, 'run', ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
  env,
})
process.exit(result.status ?? 1)
