import cluster, { type Worker } from 'node:cluster'
import { createServer } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { AggregatorRegistry } from 'prom-client'
import { setCapacity } from '../db/nodes.js'
import type { Db } from '../db/db.js'
import { ensureCertificate } from '../http/tls.js'
import { Failure } from '../model/failures.js'
import { answerHash, tellWorker, workerChannel, type ToPrimary, type ToWorker } from '../nodes/channel.js'
import { lockDataFolder } from '../nodes/lock.js'
import { openLog, type Logger } from '../nodes/log.js'
import { joinNodes, type Membership } from '../nodes/membership.js'
import { reception, type Taker } from '../nodes/reception.js'
import { localTurnstile } from '../nodes/turnstile.js'
import { threadHasher } from '../service/hasher.js'
import { startDuties, type Duties } from './duties.js'
import { openInstallation, type Installation } from './installation.js'
import { isDatabaseForgotten, noteServed } from './last-served.js'
import { buildServer, type Server } from './server.js'
import type { ServeSettings } from './settings.js'
import { WORKER_SETTINGS } from './worker-settings.js'

/** A worker that keeps dying at once is not started in a hurry. */
const RESTART_DELAY_MS = 500
const STOP_MARGIN_MS = 3_000
const FORGOTTEN =
  'this data folder was last served with a PostgreSQL database and is served with its own SQLite now: without ' +
  '--database nothing of the other one is seen'

/** Runs a node until it is told to stop; resolves with the exit status. */
export async function serve(
  settings: ServeSettings,
  onReady: (origin: string, db: Db) => Promise<void>,
): Promise<number> {
  const stopping = stopSignal()
  const { log, flush } = openLog(settings.logLevel, { process: 'primary', pid: process.pid })
  const installation = await openInstallation(settings, (message) => log.warn(message))
  let lock: { release(): void } | undefined
  let duties: Duties | undefined
  try {
    lock = lockDataFolder(installation.dataDir)
    await probeContent(installation, log)
    if (await isDatabaseForgotten(installation.dataDir, settings)) log.warn(FORGOTTEN)
    await noteServed(installation.dataDir, settings)
    const ready = await prepare(settings, installation)
    duties = await startDuties(ready, installation, (isFull) => broadcast({ say: 'full', isFull }), log)
    const membership = await joinAs(ready, installation, log)
    const started =
      ready.workers === 1
        ? await runAlone(ready, installation, duties, log)
        : await runWorkers(ready, duties, log)
    // Whoever reads that it listens may tell it to stop at once.
    const told = stopping.come().then(() => 0)
    process.stdout.write(`listening on https://${bracketed(ready.host)}:${started.port}\n`)
    await Promise.race([told, onReady(`https://${bracketed(ready.host)}:${started.port}`, installation.db)])
    const status = await Promise.race([told, started.failed])
    log.info('stopping')
    await membership.leave()
    await started.stop()
    return status
  } finally {
    await duties?.stop()
    lock?.release()
    await installation.close()
    flush()
  }
}

/** A store that must be set otherwise is told at once. One that is away may come back: the rest is served meanwhile. */
async function probeContent(installation: Installation, log: Logger): Promise<void> {
  try {
    await installation.parts.blobs.probe()
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    log.warn({ err: error }, 'the content store cannot be reached')
  }
}

/** On one machine alone nobody asks often whether the node lives. */
const BEAT_MS = 5_000
const LONE_BEAT_MS = 60_000

function joinAs(settings: ServeSettings, installation: Installation, log: Logger): Promise<Membership> {
  const address = settings.baseUrl ?? `https://${bracketed(settings.host)}:${settings.port}`
  return joinNodes(
    installation.db,
    { nodeId: installation.nodeId, name: hostname(), address },
    {
      beatMs: settings.database === undefined ? LONE_BEAT_MS : BEAT_MS,
      now: Date.now,
      complain: (message, error) => log.error({ err: error }, message),
    },
  )
}

interface Started {
  readonly port: number
  readonly failed: Promise<number>
  stop(): Promise<void>
}

