// The same content from a node that has its own copy of what is in an S3 store, and from one that reads through.
import { join } from 'node:path'
import * as starling from '../peers/starling.mjs'
import * as swift from '../peers/swift.mjs'
import { makePayload } from '../support/payload.mjs'
import { download, upload } from '../support/transfer.mjs'

const COPY = 'Starling, local copy'
const THROUGH = 'Starling, read through'

export function rows(context, scope) {
  const bytes = context.sizes.bytes / 4
  const payload = () =>
    scope.once('payload', async () => makePayload(join(context.newFolder('payload'), 'payload.bin'), bytes))
  const store = () => scope.once('store', async () => scope.keep(await swift.startStore()))

  const target = (name, extra) => () =>
    scope.once(name, async () => {
      const settings = [...(await (await store()).settings()), ...extra()]
      const server = await scope.hold(starling.startStarling(context, { settings }))
      const url = server.contentUrl(await server.newFile('payload.bin'))
      const headers = [server.authorization]
      const type = 'Content-Type: application/octet-stream'
      const parts = [{ url, file: await payload(), headers: [...headers, type] }]
      await upload(context, server, { parts, bytes })
      return { server, url, headers }
    })

  const contenders = (options) =>
    [
      [COPY, target(COPY, () => ['--replica', context.newFolder('replica')])],
      [THROUGH, target(THROUGH, () => [])],
    ].map(([name, open]) => ({
      name,
      missing: () => starling.missing() ?? swift.missing(),
      async open() {
        const { server, url, headers } = await open()
        const sample = () => download(context, server, { url, headers, bytes, ...options })
        return { sample, warmUp: () => download(context, server, { url, headers, bytes }) }
      },
    }))

  return [
    {
      ...{
        key: 'replica',
        title: `download ${bytes / 1024 ** 2} MiB of an S3 store's content`,
        unit: 'bytes',
      },
      contenders: contenders({ streams: 1, repeats: 2 }),
      bars: [{ of: COPY, against: THROUGH, metric: 'rate', comparison: '≥', limit: 1.5 }],
    },
  ]
}
