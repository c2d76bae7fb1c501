import type { Tx } from '../db/db.js'
import { findObject, listAncestorIds, type ObjectRow } from '../db/objects.js'
import { findSandbox } from '../db/sandboxes.js'
import { Failure } from '../model/failures.js'
import { formatId, parseId, ZERO_OID, type ParsedId } from '../model/ids.js'
import { compareVersions, V1_3 } from '../model/version.js'
import type { Caller } from './caller.js'
import type { Horizon } from './grants.js'
import { isObjectNeed, objectScopeOf, scopesOf } from './needs.js'
import type { GrantsOf, Need, Needs, ObjectNeed } from './needs.js'
import { resolveSandbox } from './sandbox.js'
import { grantUser } from './user-grants.js'
import type { UserNeed } from './user-needs.js'

const NOT_FOUND = 'there is no such folder or file'

interface Place {
  readonly sid: string
  readonly oid: string
}

/** The permissions that a person has in a store. */
interface StoreAccess {
  readonly mayWrite: boolean
}

/**
 * Turns the needs of a route into grants, in the order that every route shares: scopes (403), then for each object
 * existence and visibility (404), reach of the token (403, or 404 for a token that lives in its sandbox), privilege (403).
 * A write locks its stores first, in one order for everybody.
 */
export async function authorize<N extends Needs>(
  tx: Tx,
  caller: Caller,
  needs: N,
  input: Readonly<Record<string, unknown>>,
  mode: { canWrite: boolean; nowMs: number },
): Promise<GrantsOf<N>> {
  const grants: Record<string, unknown> = {}
  const objects: WantedObject[] = []
  const people: { name: string; need: UserNeed }[] = []
  for (const name in needs) {
    const need = needOf(needs, name)
    checkScopes(caller, need)
    if (!isObjectNeed(need)) people.push({ name, need })
    else objects.push({ name, need, place: undefined })
  }
  // People come before stores wherever both are locked.
  for (const { name, need } of people) grants[name] = await grantUser(tx, caller, need, input, mode)
  for (const wanted of objects) {
    const id = input[wanted.need.from] as ParsedId | undefined
    if (id !== undefined) wanted.place = await resolvePlace(tx, caller, id, mode)
  }
  if (mode.canWrite) await lockStores(tx, objects)
  for (const { name, need, place } of objects) {
    if (place !== undefined) grants[name] = await grant(tx, caller, need, place)
  }
  return grants as GrantsOf<N>
}

interface WantedObject {
  readonly name: string
  readonly need: ObjectNeed
  /** Absent: the need is optional and the request does not name the object. */
  place: Place | undefined
}

function needOf(needs: Needs, name: string): Need {
  const need = needs[name]
  if (need === undefined) throw new Error(`there is no need ${name}`)
  return need
}

async function lockStores(tx: Tx, objects: readonly WantedObject[]): Promise<void> {
  const sids = new Set<string>()
  for (const { need, place } of objects) {
    if (need.right !== 'read' && place !== undefined) sids.add(place.sid)
  }
  for (const sid of [...sids].sort()) await tx.lock('stores', sid)
}

/** 403 unless the token could reach anything at all with that right. */
function checkScopes(caller: Caller, need: Need): void {
  if (isObjectNeed(need) && hasAppdata(caller)) return
  for (const scope of scopesOf(need)) {
    // An admin's scope is worth nothing in the hands of a person who is none any more.
    const holds = scope === 'organization.admin' ? caller.isAdmin : caller.scopes.any(scope)
    if (!holds) throw new Failure('forbidden', `the access token lacks the scope ${scope}`)
  }
}

/** Version 1.0 has no appdata: the scope grants nothing there. */
function hasAppdata(caller: Caller): boolean {
  return caller.scopes.has('files.appdata') && compareVersions(caller.version, V1_3) >= 0
}

/** The one place where aliases and the short forms of identifiers become an object's place. */
async function resolvePlace(
  tx: Tx,
  caller: Caller,
  id: ParsedId,
  mode: { canWrite: boolean; nowMs: number },
): Promise<Place> {
  if (!('alias' in id)) return id
  if (id.alias === 'root') return { sid: caller.rootSid, oid: ZERO_OID }
  if (compareVersions(caller.version, V1_3) < 0) throw new Failure('notFound', NOT_FOUND)
  return resolveSandbox(tx, caller, mode.canWrite, mode.nowMs)
}

async function grant(tx: Tx, caller: Caller, need: ObjectNeed, place: Place): Promise<unknown> {
  const access = accessTo(caller, place.sid)
  const object = access === undefined ? undefined : await findObject(tx, place.sid, place.oid)
  if (access === undefined || object === undefined) throw new Failure('notFound', NOT_FOUND)
  const horizon = await horizonFor(tx, caller, need, object)
  if (need.right !== 'insert' && !fits(object, need.kind)) throw new Failure('notFound', NOT_FOUND)
  if (need.right !== 'read' && !access.mayWrite) {
    throw new Failure('forbidden', 'you may not change anything in this folder')
  }
  return { caller, object, horizon }
}

function fits(object: ObjectRow, kind: 'folder' | 'file' | 'either'): boolean {
  return kind === 'either' || (kind === 'file') === (object.kind === 'file')
}

/** What the person may do in a store; undefined when the store does not exist for them. */
function accessTo(caller: Caller, sid: string): StoreAccess | undefined {
  return sid === caller.rootSid ? { mayWrite: true } : undefined
}

const UNLIMITED: Horizon = { tops: [], sandboxed: false }

/** Decides whether the token reaches the object, and how far up it sees. */
async function horizonFor(tx: Tx, caller: Caller, need: ObjectNeed, object: ObjectRow): Promise<Horizon> {
  const scope = objectScopeOf(need)
  if (caller.scopes.has(scope)) return UNLIMITED
  const tops = caller.scopes.qualifiers(scope).flatMap((text) => fullId(text))
  const sandbox = hasAppdata(caller) ? await findSandbox(tx, caller.userId, caller.appId) : undefined
  if (sandbox !== undefined) tops.push(formatId(sandbox.sid, sandbox.oid))
  const sandboxed = !caller.scopes.any('files.read') && !caller.scopes.any('files.write')
  const chain = await listAncestorIds(tx, object.sid, object.oid)
  if (chain.some((oid) => tops.includes(formatId(object.sid, oid)))) return { tops, sandboxed }
  if (sandboxed) throw new Failure('notFound', NOT_FOUND)
  throw new Failure('forbidden', `the scope ${scope} of the access token does not reach this object`)
}

function fullId(text: string): string[] {
  const id = parseId(text)
  return id === undefined || 'alias' in id ? [] : [formatId(id.sid, id.oid)]
}