/** What is settled once for all processes: the certificate, the capacity, a port that was left open. */
async function prepare(settings: ServeSettings, installation: Installation): Promise<ServeSettings> {
  const { capacityBytes } = settings
  if (capacityBytes !== undefined) {
    await installation.db.write((tx) => setCapacity(tx, installation.nodeId, capacityBytes))
  }
  const port = await probePort(settings)
  if (settings.behindProxy || settings.tls !== undefined)
    return { ...settings, port, dataDir: installation.dataDir }
  const directory = join(installation.dataDir, 'tls')
  await ensureCertificate(directory, hostname())
  const tls = { cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem') }
  return { ...settings, port, tls, dataDir: installation.dataDir }
}

/**
 * Listens for a moment: a port that cannot be had is told before any worker starts, and where any port will do, all
 * workers share the one that was found free.
 */
async function probePort(settings: ServeSettings): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve, reject) => {
    probe.once('error', (error) => reject(listenFailure(settings, error)))
    probe.listen(settings.port, settings.host, resolve)
  })
  const address = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no free port was found')
  return address.port
}

async function runAlone(
  settings: ServeSettings,
  installation: Installation,
  duties: Duties,
  log: Logger,
): Promise<Started> {
  const server: Server = await buildServer(
    settings,
    installation,
    {
      turnstile: localTurnstile(duties.shared, 1),
      signal: (signal) => {
        server.heed(signal)
        duties.signal(signal)
      },
      askFor: (hash) => duties.replica?.want(hash),
      metrics: undefined,
      hasher: threadHasher(),
      duties: duties.replica?.metrics,
    },
    log,
  )
  duties.heed = (signal) => server.heed(signal)
  const port = await server.listen().catch((error: unknown) => {
    throw listenFailure(settings, error)
  })
  return {
    port,
    failed: new Promise(() => undefined),
    async stop() {
      await server.drain()
      await server.stop()
    },
  }
}

async function runWorkers(settings: ServeSettings, duties: Duties, log: Logger): Promise<Started> {
  const aggregator = new AggregatorRegistry()
  const hasher = threadHasher()
  let isStopping = false
  let fail: (error: Error) => void = () => undefined
  let ready = 0
  const env = { [WORKER_SETTINGS]: JSON.stringify(settings) }
  const door = reception({
    heldMax: settings.limits.connections,
    heldMs: settings.limits.headersMs,
    complain: (message, error) => log.error({ err: error }, message),
  })
  await door.listen(settings.port, settings.host).catch((error: unknown) => {
    throw listenFailure(settings, error)
  })

  const allReady = new Promise<void>((resolve, reject) => {
    fail = reject
    const startLater = (): void => {
      setTimeout(() => {
        if (!isStopping) start()
      }, RESTART_DELAY_MS)
    }
    const start = (): void => {
      const worker = cluster.fork(env)
      worker.on('error', (error) => {
        log.error({ err: error }, 'a worker cannot be reached')
        // One that could not even be started never exits.
        if (worker.process.pid === undefined) startLater()
      })
      worker.on('message', (message: ToPrimary) => {
        if (message.say === 'ready') {
          door.join(takerOf(worker))
          if ((ready += 1) === settings.workers) resolve()
        } else if (message.say === 'took') door.took(worker.id, message.ticket)
        else if (message.say === 'failed') {
          if (ready >= settings.workers) log.error({ cause: message.message }, 'a worker could not start')
          fail(new Error(message.message))
        } else hear(worker, message)
      })
    }
    cluster.on('exit', (worker, code, signal) => {
      duties.shared.evict(worker.id)
      door.leave(worker.id)
      if (isStopping) return
      log.error({ worker: worker.id, code, signal }, 'a worker died and is replaced')
      startLater()
    })
    for (let count = 0; count < settings.workers; count += 1) start()
  })

  function hear(worker: Worker, message: ToPrimary): void {
    if (message.say === 'enter') {
      // What a dead worker said may be heard after its death, and nobody would ever take it out again.
      if (worker.isDead()) return
      const result = duties.shared.enter(worker.id, message.ticket, {
        slot: message.slot,
        lock: message.lock,
      })
      tellWorker(worker, { say: 'entered', ticket: message.ticket, result })
    } else if (message.say === 'leave') duties.shared.leave(worker.id, message.ticket)
    else if (message.say === 'signal') {
      broadcast({ say: 'signal', signal: message.signal })
      duties.signal(message.signal)
    } else if (message.say === 'want') duties.replica?.want(message.hash)
    else if (message.say === 'metrics?') {
      const { question } = message
      Promise.all([aggregator.clusterMetrics(), duties.replica?.metrics()]).then(
        ([text, more = '']) => tellWorker(worker, { say: 'metrics', question, text: text + more }),
        () => tellWorker(worker, { say: 'metrics', question, text: '' }),
      )
    } else if (message.say === 'hash?') {
      void answerHash(hasher, message).then((answer) => tellWorker(worker, answer))
    }
  }

  duties.heed = (signal) => broadcast({ say: 'signal', signal })

  const stop = async (): Promise<void> => {
    isStopping = true
    const workers = Object.values(cluster.workers ?? {})
      .filter((worker) => worker !== undefined)
      .filter((worker) => !worker.isDead())
    const gone = workers.map((worker) => new Promise<void>((resolve) => worker.once('exit', () => resolve())))
    if (settings.limits.drainMs > 0) {
      broadcast({ say: 'drain' })
      await delay(settings.limits.drainMs)
    }
    door.close()
    broadcast({ say: 'stop' })
    const deadline = setTimeout(() => {
      for (const worker of workers) worker.process.kill('SIGKILL')
    }, settings.limits.stopMs + STOP_MARGIN_MS)
    await Promise.all(gone)
    clearTimeout(deadline)
  }

  try {
    await allReady
  } catch (error) {
    await stop()
    throw error
  }
  return { port: settings.port, failed: new Promise(() => undefined), stop }
}

