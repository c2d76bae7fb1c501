import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

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
