import type { Socket } from 'node:net'
import type { Registry } from 'prom-client'
import { apiDoor } from '../api/dispatch.js'
import { keptListings } from '../api/kept-listings.js'
import { openApi } from '../api/openapi.js'
import { consoleDoor } from '../console/pages.js'
import { healthDoor } from '../console/health.js'
import type { Db } from '../db/db.js'
import { authenticator, type Authenticator } from '../gate/authenticate.js'
import { gate } from '../gate/pipeline.js'
import { isPreflight, replyPreflight } from '../http/cors.js'
import type { Exchange } from '../http/exchange.js'
import { replyFailure } from '../http/failures.js'
import { createListener, type Listener } from '../http/listener.js'
import { readCertificate } from '../http/tls.js'
import { Failure } from '../model/failures.js'
import { V1_0, V1_1, V1_2, V1_3, V1_4 } from '../model/version.js'
import { watchDiskSpace } from '../nodes/disk-space.js'
import { logRequests, type Logger } from '../nodes/log.js'
import { metrics } from '../nodes/metrics.js'
import { accounts } from '../service/accounts.js'
import { contents } from '../service/contents.js'
import type { ServiceDeps, Signal, Turnstile } from '../service/deps.js'
import { devices, deviceUses } from '../service/devices.js'
import { ldapDirectory } from '../service/directory.js'
import { downloads } from '../service/downloads.js'
import { invitees } from '../service/invitees.js'
import type { Hasher } from '../service/hasher.js'
import { passwordQueue } from '../service/password-queue.js'
import { passwords } from '../service/passwords.js'
import { presence } from '../service/presence.js'
import { quotas } from '../service/quotas.js'
import { sharing } from '../service/sharing-verbs.js'
import { space } from '../service/space.js'
import { tree } from '../service/tree.js'
import { uploads } from '../service/uploads.js'
import type { Installation } from './installation.js'
import { signInDoor } from './sign-in-door.js'
import type { ServeSettings } from './settings.js'

export interface Server {
  listen(): Promise<number>
  /** Serves a connection that another process of the node accepted. */
  take(socket: Socket): void
  /** Another process changed something in a store. */
  heed(signal: Signal): void
  readonly registries: Registry[]
  /** Serves on for as long as a load balancer takes to notice that it is about to stop. */
  drain(): Promise<void>
  stop(): Promise<void>
}

/** How a server process reaches the others of its node. */
export interface Neighbours {
  readonly turnstile: Turnstile
  readonly signal: (signal: Signal) => void
  /** Somebody asked for content that the node's own copy lacks. */
  readonly askFor: (hash: string) => void
  /** What all processes of the node have counted; absent: this one is alone. */
  readonly metrics: (() => Promise<string>) | undefined
  /** The one of the node. */
  readonly hasher: Hasher
  /** What the process that does the duties of the node has counted, where this one is alone with it. */
  readonly duties?: (() => Promise<string>) | undefined
}

