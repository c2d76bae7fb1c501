import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FramePool } from './frame-pool.js'
import type { HttpLimits } from './limits.js'

/** One request and the reply to it: what every function of this folder works on. */
export interface Exchange {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** Names this request in the log. */
  readonly id: string
  readonly method: string
  /** Raw path, not decoded; an absolute target is reduced to its path and the query is cut off. */
  readonly path: string
  /** What follows the question mark, or ''. */
  readonly rawQuery: string
  readonly limits: HttpLimits
  readonly expectsContinue: boolean
  readonly startedMs: number
  /** Sent with every reply of this exchange, whoever writes it; a list makes repeated lines (Set-Cookie). */
  readonly extraHeaders: Record<string, string | string[]>
  /** Address of the peer; behind a proxy the address the proxy saw. */
  readonly client: string
  /** Whether the connection ends with this reply: the listener stops, or it has carried enough requests. */
  readonly connection: { readonly closing: boolean }
  /** What large forms take at this moment, over all exchanges of the listener; only readFormBody changes it. */
  readonly largeForms: { bytes: number }
  /** Large buffers for downloads, over all exchanges of the listener; only sendContent takes of them. */
  readonly largeFrames: FramePool
  /** True once `100 Continue` has been sent; only startBody sets it. */
  continued: boolean
}

/** Cuts a request target into its raw path and raw query. */
export function splitTarget(target: string): { path: string; rawQuery: string } {
  const local = target.charCodeAt(0) === SLASH ? target : withoutAuthority(target)
  const mark = local.indexOf('?')
  if (mark < 0) return { path: local, rawQuery: '' }
  return { path: local.slice(0, mark), rawQuery: local.slice(mark + 1) }
}

const SLASH = 0x2f

function withoutAuthority(target: string): string {
  const scheme = /^https?:\/\/[^/?]*/i.exec(target)
  if (scheme === null) return target
  const rest = target.slice(scheme[0].length)
  return rest.startsWith('/') ? rest : `/${rest}`
}
