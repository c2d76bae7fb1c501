/** The part of authorization that is about folders and files; `authorize.ts` alone calls it. */
import type { Tx } from '../db/db.js'
import { findObject, listMountsInSubtree, type ObjectRow } from '../db/objects.js'
import { Failure } from '../model/failures.js'
import { ZERO_OID, type ParsedId } from '../model/ids.js'
import { mayWrite } from '../model/permissions.js'
import { compareVersions, V1_3 } from '../model/version.js'
import type { Caller } from './caller.js'
import type { ObjectNeed } from './needs.js'
import { resolveSandbox } from './sandbox.js'
import { notFound, sight, type Place, type Sighted } from './sight.js'
import { viewpointFor } from './viewpoint.js'

/** An object that a route needs, and where the request says that it is. */
export interface WantedObject {
  readonly name: string
  readonly need: ObjectNeed
  readonly id: ParsedId
}

interface Placed {
  readonly name: string
  readonly need: ObjectNeed
  readonly place: Place
  /** The row at that place, where it had to be read before all locks were taken. */
  row?: ObjectRow
}

export interface Mode {
  readonly canWrite: boolean
  readonly nowMs: number
}

/** Scopes were checked before. Gives the grants by the names of their needs. */
export async function grantObjects(
  tx: Tx,
  caller: Caller,
  wanted: readonly WantedObject[],
  mode: Mode,
): Promise<Record<string, unknown>> {
  const placed: Placed[] = []
  for (const { name, need, id } of wanted) {
    placed.push({ name, need, place: await resolvePlace(tx, caller, id, mode) })
  }
  if (mode.canWrite) await lockStores(tx, caller, placed)
  const grants: Record<string, unknown> = {}
  let before: Sighted | undefined
  for (const { name, need, place, row } of placed) {
    if (before !== undefined && isItsOwnParent(before, need, place)) continue
    const seen = await sight(tx, caller, place, row)
    grants[name] = await grant(tx, caller, need, seen)
    before = seen
  }
  return grants
}

/** The one place where aliases and the short forms of identifiers become an object's place. */
async function resolvePlace(tx: Tx, caller: Caller, id: ParsedId, mode: Mode): Promise<Place> {
  if (!('alias' in id)) return id
  if (id.alias === 'root') return { sid: caller.rootSid, oid: ZERO_OID }
  if (compareVersions(caller.version, V1_3) < 0) throw notFound()
  return resolveSandbox(tx, caller, mode.canWrite, mode.nowMs)
}

/**
 * One order for everybody: the people of shares that are to be left, the caller's root, the stores of shares by their
 * ids. What is put into a mount goes into its share, so mounts must be known before the stores of shares are held.
 */
async function lockStores(tx: Tx, caller: Caller, placed: readonly Placed[]): Promise<void> {
  const changed = placed.filter(({ need }) => need.right !== 'read')
  for (const { need, place } of changed) {
    if (need.right === 'write' && need.kind === 'folder' && need.ends === true) {
      const left = await sharesAt(tx, caller, place)
      if (left.length > 0) await tx.lock('shares', ...left)
    }
  }
  if (changed.some(({ need, place }) => touchesRoot(caller, need, place))) {
    await tx.lock('stores', caller.rootSid)
  }
  const shares = new Set<string>()
  for (const one of changed) {
    const { sid, oid } = one.place
    if (sid !== caller.rootSid) {
      // A share's own name and end are matters of its people, not of what is in it.
      if (one.need.right === 'insert' || oid !== ZERO_OID) shares.add(sid)
    } else if (one.need.right === 'insert' && oid !== ZERO_OID) {
      const row = await findObject(tx, sid, oid)
      if (row !== undefined) one.row = row
      if (row?.kind === 'mount') shares.add(oid)
    }
  }
  for (const sid of [...shares].sort()) await tx.lock('stores', sid)
}

/** The shares that deleting what is there would leave. */
async function sharesAt(tx: Tx, caller: Caller, { sid, oid }: Place): Promise<string[]> {
  if (sid === caller.rootSid) return oid === ZERO_OID ? [] : listMountsInSubtree(tx, sid, oid)
  return oid === ZERO_OID ? [sid] : []
}

/**
 * Whether the caller's own root takes part in a change: it is changed itself, or it holds the mount of the share that is
 * named, or content somewhere else is to be counted against the caller's quota, one upload after the other.
 */
function touchesRoot(caller: Caller, need: ObjectNeed, place: Place): boolean {
  if (place.sid === caller.rootSid) return true
  return need.right === 'write' && (need.kind === 'file' || place.oid === ZERO_OID)
}

/** An external share is its own parent: a client that sends back what it has read moves nothing. */
function isItsOwnParent({ object, stands }: Sighted, need: ObjectNeed, place: Place): boolean {
  if (need.right !== 'insert' || need.optional !== true || stands !== 'external') return false
  return object.oid === ZERO_OID && place.oid === ZERO_OID && place.sid === object.sid
}

async function grant(tx: Tx, caller: Caller, need: ObjectNeed, seen: Sighted): Promise<unknown> {
  const { object } = seen
  const viewpoint = await viewpointFor(tx, caller, need, seen)
  if (need.right !== 'insert' && !fits(object, need.kind)) throw notFound()
  if (need.right !== 'read' && !mayChange(caller, need, seen)) {
    throw new Failure('forbidden', 'you may not change anything in this folder')
  }
  return { caller, object, viewpoint }
}

function fits(object: ObjectRow, kind: 'folder' | 'file' | 'either'): boolean {
  return kind === 'either' || (kind === 'file') === (object.kind === 'file')
}

/** A member may call a share what they like, put it where they like and leave it, whatever else they may do in it. */
function mayChange(caller: Caller, need: ObjectNeed, { object, stands, permissions }: Sighted): boolean {
  if (stands === 'own') return true
  const isShareItself = object.kind === 'mount' || object.oid === ZERO_OID
  if (need.right === 'write' && isShareItself) return stands !== 'visiting'
  return mayWrite(permissions) || caller.isAdmin
}