/** One process that answers requests, put together from its parts. */
export async function buildServer(
  settings: ServeSettings,
  installation: Installation,
  neighbours: Neighbours,
  log: Logger,
): Promise<Server> {
  const { db, nodeId, dataDir } = installation
  const disks = await Promise.all(
    [
      dataDir,
      ...(installation.parts.replica === undefined ? [] : [installation.parts.replica.directory]),
    ].map(watchDiskSpace),
  )
  const complain: ServiceDeps['complain'] = (message, error) => log.error({ err: error }, message)
  const deps: ServiceDeps = {
    ...installation.parts,
    turnstile: neighbours.turnstile,
    signal: neighbours.signal,
    askFor: neighbours.askFor,
    diskFreeBytes: () => Math.min(...disks.map((disk) => disk.freeBytes())),
    uploadLifetimeMs: settings.uploadLifetimeMs,
    quotaBytes: settings.quotaBytes,
    signUpPolicy: settings.signUpPolicy,
    passwordLengthMin: settings.passwordLengthMin,
    hashing: passwordQueue(neighbours.hasher, { waitingMax: settings.signIn.waitingMax }),
    directory: settings.ldap === undefined ? undefined : ldapDirectory(settings.ldap, complain),
    publicUrl: settings.baseUrl,
    complain,
  }
  const spaceOf = space(deps)
  const here = presence(deps, spaceOf)
  const downloadsUnderWay = downloads(deps, db)
  const uses = deviceUses(deps, db)
  const auth = authenticator(nodeId, deps.now, uses.note)
  const door = apiDoor(
    {
      gate: gate({ db, auth, nodeId, now: deps.now, stateOf: here.stateOf }),
      tree: tree(deps),
      uploads: uploads(deps, db, contents(deps, spaceOf)),
      presence: here,
      space: spaceOf,
      downloads: downloadsUnderWay,
      listings: keptListings(settings.listingCacheBytes),
      turnstile: neighbours.turnstile,
      accounts: accounts(deps),
      passwords: passwords(deps),
      invitees: invitees(deps),
      devices: devices(deps, uses),
      quotas: quotas(deps),
      sharing: sharing(deps),
      service: deps,
      baseUrl: ({ exchange }) => baseUrlOf(settings, exchange),
    },
    settings,
  )
  const versions = settings.legacyVersions ? [V1_0, V1_1, V1_2, V1_3, V1_4] : [V1_0, V1_3, V1_4]
  const reference = consoleDoor({
    document: (baseUrl) => openApi({ versions, baseUrl }),
    baseUrl: (exchange) => baseUrlOf(settings, exchange),
  })
  const counted = metrics(() => listener.connections)
  const health = healthDoor({
    probe: () => db.read((tx) => tx.get('SELECT 1 AS one')),
    isStopping: () => listener.isStopping,
    checkAdmin: (exchange) => checkAdmin(db, auth, exchange),
    behindProxy: settings.behindProxy,
    metrics: neighbours.metrics ?? (() => ownMetrics(counted.registry, neighbours.duties)),
  })
  const tls = settings.behindProxy ? undefined : await readTls(settings)
  const pages = signInDoor(settings, deps, db, (exchange) => baseUrlOf(settings, exchange), tls?.cert)
  const note = logRequests(log)

  function handle(exchange: Exchange): void | Promise<void> {
    exchange.res.once('close', () => {
      counted.count(exchange)
      note(exchange)
    })
    if (isPreflight(exchange)) return replyPreflight(exchange)
    return exchange.path.startsWith('/api/') ? door(exchange) : handleOther(exchange)
  }

  async function handleOther(exchange: Exchange): Promise<void> {
    try {
      if (await health(exchange)) return
      if (reference(exchange)) return
      if (await pages(exchange)) return
      throw new Failure('notFound', 'there is no such path')
    } catch (error) {
      if (error instanceof Failure && !exchange.res.headersSent) replyFailure(exchange, error)
      else throw error
    }
  }

  const listener: Listener = createListener({
    tls,
    limits: settings.limits,
    trustedProxies: settings.trustedProxies,
    handle,
    log: (level, message, fields) => log[level](fields, message),
  })

  return {
    async listen() {
      return (await listener.listen(settings.port, settings.host)).port
    },
    take: (socket) => listener.take(socket),
    heed: (signal) => downloadsUnderWay.recheck(signal.sid),
    registries: [counted.registry],
    drain: () => listener.drain(),
    async stop() {
      await listener.stop()
      downloadsUnderWay.stop()
      for (const disk of disks) disk.stop()
      await uses.stop()
      await installation.close()
    },
  }
}

async function ownMetrics(registry: Registry, duties: Neighbours['duties']): Promise<string> {
  return (await registry.metrics()) + ((await duties?.()) ?? '')
}

/** For what belongs to those who run the installation. */
async function checkAdmin(db: Db, auth: Authenticator, exchange: Exchange): Promise<void> {
  const tokenHash = auth.tokenOf(exchange, false)
  const caller = await db.read((tx) => auth.authenticate(tx, tokenHash, exchange, V1_3))
  if (!caller.isAdmin) throw new Failure('forbidden', 'the access token lacks the scope organization.admin')
}

function baseUrlOf(settings: ServeSettings, exchange: Exchange): string {
  return settings.baseUrl ?? `https://${exchange.req.headers.host ?? settings.host}`
}

async function readTls(settings: ServeSettings): Promise<{ cert: string; key: string }> {
  if (settings.tls === undefined) throw new Error('no certificate')
  return readCertificate(settings.tls.cert, settings.tls.key)
}
