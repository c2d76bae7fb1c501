import type { Exchange } from '../http/exchange.js'
import { replyFailure } from '../http/failures.js'
import { replyEmpty, replyJson } from '../http/reply.js'
import { ConnectionLost } from '../http/body.js'
import { splitPath } from '../http/segments.js'
import { routeCookie } from '../gate/affinity.js'
import { Failure } from '../model/failures.js'
import {
  compareVersions,
  parseVersion,
  V1_0,
  V1_1,
  V1_2,
  V1_3,
  V1_4,
  versionText,
  type Version,
} from '../model/version.js'
import type { Answer, ApiDeps, Method } from './route.js'
import { ROUTES } from './routes.js'
import { compileTable, type RouteTable } from './table.js'
import { compileViews, type Views } from './views.js'

interface ServedVersion {
  readonly version: Version
  readonly table: RouteTable
  readonly views: Views
}

const LEGACY = [V1_1, V1_2]
/** Every path begins with /api and the version. */
const PREFIX_SEGMENTS = 2

/** Serves everything under /api/. */
export function apiDoor(
  api: ApiDeps,
  options: { legacyVersions: boolean },
): (exchange: Exchange) => void | Promise<void> {
  const versions = options.legacyVersions ? [V1_0, V1_1, V1_2, V1_3, V1_4] : [V1_0, V1_3, V1_4]
  const served = new Map<string, ServedVersion>(
    versions.map((version) => [
      `v${versionText(version)}`,
      { version, table: compileTable(ROUTES, version), views: compileViews(version) },
    ]),
  )
  const cookie = routeCookie(api.service.nodeId)

  return (exchange) => {
    exchange.extraHeaders['Set-Cookie'] = cookie
    const segments = splitPath(exchange.path)
    const prefix = segments[1] ?? ''
    const current = served.get(prefix)
    try {
      if (current === undefined) throw unknownVersion(prefix)
      const serving = serve(exchange, current, segments)
      return serving?.catch((error: unknown) => refuse(exchange, current, error))
    } catch (error) {
      refuse(exchange, current, error)
    }
  }

  function refuse(exchange: Exchange, current: ServedVersion | undefined, error: unknown): void {
    if (error instanceof ConnectionLost) exchange.res.destroy()
    else if (error instanceof Failure && !exchange.res.headersSent) {
      const isOld = current !== undefined && compareVersions(current.version, V1_3) < 0
      replyFailure(exchange, error, { storageAsInternal: isOld })
    } else throw error
  }

  /** Without a promise when the answer is known already: most requests repeat others, and promises cost time. */
  function serve(
    exchange: Exchange,
    { version, table, views }: ServedVersion,
    segments: string[],
  ): undefined | Promise<void> {
    const found = table.find(segments, PREFIX_SEGMENTS)
    if (found === undefined) throw notInThisVersion()
    if (exchange.method === 'OPTIONS') {
      replyEmpty(exchange, 204, { Allow: allowed(found.methods) })
      return undefined
    }
    const method = (exchange.method === 'HEAD' ? 'GET' : exchange.method) as Method
    const route = found.methods.get(method)
    if (route === undefined) {
      if (found.later.has(method)) throw notInThisVersion()
      throw new Failure('methodNotAllowed', `the method ${exchange.method} is not served here`, {
        Allow: allowed(found.methods),
      })
    }
    const answer = route.serve({
      api,
      incoming: { exchange, version, params: found.params },
      version,
      views,
    })
    if (answer instanceof Promise) return answer.then((late) => late && send(exchange, late))
    send(exchange, answer)
    return undefined
  }
}

function send(exchange: Exchange, answer: Answer): void {
  if (answer.json === undefined) replyEmpty(exchange, answer.status, answer.headers)
  else replyJson(exchange, answer.status, answer.json, answer.headers)
}

function allowed(methods: ReadonlyMap<Method, unknown>): string {
  const names: string[] = [...methods.keys()].flatMap((method) =>
    method === 'GET' ? ['GET', 'HEAD'] : [method],
  )
  return [...names, 'OPTIONS'].join(', ')
}

function notInThisVersion(): Failure {
  return new Failure('notFound', 'there is no such path in this version')
}

function unknownVersion(prefix: string): Failure {
  const version = parseVersion(prefix)
  if (version !== undefined && LEGACY.some((legacy) => compareVersions(legacy, version) === 0)) {
    const text = versionText(version)
    return new Failure(
      'notFound',
      `version ${text} is served only when the server runs with --legacy-versions`,
    )
  }
  return new Failure('notFound', 'this version of the API is not served')
}
