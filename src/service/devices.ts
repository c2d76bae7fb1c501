import type { Db, Tx } from '../db/db.js'
import { listDevices, listNodes, noteDeviceUse, renameDevice, type DeviceRow } from '../db/devices.js'
import type { DeviceGrant, PersonGrant } from '../gate/grants.js'
import { compareNames } from '../model/names.js'
import { minuteTime } from '../model/times.js'
import type { ServiceDeps } from './deps.js'
import { record } from './journal.js'

/** Uses are gathered for this long and written together. */
const GATHER_MS = 100
const ONLINE_MS = 300_000

export interface DeviceStatus {
  readonly isOnline: boolean
  readonly seenMs: number | undefined
}

export interface Devices {
  /** A person's live tokens; an admin who looks at their own sees the nodes too. */
  list(tx: Tx, grant: PersonGrant): Promise<DeviceRow[]>
  rename(tx: Tx, grant: DeviceGrant, name: string): Promise<DeviceRow>
  status(grant: DeviceGrant): DeviceStatus
}

/** What was seen of tokens in this process and is not yet written down. */
export interface DeviceUses {
  note(deviceId: string, usedMs: number): void
  seen(deviceId: string): number | undefined
  /** Writes what is left. */
  stop(): Promise<void>
}

export function devices(deps: ServiceDeps, uses: DeviceUses): Devices {
  return {
    async list(tx, { caller, person, isSelf }) {
      const tokens = await listDevices(tx, person.id, deps.now())
      const nodes = isSelf && caller.isAdmin ? await listNodes(tx) : []
      return [...tokens, ...nodes.map((node) => ({ ...node, owner: person.email }))].sort(byInstallation)
    },

    async rename(tx, { caller, device }, name) {
      if (name !== device.name) {
        await renameDevice(tx, device, name)
        await record(tx, caller, {
          atMs: deps.now(),
          action: 'device.rename',
          subject: device.id,
          before: { name: device.name },
          after: { name },
        })
      }
      return { ...device, name }
    },

    status({ caller, device }) {
      const nowMs = deps.now()
      const isHere = device.id === deps.nodeId || device.id === caller.deviceId
      const lastMs = isHere ? nowMs : latest(device.used_ms ?? undefined, uses.seen(device.id))
      const seenMs = lastMs === undefined ? undefined : Math.min(lastMs, nowMs)
      return { isOnline: seenMs !== undefined && nowMs - seenMs <= ONLINE_MS, seenMs }
    },
  }
}

/** A request never waits for it, and a token in steady use is written down once a minute. */
export function deviceUses(deps: Pick<ServiceDeps, 'complain'>, db: Db): DeviceUses {
  let gathered = new Map<string, number>()
  let writing: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | undefined

  function flush(): Promise<void> {
    timer = undefined
    const batch = [...gathered]
    // The next use in this moment is not gathered again before this one is written.
    writing = writing
      .then(() => (batch.length === 0 ? undefined : db.write((tx) => writeAll(tx, batch))))
      .catch((error: unknown) => deps.complain('the last use of tokens could not be written down', error))
      .finally(() => {
        for (const [id, usedMs] of batch) if (gathered.get(id) === usedMs) gathered.delete(id)
      })
    return writing
  }

  return {
    note(deviceId, usedMs) {
      if (gathered.has(deviceId)) return
      gathered.set(deviceId, usedMs)
      timer ??= setTimeout(() => void flush(), GATHER_MS)
    },

    seen: (deviceId) => gathered.get(deviceId),

    async stop() {
      clearTimeout(timer)
      await flush()
      gathered = new Map()
    },
  }
}

/** In one order for every process, so that no two wait for each other. */
async function writeAll(tx: Tx, batch: readonly (readonly [string, number])[]): Promise<void> {
  for (const [id, usedMs] of [...batch].sort(([a], [b]) => compareNames(a, b))) {
    await noteDeviceUse(tx, id, usedMs)
  }
}

/** By the time that is shown, then by id. */
function byInstallation(a: DeviceRow, b: DeviceRow): number {
  return compareNames(minuteTime(a.created_ms), minuteTime(b.created_ms)) || compareNames(a.id, b.id)
}

function latest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return Math.max(a, b)
}
