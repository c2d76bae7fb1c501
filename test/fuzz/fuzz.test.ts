import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { connect, sendJson } from '../crash/client.js'
import { seededRandom } from '../crash/random.js'
import {
  addUserWithToken,
  brokenInvariants,
  endServers,
  newFolder,
  removeFolders,
  residentBytes,
  SEED,
  startServer,
  type Server,
} from '../crash/support.js'
import { answerFaults, readAnswers } from './answers.js'
import { brokenCase, HIDDEN_NAME, type BrokenCase } from './broken.js'
import { framedRequest, type FuzzRequest } from './framed.js'
import { wires, type Wires } from './socket.js'
import type { Known } from './values.js'

const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 10_000)
const BROKEN_SHARE = 0.3
const BATCH = 16
const CONNECTIONS = 16
const QUIET_BROKEN_MS = 150
const QUIET_FRAMED_MS = 10_000
const SETTLE_MS = 4_000
const GROWTH_BYTES_MAX = 64 * 1024 * 1024
const FAULTS_SHOWN_MAX = 40
const SHOWN_BYTES = 300

afterEach(endServers)
afterAll(removeFolders)

describe('ten thousand malformed requests', () => {
  test('leave the server up, get documented answers only and leak nothing [ERR-9] [ERR-1] [HTTP-3] [HTTP-15] [HTTP-19] [HTTP-30] [LIMIT-11]', async () => {
    const data = newFolder()
    const token = addUserWithToken(data, 'fuzz@example.org')
    const server = await startServer({ data, workers: 1 })
    const known = await prepare(server, token)
    const processes = server.pids()
    const faults = new Map<string, { count: number; example: string }>()
    const statuses = new Map<number, number>()
    const note: Note = (fault, example) => {
      const { count, example: first } = faults.get(fault) ?? { count: 0, example }
      faults.set(fault, { count: count + 1, example: first })
    }
    const wire = wires(server.origin)

    await batchOf(wire, known, SEED, REQUESTS / 2, note, statuses)
    await sleep(SETTLE_MS)
    const middle = residentBytes(server)
    await batchOf(wire, known, SEED + 1, REQUESTS / 2, note, statuses)
    await sleep(SETTLE_MS)
    const grown = residentBytes(server) - middle

    process.stdout.write(
      `fuzz: answers ${[...statuses]
        .sort()
        .map(([status, count]) => `${status}×${count}`)
        .join(' ')}; memory ${middle >> 20} MiB, grown by ${grown >> 20} MiB\n`,
    )
    expect(
      [...faults]
        .slice(0, FAULTS_SHOWN_MAX)
        .map(([fault, { count, example }]) => `${count}× ${fault}, such as ${example}`),
    ).toEqual([])
    expect(server.pids(), 'the same processes still run').toEqual(processes)
    const client = connect(server, token)
    const children = await client.send('GET', '/folders/root/children')
    expect(children.status).toBe(200)
    expect(children.body.toString()).not.toContain(HIDDEN_NAME)
    client.close()
    expect(grown, `bytes of memory beyond ${middle}`).toBeLessThan(GROWTH_BYTES_MAX)
    expect(brokenInvariants(data)).toEqual([])
    expect(await server.stop()).toBe(0)
  })
})

async function prepare(server: Server, token: string): Promise<Known> {
  const client = connect(server, token)
  const idOf = async (noun: string, name: string): Promise<string> => {
    const made = await sendJson(client, 'POST', `/${noun}`, { name, parent: 'root' })
    return (JSON.parse(made.body.toString()) as { id: string }).id
  }
  const known = { token, folder: await idOf('folders', 'a folder'), file: await idOf('files', 'a file.txt') }
  await client.send('PUT', `/files/${known.file}/content`, {}, Buffer.from('some content of a file'))
  client.close()
  return known
}

type Note = (fault: string, example: string) => void
type Statuses = Map<number, number>

async function batchOf(
  wire: Wires,
  known: Known,
  seed: number,
  count: number,
  note: Note,
  statuses: Statuses,
): Promise<void> {
  const random = seededRandom(seed)
  const tasks: (() => Promise<void>)[] = []
  for (let made = 0; made < count;) {
    if (random.chance((BROKEN_SHARE * BATCH) / (1 - BROKEN_SHARE + BROKEN_SHARE * BATCH))) {
      const one = brokenCase(random, known)
      tasks.push(() => sendBroken(wire, one, note, statuses))
      made += 1
    } else {
      const requests = Array.from({ length: BATCH }, () => framedRequest(random, known))
      tasks.push(() => sendFramed(wire, requests, note, statuses))
      made += BATCH
    }
  }
  const runner = async (): Promise<void> => {
    for (let task = tasks.shift(); task !== undefined; task = tasks.shift()) await task()
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, runner))
}

/** Sends the requests on as few connections as the server allows, until each had its answer. */
async function sendFramed(
  wire: Wires,
  all: readonly FuzzRequest[],
  note: Note,
  statuses: Statuses,
): Promise<void> {
  let isAlone = false
  for (let requests = all; requests.length > 0;) {
    const sent = isAlone ? requests.slice(0, 1) : requests
    const methods = sent.map(({ method }) => method)
    const exchange = await wire.exchange(Buffer.concat(sent.map(({ bytes }) => bytes)), {
      quietMs: QUIET_FRAMED_MS,
      isDone: (received) => readAnswers(received, methods).answers.length === sent.length,
    })
    const { answers, fault } = readAnswers(exchange.bytes, methods)
    const shown = (index: number): string =>
      JSON.stringify(sent[index]?.bytes.subarray(0, SHOWN_BYTES).toString('latin1'))
    if (fault !== undefined) note(fault, shown(answers.length))
    answers.forEach((answer, index) => {
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      const { method = '', path = '' } = sent[index] ?? {}
      for (const found of answerFaults(answer, method, path)) note(found, shown(index))
    })
    // Bytes behind a refused request may reset the connection and take the answer along, so the request gets a second chance alone.
    const isUnanswered = answers.length === 0 && fault === undefined
    if (isUnanswered && isAlone)
      note(`no answer and the connection ${exchange.isEndedByServer ? 'cut' : 'silent'}`, shown(0))
    const judged = answers.length + (fault === undefined ? 0 : 1)
    requests = requests.slice(isUnanswered && isAlone ? 1 : judged)
    isAlone = isUnanswered && !isAlone
  }
}

async function sendBroken(wire: Wires, one: BrokenCase, note: Note, statuses: Statuses): Promise<void> {
  const { isPlain = false, drops = false, hidesOne = false, title } = one
  const exchange = await wire.exchange(one.bytes, { quietMs: QUIET_BROKEN_MS, isPlain, drops })
  if (isPlain) {
    const text = exchange.bytes.toString('latin1')
    if (text.startsWith('HTTP/') && !text.startsWith('HTTP/1.1 400 '))
      note(`an answer without TLS: ${text.slice(0, 60)}`, title)
    return
  }
  const { answers, fault } = readAnswers(exchange.bytes, [])
  if (fault !== undefined) note(fault, title)
  for (const answer of answers) {
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    for (const found of answerFaults(answer, 'GET', '/')) note(found, title)
  }
  if (hidesOne && answers.length > 1) note('a hidden request was answered', title)
  if (exchange.isStuck) note('the connection stays open after the end of the client', title)
}
