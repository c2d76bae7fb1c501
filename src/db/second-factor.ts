import type { Tx } from './db.js'

export async function setSecondFactor(tx: Tx, userId: string, secret: string, step: number): Promise<void> {
  await tx.run(
    'UPDATE users SET second_factor = $2, second_factor_step = $3 WHERE id = $1',
    userId,
    secret,
    step,
  )
}

/** With its secret its recovery codes are worthless too. */
export async function clearSecondFactor(tx: Tx, userId: string): Promise<void> {
  await tx.run('UPDATE users SET second_factor = NULL, second_factor_step = 0 WHERE id = $1', userId)
  await deleteRecoveryCodes(tx, userId)
}

/** False when a code of this time step or of a later one was used before. */
export async function useStep(tx: Tx, userId: string, step: number): Promise<boolean> {
  const changed = await tx.run(
    'UPDATE users SET second_factor_step = $2 WHERE id = $1 AND second_factor_step < $2',
    userId,
    step,
  )
  return changed === 1
}

export async function insertRecoveryCode(tx: Tx, userId: string, hash: string): Promise<void> {
  await tx.run('INSERT INTO recovery_codes (user_id, hash) VALUES ($1, $2)', userId, hash)
}

/** False when there is no such code. */
export async function useRecoveryCode(tx: Tx, userId: string, hash: string): Promise<boolean> {
  return (await tx.run('DELETE FROM recovery_codes WHERE user_id = $1 AND hash = $2', userId, hash)) === 1
}

export async function deleteRecoveryCodes(tx: Tx, userId: string): Promise<void> {
  await tx.run('DELETE FROM recovery_codes WHERE user_id = $1', userId)
}

export async function countRecoveryCodes(tx: Tx, userId: string): Promise<number> {
  const row = await tx.get<{ count: number }>(
    'SELECT COUNT(*) AS count FROM recovery_codes WHERE user_id = $1',
    userId,
  )
  return row?.count ?? 0
}
