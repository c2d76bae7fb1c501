/** Records a server at work, and judges what would be left of its data if the power failed at a given moment. */
import { cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { finishUploads, settle, work, type Actor } from './actor.js'
import { connect } from './client.js'
import { replay, type Disk, type Variant } from './disk.js'
import { seededRandom } from './random.js'
import { endUnderStrace, watching } from './strace.js'
import { brokenInvariants, newFolder, startServer } from './support.js'
import { descriptorPath, parseTrace, peerPort, stringsOf, TRACED_CALLS, type Call } from './trace.js'
import { apply, homeTree, type Tree } from './tree.js'
import { newWorld, type World } from './world.js'
import { LITTLE_SIZES, type Sizes } from './workload.js'

const CLIENTS = 3

export interface Recording {
  world: World
  disk: Disk
  /** For each client the places at which its acknowledgements were sent, in order. */
  acknowledged: number[][]
  /** The places at which the database file itself was written, apart from its log. */
  checkpoints: number[]
  /** The place of the last call. */
  end: number
}

export interface RecordOptions {
  operations: number
  sizes?: Sizes
  env?: Record<string, string>
  /** A pause after half of the operations, in which the server may move its log into the database. */
  pauseMs?: number
}

/** A trace that lacks an answer which a client had (strace could not name the connection's peer) judges nothing. */
class TraceIncomplete extends Error {}

const RECORDING_TRIES_MAX = 4

/** A recording whose trace is whole; one that strace left holes in is made again. */
export async function record(seed: number, options: RecordOptions): Promise<Recording> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await recordOnce(seed, options)
    } catch (error) {
      if (!(error instanceof TraceIncomplete) || tries === RECORDING_TRIES_MAX) throw error
    }
  }
}

async function recordOnce(seed: number, options: RecordOptions): Promise<Recording> {
  const { operations, sizes = LITTLE_SIZES, env = {}, pauseMs = 0 } = options
  const world = await newWorld(seed, CLIENTS, sizes, { behindProxy: true })
  const base = join(newFolder(), 'base')
  cpSync(world.data, base, { recursive: true })
  const file = join(newFolder(), 'trace')
  const server = await world.start({ under: watching(TRACED_CALLS, file), env })
  let left = Math.ceil(operations / 2)
  const run = (): Promise<unknown> =>
    Promise.all(
      world.actors.map((actor) =>
        work(
          actor,
          server,
          world.token,
          () => left > 0,
          () => (left -= 1),
        ),
      ),
    )
  await run()
  await sleep(pauseMs)
  left = Math.floor(operations / 2)
  await run()
  await endUnderStrace(server)
  const calls = parseTrace(readFileSync(file, 'utf8'))
  return {
    world,
    disk: replay(calls, world.data, base),
    acknowledged: world.actors.map((actor) => acknowledgements(calls, actor)),
    checkpoints: calls.filter(isDatabaseWrite).map(({ entry }) => entry),
    end: calls.at(-1)?.exit ?? 0,
  }
}

function isDatabaseWrite({ name, text }: Call): boolean {
  return name === 'pwrite64' && /\.(db|sqlite3?)$/.test(descriptorPath(text) ?? '')
}

/** An answer counts from the beginning of the call that sends its first byte. */
function acknowledgements(calls: readonly Call[], actor: Actor): number[] {
  const ports = new Set(actor.ledger.map(({ port }) => port))
  const places: number[] = []
  for (const call of calls) {
    if (
      !['write', 'writev', 'sendto', 'sendmsg'].includes(call.name) ||
      !ports.has(peerPort(call.text) ?? -1)
    )
      continue
    if (stringsOf(call.text)[0]?.subarray(0, 9).toString() === 'HTTP/1.1 ') places.push(call.entry)
  }
  if (places.length !== actor.ledger.length) {
    throw new TraceIncomplete(
      `${actor.name}: ${actor.ledger.length} answers came, ${places.length} are in the trace`,
    )
  }
  return places
}

/** What a power cut at this place would have lost or broken; nothing when all is well. */
export async function lossesAt(
  recording: Recording,
  cut: number,
  variant: Variant,
  seed: number,
): Promise<string[]> {
  const { world, disk, acknowledged } = recording
  const data = join(newFolder(), 'data')
  disk.rebuild(data, cut, variant, seededRandom(seed))
  const actors = world.actors.map((actor, index) =>
    actorAt(actor, acknowledged[index]?.filter((place) => place <= cut).length ?? 0),
  )
  try {
    const server = await startServer({ data, behindProxy: true })
    const client = connect(server, world.token)
    const losses: string[] = []
    for (const actor of actors) losses.push(...(await settle(actor, client)))
    if (losses.length === 0) {
      for (const actor of actors) losses.push(...(await finishUploads(actor, client)))
      for (const actor of actors) losses.push(...(await settle(actor, client)))
    }
    losses.push(...brokenInvariants(data).map((line) => `check: ${line}`))
    client.close()
    server.kill()
    await server.gone()
    return losses
  } catch (error) {
    return [`no server on the rebuilt folder: ${String(error)}`]
  } finally {
    if (process.env['CRASH_KEEP'] === undefined) rmSync(data, { recursive: true, force: true })
  }
}

/** The client as it was when that many of its operations were acknowledged and the next one was perhaps under way. */
function actorAt(actor: Actor, count: number): Actor {
  let tree: Tree = homeTree(actor.home)
  for (const { operation, outcome } of actor.ledger.slice(0, count)) tree = apply(tree, operation, outcome)
  return { ...actor, tree, pending: actor.ledger[count]?.operation, ledger: [] }
}
