// Load from separate processes: many small requests, by wrk where one fixed request is enough, else by our own client.
import { existsSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { run, settledCpuSeconds, start, treeCpuSeconds } from './processes.mjs'

const LOAD_PROCESS = fileURLToPath(new URL('./load-process.mjs', import.meta.url))
const WRK = '/usr/bin/wrk'

/** The next thing a client process says. */
export function message(child) {
  return new Promise((resolve, reject) => {
    child.once('message', (value) => (value.failure ? reject(new Error(value.failure)) : resolve(value)))
    child.once('exit', (code) => reject(new Error(`a client ended with ${code}: ${child.complaints}`)))
  })
}

/** Runs an exchange from several processes at once; gives what was completed, how long it took and what it cost. */
export async function load(server, job) {
  const processes = job.processes ?? 2
  const connections = Math.max(1, Math.round((job.connections ?? 16) / processes))
  const children = Array.from({ length: processes }, () =>
    start(process.execPath, [LOAD_PROCESS], { stdio: ['ignore', 'inherit', 'pipe', 'ipc'] }),
  )
  await Promise.all(
    children.map((child, index) => {
      child.send({ url: server.url, ...job, process: index, processes, connections })
      return message(child)
    }),
  )
  const cpuBefore = await settledCpuSeconds(server.pid)
  const results = await Promise.all(
    children.map(async (child) => {
      child.send('go')
      return (await message(child)).result
    }),
  )
  // What the server still does after its last answer is a part of what the requests cost.
  const cpuSeconds = (await settledCpuSeconds(server.pid)) - cpuBefore
  const completed = results.reduce((sum, result) => sum + result.completed, 0)
  return { amount: completed, seconds: Math.max(...results.map((result) => result.seconds)), cpuSeconds }
}

function script({ method = 'GET', headers = {}, body, paths }) {
  const quoted = (text) => JSON.stringify(text)
  const table = Object.entries(headers).map(([name, value]) => `[${quoted(name)}]=${quoted(value)}`)
  return `
local paths = {${paths.map(quoted).join(',')}}
local headers = {${table.join(',')}}
local requests = {}
local turn = 0
function init()
  for index, path in ipairs(paths) do
    requests[index] = wrk.format(${quoted(method)}, path, headers${body === undefined ? '' : `, ${quoted(body)}`})
  end
end
function request()
  turn = turn + 1
  return requests[(turn * 7919) % #paths + 1]
end
function done(summary)
  local errors = summary.errors
  io.write(string.format('RESULT {"requests":%d,"microseconds":%d,"bytes":%d,"status":%d,"lost":%d}\\n', summary.requests,
    summary.duration, summary.bytes, errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
`
}

export const wrkMissing = () =>
  existsSync(WRK) ? undefined : 'wrk is not installed; our own client was used'

/** Repeats one kind of request without a sequence: `paths` are taken in turn. */
export async function repeat(server, { context, seconds, connections = 16, ...request }) {
  if (wrkMissing() !== undefined) {
    const headers = Object.entries(request.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`)
    if ((request.method ?? 'GET') !== 'GET') throw new Error('wrk is needed for this method')
    return load(server, {
      exchange: 'get',
      seconds,
      connections,
      paths: request.paths,
      headers: headers.join(''),
    })
  }
  const file = join(context.folder, `wrk-${server.name}.lua`)
  writeFileSync(file, script(request))
  const args = [
    '-t',
    '1',
    '-c',
    `${connections}`,
    '-d',
    `${seconds}s`,
    '--timeout',
    '30s',
    '-s',
    file,
    server.url,
  ]
  const environment = { ...process.env, OPENSSL_CONF: context.tls.opensslConfig }
  const cpuBefore = await settledCpuSeconds(server.pid)
  const output = await run(WRK, args, { env: environment })
  // wrk leaves requests behind when its time is up; they count for nobody, so this does not wait for them.
  const cpuSeconds = treeCpuSeconds(server.pid) - cpuBefore
  const result = JSON.parse(/RESULT (.*)/.exec(output)[1])
  if (result.status > 0 || result.lost > 0)
    throw new Error(`${server.name}: wrk saw failures: ${JSON.stringify(result)}`)
  if (result.requests === 0) throw new Error(`${server.name}: not one request was answered`)
  return {
    amount: result.requests,
    seconds: result.microseconds / 1e6,
    cpuSeconds,
    bytesEach: Math.round(result.bytes / result.requests),
  }
}
