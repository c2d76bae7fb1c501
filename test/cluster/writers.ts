/** Clients that write without pause and remember what they were told, so that afterwards it can be held against the nodes. */
import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { bytesOf } from '../api/content/support.js'
import type { Answer, Client } from '../support/client.js'

const SMALL_BYTES = 2_000
/** Too large for the database: it goes to the content store. */
const LARGE_BYTES = 90_000
const WRITERS = 6
/** The machine has other things to do. */
const PAUSE_MS = 50

export interface Writers {
  /** How many answers there were of each kind, such as `204` or `503 INTERNAL_ERROR`; `lost` for none at all. */
  readonly answers: ReadonlyMap<string, number>
  /** Resolves when each writer has been told so many times more that its write is stored. */
  stored(times: number): Promise<void>
  /** Ends them and compares what each node has with what was acknowledged. */
  stopAndVerify(readers: readonly Client[]): Promise<void>
}

interface Writer {
  readonly file: string
  stored: number
  /** What the content may be now: the last that was acknowledged, or one that was not and came after it. */
  possible: Set<string>
}

/** Each writer has a file of its own and goes from node to node with it. */
export async function startWriters(name: string, clients: readonly Client[]): Promise<Writers> {
  const answers = new Map<string, number>()
  const writers: Writer[] = []
  let isOver = false
  const [first] = clients
  if (first === undefined) throw new Error('writers need a node')
  for (let count = 0; count < WRITERS; count += 1) {
    writers.push({ file: await first.file(`${name} ${count}`), stored: 0, possible: new Set(['404']) })
  }

  async function write(writer: Writer, turn: number, seed: number): Promise<void> {
    const api = clients[turn % clients.length] ?? first
    const content = bytesOf(turn % 2 === 0 ? SMALL_BYTES : LARGE_BYTES, seed)
    const answer = await api?.upload(writer.file, content).catch(() => undefined)
    const kind = kindOf(answer)
    answers.set(kind, (answers.get(kind) ?? 0) + 1)
    if (kind === '204') {
      writer.possible = new Set([nameOf(content)])
      writer.stored += 1
    } else writer.possible.add(nameOf(content))
  }

  const running = writers.map(async (writer, index) => {
    for (let turn = index; !isOver; turn += 1) {
      await write(writer, turn, 1 + turn * WRITERS + index)
      await delay(PAUSE_MS)
    }
  })

  return {
    answers,
    async stored(times) {
      const wanted = writers.map((writer) => writer.stored + times)
      await expect
        .poll(() => writers.every((writer, index) => writer.stored >= (wanted[index] ?? 0)), {
          timeout: 120_000,
          interval: 50,
        })
        .toBe(true)
    },
    async stopAndVerify(readers) {
      isOver = true
      await Promise.all(running)
      for (const reader of readers) {
        for (const { file, possible } of writers) {
          const answer = await reader.get(`/files/${file}/content`)
          expect([...possible]).toContain(answer.status === 200 ? nameOf(answer.body) : String(answer.status))
        }
      }
    },
  }
}

function nameOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

function kindOf(answer: Answer | undefined): string {
  if (answer === undefined || answer.isCut) return 'lost'
  return answer.status === 204 ? '204' : `${answer.status} ${answer.json.type}`
}
