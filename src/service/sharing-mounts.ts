/** Shared folders at the top of people's roots, for any number of people at once. */
import type { Tx } from '../db/db.js'
import { deleteMounts, insertMounts, listTaken } from '../db/mounts.js'
import { ZERO_OID } from '../model/ids.js'
import { APPDATA_NAME, nameKey, numberedName } from '../model/names.js'

/** A share that is to appear in a root under this name, or where that is taken under the next one that is free. */
export interface WantedMount {
  readonly rootSid: string
  readonly sid: string
  readonly name: string
}

/** Gives the names that the shares have in their roots, in the order of the wanted ones. */
export async function mountShares(tx: Tx, wanted: readonly WantedMount[], nowMs: number): Promise<string[]> {
  await lockRoots(tx, wanted)
  const names = await freeNames(tx, wanted)
  const mounts = wanted.map(({ rootSid, sid }, index) => {
    const name = names[index] ?? ''
    return { rootSid, sid, name, nameKey: nameKey(name) }
  })
  await insertMounts(tx, mounts, ZERO_OID, nowMs)
  return names
}

export async function unmountShares(
  tx: Tx,
  mounts: readonly { readonly rootSid: string; readonly sid: string }[],
): Promise<void> {
  await lockRoots(tx, mounts)
  await deleteMounts(tx, mounts)
}

async function lockRoots(tx: Tx, mounts: readonly { readonly rootSid: string }[]): Promise<void> {
  const roots = [...new Set(mounts.map(({ rootSid }) => rootSid))]
  if (roots.length > 0) await tx.lock('stores', ...roots)
}

/** Everybody claims a name, one look tells which of them are taken, and those whose name is taken claim the next. */
async function freeNames(tx: Tx, wanted: readonly WantedMount[]): Promise<string[]> {
  const claims = wanted.map(({ rootSid, name }) => ({ rootSid, wanted: name, name, number: 1 }))
  const claimed = new Set<string>()
  for (let open = claims; open.length > 0;) {
    for (const claim of open) {
      while (isClaimed(claimed, claim)) {
        claim.number += 1
        claim.name = numberedName(claim.wanted, claim.number)
      }
    }
    const names = open.map(({ rootSid, name }) => ({ rootSid, nameKey: nameKey(name) }))
    const taken = new Set<string>()
    for (const { sid, name_key } of await listTaken(tx, names, ZERO_OID)) taken.add(placeOf(sid, name_key))
    open = open.filter(({ rootSid, name }) => taken.has(placeOf(rootSid, nameKey(name))))
  }
  return claims.map(({ name }) => name)
}

/** Claims the name unless it is claimed already, or reserved at the top of every root. */
function isClaimed(claimed: Set<string>, claim: { rootSid: string; name: string }): boolean {
  const key = nameKey(claim.name)
  const place = placeOf(claim.rootSid, key)
  if (key === APPDATA_NAME || claimed.has(place)) return true
  claimed.add(place)
  return false
}

/** No name holds a slash. */
function placeOf(rootSid: string, key: string): string {
  return `${rootSid}/${key}`
}
