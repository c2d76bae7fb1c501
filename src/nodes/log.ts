import { destination, pino, type Logger } from 'pino'
import type { Exchange } from '../http/exchange.js'

export type { Logger } from 'pino'

/** Each write wakes a thread, so a busy server gathers many lines; a quiet one has them out within a second. */
const GATHERED_BYTES = 15 * 1024

/** Structured lines on standard error, written in the background; standard output is for the one line that scripts wait for. */
export function openLog(level: string, fields: object): { log: Logger; flush(): void } {
  const stream = destination({ dest: 2, sync: false, minLength: GATHERED_BYTES, periodicFlush: 1000 })
  const log = pino({ level, base: fields, timestamp: () => `,"time":"${new Date().toISOString()}"` }, stream)
  return {
    log,
    flush() {
      try {
        stream.flushSync()
      } catch {
        // Standard error is gone; there is nobody left to tell.
      }
    },
  }
}

/** One line for a request whose reply is over, with nothing in it that opens a door. */
export function logRequests(log: Logger): (exchange: Exchange) => void {
  if (!log.isLevelEnabled('info')) return () => undefined
  return (exchange) => {
    log.info(
      {
        request: exchange.id,
        method: exchange.method,
        path: maskedPath(exchange.path),
        status: exchange.res.statusCode,
        ms: Date.now() - exchange.startedMs,
        client: exchange.client,
        ...(exchange.res.writableFinished ? undefined : { cut: true }),
      },
      'request',
    )
  }
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
