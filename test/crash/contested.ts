/**
 * One file that two clients replace at the same time without a condition. Whatever order the server chose, the content
 * is wholly one of the bodies, and none that an acknowledged later body has replaced.
 */
import { connect, CutConnection, sendJson, type Client } from './client.js'
import { hashOf, seededBytes, seededRandom } from './random.js'
import type { Server } from './support.js'

const CLIENTS = 2
const SMALL_MAX = 30_000
const LARGE_MAX = 120_000

interface Body {
  hash: string
  started: number
  /** Missing until it is acknowledged. */
  ended: number | undefined
}

export interface Contested {
  work(server: Server, token: string, goesOn: () => boolean): Promise<void>
  settle(client: Client): Promise<string[]>
}

export async function contestedFile(server: Server, token: string, seed: number): Promise<Contested> {
  const random = seededRandom(seed + 7)
  const client = connect(server, token)
  const made = await sendJson(client, 'POST', '/files', { name: 'contested.bin', parent: 'root' })
  const path = `/files/${(JSON.parse(made.body.toString()) as { id: string }).id}/content`
  let bodies: Body[] = []
  let clock = 0
  let number = 0

  const write = async (on: Client): Promise<void> => {
    number += 1
    const bytes = seededBytes(
      seed * 1000 + number,
      random.between(1, random.chance(0.5) ? SMALL_MAX : LARGE_MAX),
    )
    const body: Body = { hash: hashOf(bytes), started: (clock += 1), ended: undefined }
    bodies.push(body)
    const reply = await on.send('PUT', path, {}, bytes)
    if (reply.status >= 300)
      throw new Error(`the contested file gave ${reply.status}: ${reply.body.toString()}`)
    body.ended = clock += 1
  }
  await write(client)
  client.close()

  return {
    work: async (at, ofToken, goesOn) => {
      const one = async (): Promise<void> => {
        const on = connect(at, ofToken)
        try {
          while (goesOn()) await write(on)
        } catch (error) {
          if (!(error instanceof CutConnection)) throw error
        } finally {
          on.close()
        }
      }
      await Promise.all(Array.from({ length: CLIENTS }, one))
    },
    settle: async (on) => {
      const reply = await on.send('GET', path)
      if (reply.status !== 200) return [`the contested file gave ${reply.status}`]
      const hash = hashOf(reply.body)
      const body = bodies.find((one) => one.hash === hash)
      if (body === undefined) return ['the contested file holds a mixture']
      const end = body.ended
      const later = bodies.filter((one) => end !== undefined && one.ended !== undefined && one.started > end)
      bodies = [{ hash, started: 0, ended: 0 }]
      return later.length === 0
        ? []
        : [`the contested file holds a body that ${later.length} acknowledged ones replaced`]
    },
  }
}
