/** How far a token reaches in the tree, and from where it looks at it. */
import type { Tx } from '../db/db.js'
import { listAncestorIds } from '../db/objects.js'
import { findSandbox } from '../db/sandboxes.js'
import { Failure } from '../model/failures.js'
import { formatId, parseId, ZERO_OID } from '../model/ids.js'
import { compareVersions, V1_3 } from '../model/version.js'
import type { Caller } from './caller.js'
import type { Viewpoint } from './grants.js'
import { objectScopeOf, type ObjectNeed } from './needs.js'
import { notFound, type Sighted } from './sight.js'

/** Version 1.0 has no appdata: the scope grants nothing there. */
export function hasAppdata(caller: Caller): boolean {
  return caller.scopes.has('files.appdata') && compareVersions(caller.version, V1_3) >= 0
}

/** Decides whether the token reaches the object, and how far up it sees. */
export async function viewpointFor(
  tx: Tx,
  caller: Caller,
  need: ObjectNeed,
  seen: Sighted,
): Promise<Viewpoint> {
  const scope = objectScopeOf(need)
  if (caller.scopes.has(scope)) return { tops: [], sandboxed: false, ...standpoint(caller, seen) }
  const tops = caller.scopes.qualifiers(scope).flatMap((text) => fullId(text))
  const sandbox = hasAppdata(caller) ? await findSandbox(tx, caller.userId, caller.appId) : undefined
  if (sandbox !== undefined) tops.push(formatId(sandbox.sid, sandbox.oid))
  const sandboxed = !caller.scopes.any('files.read') && !caller.scopes.any('files.write')
  const chain = await idsUpward(tx, caller, seen)
  if (chain.some((id) => tops.includes(id))) {
    return { tops, sandboxed, ...standpoint(caller, seen) }
  }
  if (sandboxed) throw notFound()
  throw new Failure('forbidden', `the scope ${scope} of the access token does not reach this object`)
}

function standpoint(caller: Caller, { stands, shareName }: Sighted): Omit<Viewpoint, 'tops' | 'sandboxed'> {
  const isMounted = stands === 'own' || stands === 'mounted'
  return { rootSid: caller.rootSid, isMounted, isMember: stands !== 'visiting', shareName }
}

function fullId(text: string): string[] {
  const id = parseId(text)
  return id === undefined || 'alias' in id ? [] : [formatId(id.sid, id.oid)]
}

/**
 * The ids of the object and of everything above it in the caller's tree. A share on the way is there under both of its
 * names, that of its mount and that of its own store.
 */
async function idsUpward(tx: Tx, caller: Caller, { object, stands }: Sighted): Promise<string[]> {
  const ids: string[] = []
  let { sid, oid } = object
  if (sid !== caller.rootSid) {
    ids.push(...(await idsInStore(tx, sid, oid)))
    if (stands !== 'mounted') return ids
    oid = sid
    sid = caller.rootSid
  } else if (object.kind === 'mount') {
    ids.push(formatId(oid, ZERO_OID))
  }
  return ids.concat(await idsInStore(tx, sid, oid))
}

async function idsInStore(tx: Tx, sid: string, oid: string): Promise<string[]> {
  return (await listAncestorIds(tx, sid, oid)).map((above) => formatId(sid, above))
}