function takerOf(worker: Worker): Taker {
  return {
    id: worker.id,
    give(ticket, socket, failed) {
      const message: ToWorker = { say: 'connection', ticket }
      worker.send(message, socket, { keepOpen: true }, (error) => {
        if (error !== null) failed()
      })
    },
  }
}

function broadcast(message: ToWorker): void {
  for (const worker of Object.values(cluster.workers ?? {}))
    if (worker !== undefined) tellWorker(worker, message)
}

/** The life of a worker process: it serves until the primary says stop or is gone. */
export async function runWorker(settings: ServeSettings): Promise<void> {
  const { log, flush } = openLog(settings.logLevel, { process: 'worker', pid: process.pid })
  // The terminal sends its signals to every process; the primary alone decides when a worker ends.
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => undefined)
  process.on('disconnect', () => process.exit(1))
  let server: Server | undefined
  const channel = workerChannel({
    onConnection: (socket) => server?.take(socket),
    onDrain: () => void server?.drain(),
    onSignal: (signal) => server?.heed(signal),
    onStop: () => {
      const stopped = server?.stop() ?? Promise.resolve()
      stopped.then(
        () => {
          flush()
          process.exit(0)
        },
        () => process.exit(1),
      )
    },
  })
  try {
    const installation = await openInstallation(settings, (message) => log.warn(message))
    server = await buildServer(
      settings,
      installation,
      {
        turnstile: channel.turnstile,
        signal: (signal) => channel.tell({ say: 'signal', signal }),
        askFor: (hash) => channel.tell({ say: 'want', hash }),
        metrics: channel.metrics,
        hasher: channel.hasher,
      },
      log,
    )
    AggregatorRegistry.setRegistries(server.registries)
    // Making one is what lets a worker answer the primary's question for its counts.
    new AggregatorRegistry()
    channel.tell({ say: 'ready' })
  } catch (error) {
    // The primary starts another one in a moment: what is in the way may be gone by then.
    const message = error instanceof Error ? error.message : String(error)
    channel.tell({ say: 'failed', message }, () => process.exit(1))
  }
}

function listenFailure(settings: ServeSettings, error: unknown): Error {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const where = `${bracketed(settings.host)}:${settings.port}`
  if (code === 'EADDRINUSE') return new Error(`${where} is taken by another program`)
  if (code === 'EACCES') return new Error(`${where} may not be listened on by this user`)
  if (code === 'EADDRNOTAVAIL') return new Error(`${settings.host} is no address of this machine`)
  if (error instanceof Error && 'syscall' in error && error.syscall === 'getaddrinfo')
    return new Error(`the host ${settings.host} is not known`)
  return error instanceof Error ? error : new Error(String(error))
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/**
 * Heard from the start, since the first process of a container ends by no signal that it does not handle. Who is not
 * yet waited for has nothing to finish and ends at once.
 */
function stopSignal(): { come(): Promise<void> } {
  let stop = (): void => process.exit(0)
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    // The program's own handler, which ended it while it was loaded, has served its time.
    process.removeAllListeners(name)
    // Whoever asks twice (a terminal and the tool that started the program both do) cuts nothing short: stopping is bounded.
    process.on(name, () => stop())
  }
  return { come: () => new Promise((resolve) => (stop = resolve)) }
}
