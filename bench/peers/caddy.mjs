// Caddy's file server.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, untilAnswers } from '../support/net.mjs'
import { start, stop } from '../support/processes.mjs'

const BINARY = '/usr/bin/caddy'

export const name = 'Caddy'
export const missing = () => (existsSync(BINARY) ? undefined : 'Caddy is not installed')

export async function startCaddy(context, { files }) {
  const folder = context.newFolder('caddy')
  const port = await freePort()
  const url = `https://127.0.0.1:${port}`
  const config = join(folder, 'Caddyfile')
  writeFileSync(
    config,
    `{
  admin off
  auto_https off
  servers {
    protocols h1
  }
}
https://127.0.0.1:${port} {
  bind 127.0.0.1
  tls ${context.tls.certificate} ${context.tls.key} {
    protocols tls1.3
  }
  root * ${files}
  file_server
}
`,
  )
  const environment = {
    ...process.env,
    HOME: folder,
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
    GOMAXPROCS: '2',
  }
  const child = start(BINARY, ['run', '--config', config, '--adapter', 'caddyfile'], { env: environment })
  const tls = await untilAnswers(url, child)
  return { name, url, tls, pid: child.pid, stop: () => stop(child) }
}
