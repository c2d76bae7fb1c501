/**
 * SQLite, by the release of its library that this Node can run. The older release is compiled against Node's own
 * headers, and with those of the later Node 24 it ends the process when a statement is collected as garbage; the newer
 * one asks for Node-API 10, which no Node 20 has. Two copies of SQLite in one process would undo each other's locks on
 * a file, so everybody takes the library from here.
 */
import Older from 'better-sqlite3'
import { createRequire } from 'node:module'

export type { Database, Statement } from 'better-sqlite3'

const NODE_API_OF_NEWER = 10
const load = createRequire(import.meta.url)
const takesNewer = Number(process.versions.napi) >= NODE_API_OF_NEWER

export const Sqlite = takesNewer ? (load('better-sqlite3-13') as typeof Older) : Older

/** The file of the library, for a thread that has to load it by itself. */
export function sqliteLibrary(): string {
  return load.resolve(takesNewer ? 'better-sqlite3-13' : 'better-sqlite3')
}
