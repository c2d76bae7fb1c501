import { cookieValues } from '../http/cookies.js'
import type { Exchange } from '../http/exchange.js'
import { Failure } from '../model/failures.js'
import { isHex } from '../model/ids.js'

const NODE_ID_HEX_DIGITS = 32

/** The session cookie by which a load balancer and the nodes know where a client belongs. */
export function routeCookie(nodeId: string): string {
  return `route=${nodeId}; Path=/; Secure; HttpOnly; SameSite=None`
}

/** The node that the client's cookie names; a malformed or ambiguous cookie counts as none. */
export function pinnedNode(exchange: Exchange): string | undefined {
  const header = exchange.req.headers.cookie
  if (header === undefined) return undefined
  const values = new Set(cookieValues(header, 'route'))
  const [value] = values
  return values.size === 1 && value !== undefined && isHex(value, NODE_ID_HEX_DIGITS) ? value : undefined
}

/** 503 for a client that would rather have no answer than another node's. The cookie stays as it is. */
export function checkConsistency(exchange: Exchange, nodeId: string): void {
  const wish = exchange.req.headers['endpoint-consistency']
  if (typeof wish !== 'string' || wish.trim().toLowerCase() !== 'strict') return
  const pinned = pinnedNode(exchange)
  if (pinned === undefined || pinned === nodeId) return
  delete exchange.extraHeaders['Set-Cookie']
  throw new Failure('unavailable', 'the node that this session belongs to cannot be reached')
}
