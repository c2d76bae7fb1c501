import type { Tx } from './db.js'

export async function setNames(tx: Tx, userId: string, firstName: string, lastName: string): Promise<void> {
  await tx.run('UPDATE users SET first_name = $2, last_name = $3 WHERE id = $1', userId, firstName, lastName)
}
