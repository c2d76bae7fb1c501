import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '../db/db.js'
import { registerMember, setAliveUntil } from '../db/nodes.js'

/** A node that has missed this many of its own beats is taken for gone. */
const BEATS_MISSED_MAX = 3

/** A database that is away does not keep the node from stopping; the others then see that it beats no more. */
const LEAVE_WAIT_MAX_MS = 2_000

export interface Membership {
  /** Says in the database that the node is gone in order. */
  leave(): Promise<void>
}

/** Makes the node known to the others and keeps it so for as long as this process lives. */
export async function joinNodes(
  db: Db,
  facts: { nodeId: string; name: string; address: string },
  options: { beatMs: number; now: () => number; complain: (message: string, error: unknown) => void },
): Promise<Membership> {
  const { beatMs, now, complain } = options
  const aliveUntilMs = (): number => now() + beatMs * BEATS_MISSED_MAX
  await db.write((tx) =>
    registerMember(tx, facts.nodeId, {
      name: facts.name,
      address: facts.address,
      startedMs: now(),
      aliveUntilMs: aliveUntilMs(),
    }),
  )
  let beating: Promise<void> = Promise.resolve()
  let isBeating = false
  const timer = setInterval(() => {
    if (isBeating) return
    isBeating = true
    beating = db
      .write((tx) => setAliveUntil(tx, facts.nodeId, aliveUntilMs()))
      .catch((error: unknown) => complain('the node could not say that it lives', error))
      .finally(() => {
        isBeating = false
      })
  }, beatMs)
  timer.unref()
  return {
    async leave() {
      clearInterval(timer)
      const left = beating
        .then(() => db.write((tx) => setAliveUntil(tx, facts.nodeId, 0)))
        .catch((error: unknown) => complain('the node could not say that it stops', error))
      await Promise.race([left, delay(LEAVE_WAIT_MAX_MS, undefined, { ref: false })])
    },
  }
}
