// The floor under every metadata request: Fastify, one SELECT for the token, one for the row, one JSON reply.
import cluster from 'node:cluster'
import { readFileSync } from 'node:fs'
import Fastify from 'fastify'
import { SQLITE } from '../support/packages.mjs'

const [file, certificate, key] = process.argv.slice(2)

if (cluster.isPrimary) {
  let ready = 0
  for (let index = 0; index < 2; index++) {
    cluster.fork().on('listening', ({ port }) => {
      if (++ready === 2) console.log(`listening on https://127.0.0.1:${port}`)
    })
  }
  process.on('SIGTERM', () => process.exit(0))
} else {
  const { default: Database } = await import(SQLITE)
  const database = new Database(file, { readonly: true })
  const tokenRow = database.prepare('SELECT user FROM tokens WHERE token = ?')
  const folderRow = database.prepare('SELECT id, name, parent FROM folders WHERE id = ?')
  const https = { cert: readFileSync(certificate), key: readFileSync(key), minVersion: 'TLSv1.3' }
  const app = Fastify({ https, logger: false, keepAliveTimeout: 60_000 })
  app.get('/folders/:id', (request, reply) => {
    const token = request.headers.authorization?.slice('Bearer '.length)
    if (token === undefined || tokenRow.get(token) === undefined)
      return reply.code(401).send({ type: 'UNAUTHORIZED' })
    const row = folderRow.get(request.params.id)
    if (row === undefined) return reply.code(404).send({ type: 'NOT_FOUND' })
    return reply.send({ id: row.id, name: row.name, parent: row.parent, is_shared: false })
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  process.on('disconnect', () => process.exit(0))
}
