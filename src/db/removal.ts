import type { Tx } from './db.js'

/** Everything in a store at once, its root included. */
export async function deleteStoreObjects(tx: Tx, sid: string): Promise<void> {
  await tx.run('DELETE FROM objects WHERE sid = $1', sid)
}

/** The staged files of everything that a person is uploading, and of everything that is uploaded into their root. */
export async function listStagedOfUser(tx: Tx, userId: string): Promise<string[]> {
  const rows = await tx.all<{ staged: string }>(
    `SELECT staged FROM uploads WHERE user_id = $1 OR sid = (SELECT root_sid FROM users WHERE id = $1)`,
    userId,
  )
  return rows.map((row) => row.staged)
}

/** The staged files of everything that anybody is uploading into the store. */
export async function listStagedInStore(tx: Tx, sid: string): Promise<string[]> {
  const rows = await tx.all<{ staged: string }>('SELECT staged FROM uploads WHERE sid = $1', sid)
  return rows.map((row) => row.staged)
}
