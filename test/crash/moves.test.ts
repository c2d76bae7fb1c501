import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/db/open.js'
import { fillFolders } from '../support/fill.js'
import { connect, sendJson, type Client } from './client.js'
import { seededRandom } from './random.js'
import { hasStrace, injecting } from './strace.js'
import {
  addUserWithToken,
  brokenInvariants,
  endServers,
  newFolder,
  points,
  removeFolders,
  runProgram,
  SEED,
  startServer,
} from './support.js'

afterEach(endServers)
afterAll(removeFolders)

const EMAIL = 'crash@example.org'
const SCOPE = 'files.read,files.write,acl.read,acl.write'
const WIDTH = 5
const EACH = 400

interface Thing {
  readonly id: string
  readonly name: string
}

interface MovingWorld {
  readonly data: string
  readonly token: string
  readonly share: string
}

/** A shared folder and, in the root, a folder with some thousand others below it. */
async function newMovingWorld(): Promise<MovingWorld> {
  const data = newFolder()
  addUserWithToken(data, EMAIL)
  const issued = runProgram(['token', 'add', '--user', EMAIL, '--scope', SCOPE, '--data', data, '--json'])
  const { access_token: token } = JSON.parse(issued.output) as { access_token: string }
  const server = await startServer({ data })
  const client = connect(server, token)
  const made = async (path: string, body: object): Promise<string> => {
    const reply = await sendJson(client, 'POST', path, body)
    expect(reply.status).toBe(201)
    return (JSON.parse(reply.body.toString()) as Thing).id
  }
  const share = await made('/shares', { name: 'Plans' })
  const top = await made('/folders', { name: 'top', parent: 'root' })
  const middles: string[] = []
  for (let index = 0; index < WIDTH; index += 1) {
    middles.push(await made('/folders', { name: `m${index}`, parent: top }))
  }
  client.close()
  await server.stop()
  const db = await openDatabase({ url: undefined, dataDir: data })
  await fillFolders(db, middles, EACH)
  await db.close()
  return { data, token, share }
}

/** All ids of the moving folder, the topmost first; a fault when it is not whole and at one place. */
async function whereabouts(client: Client, share: string): Promise<string[]> {
  const childrenOf = async (id: string): Promise<Thing[]> => {
    const reply = await client.send('GET', `/folders/${id}/children`)
    expect(reply.status).toBe(200)
    return (JSON.parse(reply.body.toString()) as { folders: Thing[] }).folders
  }
  const tops = [...(await childrenOf('root')), ...(await childrenOf(share))].filter(
    ({ name }) => name === 'top',
  )
  expect(tops).toHaveLength(1)
  const ids = tops.map(({ id }) => id)
  const middles = await childrenOf(ids[0] ?? '')
  expect(middles.map(({ name }) => name)).toEqual(['m0', 'm1', 'm2', 'm3', 'm4'])
  ids.push(...middles.map(({ id }) => id))
  for (const { id } of middles) {
    const leaves = await childrenOf(id)
    expect(leaves).toHaveLength(EACH)
    ids.push(...leaves.map((leaf) => leaf.id))
  }
  for (const id of ids) expect(id.slice(0, 32)).toBe(ids[0]?.slice(0, 32))
  return ids
}

/** Starts the move to the other place; the status, or 0 when no answer came. */
function move(client: Client, { share }: MovingWorld, top: string): Promise<number> {
  const parent = top.startsWith(share) ? 'root' : share
  return sendJson(client, 'PUT', `/folders/${top}`, { parent }).then(
    ({ status }) => status,
    () => 0,
  )
}

/** What a restart finds: everything under the old ids, or everything under new ones and none of the old. */
async function settled(world: MovingWorld, before: readonly string[], status: number): Promise<string[]> {
  const server = await startServer({ data: world.data })
  const client = connect(server, world.token)
  const after = await whereabouts(client, world.share)
  if (after[0] === before[0]) {
    expect(status, 'an acknowledged move').not.toBe(200)
    expect(after).toEqual(before)
  } else {
    const old = new Set(before)
    expect(after.filter((id) => old.has(id))).toEqual([])
    for (const id of before.filter((_, index) => index % 50 === 0)) {
      expect((await client.send('GET', `/folders/${id}`)).status).toBe(404)
    }
  }
  client.close()
  await server.stop()
  expect(brokenInvariants(world.data)).toEqual([])
  return after
}

describe('a node killed during a large move across stores', () => {
  test('has moved all or nothing, whenever it is killed [MOVE-24]', async () => {
    const world = await newMovingWorld()
    const random = seededRandom(SEED + 40)
    let server = await startServer({ data: world.data })
    let client = connect(server, world.token)
    let ids = await whereabouts(client, world.share)
    const start = Date.now()
    expect(await move(client, world, ids[0] ?? '')).toBe(200)
    const duration = Date.now() - start
    ids = await whereabouts(client, world.share)
    client.close()
    await server.stop()
    for (let point = 1; point <= points(30, 3); point += 1) {
      server = await startServer({ data: world.data })
      client = connect(server, world.token)
      const timer = setTimeout(server.kill, random.between(1, Math.ceil(duration * 1.2)))
      const status = await move(client, world, ids[0] ?? '')
      clearTimeout(timer)
      server.kill()
      await server.gone()
      client.close()
      ids = await settled(world, ids, status)
    }
  })

  test.skipIf(!hasStrace())('has moved all or nothing, at whichever write it dies [MOVE-24]', async () => {
    const world = await newMovingWorld()
    const first = await startServer({ data: world.data })
    const reader = connect(first, world.token)
    let ids = await whereabouts(reader, world.share)
    reader.close()
    await first.stop()
    const all = [40, 150, 15, 80, 300, 5, 25, 200, 60, 2, 10, 1]
    let died = 0
    for (const time of all.slice(0, points(all.length, 3))) {
      const under = injecting(['pwrite64'], `signal=KILL:when=${time}`, join(newFolder(), 'trace'))
      const server = await startServer({ data: world.data, under }).catch(() => undefined)
      let status = 0
      if (server !== undefined) {
        const client = connect(server, world.token)
        status = await move(client, world, ids[0] ?? '')
        client.close()
        server.kill()
        await server.gone()
        if (status === 0) died += 1
      }
      ids = await settled(world, ids, status)
    }
    expect(died, 'deaths during a move').toBeGreaterThan(0)
  })
})
