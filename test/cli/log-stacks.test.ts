import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { ENGINES } from '../support/engines.js'
import { startServer } from '../support/server.js'

const LOG_WAIT_MAX_MS = 40_000

describe.each(ENGINES)('the log of a built program on %s', (engine) => {
  it('tells of a bug where in the sources it is', async () => {
    const server = await startServer(engine)
    try {
      const { api } = await server.person()
      await server.installation.db.write((tx) => tx.run('ALTER TABLE objects RENAME TO objects_away'))
      expect((await api.call('GET', '/folders/root')).status).toBe(500)
      const line = await lineWith(server.log, 'a request failed unexpectedly')
      expect(line.cause).toMatch(/objects/)
      expect(line.cause).toMatch(/[ (]src\/[a-z-]+\/[a-z-]+\.ts:[1-9]\d*:[1-9]\d*/)
      expect(line.cause).not.toMatch(/file:/)
    } finally {
      await server.stop()
    }
  })
})

async function lineWith(log: () => string, text: string): Promise<{ cause: string }> {
  const deadline = performance.now() + LOG_WAIT_MAX_MS
  for (;;) {
    const line = log()
      .split('\n')
      .slice(0, -1)
      .find((one) => one.includes(text))
    if (line !== undefined) return JSON.parse(line) as { cause: string }
    if (performance.now() > deadline) throw new Error(`nothing in the log says: ${text}`)
    await delay(20)
  }
}
