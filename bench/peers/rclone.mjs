// rclone's WebDAV server.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, untilAnswers } from '../support/net.mjs'
import { start, stop } from '../support/processes.mjs'

const BINARY = '/usr/bin/rclone'

export const name = 'rclone serve webdav'
export const missing = () => (existsSync(BINARY) ? undefined : 'rclone is not installed')

export async function startRclone(context, { files }) {
  const folder = context.newFolder('rclone')
  const port = await freePort()
  const url = `https://127.0.0.1:${port}`
  const child = start(
    BINARY,
    [
      ...['serve', 'webdav', files, '--addr', `127.0.0.1:${port}`, '--config', join(folder, 'rclone.conf')],
      ...['--cache-dir', folder, '--cert', context.tls.certificate, '--key', context.tls.key, '--read-only'],
    ],
    { env: { ...process.env, HOME: folder, GOMAXPROCS: '2' } },
  )
  const tls = await untilAnswers(url, child)
  return { name, url, tls, pid: child.pid, stop: () => stop(child) }
}
