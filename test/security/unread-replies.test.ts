import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { useServer } from '../api/content/support.js'
import { openRaw, requestHead } from '../support/raw.js'

describe('a client that asks and asks and never reads', () => {
  const server = useServer('sqlite', { args: ['--drain-idle-ms', '1000'] })

  it('is cut when it has taken nothing for the time of a stalled download, however small the replies are', async () => {
    const raw = await openRaw(server())
    raw.pause()
    const request = requestHead('GET', '/healthz', undefined)
    let isClosed = false
    void raw.closed.then(() => (isClosed = true))
    for (let count = 0; count < 200; count += 1) {
      raw.send(request.repeat(200))
      await sleep(5)
    }
    await sleep(4_000)
    const metrics = await server().client().call('GET', '/metrics', { absolute: true })
    const open = Number(/^starling_connections (\d+)$/m.exec(metrics.text)?.[1])
    raw.resume()
    await sleep(200)
    raw.drop()
    expect({ open, isClosed }).toMatchObject({ open: 1 })
  })
})
