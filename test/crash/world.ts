/** A data folder with its user and several clients at work, which goes through crashes together. */
import { cpSync } from 'node:fs'
import { finishUploads, newActor, settle, work, type Actor } from './actor.js'
import { connect, sendJson } from './client.js'
import { contestedFile, type Contested } from './contested.js'
import {
  addUserWithToken,
  brokenInvariants,
  newFolder,
  startServer,
  type Server,
  type ServerOptions,
} from './support.js'
import type { Sizes } from './workload.js'

export interface World {
  readonly data: string
  readonly token: string
  readonly actors: readonly Actor[]
  readonly contested: Contested
  /** Acknowledged operations so far, of all clients. */
  acknowledged(): number
  /** A server on this data folder. */
  start(options?: Partial<ServerOptions>): Promise<Server>
  /** All clients work until the server is cut off or the limit of acknowledged operations is reached. */
  run(server: Server, limit: number, reached?: (acknowledged: number) => void): Promise<void>
  /** The faults found by reading everything and by `starling check`. */
  faults(server: Server): Promise<string[]>
  /** The faults found by finishing all uploads under way and reading everything again. */
  finish(server: Server): Promise<string[]>
}

export async function newWorld(
  seed: number,
  clients: number,
  sizes?: Sizes,
  options: Partial<ServerOptions> = {},
): Promise<World> {
  const { data, token } = newData()
  const first = await startServer({ data, ...options })
  const actors: Actor[] = []
  for (let index = 0; index < clients; index += 1) {
    actors.push(await newActor(first, token, `client ${index}`, seed * 100 + index, sizes))
  }
  const contested = await contestedFile(first, token, seed)
  await first.stop()
  let acknowledged = 0

  const faults = async (server: Server): Promise<string[]> => {
    const client = connect(server, token)
    const found: string[] = []
    for (const actor of actors) found.push(...(await settle(actor, client)))
    found.push(...(await contested.settle(client)))
    client.close()
    return [...found, ...brokenInvariants(data).map((line) => `check: ${line}`)]
  }

  return {
    data,
    token,
    actors,
    contested,
    faults,
    acknowledged: () => acknowledged,
    start: (more = {}) => startServer({ data, ...options, ...more }),
    run: async (server, limit, reached = () => {}) => {
      const end = acknowledged + limit
      const goesOn = (): boolean => acknowledged < end
      const count = (): void => {
        acknowledged += 1
        reached(acknowledged)
      }
      const all = actors.map((actor) => work(actor, server, token, goesOn, count))
      await Promise.all([...all, contested.work(server, token, goesOn)])
    },
    finish: async (server) => {
      const client = connect(server, token)
      const found: string[] = []
      for (const actor of actors) found.push(...(await finishUploads(actor, client)))
      client.close()
      return [...found, ...(await faults(server))]
    },
  }
}

let template: { data: string; token: string } | undefined

/** A data folder with a user; the commands that make one are slow, so it is made once and copied. */
function newData(): { data: string; token: string } {
  if (template === undefined) {
    const made = newFolder()
    template = { data: made, token: addUserWithToken(made, 'crash@example.org') }
  }
  const data = newFolder()
  cpSync(template.data, data, { recursive: true })
  return { data, token: template.token }
}

/** Whether the server takes a write and gives it back. */
export async function works(server: Server, token: string, name: string): Promise<boolean> {
  const client = connect(server, token)
  const made = await sendJson(client, 'POST', '/folders', { name, parent: 'root' })
  const again = await client.send('GET', '/folders/root/children')
  client.close()
  return made.status === 201 && again.status === 200 && again.body.toString().includes(name)
}
