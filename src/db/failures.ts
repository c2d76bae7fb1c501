import type { Tx } from './db.js'

export interface FailureCount {
  failures: number
  expires_ms: number
}

export function findFailures(tx: Tx, key: string): Promise<FailureCount | undefined> {
  return tx.get<FailureCount>('SELECT failures, expires_ms FROM failures WHERE key = $1', key)
}

/** One more; the first one after the end of a row begins a new count. Those who count the same thing take turns. */
export async function countFailure(
  tx: Tx,
  key: string,
  nowMs: number,
  expiresMs: number,
): Promise<FailureCount> {
  const counted = await tx.get<FailureCount>(
    `INSERT INTO failures (key, failures, expires_ms) VALUES ($1, 1, $2)
     ON CONFLICT (key) DO UPDATE SET
       failures = CASE WHEN failures.expires_ms <= $3 THEN 1 ELSE failures.failures + 1 END,
       expires_ms = CASE WHEN failures.expires_ms <= $3 THEN $2 ELSE failures.expires_ms END
     RETURNING failures, expires_ms`,
    key,
    expiresMs,
    nowMs,
  )
  return counted ?? { failures: 1, expires_ms: expiresMs }
}

/** One less: it was none. */
export async function uncountFailure(tx: Tx, key: string): Promise<void> {
  await tx.run('UPDATE failures SET failures = failures - 1 WHERE key = $1 AND failures > 0', key)
}
