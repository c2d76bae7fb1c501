// A bare Fastify handler over SQLite.
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { untilAnswers } from '../support/net.mjs'
import { installed, SQLITE } from '../support/packages.mjs'
import { outputLine, start, stop } from '../support/processes.mjs'

const PROGRAM = fileURLToPath(new URL('./floor-server.mjs', import.meta.url))

export const name = 'bare Fastify + SQLite'
export const missing = () => installed('fastify', SQLITE)

export async function startFloor(context, { folders }) {
  const { default: Database } = await import(SQLITE)
  const file = join(context.newFolder('floor'), 'floor.db')
  const database = new Database(file)
  database.pragma('journal_mode = WAL')
  database.exec(`CREATE TABLE tokens (token TEXT PRIMARY KEY, user TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE folders (id TEXT PRIMARY KEY, name TEXT NOT NULL, parent TEXT NOT NULL) WITHOUT ROWID`)
  const token = randomBytes(32).toString('hex')
  const root = '0'.repeat(64)
  const ids = Array.from({ length: folders }, () => randomBytes(32).toString('hex'))
  database.prepare('INSERT INTO tokens VALUES (?, ?)').run(token, 'bench@example.org')
  const insert = database.prepare('INSERT INTO folders VALUES (?, ?, ?)')
  database.transaction(() => ids.forEach((id, index) => insert.run(id, `folder-${index}`, root)))()
  database.close()
  const child = start(process.execPath, [PROGRAM, file, context.tls.certificate, context.tls.key])
  const [, url] = await outputLine(child, /listening on (https:\S+)/)
  const tls = await untilAnswers(url, child)
  return { name, url, tls, ids, token, pid: child.pid, stop: () => stop(child) }
}
