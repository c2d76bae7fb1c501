/** Makes one certificate for all servers of a run: to make one takes as long as the rest of a start. */
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { TestProject } from 'vitest/node'
import { ensureCertificate } from '../../src/http/tls.js'

declare module 'vitest' {
  interface ProvidedContext {
    certificateFolder: string
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'starling-certificate-'))
  await ensureCertificate(folder, hostname())
  project.provide('certificateFolder', folder)
  return () => rm(folder, { recursive: true, force: true })
}

/** Puts it where a server looks for the one that it made at its first start. */
export async function layCertificate(dataDir: string): Promise<void> {
  const folder = join(dataDir, 'tls')
  await mkdir(folder, { mode: 0o700 })
  for (const name of ['key.pem', 'cert.pem'])
    await copyFile(join(inject('certificateFolder'), name), join(folder, name))
}
