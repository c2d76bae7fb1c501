import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { reception, type Reception } from '../../src/nodes/reception.js'
import { eventually, useServer } from '../api/content/support.js'
import { CURRENT } from '../support/client.js'
import { childrenOf } from '../support/processes.js'
import type { TestServer } from '../support/server.js'
import { ask, bearer, requestText } from '../support/wire.js'

const WORKERS = 2

/** Connections that say nothing, each until the server ends it. */
function knock(server: TestServer, count: number): { opened: Promise<unknown>; ended: Promise<unknown> } {
  const sockets = Array.from({ length: count }, () =>
    connect(server.port, server.host.replace(/^\[|\]$/g, '')).on('error', () => undefined),
  )
  const all = (event: string): Promise<unknown> =>
    Promise.all(sockets.map((socket) => new Promise<void>((done) => socket.once(event, () => done()))))
  for (const socket of sockets) socket.resume()
  return { opened: all('connect'), ended: all('close') }
}

describe('a node whose workers all die at once', () => {
  const server = useServer('sqlite', { workers: WORKERS })

  async function workers(): Promise<number[]> {
    let pids: number[] = []
    await eventually(() => {
      pids = childrenOf(server().pid)
      return Promise.resolve(expect(pids).toHaveLength(WORKERS))
    })
    return pids
  }

  it('ends the connections that they were given and had not taken', async () => {
    const pids = await workers()
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    const connections = knock(server(), 3 * WORKERS)
    await connections.opened
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    await connections.ended
  })

  it('refuses no connection meanwhile and answers when they are replaced', async () => {
    const { token } = await server().person()
    const question = requestText(`GET /api/v${CURRENT}/folders/root`, [bearer(token)])
    expect((await ask(server(), question)).status).toBe(200)
    const killed = await workers()
    for (const pid of killed) process.kill(pid, 'SIGKILL')
    await eventually(() => {
      const left = childrenOf(server().pid).filter((pid) => killed.includes(pid))
      return Promise.resolve(expect(left).toEqual([]))
    })
    const answers = await Promise.all([1, 2, 3, 4].map(() => ask(server(), question)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  })
})

describe('the reception', () => {
  const closing: (() => void)[] = []
  afterEach(() => {
    for (const close of closing.splice(0)) close()
  })

  async function freePort(): Promise<number> {
    const probe = createServer().listen(0, '127.0.0.1')
    await once(probe, 'listening')
    const { port } = probe.address() as AddressInfo
    probe.close()
    await once(probe, 'close')
    return port
  }

  async function opened(limits: { heldMax?: number; heldMs?: number } = {}): Promise<{
    door: Reception
    call(): Promise<Socket>
  }> {
    const door = reception({ heldMax: 10, heldMs: 60_000, complain: () => undefined, ...limits })
    const port = await freePort()
    await door.listen(port, '127.0.0.1')
    closing.push(() => door.close())
    return {
      door,
      async call() {
        const socket = connect(port, '127.0.0.1').on('error', () => undefined)
        closing.push(() => socket.destroy())
        socket.resume()
        await once(socket, 'connect')
        return socket
      },
    }
  }

  /** A worker that only remembers what it was given. */
  function worker(door: Reception, id: number, isReachable = true): { tickets: number[] } {
    const tickets: number[] = []
    door.join({
      id,
      give(ticket, _socket, failed) {
        if (!isReachable) return void process.nextTick(failed)
        tickets.push(ticket)
      },
    })
    return { tickets }
  }

  const until = (check: () => void): Promise<void> => eventually(() => Promise.resolve(check()))

  it('gives every worker its turn, and none to one that takes nothing', async () => {
    const { door, call } = await opened()
    const [quick, stuck] = [worker(door, 1), worker(door, 2)]
    for (let count = 1; count <= 6; count += 1) {
      await call()
      await until(() => expect(quick.tickets.length + stuck.tickets.length).toBe(count))
      for (const ticket of quick.tickets) door.took(1, ticket)
    }
    expect(stuck.tickets).toHaveLength(1)
  })

  it('gives to another one what a worker that cannot be reached was to get', async () => {
    const { door, call } = await opened()
    worker(door, 1, false)
    const other = worker(door, 2)
    await Promise.all([call(), call(), call()])
    await until(() => expect(other.tickets).toHaveLength(3))
  })

  it('lets so many connections wait while there is no worker, and ends those beyond [LIMIT-16]', async () => {
    const { door, call } = await opened({ heldMax: 2 })
    await call()
    await call()
    await once(await call(), 'close')
    const late = worker(door, 1)
    expect(late.tickets).toHaveLength(2)
  })

  it('ends a connection that nobody took in time', async () => {
    const { door, call } = await opened({ heldMs: 50 })
    await once(await call(), 'close')
    const stuck = worker(door, 1)
    const given = await call()
    await once(given, 'close')
    expect(stuck.tickets).toHaveLength(1)
  })
})
