// A client process that asks at an even pace and notes how long each answer takes, until it is told to stop.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { openConnection } from './connection.mjs'

const CONNECTIONS = 8
const PAUSE_MS = 10

const told = new Map(['job', 'go', 'stop'].map((type) => [type, deferred()]))

function deferred() {
  const parts = {}
  parts.promise = new Promise((resolve) => (parts.resolve = resolve))
  return parts
}

process.on('message', (message) => told.get(message.type).resolve(message))
const ended = once(process, 'disconnect')

try {
  const { url, paths, headers } = await told.get('job').promise
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => openConnection(url)))
  process.send({ ready: true })
  await told.get('go').promise
  let isStopped = false
  void told.get('stop').promise.then(() => (isStopped = true))
  const times = []
  const began = performance.now()
  await Promise.all(
    connections.map(async (connection, place) => {
      for (let index = place; !isStopped; index += CONNECTIONS) {
        const startedMs = performance.now()
        const { status } = await connection.request('GET', paths[(index * 7919) % paths.length], headers)
        if (status !== 200) throw new Error(`status ${status}`)
        times.push(performance.now() - startedMs)
        await sleep(PAUSE_MS)
      }
    }),
  )
  for (const connection of connections) connection.close()
  process.send({ times, seconds: (performance.now() - began) / 1000 })
} catch (error) {
  process.send({ failure: error.message })
}
// The other side hangs up when it has read everything.
await ended
process.exit(0)
