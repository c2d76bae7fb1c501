import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Frees the buffers that bodies leave behind while they are young. Each one is a tiny object with kilobytes outside
 * the heap: the engine sees no reason for the cheap collection until the bytes outside force the dear one on it, which
 * was measured to cost as much as everything else in receiving content. It is told of the bytes that were received.
 */
export type YoungCollector = (bytes: number) => void

/** The engine starts a full collection for 8 MiB and more outside its heap; half of that is well below. */
const COLLECTED_BYTES = 4 * 1024 * 1024

/** One for all bodies of a process, since the engine counts the buffers of all of them. */
export function youngCollector(): YoungCollector {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect !== 'function') return () => undefined
  let uncollectedBytes = 0
  return (bytes) => {
    uncollectedBytes += bytes
    if (uncollectedBytes < COLLECTED_BYTES) return
    uncollectedBytes = 0
    ;(collect as (options: { type: 'minor' }) => void)({ type: 'minor' })
  }
}
