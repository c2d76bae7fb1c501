/** Files without content in each of the states that a node can tell. */
import { deselect, select, setCapacity } from '../../../src/db/nodes.js'
import type { Client } from '../../support/client.js'
import type { TestServer } from '../../support/server.js'

export const STATES = ['SYNCING', 'DESELECTED', 'INSUFFICIENT_STORAGE'] as const
export type State = (typeof STATES)[number]

/** Puts the node into a condition in which files without content in the folder are in that state, for a while. */
export async function withState<T>(
  server: TestServer,
  state: State,
  folder: string,
  body: () => Promise<T>,
): Promise<T> {
  const { db, nodeId } = server.installation
  const [sid, oid] = [folder.slice(0, 32), folder.slice(32)]
  await db.write(async (tx) => {
    if (state === 'DESELECTED') await deselect(tx, nodeId, sid, oid)
    if (state === 'INSUFFICIENT_STORAGE') await setCapacity(tx, nodeId, 0)
  })
  try {
    return await body()
  } finally {
    await db.write(async (tx) => {
      await select(tx, nodeId, sid, oid)
      await setCapacity(tx, nodeId, null)
    })
  }
}

export async function stateOf(api: Client, file: string): Promise<unknown> {
  return (await api.get(`/files/${file}`)).json['content_state']
}
