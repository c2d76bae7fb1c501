import type { Tx } from '../db/db.js'
import { findShareRevisions } from '../db/shares.js'
import type { Exchange } from '../http/exchange.js'
import { shareTag } from '../model/shares.js'
import { weakTag } from '../model/tags.js'
import type { ShareGrant } from './grants.js'
import { checkIfMatch } from './preconditions.js'

export function shareTagOf(grant: ShareGrant): string {
  return shareTag(grant.share, grant.membership?.rev)
}

/** The tag after a write; a share that went with the write has the one that follows its last. */
export async function newShareTag(tx: Tx, grant: ShareGrant): Promise<string> {
  const { share, caller } = grant
  const now = await findShareRevisions(tx, share.sid, caller.userId)
  return now === undefined
    ? shareTag({ sid: share.sid, rev: share.rev + 1 }, undefined)
    : shareTag({ sid: share.sid, rev: now.rev }, now.own_rev ?? undefined)
}

/** If-Match of a write below a share; decided in the transaction that writes. */
export function checkShareCondition(exchange: Exchange, grant: ShareGrant): void {
  const tag = shareTagOf(grant)
  checkIfMatch(exchange, tag, weakTag(tag))
}
