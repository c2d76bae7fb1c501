// `npm start`: sets up everything and runs a node; arguments after `--` go to `starling serve`.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { root, setup } from './setup.mjs'

setup()
const { build } = await import('./build.mjs')
await build()
const args = [join(root, 'bin', 'starling'), 'serve', '--welcome', ...process.argv.slice(2)]
const server = spawn(process.execPath, args, { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => server.kill(signal))
server.on('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 1))
