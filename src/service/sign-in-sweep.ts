import type { Db } from '../db/db.js'
import { deleteEndedSignIns } from '../db/sign-in-sweep.js'

/** The second use of a code is noticed for this long after its end. */
const REPLAY_NOTICED_MS = 24 * 60 * 60 * 1000

/** Removes sessions, codes, counts and links that have ended. */
export function sweepSignIns(db: Db, nowMs: number): Promise<void> {
  return db.write((tx) => deleteEndedSignIns(tx, nowMs, nowMs - REPLAY_NOTICED_MS))
}
