import { fork } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { tellWorker } from '../../src/nodes/channel.js'

/** The system has ended it, whether or not anybody has noticed. */
function isEnded(pid: number): boolean {
  const path = `/proc/${pid}/stat`
  return !existsSync(path) || /\) Z /.test(readFileSync(path, 'utf8'))
}

it('a worker that says something when the primary is gone does not fail by it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'starling-test-'))
  const program = join(folder, 'worker.mjs')
  const channel = new URL('../../src/nodes/channel.ts', import.meta.url).href
  writeFileSync(
    program,
    `import { workerChannel } from ${JSON.stringify(channel)}
     const { tell } = workerChannel({})
     process.on('disconnect', () => {
       tell({ say: 'ready' })
       setTimeout(() => process.exit(7), 50)
     })
     process.send('loaded')`,
  )
  const worker = fork(program, {
    execArgv: ['--import', fileURLToPath(new URL('../support/typescript.js', import.meta.url))],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const exited = once(worker, 'exit')
  await once(worker, 'message')
  worker.disconnect()
  expect(await exited).toEqual([7, null])
  rmSync(folder, { recursive: true })
})

it('a worker that died this moment and is spoken to ends nobody else', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'starling-test-'))
  const program = join(folder, 'worker.mjs')
  writeFileSync(program, `process.on('message', () => undefined); process.send('ready')`)
  const worker = fork(program)
  await once(worker, 'message')
  const errors: Error[] = []
  worker.on('error', (error) => errors.push(error))
  const exited = once(worker, 'exit')
  worker.kill('SIGKILL')
  // Without a turn of the event loop: this process has heard of nothing.
  while (!isEnded(worker.pid ?? 0)) continue
  expect(worker.connected).toBe(true)
  const hearer = { isConnected: () => worker.connected, send: worker.send.bind(worker) }
  tellWorker(hearer, { say: 'full', isFull: true })
  await exited
  tellWorker(hearer, { say: 'stop' })
  await new Promise(setImmediate)
  expect(errors).toEqual([])
  rmSync(folder, { recursive: true })
})
