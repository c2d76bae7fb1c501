// What applications notice when a crowd signs in: how long the API takes to answer, with and without it, in turns.
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import * as starling from '../peers/starling.mjs'
import { load, message } from '../support/load.mjs'
import { run, settledCpuSeconds, start } from '../support/processes.mjs'
import { latencyLines } from '../support/report.mjs'

const SIGN_INS = 500
/** Each signs in several times: making an account takes a hash too. */
const ACCOUNTS = 25
const FOLDERS = 200
const PASSWORD = 'correct horse battery staple'
const LATENCY_PROCESS = fileURLToPath(new URL('../support/latency-process.mjs', import.meta.url))
const SIGN_IN_PROCESS = fileURLToPath(new URL('../support/sign-in-process.mjs', import.meta.url))

const numbers = (count) => Array.from({ length: count }, (_, index) => index)
const fork = (program) => start(process.execPath, [program], { stdio: ['ignore', 'inherit', 'pipe', 'ipc'] })

export function rows(context, scope) {
  const world = () => scope.once('sign-in', makeWorld)
  /** Another server with the same people, which has nothing to do with the one that is measured. */
  const elsewhere = () => scope.once('sign-in elsewhere', makeWorld)

  async function makeWorld() {
    const server = await scope.hold(starling.startStarling(context))
    const parent = await server.newFolder('folders')
    await load(server, {
      ...{ exchange: 'createFolder', api: starling.API, headers: `${server.authorization}\r\n` },
      ...{ parent, prefix: 'folder', count: FOLDERS },
    })
    const { value } = await server.call('GET', `/folders/${parent}/children`)
    const accounts = []
    for (const index of numbers(ACCOUNTS)) {
      const email = `crowd-${index}@example.org`
      const names = ['--first-name', 'A', '--last-name', 'B', '--password-stdin']
      await run(starling.BINARY, ['user', 'add', email, ...names, '--data', server.data], {
        input: `${PASSWORD}\n`,
      })
      accounts.push({ email, password: PASSWORD })
    }
    return { server, accounts, paths: value.folders.map(({ id }) => `${starling.API}/folders/${id}`) }
  }

  /** Asks the API while the work goes on; how long the answers took. */
  async function during({ server, paths }, work) {
    const prober = fork(LATENCY_PROCESS)
    prober.send({ type: 'job', url: server.url, paths, headers: `${server.authorization}\r\n` })
    await message(prober)
    const cpuBefore = await settledCpuSeconds(server.pid)
    prober.send({ type: 'go' })
    await work()
    const result = message(prober)
    prober.send({ type: 'stop' })
    const { times, seconds } = await result
    prober.disconnect()
    const cpuSeconds = (await settledCpuSeconds(server.pid)) - cpuBefore
    return { amount: times.length, seconds, cpuSeconds, times }
  }

  /** As long as the crowd took the last time, so that both see the same number of requests. */
  let crowdSeconds = context.sizes.seconds

  async function quiet() {
    const held = await world()
    return during(held, () => sleep(crowdSeconds * 1000))
  }

  /** The crowd signs in where it is told to; it is always the same server whose answers are timed. */
  async function crowded(place, count = SIGN_INS) {
    const held = await world()
    const { accounts, server } = await place()
    const crowd = fork(SIGN_IN_PROCESS)
    const people = numbers(count).map((index) => accounts[index % ACCOUNTS])
    crowd.send({ url: server.url, people })
    await message(crowd)
    return during(held, async () => {
      const result = message(crowd)
      crowd.send('go')
      crowdSeconds = (await result).seconds
      crowd.disconnect()
    })
  }

  const crowdName = `${starling.name}, ${SIGN_INS} sign-ins at once`
  const quietName = `${starling.name}, nobody signs in`
  const elsewhereName = `${starling.name}, ${SIGN_INS} sign-ins at another server of the machine`
  const contender = (name, sample, warmUp) => ({
    ...{ name, missing: starling.missing },
    open: () => Promise.resolve({ sample, warmUp }),
  })
  return [
    {
      ...{ key: 'sign-in', title: 'GET /folders/<id> at an even pace', unit: 'requests' },
      contenders: [
        contender(
          crowdName,
          () => crowded(world),
          () => crowded(world, 20),
        ),
        contender(quietName, quiet, quiet),
        contender(
          elsewhereName,
          () => crowded(elsewhere),
          () => crowded(elsewhere, 20),
        ),
      ],
      bars: [],
      // What the machine's share of the crowd costs, and what it costs beyond that to have the crowd here.
      lines: (row, results) => [
        ...latencyLines(row, results, {
          ...{ of: crowdName, against: quietName },
          limits: { p50: 1.5, p95: 2, p99: 3 },
        }),
        ...latencyLines(row, results, { of: elsewhereName, against: quietName }),
        ...latencyLines(row, results, { of: crowdName, against: elsewhereName }),
      ],
    },
  ]
}
