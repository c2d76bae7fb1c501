import type { HttpLimits } from './limits.js'

/** Watches a body that is being received; time during which we ourselves hold the sender back is free. */
export interface BodyWatch {
  progress(bytes: number): void
  hold(): void
  release(): void
  stop(): void
}

/**
 * Calls stalled once, when nothing came for bodyIdleMs or when less than bodyWindowBytes came within
 * bodyWindowMs. The clock is read only by the timer, so that a chunk costs two additions.
 */
export function watchBody(limits: HttpLimits, stalled: () => void): BodyWatch {
  const tickMs = Math.max(1, Math.ceil(Math.min(limits.bodyIdleMs, limits.bodyWindowMs) / TICKS))
  let held = false
  let newBytes = 0
  let idleMs = 0
  let windowMs = 0
  let windowBytes = 0
  const timer = setInterval(() => {
    if (held) return
    idleMs = newBytes > 0 ? 0 : idleMs + tickMs
    windowMs += tickMs
    windowBytes += newBytes
    newBytes = 0
    if (idleMs >= limits.bodyIdleMs) return stalled()
    if (windowMs < limits.bodyWindowMs) return
    if (windowBytes < limits.bodyWindowBytes) return stalled()
    windowMs = 0
    windowBytes = 0
  }, tickMs)
  return {
    progress: (bytes) => void (newBytes += bytes),
    hold: () => void (held = true),
    release: () => {
      held = false
      idleMs = 0
    },
    stop: () => clearInterval(timer),
  }
}

const TICKS = 4
