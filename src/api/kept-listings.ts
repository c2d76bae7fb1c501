/** Rendered lists of children, the most recently used ones, up to a bound of memory. */
export interface KeptListings {
  /** What was kept under the key, if it was made of this state. */
  get(key: string, state: string): Buffer | undefined
  keep(key: string, state: string, bytes: Buffer): void
}

/** Below this size rendering anew costs no more than a look-up saves. */
const BYTES_MIN = 4 * 1024

export function keptListings(bytesMax: number): KeptListings {
  // A Map keeps the order of insertion: the first one is the one that was not used for longest.
  const kept = new Map<string, { state: string; bytes: Buffer }>()
  let total = 0

  function drop(key: string): void {
    total -= kept.get(key)?.bytes.length ?? 0
    kept.delete(key)
  }

  return {
    get(key, state) {
      const entry = kept.get(key)
      if (entry === undefined) return undefined
      kept.delete(key)
      if (entry.state !== state) {
        total -= entry.bytes.length
        return undefined
      }
      kept.set(key, entry)
      return entry.bytes
    },

    keep(key, state, bytes) {
      drop(key)
      if (bytes.length < BYTES_MIN || bytes.length > bytesMax) return
      kept.set(key, { state, bytes })
      total += bytes.length
      for (const oldest of kept.keys()) {
        if (total <= bytesMax) break
        drop(oldest)
      }
    },
  }
}
