import type { Tx } from '../db/db.js'
import { sumUseOfPerson } from '../db/stores.js'
import type { PersonGrant } from '../gate/grants.js'
import type { ServiceDeps } from './deps.js'

export interface Quota {
  readonly usedBytes: number
  /** Absent: as much as the node takes. */
  readonly allowedBytes: number | undefined
}

export interface Quotas {
  of(tx: Tx, grant: PersonGrant): Promise<Quota>
}

export function quotas(deps: ServiceDeps): Quotas {
  return {
    async of(tx, { person }) {
      const usedBytes = await sumUseOfPerson(tx, { userId: person.id, rootSid: person.root_sid })
      return { usedBytes, allowedBytes: person.quota ?? deps.quotaBytes ?? undefined }
    },
  }
}
