// Content in an S3 store against content on the local disk: one large file up and down.
import { join } from 'node:path'
import * as starling from '../peers/starling.mjs'
import * as swift from '../peers/swift.mjs'
import { makePayload, refreshPayload } from '../support/payload.mjs'
import { run } from '../support/processes.mjs'
import { download, upload } from '../support/transfer.mjs'

const BYTES = 64 * 1024 * 1024
const TYPE = 'Content-Type: application/octet-stream'
const S3 = `${starling.name}, ${swift.name}`
const DISK = `${starling.name}, local disk`

export function rows(context, scope) {
  const payload = () =>
    scope.once('payload', async () => makePayload(join(context.newFolder('payload'), 'payload.bin'), BYTES))
  const servers = {
    [DISK]: () => scope.once('disk', () => scope.hold(starling.startStarling(context))),
    [S3]: () =>
      scope.once('s3', async () => {
        const store = scope.keep(await swift.startStore())
        return scope.hold(starling.startStarling(context, { stored: await store.flags() }))
      }),
  }
  let count = 0

  async function send(server) {
    const file = await payload()
    refreshPayload(file)
    await run('sync', ['-f', context.folder])
    const id = await server.newFile(`s3-${count++}.bin`)
    const url = server.contentUrl(id)
    const parts = [{ url, file, headers: [server.authorization, TYPE] }]
    return { id, url, sample: await upload(context, server, { parts, bytes: BYTES }) }
  }

  const uploading = (name) => async () => {
    const server = await servers[name]()
    const one = async () => {
      const { id, sample } = await send(server)
      await server.call('DELETE', `/files/${id}`)
      return sample
    }
    return { sample: one, warmUp: one }
  }

  const downloading = (name) => async () => {
    const server = await servers[name]()
    const { url } = await send(server)
    const one = () =>
      download(context, server, { url, headers: [server.authorization], bytes: BYTES, repeats: 2 })
    return { sample: one, warmUp: one }
  }

  const contenders = (open) => [
    { name: S3, missing: () => starling.missing() ?? swift.missing(), open: open(S3) },
    { name: DISK, missing: starling.missing, open: open(DISK) },
  ]
  const size = `${BYTES / 1024 ** 2} MiB`
  return [
    {
      ...{ key: 's3-upload', title: `upload ${size}, content in an S3 store`, unit: 'bytes' },
      contenders: contenders(uploading),
      bars: [],
    },
    {
      ...{ key: 's3-download', title: `download ${size}, content in an S3 store`, unit: 'bytes' },
      contenders: contenders(downloading),
      bars: [],
    },
  ]
}
