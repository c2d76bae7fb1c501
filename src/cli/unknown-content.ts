import type { BlobStore } from '../blob/store.js'
import { Failure } from '../model/failures.js'

/** The content of an installation as a command sees it that was not told where it is; most need none of it. */
export function unknownContent(reason: string): BlobStore {
  const refuse = (): Promise<never> => Promise.reject(new Failure('unavailable', reason))
  return {
    put: refuse,
    open: refuse,
    // No row names it any more, and what no row names is swept by the nodes.
    remove: () => Promise.resolve(),
    list: () => ({ [Symbol.asyncIterator]: () => ({ next: refuse }) }),
    endUnfinished: refuse,
    probe: refuse,
  }
}
