import type { Db } from '../db/db.js'
import { offerSetUp } from '../service/set-up.js'

/**
 * Says where the first account is made, as long as there is none. Standard output is for the one line that scripts wait
 * for, so it goes where errors go, for whoever watches the start.
 */
export async function showSetUpLink(db: Db, baseUrl: string): Promise<void> {
  const code = await offerSetUp(db)
  if (code === undefined) return
  process.stderr.write(
    `starling: there is no account yet; make the first one at ${baseUrl}/set-up?code=${code}\n`,
  )
}
