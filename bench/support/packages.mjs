import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** The release of SQLite's library that Starling takes on this Node. */
export const SQLITE = Number(process.versions.napi) >= 10 ? 'better-sqlite3-13' : 'better-sqlite3'

/** Undefined when every package is there, else a sentence that names the first that is not. */
export function installed(...packages) {
  for (const name of packages) {
    try {
      require.resolve(name)
    } catch (error) {
      if (error.code === 'MODULE_NOT_FOUND') return `the package ${name} is not installed`
    }
  }
  return undefined
}
