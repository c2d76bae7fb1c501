// New files of 4 KiB from 16 clients: two requests each, on both sides.
import { rmSync, mkdirSync } from 'node:fs'
import * as starling from '../peers/starling.mjs'
import * as tus from '../peers/tus.mjs'
import { load } from '../support/load.mjs'

const CONTENT_BYTES = 4096
const CLIENTS = 16

export function rows(context, scope) {
  const { seconds } = context.sizes
  let count = 0
  async function openStarling() {
    const server = await scope.hold(starling.startStarling(context))
    const one = async (duration) => {
      const parent = await server.newFolder(`small-${count++}`)
      return load(server, {
        ...{ exchange: 'createFile', api: starling.API, headers: `${server.authorization}\r\n` },
        ...{ parent, prefix: 'small', contentBytes: CONTENT_BYTES, connections: CLIENTS, seconds: duration },
      })
    }
    return { sample: () => one(seconds), warmUp: () => one(1) }
  }
  async function openTus() {
    const server = await scope.hold(tus.startTus(context))
    const one = async (duration) => {
      const sample = await load(server, {
        ...{ exchange: 'tusUpload', contentBytes: CONTENT_BYTES, connections: CLIENTS, seconds: duration },
      })
      rmSync(server.directory, { recursive: true })
      mkdirSync(server.directory)
      return sample
    }
    return { sample: () => one(seconds), warmUp: () => one(1) }
  }
  return [
    {
      ...{ key: 'small', title: 'create a file with 4 KiB of content, 16 clients', unit: 'files' },
      contenders: [
        { name: starling.name, missing: starling.missing, open: openStarling },
        { name: tus.name, missing: tus.missing, open: openTus },
      ],
      bars: [{ of: starling.name, against: tus.name, metric: 'rate', comparison: '≥', limit: 3 }],
    },
  ]
}
