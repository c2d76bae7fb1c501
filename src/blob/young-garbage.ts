import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Frees the buffers that a body leaves behind while they are young. Each one is a tiny object with kilobytes outside
 * the heap: the engine sees no reason for the cheap collection until the bytes outside force the dear one on it, which
 * was measured to cost as much as everything else in receiving content.
 */
export type YoungCollector = () => void

export function youngCollector(): YoungCollector {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect !== 'function') return () => undefined
  return () => {
    ;(collect as (options: { type: 'minor' }) => void)({ type: 'minor' })
  }
}
