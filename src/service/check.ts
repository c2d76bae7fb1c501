import { checkContent } from './check-content.js'
import { checkPeople } from './check-people.js'
import { checkReplica } from './check-replica.js'
import { checkSharing } from './check-sharing.js'
import { checkTree } from './check-tree.js'
import { checkUploads } from './check-uploads.js'
import type { CheckParts, Finding } from './finding.js'

export type { CheckParts, Finding, Invariant } from './finding.js'

/**
 * Walks metadata and content and names every broken invariant. It changes nothing and may run beside a server at
 * work: what is just being written or removed is no finding. Without `content` the bytes are not read; that files are
 * there and of the right length is looked at all the same.
 */
export async function* check(
  parts: CheckParts,
  options: { content: boolean } = { content: true },
): AsyncGenerator<Finding> {
  yield* checkPeople(parts.db)
  yield* checkSharing(parts.db)
  yield* checkTree(parts.db)
  yield* checkContent(parts, options.content)
  yield* checkReplica(parts, options.content)
  yield* checkUploads(parts)
}
