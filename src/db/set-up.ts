import type { Tx } from './db.js'

const SET_UP = 'set-up'

/** The hash of the code that makes the first admin; one at a time. */
export async function putSetUpCode(tx: Tx, hash: string): Promise<void> {
  await tx.run(
    `INSERT INTO meta (key, value) VALUES ($1, $2)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
    SET_UP,
    hash,
  )
}

export async function findSetUpCode(tx: Tx): Promise<string | undefined> {
  return (await tx.get<{ value: string }>('SELECT value FROM meta WHERE key = $1', SET_UP))?.value
}

export async function deleteSetUpCode(tx: Tx): Promise<void> {
  await tx.run('DELETE FROM meta WHERE key = $1', SET_UP)
}
