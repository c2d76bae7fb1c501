import type { Exchange } from '../http/exchange.js'
import { replyBytes, replyEmpty, replyJson } from '../http/reply.js'
import { Failure } from '../model/failures.js'

export interface HealthOptions {
  /** Resolves when the database answers, rejects when it does not. */
  readonly probe: () => Promise<unknown>
  readonly isStopping: () => boolean
  /** Throws unless the request carries an admin's token. */
  readonly checkAdmin: (exchange: Exchange) => Promise<void>
  /** Every peer is on loopback then: the address proves nothing. */
  readonly behindProxy: boolean
  readonly metrics: () => Promise<string>
}

/** Whoever asks wants to know it now: a database that takes longer is as good as away. */
const READY_WAIT_MAX_MS = 3_000

/**
 * The endpoints for those who run the node: `/healthz`, `/readyz` and `/metrics`. False: the path is not one of them.
 */
export function healthDoor(options: HealthOptions): (exchange: Exchange) => Promise<boolean> {
  const ok = (exchange: Exchange): void =>
    replyJson(exchange, 200, '{"status":"ok"}', { 'Cache-Control': 'no-store' })

  /** The process lives. Starting it again would not bring a database back, so nothing else is asked. */
  function health(exchange: Exchange): Promise<void> {
    return Promise.resolve(ok(exchange))
  }

  /** Requests may be sent here. */
  async function readiness(exchange: Exchange): Promise<void> {
    if (options.isStopping()) throw new Failure('unavailable', 'the node is stopping')
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error('no answer in time')), READY_WAIT_MAX_MS)
    })
    try {
      await Promise.race([options.probe(), late])
    } catch {
      throw new Failure('unavailable', 'the database does not answer')
    } finally {
      clearTimeout(timer)
    }
    // It may have been told to stop meanwhile.
    if (options.isStopping()) throw new Failure('unavailable', 'the node is stopping')
    ok(exchange)
  }

  async function metrics(exchange: Exchange): Promise<void> {
    if (options.behindProxy || !isFromHere(exchange)) await options.checkAdmin(exchange)
    replyBytes(exchange, 200, 'text/plain; version=0.0.4; charset=utf-8', await options.metrics(), {
      'Cache-Control': 'no-store',
    })
  }

  const served = new Map<string, (exchange: Exchange) => Promise<void>>([
    ['/healthz', health],
    ['/readyz', readiness],
    ['/metrics', metrics],
  ])

  return async (exchange) => {
    const serve = served.get(exchange.path)
    if (serve === undefined) return false
    if (exchange.method === 'OPTIONS') replyEmpty(exchange, 204, { Allow: ALLOW })
    else if (exchange.method === 'GET' || exchange.method === 'HEAD') await serve(exchange)
    else {
      throw new Failure('methodNotAllowed', `the method ${exchange.method} is not served here`, {
        Allow: ALLOW,
      })
    }
    return true
  }
}

/** A proxy on the same machine says that it speaks for somebody, believed or not. */
function isFromHere({ client, req }: Exchange): boolean {
  return isLoopback(client) && FORWARDED.every((name) => req.headers[name] === undefined)
}

const ALLOW = 'GET, HEAD, OPTIONS'
const FORWARDED = ['x-forwarded-for', 'forwarded']

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.') || address.startsWith('::ffff:127.')
}
