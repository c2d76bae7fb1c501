// Three nodes against one, each with one process, over the same PostgreSQL: reads, and small durable writes.
import * as postgres from '../peers/postgres.mjs'
import * as starling from '../peers/starling.mjs'
import { load } from '../support/load.mjs'

const FOLDERS = 200
const CONTENT_BYTES = 4096
const CLIENTS = 15
const THREE = `${starling.name}, three nodes`
const ONE = `${starling.name}, one node`

const missing = () => starling.missing() ?? postgres.missing()

export function rows(context, scope) {
  const { seconds } = context.sizes
  let count = 0

  /** So many nodes over a database of their own; the cost of the database is part of what they cost. */
  const nodes = (number) =>
    scope.once(`nodes ${number}`, async () => {
      const database = await scope.once('postgres', () => scope.hold(postgres.startPostgres(context)))
      const stored = ['--database', await database.database()]
      const first = await scope.hold(starling.startStarling(context, { stored, workers: 1 }))
      const all = [first]
      while (all.length < number)
        all.push(
          await scope.hold(starling.startStarling(context, { stored, workers: 1, token: first.token })),
        )
      return {
        ...first,
        urls: all.map(({ url }) => url),
        pid: [...all.map(({ pid }) => pid), database.pid],
      }
    })

  const headers = (server) => `${server.authorization}\r\n`
  const common = { connections: CLIENTS, processes: 3 }

  const reading = (number) => async () => {
    const server = await nodes(number)
    const parent = await server.newFolder('folders')
    await load(server, {
      ...{ exchange: 'createFolder', api: starling.API, headers: headers(server) },
      ...{ parent, prefix: 'folder', count: FOLDERS },
    })
    const { value } = await server.call('GET', `/folders/${parent}/children`)
    if (value.folders.length !== FOLDERS) throw new Error(`${value.folders.length} folders of ${FOLDERS}`)
    const paths = value.folders.map(({ id }) => `${starling.API}/folders/${id}`)
    const one = (duration) =>
      load(server, { ...common, exchange: 'get', headers: headers(server), paths, seconds: duration })
    return { sample: () => one(seconds), warmUp: () => one(1) }
  }

  const writing = (number) => async () => {
    const server = await nodes(number)
    const one = async (duration) => {
      const parent = await server.newFolder(`small-${count++}`)
      return load(server, {
        ...common,
        ...{ exchange: 'createFile', api: starling.API, headers: headers(server) },
        ...{ parent, prefix: 'small', contentBytes: CONTENT_BYTES, seconds: duration },
      })
    }
    return { sample: () => one(seconds), warmUp: () => one(1) }
  }

  const contenders = (open) => [
    { name: THREE, missing, open: open(3) },
    { name: ONE, missing, open: open(1) },
  ]
  return [
    {
      ...{ key: 'cluster-read', title: 'GET a folder over PostgreSQL, 15 clients', unit: 'requests' },
      contenders: contenders(reading),
      bars: [],
    },
    {
      ...{
        key: 'cluster-write',
        title: 'create a file with 4 KiB over PostgreSQL, 15 clients',
        unit: 'files',
      },
      contenders: contenders(writing),
      bars: [],
    },
  ]
}
