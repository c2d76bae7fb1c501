// One folder's metadata with the check of the token, against the least that a handler can do.
import * as floor from '../peers/floor.mjs'
import * as starling from '../peers/starling.mjs'
import { load, repeat } from '../support/load.mjs'

const FOLDERS = 500

export function rows(context, scope) {
  const { seconds } = context.sizes
  const contender = (server, paths, token) => {
    const one = (duration) =>
      repeat(server, { context, seconds: duration, paths, headers: { Authorization: `Bearer ${token}` } })
    return { sample: () => one(seconds), warmUp: () => one(1) }
  }
  async function openStarling() {
    const server = await scope.hold(starling.startStarling(context))
    const parent = await server.newFolder('folders')
    await load(server, {
      ...{ exchange: 'createFolder', api: starling.API, headers: `${server.authorization}\r\n` },
      ...{ parent, prefix: 'folder', count: FOLDERS },
    })
    const { value } = await server.call('GET', `/folders/${parent}/children`)
    if (value.folders.length !== FOLDERS) throw new Error(`${value.folders.length} folders of ${FOLDERS}`)
    return contender(
      server,
      value.folders.map(({ id }) => `${starling.API}/folders/${id}`),
      server.token,
    )
  }
  async function openFloor() {
    const server = await scope.hold(floor.startFloor(context, { folders: FOLDERS }))
    return contender(
      server,
      server.ids.map((id) => `/folders/${id}`),
      server.token,
    )
  }
  return [
    {
      ...{ key: 'folder', title: 'GET /folders/<id>, 16 clients', unit: 'requests' },
      contenders: [
        { name: starling.name, missing: starling.missing, open: openStarling },
        { name: floor.name, missing: floor.missing, open: openFloor },
      ],
      bars: [{ of: starling.name, against: floor.name, metric: 'rate', comparison: '≥', limit: 0.7 }],
    },
  ]
}
