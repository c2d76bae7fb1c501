// What the rows of one family share: servers are started once and stopped when the family is done.
import { rmSync } from 'node:fs'

export function makeScope(context) {
  const made = new Map()
  const servers = []
  const helpers = []
  return {
    /** The value of the first call for this key, whoever asks; a failure is remembered too. */
    once(key, make) {
      if (!made.has(key)) made.set(key, make())
      return made.get(key)
    },
    /** Remembers a server to be stopped with the scope. */
    async hold(starting) {
      const server = await starting
      servers.push(server)
      context.saw(server)
      return server
    },
    /** The same for what is no contender and must outlive them. */
    keep(helper) {
      helpers.push(helper)
      return helper
    },
    async close() {
      await Promise.all(servers.map((server) => server.stop()))
      await Promise.all(helpers.map((helper) => helper.stop()))
      for (const folder of context.takeFolders())
        rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
