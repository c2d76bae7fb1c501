import type { Tx } from '../db/db.js'
import { Failure } from '../model/failures.js'
import type { ParsedId } from '../model/ids.js'
import type { Caller } from './caller.js'
import { grantGroup } from './group-grants.js'
import { isObjectNeed, scopesOf } from './needs.js'
import type { GrantsOf, Need, Needs, ObjectNeed } from './needs.js'
import { grantObjects, type WantedObject } from './object-grants.js'
import { grantInvitation, grantNewShare, grantShare } from './share-grants.js'
import { grantUser } from './user-grants.js'
import { hasAppdata } from './viewpoint.js'

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
  const others: { name: string; need: OtherNeed }[] = []
  for (const name in needs) {
    const need = needOf(needs, name)
    checkScopes(caller, need)
    if (!isObjectNeed(need)) others.push({ name, need })
    else {
      const id = input[need.from] as ParsedId | undefined
      if (id !== undefined) objects.push({ name, need, id })
    }
  }
  // People, groups and shares come before stores wherever they are locked.
  for (const { name, need } of others) grants[name] = await grantOther(tx, caller, need, input, mode)
  return Object.assign(grants, await grantObjects(tx, caller, objects, mode)) as GrantsOf<N>
}

type OtherNeed = Exclude<Need, ObjectNeed>

function grantOther(
  tx: Tx,
  caller: Caller,
  need: OtherNeed,
  input: Readonly<Record<string, unknown>>,
  mode: { canWrite: boolean; nowMs: number },
): Promise<unknown> {
  if (need.right === 'share') return grantShare(tx, caller, need, input, mode)
  if (need.right === 'newShare') return grantNewShare(tx, caller, mode)
  if (need.right === 'invitation') return grantInvitation(tx, caller, need, input, mode)
  if (need.right === 'group') return grantGroup(tx, caller, need, input, mode)
  return grantUser(tx, caller, need, input, mode)
}

function needOf(needs: Needs, name: string): Need {
  const need = needs[name]
  if (need === undefined) throw new Error(`there is no need ${name}`)
  return need
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
