// Uploads of one large file: whole and in chunks. Starling answers when the content is hashed and durable; the peers
// answer when the bytes are handed to the kernel, and hash nothing.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import * as nginx from '../peers/nginx.mjs'
import * as starling from '../peers/starling.mjs'
import * as tus from '../peers/tus.mjs'
import { makeChunks, makePayload, refreshPayload } from '../support/payload.mjs'
import { run } from '../support/processes.mjs'
import { ask, upload } from '../support/transfer.mjs'

const CHUNK_BYTES = 8 * 1024 * 1024
const WARM_UP_BYTES = 64 * 1024 * 1024
const TYPE = 'Content-Type: application/octet-stream'
const WHOLE = `${starling.name}, whole`
const CHUNKED = `${starling.name}, 8 MiB chunks`

export function rows(context, scope) {
  const { bytes } = context.sizes
  const payloads = () =>
    scope.once('payloads', async () => {
      const folder = context.newFolder('payload')
      return {
        whole: makePayload(join(folder, 'payload.bin'), bytes),
        warmUp: makePayload(join(folder, 'warm-up.bin'), WARM_UP_BYTES),
        chunks: makeChunks(folder, bytes, CHUNK_BYTES),
      }
    })
  const starlingServer = () => scope.once('starling', () => scope.hold(starling.startStarling(context)))

  /** Opens a contender whose `send(file, length)` uploads one file and gives the sample. */
  const whole = (send) => async () => {
    const { whole: file, warmUp } = await payloads()
    const one = async (path, length) => {
      refreshPayload(path)
      await run('sync', ['-f', context.folder])
      return send(path, length)
    }
    return { sample: () => one(file, bytes), warmUp: () => one(warmUp, WARM_UP_BYTES) }
  }

  let count = 0
  async function sendToStarling(file, length) {
    const server = await starlingServer()
    const id = await server.newFile(`whole-${count++}.bin`)
    const parts = [{ url: server.contentUrl(id), file, headers: [server.authorization, TYPE] }]
    const sample = await upload(context, server, { parts, bytes: length })
    await server.call('DELETE', `/files/${id}`)
    return sample
  }

  async function sendChunks(chunks, length) {
    const server = await starlingServer()
    const id = await server.newFile(`chunked-${count++}.bin`)
    const uploadId = await server.uploadId(id)
    const parts = chunks.map(({ file, first, last }) => ({
      ...{ url: server.contentUrl(id), file },
      headers: [
        server.authorization,
        TYPE,
        `Upload-ID: ${uploadId}`,
        `Content-Range: bytes ${first}-${last}/${length}`,
      ],
    }))
    const sample = await upload(context, server, { parts, bytes: length })
    const { value } = await server.call('GET', `/files/${id}`)
    if (value.size !== length) throw new Error(`the chunked file has ${value.size} bytes`)
    await server.call('DELETE', `/files/${id}`)
    return sample
  }

  async function sendToNginx(file, length) {
    const files = await scope.once('nginx files', async () => context.newFolder('dav'))
    const server = await scope.once('nginx', () => scope.hold(nginx.startNginx(context, { files })))
    const sample = await upload(context, server, {
      parts: [{ url: `${server.url}/upload/payload.bin`, file }],
      bytes: length,
    })
    rmSync(join(files, 'upload'), { recursive: true })
    return sample
  }

  async function sendToTus(file, length) {
    const server = await scope.once('tus', () => scope.hold(tus.startTus(context)))
    const version = 'Tus-Resumable: 1.0.0'
    const created = await ask(context, {
      ...{ url: `${server.url}/files`, method: 'POST', headers: [version, `Upload-Length: ${length}`] },
    })
    const url = new URL(/\r\nlocation: *(\S+)/i.exec(created.head)[1], server.url)
    const headers = [version, 'Upload-Offset: 0', 'Content-Type: application/offset+octet-stream']
    const parts = [{ url: `${server.url}${url.pathname}`, method: 'PATCH', file, headers }]
    const sample = await upload(context, server, { parts, bytes: length })
    rmSync(join(server.directory, url.pathname.split('/').at(-1)))
    return sample
  }

  async function openChunked() {
    const { chunks } = await payloads()
    const one = async (list, length) => {
      for (const { file } of list) refreshPayload(file)
      await run('sync', ['-f', context.folder])
      return sendChunks(list, length)
    }
    const few = Math.min(chunks.length, WARM_UP_BYTES / CHUNK_BYTES)
    return { sample: () => one(chunks, bytes), warmUp: () => one(chunks.slice(0, few), few * CHUNK_BYTES) }
  }

  return [
    {
      ...{ key: 'upload', title: `upload ${bytes / 1024 ** 2} MiB`, unit: 'bytes' },
      contenders: [
        { name: WHOLE, missing: starling.missing, open: whole(sendToStarling) },
        { name: `${nginx.name} DAV`, missing: nginx.missing, open: whole(sendToNginx) },
        { name: tus.name, missing: tus.missing, open: whole(sendToTus) },
        { name: CHUNKED, missing: starling.missing, open: openChunked },
      ],
      pairs: [
        [WHOLE, `${nginx.name} DAV`],
        [WHOLE, tus.name],
        [CHUNKED, WHOLE],
      ],
      bars: [
        { of: WHOLE, against: `${nginx.name} DAV`, metric: 'cpu', comparison: '≤', limit: 1.6 },
        { of: WHOLE, against: tus.name, metric: 'cpu', comparison: '≤', limit: 0.45 },
        { of: CHUNKED, against: WHOLE, metric: 'rate', comparison: '≥', limit: 0.9 },
      ],
    },
  ]
}
