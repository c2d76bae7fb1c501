import { Failure } from '../model/failures.js'

/** Runs work about the same thing one after the other; what does not fit into the line is refused at once. */
export type Turns = <T>(about: string, work: () => Promise<T>) => Promise<T>

export function turns(waitingMax: number): Turns {
  const lines = new Map<string, { length: number; last: Promise<unknown> }>()

  return (about, work) => {
    const line = lines.get(about) ?? { length: 0, last: Promise.resolve() }
    if (line.length > waitingMax) {
      const refusal = new Failure('unavailable', 'this is tried too often at this moment', {
        'Retry-After': '5',
      })
      return Promise.reject(refusal)
    }
    const result = line.last.then(work)
    line.length += 1
    line.last = result
      .catch(() => undefined)
      .then(() => {
        line.length -= 1
        if (line.length === 0) lines.delete(about)
      })
    lines.set(about, line)
    return result
  }
}
