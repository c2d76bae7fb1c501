// @tus/server with its file store.
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { outputLine, start, stop } from '../support/processes.mjs'
import { untilAnswers } from '../support/net.mjs'
import { installed } from '../support/packages.mjs'

const PROGRAM = fileURLToPath(new URL('./tus-server.mjs', import.meta.url))

export const name = '@tus/server'
export const missing = () => installed('@tus/server', '@tus/file-store')

export async function startTus(context) {
  const directory = join(context.newFolder('tus'), 'files')
  mkdirSync(directory)
  const child = start(process.execPath, [PROGRAM, directory, context.tls.certificate, context.tls.key])
  const [, url] = await outputLine(child, /listening on (https:\S+)/)
  const tls = await untilAnswers(url, child)
  return { name, url, tls, directory, pid: child.pid, stop: () => stop(child) }
}
