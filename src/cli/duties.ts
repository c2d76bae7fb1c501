import { join } from 'node:path'
import { startCheckpointer } from '../db/checkpointer.js'
import type { Logger } from '../nodes/log.js'
import { repeat } from '../nodes/repeat.js'
import { startReplica, type ReplicaDuty } from '../nodes/replica.js'
import { localTurnstile, register, type Register } from '../nodes/turnstile.js'
import type { Signal } from '../service/deps.js'
import { postman, type Postman } from '../service/mail.js'
import { outboxTransport, smtpTransport } from '../service/mail-transports.js'
import { sweepSignIns } from '../service/sign-in-sweep.js'
import { sweep } from '../service/sweep.js'
import { commandDeps, type Installation } from './installation.js'
import type { ServeSettings } from './settings.js'

const EXPIRE_EVERY_MS = 60_000
const LEFTOVERS_EVERY_MS = 30 * 60_000
const MAIL_EVERY_MS = 1_000

export interface Duties {
  readonly shared: Register
  readonly replica: ReplicaDuty | undefined
  /** Tells the other nodes. */
  signal(signal: Signal): void
  /** Set by whoever runs the processes of the node: what the other nodes tell. */
  heed: (signal: Signal) => void
  stop(): Promise<void>
}

/** What one process does for the whole node: the register, the sweep, the mails, the log moved into the database. */
export async function startDuties(
  settings: ServeSettings,
  installation: Installation,
  onFull: (isFull: boolean) => void,
  log: Logger,
): Promise<Duties> {
  const shared = register(settings.uploadsMax, onFull)
  const checkpointer =
    settings.database === undefined
      ? startCheckpointer(installation.dataDir, { log: (text) => log.warn(text) })
      : undefined
  const deps = commandDeps(installation, (message, error) => log.error({ err: error }, message))
  const broom = sweep(
    {
      ...deps,
      turnstile: localTurnstile(shared, 0),
      uploadLifetimeMs: settings.uploadLifetimeMs,
    },
    installation.db,
  )
  const replica = await startReplica(deps, installation.db, (message) => log.info(message))
  const mails = await openMails(settings, installation, log)
  const stops = [
    repeat(MAIL_EVERY_MS, () => mails.deliver(), log),
    repeat(Math.min(EXPIRE_EVERY_MS, settings.uploadLifetimeMs / 2), () => broom.expireUploads(), log),
    repeat(LEFTOVERS_EVERY_MS, () => broom.removeLeftovers(), log),
    repeat(LEFTOVERS_EVERY_MS, () => sweepSignIns(installation.db, Date.now()), log),
  ]
  const duties: Duties = {
    shared,
    replica,
    signal({ sid }) {
      signals?.send(sid)
      replica?.wake()
    },
    heed: () => undefined,
    async stop() {
      mails.stop()
      await signals?.close()
      await replica?.stop()
      for (const stop of stops) await stop()
      await checkpointer?.stop()
    },
  }
  const signals =
    settings.database === undefined
      ? undefined
      : (await import('../db/signals.js')).openSignals({
          url: settings.database,
          sender: installation.nodeId,
          onMessage: (sid) => {
            duties.heed({ sid })
            replica?.wake()
          },
          log: (text) => log.warn(text),
        })
  return duties
}

async function openMails(settings: ServeSettings, installation: Installation, log: Logger): Promise<Postman> {
  const { smtp, from, retryMs } = settings.mail
  const transport =
    smtp === undefined
      ? outboxTransport(join(installation.dataDir, 'outbox'), from)
      : await smtpTransport(smtp, from)
  const complain = (message: string, error: unknown): void => log.error({ err: error }, message)
  return postman({ db: installation.db, now: Date.now, transport, retryMs, complain })
}
