// The same requests on a small store and on a large one, and renames with nothing and with everything below.
import * as starling from '../peers/starling.mjs'
import { load, repeat } from '../support/load.mjs'
import { installed, SQLITE } from '../support/packages.mjs'
import { populate } from '../support/population.mjs'

const SMALL_OBJECTS = 10_000
/** As many folders are asked about in the large store as in the small one: the requests are to be the same. */
const IDS_MAX = 50

/** So many of the list, evenly spread over it. */
const spread = (list, count) =>
  list.length <= count
    ? list
    : Array.from({ length: count }, (_, index) => list[Math.floor((index * list.length) / count)])

export function rows(context, scope) {
  const { growthSeconds, objects } = context.sizes
  const missing = () => starling.missing() ?? installed(SQLITE)

  const store = (size) =>
    scope.once(size, async () => {
      const data = context.newFolder('growth')
      // The first start makes whatever a server makes; the rows go in when it has stopped.
      const first = await starling.startStarling(context, { data })
      await first.stop()
      const tree = await populate(data, { email: starling.EMAIL, objects: size })
      const server = await scope.hold(starling.startStarling(context, { data, token: first.token }))
      // Half of the folders are only read, so that what is created elsewhere does not make their listings longer.
      const half = tree.folders.length >> 1
      return {
        ...{ server, tree, headers: `${server.authorization}\r\n`, count: 0 },
        read: spread(tree.folders.slice(0, half), IDS_MAX),
        written: spread(tree.folders.slice(half), IDS_MAX),
      }
    })

  const label = (size) => `${starling.name}, ${size.toLocaleString('en-US')} objects`
  const contender = (name, size, exchange) => ({
    ...{ name, missing },
    async open() {
      const held = await store(size)
      const one = (seconds) => exchange(held, seconds)
      return { sample: () => one(growthSeconds), warmUp: () => one(1) }
    },
  })

  const get = (suffix) => (held, seconds) =>
    repeat(held.server, {
      ...{ context, seconds, paths: held.read.map((id) => `${starling.API}/folders/${id}${suffix}`) },
      headers: { Authorization: `Bearer ${held.server.token}` },
    })
  const write = (exchange) => (held, seconds) =>
    load(held.server, {
      ...{ exchange, seconds, api: starling.API, headers: held.headers, prefix: `new-${held.count++}` },
      ...{ parents: held.written, ids: held.written },
    })
  /** One client alone, because the requests are all about the same folder. */
  const alone = (exchange, which) => (held, seconds) =>
    load(held.server, {
      ...{ exchange, seconds, api: starling.API, headers: held.headers, prefix: `${which}-${held.count++}` },
      ...{ ids: [held.tree[which]], parents: held.tree.places, processes: 1, connections: 1 },
    })

  const sizeRows = [
    ['growth-get', 'GET /folders/<id>', get('')],
    ['growth-children', 'children of a folder of 100', get('/children')],
    ['growth-create', 'create a file', write('createFile')],
    ['growth-rename', 'rename a folder', write('rename')],
  ].map(([key, title, exchange]) => ({
    ...{ key, title: `growth: ${title}`, unit: 'requests' },
    contenders: [objects, SMALL_OBJECTS].map((size) => contender(label(size), size, exchange)),
    bars: [{ of: label(objects), against: label(SMALL_OBJECTS), metric: 'cpu', comparison: '≤', limit: 1.3 }],
  }))

  const full = `${starling.name}, ${objects.toLocaleString('en-US')} below`
  const bare = `${starling.name}, nothing below`
  const belowRows = [
    ['growth-below-rename', 'rename a folder', 'rename'],
    ['growth-below-move', 'move a folder', 'move'],
  ].map(([key, title, exchange]) => ({
    ...{ key, title: `growth: ${title}, 1 client`, unit: 'requests' },
    contenders: [
      contender(full, objects, alone(exchange, 'everything')),
      contender(bare, objects, alone(exchange, 'empty')),
    ],
    bars: [{ of: full, against: bare, metric: 'cpu', comparison: '≤', limit: 1.3, note: 'the same' }],
  }))
  return [...sizeRows, ...belowRows]
}
