// Starts child processes, knows their whole trees, and makes sure that none outlives the benchmark.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const started = new Map()
const folders = new Set()

const CLOCK_TICKS_PER_SECOND = 100
const STOP_PATIENCE_MS = 8000

/** Fields of /proc/PID/stat after the command name, which may itself hold blanks and brackets. */
function statFields(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}

/** The process, or each of several, and everything below, as pids. */
export function processTree(root) {
  const childrenOf = new Map()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const parent = Number(statFields(entry)[1])
      const siblings = childrenOf.get(parent)
      if (siblings) siblings.push(Number(entry))
      else childrenOf.set(parent, [Number(entry)])
    } catch {
      // The process ended while the list was being read.
    }
  }
  const tree = [root].flat()
  for (let index = 0; index < tree.length; index++) tree.push(...(childrenOf.get(tree[index]) ?? []))
  return tree
}

/**
 * User and system time of the tree, with the time of children that ended and were waited for.
 * A child that ends moves its time to its parent's second pair of counters, so that differences stay right.
 */
export function treeCpuSeconds(root) {
  let ticks = 0
  for (const pid of processTree(root)) {
    try {
      const fields = statFields(pid)
      ticks += Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14])
    } catch {
      // Ended since the list was made; its time is with its parent now.
    }
  }
  return ticks / CLOCK_TICKS_PER_SECOND
}

const SETTLE_STEP_MS = 150
const SETTLE_PATIENCE_MS = 3000

/** Waits until the tree does next to nothing, and gives the CPU seconds it has used by then. */
export async function settledCpuSeconds(root) {
  const deadline = Date.now() + SETTLE_PATIENCE_MS
  for (let before = treeCpuSeconds(root); ;) {
    await sleep(SETTLE_STEP_MS)
    const now = treeCpuSeconds(root)
    if (now - before <= 1.5 / CLOCK_TICKS_PER_SECOND || Date.now() > deadline) return now
    before = now
  }
}

/** Resident and proportional memory of the tree, in MiB. Proportional counts a shared page once. */
export function treeMemoryMiB(root) {
  let rss = 0
  let pss = 0
  for (const pid of processTree(root)) {
    try {
      const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')
      rss += Number(/^Rss:\s+(\d+)/m.exec(text)?.[1] ?? 0)
      pss += Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0)
    } catch {
      // Ended since the list was made.
    }
  }
  return { rss: rss / 1024, pss: pss / 1024 }
}

export function start(command, args, options = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options })
  child.complaints = ''
  child.stderr?.on('data', (text) => {
    child.complaints = (child.complaints + text).slice(-4000)
  })
  child.on('error', (error) => {
    child.complaints += `${command}: ${error.message}`
  })
  if (child.pid !== undefined) started.set(child.pid, child)
  child.on('exit', () => started.delete(child.pid))
  return child
}

/** Runs a command to its end and gives its standard output; a failure throws with what it complained of. */
export async function run(command, args, options = {}) {
  const { input, ...rest } = options
  const child = start(command, args, {
    ...rest,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.on('data', (text) => (output += text))
  if (input !== undefined) child.stdin.end(input)
  const [code, signal] = await Promise.race([
    once(child, 'close'),
    once(child, 'error').then(([error]) => Promise.reject(error)),
  ])
  if (code !== 0)
    throw new Error(`${command} ended with ${signal ?? code}: ${child.complaints.trim() || output}`)
  return output
}

/** Resolves with the match once the child's output shows the pattern; rejects when the child ends first. */
export function outputLine(child, pattern, patienceMs = 30_000) {
  return new Promise((resolve, reject) => {
    let seen = ''
    const timer = setTimeout(() => reject(new Error(`no ${pattern} within ${patienceMs} ms`)), patienceMs)
    const look = (text) => {
      if (seen === undefined) return
      seen += text
      const match = pattern.exec(seen)
      if (match === null) return
      seen = undefined
      clearTimeout(timer)
      resolve(match)
    }
    child.stdout.on('data', look)
    child.on('exit', (code) => {
      clearTimeout(timer)
      reject(new Error(`ended with ${code} before it was ready: ${child.complaints.trim()}`))
    })
  })
}

function signal(pid, name) {
  try {
    process.kill(pid, name)
  } catch {
    // Already gone.
  }
}

function startTime(pid) {
  try {
    return statFields(pid)[19]
  } catch {
    return undefined
  }
}

export async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const members = processTree(child.pid).map((pid) => ({ pid, since: startTime(pid) }))
  const ended = once(child, 'exit')
  signal(child.pid, 'SIGTERM')
  const patience = new AbortController()
  await Promise.race([ended, sleep(STOP_PATIENCE_MS, undefined, { signal: patience.signal }).catch(() => {})])
  patience.abort()
  for (const { pid, since } of members) {
    if (since !== undefined && startTime(pid) === since) signal(pid, 'SIGKILL')
  }
}

/** The folder is removed when the benchmark ends, however it ends. */
export function removeAtEnd(folder) {
  folders.add(folder)
}

function endEverything() {
  for (const child of started.values()) {
    // Parents go first: a master that outlives its worker starts another one.
    for (const pid of processTree(child.pid)) signal(pid, 'SIGKILL')
  }
  started.clear()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  folders.clear()
}

export function endEverythingOnExit() {
  process.on('exit', endEverything)
  for (const [name, number] of [
    ['SIGINT', 2],
    ['SIGTERM', 15],
    ['SIGHUP', 1],
  ]) {
    process.on(name, () => process.exit(128 + number))
  }
  for (const name of ['uncaughtException', 'unhandledRejection']) {
    process.on(name, (error) => {
      console.error(error)
      process.exit(1)
    })
  }
}
