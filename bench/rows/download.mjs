// Downloads of one large file: one stream, then eight at once.
import { linkSync } from 'node:fs'
import { join } from 'node:path'
import * as caddy from '../peers/caddy.mjs'
import * as nginx from '../peers/nginx.mjs'
import * as starling from '../peers/starling.mjs'
import { makePayload } from '../support/payload.mjs'
import { download, upload } from '../support/transfer.mjs'

export function rows(context, scope) {
  const { bytes } = context.sizes
  const files = () =>
    scope.once('files', async () => {
      const folder = context.newFolder('static')
      const payload = makePayload(join(context.newFolder('payload'), 'payload.bin'), bytes)
      linkSync(payload, join(folder, 'payload.bin'))
      return folder
    })
  const targets = {
    starling: () =>
      scope.once('starling', async () => {
        const file = join(await files(), 'payload.bin')
        const server = await scope.hold(starling.startStarling(context))
        const url = server.contentUrl(await server.newFile('payload.bin'))
        const headers = [server.authorization]
        await upload(context, server, {
          parts: [{ url, file, headers: [...headers, 'Content-Type: application/octet-stream'] }],
          bytes,
        })
        return { server, url, headers }
      }),
    nginx: () =>
      scope.once('nginx', async () => {
        const server = await scope.hold(nginx.startNginx(context, { files: await files() }))
        return { server, url: `${server.url}/payload.bin` }
      }),
    caddy: () =>
      scope.once('caddy', async () => {
        const server = await scope.hold(caddy.startCaddy(context, { files: await files() }))
        return { server, url: `${server.url}/payload.bin` }
      }),
  }
  const contenders = (options) =>
    [
      [starling, targets.starling],
      [nginx, targets.nginx],
      [caddy, targets.caddy],
    ].map(([{ name, missing }, target]) => ({
      ...{ name, missing },
      async open() {
        const { server, url, headers } = await target()
        const sample = () => download(context, server, { url, headers, bytes, ...options })
        return { sample, warmUp: () => download(context, server, { url, headers, bytes }) }
      },
    }))
  const size = `${bytes / 1024 ** 2} MiB`
  return [
    {
      ...{ key: 'download', title: `download ${size}, one stream`, unit: 'bytes' },
      contenders: contenders({ streams: 1, repeats: 2 }),
      bars: [{ of: starling.name, against: nginx.name, metric: 'cpu', comparison: '≤', limit: 1.15 }],
    },
    {
      ...{ key: 'download-8', title: `download ${size}, 8 streams`, unit: 'bytes' },
      contenders: contenders({ streams: 8 }),
      bars: [{ of: starling.name, against: nginx.name, metric: 'rate', comparison: '≥', limit: 0.9 }],
      memoryBar: { of: starling.name, limitMiB: 300 },
    },
  ]
}
