// What shares, groups and people cost: the same requests by somebody who is in one share and by somebody in many.
import { Agent, request } from 'node:https'
import * as starling from '../peers/starling.mjs'
import { repeat } from '../support/load.mjs'
import { run, settledCpuSeconds } from '../support/processes.mjs'

const SHARES = 1000
const GROUPS = 200
const PEOPLE = 1000
const SCOPES = 'files.read,files.write,user.read,user.write,acl.read,acl.write,groups.read,organization.admin'

const command = (data, ...args) =>
  run(starling.BINARY, [...args, '--data', data, '--json']).then((text) => JSON.parse(text))

/** Calls with one person's token over connections that stay open, because setting this up takes thousands of them. */
function client(url, token) {
  const agent = new Agent({ keepAlive: true, maxSockets: 8, rejectUnauthorized: false })
  return (method, path, value) =>
    new Promise((resolve, reject) => {
      const body = value === undefined ? undefined : JSON.stringify(value)
      const headers = {
        Authorization: `Bearer ${token}`,
        ...(body === undefined
          ? {}
          : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
      }
      const outgoing = request(`${url}${starling.API}${path}`, { method, headers, agent }, (answer) => {
        const parts = []
        answer.on('data', (part) => parts.push(part))
        answer.on('end', () => {
          const text = Buffer.concat(parts).toString()
          if (answer.statusCode >= 400) reject(new Error(`${method} ${path}: ${answer.statusCode} ${text}`))
          else resolve(text === '' ? undefined : JSON.parse(text))
        })
      })
      outgoing.on('error', reject)
      outgoing.end(body)
    })
}

const numbers = (count) => Array.from({ length: count }, (_, index) => index)

/** So many at a time, because a thousand one after the other would wait for a thousand syncs. */
async function inTurns(list, work) {
  const queue = [...list]
  await Promise.all(
    numbers(8).map(async () => {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item)
    }),
  )
}

export function rows(context, scope) {
  const { seconds } = context.sizes

  const world = () => scope.once('people', makeWorld)

  async function makeWorld() {
    const server = await scope.hold(starling.startStarling(context))
    const person = async (name, ...flags) => {
      const email = `${name}@example.org`
      await command(server.data, 'user', 'add', email, '--first-name', name, '--last-name', 'Bench', ...flags)
      const issued = await command(server.data, 'token', 'add', '--user', email, '--scope', SCOPES)
      return { email, token: issued.access_token, call: client(server.url, issued.access_token) }
    }
    const many = await person('many', '--admin')
    const few = await person('few', '--admin')
    const shareOf = async ({ call }, name) => (await call('POST', '/shares', { name })).id
    const shares = []
    await inTurns(numbers(SHARES), async (index) => {
      shares.push(await shareOf(many, `share-${index}`))
    })
    await inTurns(numbers(GROUPS), async (index) => {
      const { id } = await many.call('POST', '/groups', { name: `group-${index}` })
      await many.call('POST', `/groups/${id}/members`, { email: many.email })
      await many.call('POST', `/shares/${shares[index]}/groups`, { id, permissions: ['WRITE'] })
    })
    const fewShare = await shareOf(few, 'only')
    const folderIn = async ({ call }, parent) =>
      (await call('POST', '/folders', { name: 'folder', parent })).id
    const crowd = (await many.call('POST', '/groups', { name: 'crowd' })).id
    const pair = (await many.call('POST', '/groups', { name: 'pair' })).id
    await inTurns(numbers(PEOPLE), async (index) => {
      const email = `crowd-${index}@example.org`
      await many.call('POST', '/users', { email, first_name: 'A', last_name: 'B' })
      await many.call('POST', `/groups/${crowd}/members`, { email })
      if (index === 0) await many.call('POST', `/groups/${pair}/members`, { email })
    })
    const manyFolders = []
    for (const sid of shares.slice(0, 100)) manyFolders.push(await folderIn(many, sid))
    return {
      ...{ server, crowd, pair, shareOf },
      many: { ...many, folders: manyFolders },
      few: { ...few, folders: [await folderIn(few, fewShare)] },
    }
  }

  const reading = (who, paths) => async () => {
    const held = await world()
    const { token } = held[who]
    const one = (duration) =>
      repeat(held.server, {
        ...{ context, seconds: duration, paths: paths(held[who]) },
        headers: { Authorization: `Bearer ${token}` },
      })
    return { sample: () => one(seconds), warmUp: () => one(1) }
  }

  /** Each time a new share, so that adding the group is what is measured and not taking it out again. */
  const adding = (group, people) => async () => {
    const held = await world()
    const { call } = held.many
    const one = async (times) => {
      const fresh = []
      for (const index of numbers(times)) fresh.push(await held.shareOf(held.many, `joined-${index}`))
      const cpuBefore = await settledCpuSeconds(held.server.pid)
      const startedMs = performance.now()
      for (const sid of fresh)
        await call('POST', `/shares/${sid}/groups`, { id: held[group], permissions: [] })
      const elapsedSeconds = (performance.now() - startedMs) / 1000
      const cpuSeconds = (await settledCpuSeconds(held.server.pid)) - cpuBefore
      return { amount: times * people, seconds: elapsedSeconds, cpuSeconds }
    }
    return { sample: () => one(3), warmUp: () => one(1) }
  }

  const manyName = `${starling.name}, ${SHARES} shares and ${GROUPS} groups`
  const fewName = `${starling.name}, one share`
  const contender = (name, open) => ({ name, missing: starling.missing, open })
  return [
    {
      ...{ key: 'people-permission', title: 'GET a folder in a share, 16 clients', unit: 'requests' },
      contenders: [
        contender(
          manyName,
          reading('many', ({ folders }) => folders.map((id) => `${starling.API}/folders/${id}`)),
        ),
        contender(
          fewName,
          reading('few', ({ folders }) => folders.map((id) => `${starling.API}/folders/${id}`)),
        ),
      ],
      bars: [{ of: manyName, against: fewName, metric: 'cpu', comparison: '≤', limit: 1.2 }],
    },
    {
      ...{ key: 'people-shares', title: 'list the shares of a person', unit: 'requests' },
      contenders: [
        contender(
          manyName,
          reading('many', () => [`${starling.API}/users/me/shares`]),
        ),
        contender(
          fewName,
          reading('few', () => [`${starling.API}/users/me/shares`]),
        ),
      ],
      bars: [],
    },
    {
      ...{ key: 'people-group', title: 'add a group to a share, by person let in', unit: 'entries' },
      contenders: [
        contender(`${starling.name}, a group of ${PEOPLE}`, adding('crowd', PEOPLE)),
        contender(`${starling.name}, a group of one`, adding('pair', 1)),
      ],
      bars: [],
    },
  ]
}
