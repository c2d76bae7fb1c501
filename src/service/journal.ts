import { appendChange } from '../db/changes.js'
import type { Tx } from '../db/db.js'
import type { Caller } from '../gate/caller.js'

/** Who a change is put down to: a caller of the API, or the command line. */
export type Actor = Pick<Caller, 'userId' | 'deviceId' | 'origin'>

export const COMMAND_LINE: Actor = { userId: '', deviceId: '', origin: 'command line' }

export function record(
  tx: Tx,
  actor: Actor,
  change: { atMs: number; action: string; subject: string; before?: unknown; after?: unknown },
): Promise<void> {
  return appendChange(tx, {
    atMs: change.atMs,
    actor: actor.userId,
    device: actor.deviceId,
    origin: actor.origin,
    action: change.action,
    subject: change.subject,
    before: change.before,
    after: change.after,
  })
}
