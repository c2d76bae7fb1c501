import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'

/** A maker of directories that are gone after each test. */
export function temporaryDirectories(): () => Promise<string> {
  const made: string[] = []
  afterEach(async () => {
    await Promise.all(made.splice(0).map((path) => rm(path, { recursive: true, force: true })))
  })
  return async () => {
    const path = await mkdtemp(join(tmpdir(), 'starling-blob-'))
    made.push(path)
    return path
  }
}
