import type { Exchange } from '../http/exchange.js'
import { replyBytes, replyJson } from '../http/reply.js'
import { Failure } from '../model/failures.js'

export interface HealthOptions {
  /** Resolves when the node can answer, rejects when it cannot. */
  readonly probe: () => Promise<unknown>
  /** Throws unless the request carries an admin's token. */
  readonly checkAdmin: (exchange: Exchange) => Promise<void>
  /** Every peer is on loopback then: the address proves nothing. */
  readonly behindProxy: boolean
  readonly metrics: () => Promise<string>
}

/** The endpoints for those who run the node: `/healthz` and `/metrics`. False: the path is not one of them. */
export function healthDoor(options: HealthOptions): (exchange: Exchange) => Promise<boolean> {
  async function health(exchange: Exchange): Promise<void> {
    try {
      await options.probe()
    } catch {
      throw new Failure('unavailable', 'the database does not answer')
    }
    replyJson(exchange, 200, '{"status":"ok"}', { 'Cache-Control': 'no-store' })
  }

  async function metrics(exchange: Exchange): Promise<void> {
    if (options.behindProxy || !isLoopback(exchange.client)) await options.checkAdmin(exchange)
    replyBytes(exchange, 200, 'text/plain; version=0.0.4; charset=utf-8', await options.metrics(), {
      'Cache-Control': 'no-store',
    })
  }

  return async (exchange) => {
    const serve = exchange.path === '/healthz' ? health : exchange.path === '/metrics' ? metrics : undefined
    if (serve === undefined) return false
    if (exchange.method !== 'GET' && exchange.method !== 'HEAD') {
      throw new Failure('methodNotAllowed', `the method ${exchange.method} is not served here`, {
        Allow: 'GET, HEAD, OPTIONS',
      })
    }
    await serve(exchange)
    return true
  }
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.') || address.startsWith('::ffff:127.')
}
