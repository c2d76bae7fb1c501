// The process of the tus peer: two cluster workers that share the port and the folder.
import cluster from 'node:cluster'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { FileStore } from '@tus/file-store'
import { Server } from '@tus/server'

const [directory, certificate, key] = process.argv.slice(2)

if (cluster.isPrimary) {
  let ready = 0
  for (let index = 0; index < 2; index++) {
    cluster.fork().on('listening', ({ port }) => {
      if (++ready === 2) console.log(`listening on https://127.0.0.1:${port}`)
    })
  }
  process.on('SIGTERM', () => process.exit(0))
} else {
  const tus = new Server({ path: '/files', datastore: new FileStore({ directory }) })
  const options = { cert: readFileSync(certificate), key: readFileSync(key), minVersion: 'TLSv1.3' }
  createServer(options, (request, response) => tus.handle(request, response)).listen(0, '127.0.0.1')
  process.on('disconnect', () => process.exit(0))
}
