import { Gauge, Registry } from 'prom-client'
import type { ReplicaSums } from '../db/replicas.js'
import type { BringingCounts } from '../service/bringing.js'

/** Sums over all content cost a look at it, so that who asks often is told the same. */
const SUMS_KEPT_MS = 5_000

/** What a node tells of its own copy of content; counted by the one process that fills it. */
export function replicaMetrics(counts: () => BringingCounts, sums: () => Promise<ReplicaSums>): Registry {
  const registry = new Registry()
  let kept: { sums: Promise<ReplicaSums>; untilMs: number } | undefined

  function recent(): Promise<ReplicaSums> {
    const nowMs = performance.now()
    if (kept === undefined || kept.untilMs < nowMs) kept = { sums: sums(), untilMs: nowMs + SUMS_KEPT_MS }
    return kept.sums
  }

  function gauge(name: string, help: string, value: () => number | Promise<number>): void {
    new Gauge({
      name: `starling_replica_${name}`,
      help,
      registers: [registry],
      async collect() {
        this.set(await value())
      },
    })
  }

  gauge('held', 'Contents in the local copy', async () => (await recent()).held_count)
  gauge('held_bytes', 'Bytes in the local copy', async () => (await recent()).held_bytes)
  gauge('missing', 'Contents still to be brought', async () => (await recent()).missing_count)
  gauge('missing_bytes', 'Bytes still to be brought', async () => (await recent()).missing_bytes)
  gauge('failed', 'Contents whose last try failed', async () => (await recent()).failed_count)
  gauge('stalled', '1 while the content store is away', () => (counts().isStalled ? 1 : 0))
  gauge('brought', 'Contents brought since the start', () => counts().brought)
  gauge('brought_bytes', 'Bytes brought since the start', () => counts().broughtBytes)
  gauge('failures', 'Tries that failed since the start', () => counts().failures)
  return registry
}
