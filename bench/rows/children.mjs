// Listings of a folder of many files, against WebDAV servers that list a folder of the same files.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as apache from '../peers/apache.mjs'
import * as nginx from '../peers/nginx.mjs'
import * as rclone from '../peers/rclone.mjs'
import * as starling from '../peers/starling.mjs'
import { load, repeat, wrkMissing } from '../support/load.mjs'
import { ask } from '../support/transfer.mjs'

const CLIENTS = 4
const CONTENT_BYTES = 16
// This one lists neither entity tags nor types, so it does less than the listing that the bar is about.
const NGINX_DAV = `${nginx.name} DAV extension (no tags, no types)`
const NGINX_JSON = `${nginx.name} autoindex JSON`
const WEBDAV = [apache.name, rclone.name]

const PROPFIND = {
  method: 'PROPFIND',
  headers: { Depth: '1', 'Content-Type': 'application/xml' },
  body:
    '<?xml version="1.0"?><propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/><getlastmodified/>' +
    '<getetag/><getcontenttype/></prop></propfind>',
}

export function rows(context, scope) {
  const { listingSeconds } = context.sizes
  const files = () =>
    scope.once('files', async () => {
      const folder = context.newFolder('listings')
      for (const count of [1000, 10_000]) {
        mkdirSync(join(folder, `${count}`))
        for (let index = 0; index < count; index++) {
          writeFileSync(
            join(folder, `${count}`, `entry-${index % 2}-${index >> 1}.bin`),
            Buffer.alloc(CONTENT_BYTES, index),
          )
        }
      }
      return folder
    })

  /** `entriesIn(text)` counts what a listing names; a listing that is not whole is not measured. */
  async function contender(server, count, request, entriesIn) {
    const headers = Object.entries(request.headers ?? {}).map(([name, value]) => `${name}: ${value}`)
    const answer = await ask(context, { ...request, url: `${server.url}${request.path}`, headers })
    const entries = entriesIn(answer.text)
    if (entries !== count) throw new Error(`status ${answer.status}, ${entries} entries of ${count}`)
    const one = async (seconds) => {
      const result = await repeat(server, {
        context,
        seconds,
        connections: CLIENTS,
        paths: [request.path],
        ...request,
      })
      return { ...result, amount: result.amount * count }
    }
    // A server too slow for one answer in a second is warm all the same.
    return { sample: () => one(listingSeconds), warmUp: () => one(1).catch(() => undefined) }
  }

  const davEntries = (text) => (text.match(/<(\w+:)?response[\s>]/g)?.length ?? 0) - 1
  const starlingServer = () => scope.once('starling', () => scope.hold(starling.startStarling(context)))
  const peerServer = (key, startPeer) =>
    scope.once(key, async () => scope.hold(startPeer(context, { files: await files() })))

  const openStarling = (count) => async () => {
    const server = await starlingServer()
    const parent = await server.newFolder(`folder-${count}`)
    await load(server, {
      ...{
        exchange: 'createFile',
        api: starling.API,
        headers: `${server.authorization}\r\n`,
        parent,
        prefix: 'entry',
      },
      ...{ contentBytes: CONTENT_BYTES, count },
    })
    const headers = { Authorization: `Bearer ${server.token}` }
    const request = { path: `${starling.API}/folders/${parent}/children`, headers }
    return contender(server, count, request, (text) => JSON.parse(text).files.length)
  }
  const openDav = (key, startPeer, prefix) => (count) => async () => {
    const server = await peerServer(key, startPeer)
    return contender(server, count, { ...PROPFIND, path: `${prefix}/${count}/` }, davEntries)
  }
  const openJson = (count) => async () => {
    const server = await peerServer('nginx', nginx.startNginx)
    return contender(server, count, { path: `/index/${count}/` }, (text) => JSON.parse(text).length)
  }
  const needsWrk = (missing) => () =>
    missing() ?? (wrkMissing() && 'wrk is not installed, PROPFIND was not sent')

  return [1000, 10_000].map((count) => ({
    ...{
      key: `children-${count}`,
      title: `children of a folder of ${count.toLocaleString('en-US')}`,
      unit: 'entries',
    },
    contenders: [
      { name: starling.name, missing: starling.missing, open: openStarling(count) },
      {
        name: apache.name,
        missing: needsWrk(apache.missing),
        open: openDav('apache', apache.startApache, '')(count),
      },
      {
        name: rclone.name,
        missing: needsWrk(rclone.missing),
        open: openDav('rclone', rclone.startRclone, '')(count),
      },
      {
        name: NGINX_DAV,
        missing: needsWrk(nginx.davMissing),
        open: openDav('nginx', nginx.startNginx, '/dav')(count),
      },
      { name: NGINX_JSON, missing: nginx.missing, open: openJson(count) },
    ],
    bars: [
      { of: starling.name, against: WEBDAV, metric: 'rate', comparison: '≥', limit: 3, note: 'best WebDAV' },
    ],
  }))
}
