// Downloads and uploads by curl, one process a stream.
import { performance } from 'node:perf_hooks'
import { run, settledCpuSeconds, treeMemoryMiB } from './processes.mjs'
import { CIPHER } from './tls.mjs'

const MEMORY_SAMPLE_MS = 250
const GIB = 1024 ** 3

function curl(context, args) {
  return run('curl', [
    ...['--silent', '--show-error', '--http1.1', '--tlsv1.3', '--tls13-ciphers', CIPHER],
    ...['--cacert', context.tls.certificate, ...args],
  ])
}

const REPORT = '%{http_code} %{size_download} %{size_upload}\\n'

function checkReports(output, { statuses, downloaded, uploaded }) {
  let uploadedBytes = 0
  for (const line of output.trim().split('\n')) {
    const [status, down, up] = line.split(' ').map(Number)
    if (!statuses.includes(status)) throw new Error(`status ${status}`)
    if (downloaded !== undefined && down !== downloaded)
      throw new Error(`${down} bytes came of ${downloaded}`)
    uploadedBytes += up
  }
  if (uploaded !== undefined && uploadedBytes !== uploaded)
    throw new Error(`${uploadedBytes} bytes sent of ${uploaded}`)
}

/** Measures what `body` makes the server do; `bytes` is what it moves. */
async function measured(server, bytes, body) {
  const cpuBefore = await settledCpuSeconds(server.pid)
  const memory = []
  const began = performance.now()
  const sampler = setInterval(
    () => memory.push({ atMs: performance.now() - began, ...treeMemoryMiB(server.pid) }),
    MEMORY_SAMPLE_MS,
  )
  try {
    const start = performance.now()
    await body()
    const seconds = (performance.now() - start) / 1000
    memory.push({ atMs: performance.now() - began, ...treeMemoryMiB(server.pid) })
    clearInterval(sampler)
    // What the server still does after its last answer is a part of what the transfer costs.
    const cpuSeconds = (await settledCpuSeconds(server.pid)) - cpuBefore
    return { amount: bytes / GIB, seconds, cpuSeconds, memory }
  } finally {
    clearInterval(sampler)
  }
}

/** Several streams at once, each of them `repeats` times the whole file over one connection. */
export function download(context, server, { url, headers = [], bytes, streams = 1, repeats = 1 }) {
  const headerArgs = headers.flatMap((header) => ['--header', header])
  const targets = Array.from({ length: repeats }, () => ['--output', '/dev/null', url]).flat()
  return measured(server, bytes * streams * repeats, () =>
    Promise.all(
      Array.from({ length: streams }, async () =>
        checkReports(await curl(context, [...headerArgs, '--write-out', REPORT, ...targets]), {
          statuses: [200],
          downloaded: bytes,
        }),
      ),
    ),
  )
}

/** `parts` go one after the other over one connection: {url, method, file, headers}. */
export function upload(context, server, { parts, bytes }) {
  const args = parts.flatMap(({ url, method = 'PUT', file, headers = [] }, index) => [
    ...(index === 0
      ? []
      : ['--next', ...['--silent', '--show-error', '--http1.1', '--tlsv1.3', '--tls13-ciphers', CIPHER]]),
    ...(index === 0 ? [] : ['--cacert', context.tls.certificate]),
    ...['--request', method, '--upload-file', file, '--header', 'Expect:'],
    ...headers.flatMap((header) => ['--header', header]),
    ...['--output', '/dev/null', '--write-out', REPORT, url],
  ])
  return measured(server, bytes, async () =>
    checkReports(await curl(context, args), { statuses: [200, 201, 204], uploaded: bytes }),
  )
}

/** One small request outside of every measurement. */
export async function ask(context, { url, method = 'GET', headers = [], body }) {
  const output = await curl(context, [
    ...['--include', '--request', method, ...headers.flatMap((header) => ['--header', header])],
    ...(body === undefined ? [] : ['--data-binary', body]),
    url,
  ])
  const headEnd = output.indexOf('\r\n\r\n')
  return {
    status: Number(output.slice(9, 12)),
    head: output.slice(0, headEnd + 2),
    text: output.slice(headEnd + 4),
  }
}
