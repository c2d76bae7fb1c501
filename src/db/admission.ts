/** Bounds the work that is under way, and lets close() wait for it. */
import { Failure } from '../model/failures.js'

export interface Admission {
  admit<T>(work: () => Promise<T>): Promise<T>
  /** Refuses new work and resolves when all that was admitted has settled. */
  close(): Promise<void>
}

export function admission(underWayMax: number): Admission {
  let underWay = 0
  let isClosed = false
  let drained: (() => void) | undefined

  return {
    async admit(work) {
      if (isClosed) throw new Error('the database is closed')
      if (underWay >= underWayMax)
        throw new Failure('unavailable', 'The server is overloaded; try again later')
      underWay += 1
      try {
        return await work()
      } finally {
        underWay -= 1
        if (underWay === 0) drained?.()
      }
    },
    async close() {
      isClosed = true
      if (underWay > 0) await new Promise<void>((resolve) => (drained = resolve))
    },
  }
}
