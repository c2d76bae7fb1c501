import { ZERO_OID } from './ids.js'
import type { ScopeList } from './scopes.js'

/**
 * The one opaque tag of a share and of everything below it for one reader: what all readers see has the share's
 * revision, what this one alone sees (the personal name) that of the membership.
 */
export function shareTag(share: { sid: string; rev: number }, ownRev: number | undefined): string {
  return `${share.sid.slice(0, 16)}-${share.rev}-${ownRev ?? 0}`
}

/** The shares that a token reaches with a scope: all that the person may see, or these among them. */
export type Reach = 'all' | ReadonlySet<string>

/**
 * A scope may be limited to a share in each form of its id: bare, as a folder, or as the caller's mount. The id of
 * anything else reaches no share.
 */
export function reachOf(
  caller: { readonly scopes: ScopeList; readonly rootSid: string },
  scope: 'acl.read' | 'acl.write',
): Reach {
  if (caller.scopes.has(scope)) return 'all'
  return new Set(caller.scopes.qualifiers(scope).flatMap((id) => shareOf(id, caller.rootSid)))
}

export function reaches(reach: Reach, sid: string): boolean {
  return reach === 'all' || reach.has(sid)
}

function shareOf(id: string, rootSid: string): string[] {
  const store = id.slice(0, ZERO_OID.length)
  const object = id.slice(ZERO_OID.length)
  if (object === '' || object === ZERO_OID) return [store]
  return store === rootSid ? [object] : []
}
