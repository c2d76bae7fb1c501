// Starling itself, as an operator starts it and as an application calls it.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { untilAnswers } from '../support/net.mjs'
import { outputLine, run, start, stop } from '../support/processes.mjs'
import { ask } from '../support/transfer.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Another build may be measured in place of this checkout's. */
export const BINARY = process.env.BENCH_STARLING ?? join(ROOT, 'bin', 'starling')
export const EMAIL = 'bench@example.org'

export const name = 'Starling'
export const API = '/api/v1.3'
export const missing = () => (existsSync(BINARY) ? undefined : `${BINARY} is not there`)

const command = (data, ...args) =>
  run(BINARY, [...args, '--data', data, '--json'], { cwd: ROOT }).then(JSON.parse)

/** Makes the user and a token on a data folder, whether or not a server runs on it. */
export async function makeUser(data, settings = []) {
  await command(data, 'user', 'add', EMAIL, '--first-name', 'Bench', '--last-name', 'Mark', ...settings)
  const { access_token: token } = await command(
    ...[data, 'token', 'add', '--user', EMAIL, '--scope', 'files.read,files.write', ...settings],
  )
  return token
}

/**
 * A server on `data` (a new folder unless given); with `token` the user is there already. `settings` are given to every
 * command on that data.
 */
export async function startStarling(
  context,
  { data = context.newFolder('starling'), token, settings = [] } = {},
) {
  const child = start(
    BINARY,
    [
      ...['serve', '--data', data, '--host', '127.0.0.1', '--port', '0', '--workers', '2'],
      ...['--tls-cert', context.tls.certificate, '--tls-key', context.tls.key, ...settings],
    ],
    { cwd: ROOT },
  )
  const [, url] = await outputLine(child, /listening on (https:\S+)/)
  const tls = await untilAnswers(url, child)
  const secret = token ?? (await makeUser(data, settings))
  const authorization = `Authorization: Bearer ${secret}`

  async function call(method, path, body) {
    const answer = await ask(context, {
      ...{ url: `${url}${API}${path}`, method },
      headers: [authorization, 'Content-Type: application/json'],
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    return { ...answer, value: answer.text === '' ? undefined : JSON.parse(answer.text) }
  }

  return {
    ...{ name, url, tls, data, token: secret, authorization, call, pid: child.pid, stop: () => stop(child) },
    newFolder: async (label, parent = 'root') =>
      (await call('POST', '/folders', { name: label, parent })).value.id,
    newFile: async (label, parent = 'root') =>
      (await call('POST', '/files', { name: label, parent })).value.id,
    contentUrl: (id) => `${url}${API}/files/${id}/content`,
    /** A new Upload-ID for the file. */
    async uploadId(id) {
      const answer = await ask(context, {
        ...{ url: `${url}${API}/files/${id}/content`, method: 'PUT', body: '' },
        headers: [authorization, 'Content-Range: bytes */*', 'Content-Type: application/octet-stream'],
      })
      return /\r\nupload-id: *(\S+)/i.exec(answer.head)?.[1]
    },
  }
}
