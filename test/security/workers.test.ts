import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { eventually, useServer } from '../api/content/support.js'
import { childrenOf } from '../support/processes.js'

describe('a worker that cannot start again', () => {
  const server = useServer('sqlite', { workers: 2 })

  it('is tried again until it can, so that an outage of a moment does not leave a node without workers', async () => {
    const { api } = await server().person()
    expect((await api.get('/folders/root')).status).toBe(200)
    const key = join(server().dataDir, 'tls', 'key.pem')
    await rename(key, `${key}.away`)
    for (const pid of childrenOf(server().pid)) process.kill(pid, 'SIGKILL')
    await sleep(6_000)
    await rename(`${key}.away`, key)
    await eventually(async () => {
      const answer = await server().client(api.token).get('/folders/root')
      expect(answer.status).toBe(200)
    })
  })
})
