import type { Tx } from '../db/db.js'
import { findNameFor } from '../db/scope-subjects.js'
import type { Person } from '../gate/person.js'
import { parseId } from '../model/ids.js'
import type { ScopeList } from '../model/scopes.js'

/** What the limited scopes of a list are limited to, by the id in them; absent: nothing that the person can see. */
export async function scopeSubjects(
  tx: Tx,
  person: Person,
  scopes: ScopeList,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>()
  for (const { qualifier } of scopes.entries) {
    const id = qualifier === undefined ? undefined : parseId(qualifier)
    if (qualifier === undefined || id === undefined || 'alias' in id || names.has(qualifier)) continue
    const name = await findNameFor(tx, person, id)
    if (name !== undefined) names.set(qualifier, name)
  }
  return names
}
