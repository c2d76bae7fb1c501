import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { connect, CutConnection, sendJson } from './client.js'
import { seededBytes, seededRandom } from './random.js'
import { endServers, points, removeFolders, SEED, type Server } from './support.js'
import { newWorld, works } from './world.js'
import { childrenOf } from '../support/processes.js'

afterEach(endServers)
afterAll(removeFolders)

const CLIENTS = 4
const OPERATIONS_MAX = 10_000

describe('a node that is killed', () => {
  test('keeps all it acknowledged when it is killed at every n-th acknowledgement [UP-57] [UP-58] [NODE-16]', async () => {
    const world = await newWorld(SEED, CLIENTS, undefined, { workers: 2 })
    for (let point = 1; point <= points(60, 4); point += 1) {
      const server = await world.start()
      expect(await world.faults(server), `before point ${point}`).toEqual([])
      const target = world.acknowledged() + 3 + ((point * 7) % 31)
      await world.run(server, OPERATIONS_MAX, (acknowledged) => {
        if (acknowledged === target) server.kill()
      })
      await server.gone()
    }
    const last = await world.start()
    expect(await world.faults(last)).toEqual([])
    expect(await world.finish(last)).toEqual([])
    expect(await last.stop()).toBe(0)
  })

  test('keeps all it acknowledged when it is killed at random times [UP-57] [UP-58]', async () => {
    const random = seededRandom(SEED + 1)
    const world = await newWorld(SEED + 1, CLIENTS, undefined, { workers: 1 })
    for (let point = 1; point <= points(60, 4); point += 1) {
      const server = await world.start()
      expect(await world.faults(server), `before point ${point}`).toEqual([])
      if (point % 3 === 0) expect(await world.finish(server), `finishing before point ${point}`).toEqual([])
      const timer = setTimeout(() => server.kill(), random.between(5, 900))
      await world.run(server, OPERATIONS_MAX)
      clearTimeout(timer)
      await server.gone()
    }
    const last = await world.start()
    expect(await world.faults(last)).toEqual([])
    expect(await world.finish(last)).toEqual([])
    expect(await last.stop()).toBe(0)
  })

  test('has the old or the new content when it is killed as an upload completes [UP-58]', async () => {
    const random = seededRandom(SEED + 2)
    const world = await newWorld(SEED + 2, 1)
    let server = await world.start()
    const made = await sendJson(connect(server, world.token), 'POST', '/files', {
      name: 'swing.bin',
      parent: 'root',
    })
    const path = `/files/${(JSON.parse(made.body.toString()) as { id: string }).id}/content`
    let held = seededBytes(1, 300_000)
    expect((await connect(server, world.token).send('PUT', path, {}, held)).status).toBe(204)
    const outcomes = { old: 0, new: 0 }
    for (let point = 1; point <= points(40, 2); point += 1) {
      const client = connect(server, world.token)
      const next = seededBytes(point + 1, point % 2 === 0 ? 300_000 : 20_000)
      const first = await client.send(
        'PUT',
        path,
        { 'content-range': `bytes 0-9999/${next.length}` },
        next.subarray(0, 10_000),
      )
      const uploadId = String(first.headers['upload-id'])
      const range = `bytes 10000-${next.length - 1}/${next.length}`
      const finish = client.send(
        'PUT',
        path,
        { 'content-range': range, 'upload-id': uploadId },
        next.subarray(10_000),
      )
      const timer = setTimeout(server.kill, random.between(0, 25))
      const status = await finish.then(
        (reply) => reply.status,
        (error: unknown) => (error instanceof CutConnection ? 0 : -1),
      )
      clearTimeout(timer)
      expect([0, 204]).toContain(status)
      server.kill()
      await server.gone()
      client.close()
      server = await world.start()
      const now = (await connect(server, world.token).send('GET', path)).body
      const isNew = now.equals(next)
      if (status === 204) expect(isNew, 'acknowledged content').toBe(true)
      if (!isNew) expect(now.equals(held), 'the old content').toBe(true)
      outcomes[isNew ? 'new' : 'old'] += 1
      held = now
    }
    expect(outcomes.old + outcomes.new).toBeGreaterThan(0)
    expect(await world.faults(server)).toEqual([])
    await server.stop()
  })
})

describe('a node that loses one worker', () => {
  test('goes on, replaces it and keeps all it acknowledged [UP-57] [NODE-16]', async () => {
    const world = await newWorld(SEED + 3, CLIENTS, undefined, { workers: 2 })
    const server = await world.start()
    const before = workersOf(server)
    expect(before.length).toBeGreaterThanOrEqual(2)
    for (let point = 0; point < points(10, 1); point += 1) {
      const victim = workersOf(server)[point % 2]
      const target = world.acknowledged() + 15
      await world.run(server, 60, (acknowledged) => {
        if (acknowledged === target && victim !== undefined) process.kill(victim, 'SIGKILL')
      })
      expect(server.isAlive()).toBe(true)
      await eventually(() => workersOf(server).length === before.length)
      expect(workersOf(server)).not.toContain(victim)
      expect(await world.faults(server), `after worker ${point}`).toEqual([])
      expect(await works(server, world.token, `after worker ${point}`)).toBe(true)
    }
    expect(await world.finish(server)).toEqual([])
    expect(await server.stop()).toBe(0)
  })

  test('frees the upload slots of the lost worker [LIMIT-8]', async () => {
    const args = ['--max-uploads', '2']
    const world = await newWorld(SEED + 4, 1, undefined, { workers: 2, args })
    const server = await world.start()
    const client = connect(server, world.token)
    const made = await sendJson(client, 'POST', '/files', { name: 'slots.bin', parent: 'root' })
    const path = `/files/${(JSON.parse(made.body.toString()) as { id: string }).id}/content`
    // A probe that comes first may take the slot of one of them for a moment; it then tries again, on a connection that
    // owes nothing of an earlier body.
    let isKilled = false
    const getStuck = async (): Promise<void> => {
      while (!isKilled) {
        const holder = connect(server, world.token)
        const body = Buffer.alloc(70_000, 1)
        await holder.send('PUT', path, { 'content-length': '100000' }, body).catch(() => undefined)
        holder.close()
      }
    }
    const stuck = [1, 2].map(getStuck)
    await eventually(async () => (await client.send('PUT', path, {}, Buffer.alloc(80_000))).status === 429)
    isKilled = true
    for (const worker of workersOf(server)) process.kill(worker, 'SIGKILL')
    await Promise.all(stuck)
    await eventually(async () => {
      const other = connect(server, world.token)
      const status = await other.send('PUT', path, {}, Buffer.alloc(80_000)).then(
        (reply) => reply.status,
        () => 0,
      )
      other.close()
      return status === 204
    })
    expect(await world.faults(server)).toEqual([])
    await server.stop()
  })
})

/** The children of the process that was started; a wrapper script that was not replaced by the program counts as that process. */
function workersOf(server: Server): number[] {
  const direct = childrenOf(server.pid)
  const [only] = direct
  return direct.length === 1 && only !== undefined && childrenOf(only).length > 0 ? childrenOf(only) : direct
}

async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000
  while (!(await condition())) {
    if (Date.now() > end) throw new Error('what was waited for did not happen in time')
    await new Promise((done) => setTimeout(done, 50))
  }
}
