import { destination, pino, stdSerializers, symbols, type Logger } from 'pino'
import type { Exchange } from '../http/exchange.js'
import { sourcePlaces } from './stacks.js'

export type { Logger } from 'pino'

/** Each write wakes a thread, so the lines of requests are gathered; they are out within a second. Others are so at once. */
const GATHERED_CHARS = 15 * 1024
const GATHERED_MS = 1000

/** Structured lines on standard error, written in the background; standard output is for the one line that scripts wait for. */
export function openLog(level: string, fields: object): { log: Logger; flush(): void } {
  const stream = destination({ dest: 2, sync: false })
  let gathered = ''
  let timer: NodeJS.Timeout | undefined

  function handOver(): void {
    clearTimeout(timer)
    timer = undefined
    if (gathered !== '') stream.write(gathered)
    gathered = ''
  }

  const lines: Lines = {
    write(line) {
      gathered += line
      handOver()
    },
    gather(line) {
      gathered += line
      if (gathered.length >= GATHERED_CHARS) handOver()
      else timer ??= setTimeout(handOver, GATHERED_MS).unref()
    },
  }
  const told = sourcePlaces()
  function shown(error: Error): object {
    const parts = stdSerializers.err(error)
    return { ...parts, stack: told(parts.stack) }
  }

  const log = pino(
    {
      level,
      base: fields,
      timestamp: () => `,"time":"${isoTime(Date.now())}"`,
      serializers: {
        err: (error: unknown) => (error instanceof Error ? shown(error) : error),
        cause: (cause: unknown) => (typeof cause === 'string' ? told(cause) : cause),
      },
    },
    lines,
  )
  return {
    log,
    flush() {
      try {
        handOver()
        stream.flushSync()
      } catch {
        // Standard error is gone; there is nobody left to tell.
      }
    },
  }
}

interface Lines {
  write(line: string): void
  gather(line: string): void
}

/**
 * One line for a request whose reply is over, with nothing in it that opens a door. Every request has one, so it is put
 * together here, at a fraction of what it costs to have the logger look at each field.
 */
export function logRequests(log: Logger): (exchange: Exchange) => void {
  if (!log.isLevelEnabled('info')) return () => undefined
  const parts = log as unknown as Record<symbol, unknown>
  const lines = parts[symbols.streamSym] as Lines
  const fields = parts[symbols.chindingsSym] as string
  const level = log.levels.values['info'] ?? 0
  const timeText = remembered(isoTime, TIMES_KEPT)
  const shown = (path: string): string => JSON.stringify(maskedPath(path))
  const shownAgain = remembered(shown, PATHS_KEPT)
  return (exchange) => {
    const { id, method, path, client, res, startedMs } = exchange
    const nowMs = Date.now()
    lines.gather(
      `{"level":${level},"time":"${timeText(nowMs)}"${fields},"request":"${id}","method":"${method}",` +
        `"path":${path.length > PATH_LENGTH_MAX ? shown(path) : shownAgain(path)},` +
        `"status":${res.statusCode},"ms":${nowMs - startedMs},` +
        `"client":${JSON.stringify(client)}${res.writableFinished ? '' : ',"cut":true'},"msg":"request"}\n`,
    )
  }
}

/** Many requests of a moment have the time in common, and many the path. */
const TIMES_KEPT = 1
const PATHS_KEPT = 1_000

function remembered<Key>(make: (key: Key) => string, keptMax: number): (key: Key) => string {
  const kept = new Map<Key, string>()
  return (key) => {
    const known = kept.get(key)
    if (known !== undefined) return known
    if (kept.size >= keptMax) kept.clear()
    const made = make(key)
    kept.set(key, made)
    return made
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

const TOKEN_IN_PATH = /^(\/auth\/token\/)[^/]+/
/** As long as a token or a code, and not where an object's identifier belongs. */
const SECRET_IN_PATH = /(?<!\/(?:folders|files|children)\/)[0-9a-f]{64,}/gi
const PATH_LENGTH_MAX = 300

/** The query is never logged: it may hold a token. A path may, also one that is misspelt and therefore revokes nothing. */
export function maskedPath(path: string): string {
  return path
    .replace(TOKEN_IN_PATH, '$1[masked]')
    .replace(SECRET_IN_PATH, '[masked]')
    .slice(0, PATH_LENGTH_MAX)
}
