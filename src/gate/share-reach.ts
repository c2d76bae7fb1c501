import { ZERO_OID } from '../model/ids.js'
import type { Caller } from './caller.js'

/** The shares that a token reaches with a scope: all that the person may see, or these among them. */
export type Reach = 'all' | ReadonlySet<string>

/**
 * A scope may be limited to a share in each form of its id: bare, as a folder, or as the caller's mount. The id of
 * anything else reaches no share.
 */
export function reachOf(caller: Caller, scope: 'acl.read' | 'acl.write'): Reach {
  if (caller.scopes.has(scope)) return 'all'
  return new Set(caller.scopes.qualifiers(scope).flatMap((id) => shareOf(caller, id)))
}

export function reaches(reach: Reach, sid: string): boolean {
  return reach === 'all' || reach.has(sid)
}

function shareOf(caller: Caller, id: string): string[] {
  const store = id.slice(0, ZERO_OID.length)
  const object = id.slice(ZERO_OID.length)
  if (object === '' || object === ZERO_OID) return [store]
  return store === caller.rootSid ? [object] : []
}
