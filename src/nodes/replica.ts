import type { Replica } from '../blob/replica.js'
import type { Db } from '../db/db.js'
import { findNode } from '../db/nodes.js'
import { deleteAllHeld, setReplica, sumReplica } from '../db/replicas.js'
import { bringing } from '../service/bringing.js'
import type { ServiceDeps } from '../service/deps.js'
import { watchDiskSpace } from './disk-space.js'
import { replicaMetrics } from './replica-metrics.js'

/** The node's own copy of content, looked after by one process for all. */
export interface ReplicaDuty {
  /** Another process or node changed something. */
  wake(): void
  want(hash: string): void
  /** In the text form of Prometheus. */
  metrics(): Promise<string>
  stop(): Promise<void>
}

/** To be called before any other process of the node serves. Undefined when the node reads through. */
export async function startReplica(
  deps: ServiceDeps,
  db: Db,
  tell: (message: string) => void,
): Promise<ReplicaDuty | undefined> {
  const { nodeId, replica } = deps
  if (replica === undefined) {
    const isSet = (await db.read((tx) => findNode(tx, nodeId)))?.replica === 1
    if (isSet) await db.write((tx) => setReplica(tx, nodeId, false))
    return undefined
  }
  await claim(replica, db, nodeId)
  const disk = await watchDiskSpace(replica.directory)
  const work = bringing({ ...deps, diskFreeBytes: disk.freeBytes }, db, replica, tell)
  const registry = replicaMetrics(
    () => work.counts,
    () => db.read((tx) => sumReplica(tx, nodeId)),
  )
  return {
    wake: () => work.wake(),
    want: (hash) => work.want(hash),
    metrics: () => registry.metrics(),
    async stop() {
      await work.stop()
      disk.stop()
    },
  }
}

/** What the books say about a folder that is new is about another one. */
async function claim(replica: Replica, db: Db, nodeId: string): Promise<void> {
  const folder = await replica.claim(nodeId)
  await db.write(async (tx) => {
    if (folder === 'new') await deleteAllHeld(tx, nodeId)
    await setReplica(tx, nodeId, true)
  })
}
