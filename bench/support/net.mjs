import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { negotiated } from './tls.mjs'

/** A port that was free a moment ago, for servers that cannot choose one themselves. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** Waits until the server completes a TLS handshake. */
export async function untilAnswers(url, child, patienceMs = 20_000) {
  const deadline = Date.now() + patienceMs
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`the server of ${url} ended: ${child.complaints.trim()}`)
    }
    try {
      return await negotiated(url)
    } catch (error) {
      if (Date.now() > deadline)
        throw new Error(`${url} does not answer: ${error.message} ${child.complaints}`)
      await sleep(50)
    }
  }
}
