/** Bounds the work that is under way, and lets close() wait for it. */
import { Failure } from '../model/failures.js'

export interface Admission {
  admit<T>(work: () => Promise<T>): Promise<T>
  /** The beginning of work that calls leave() at its end. Throws when there is too much of it. */
  enter(): void
  leave(): void
  /** Refuses new work and resolves when all that was admitted has settled. */
  close(): Promise<void>
}

export function admission(underWayMax: number): Admission {
  let underWay = 0
  let isClosed = false
  let drained: (() => void) | undefined

  function enter(): void {
    if (isClosed) throw new Error('the database is closed')
    if (underWay >= underWayMax) throw new Failure('unavailable', 'The server is overloaded; try again later')
    underWay += 1
  }

  function leave(): void {
    underWay -= 1
    if (underWay === 0) drained?.()
  }

  return {
    enter,
    leave,
    async admit(work) {
      enter()
      try {
        return await work()
      } finally {
        leave()
      }
    },
    async close() {
      isClosed = true
      if (underWay > 0) await new Promise<void>((resolve) => (drained = resolve))
    },
  }
}
