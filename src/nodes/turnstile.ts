import type { Passage, Turnstile } from '../service/deps.js'

export interface EnterRequest {
  readonly slot: boolean
  readonly lock: string | undefined
}

export type EnterResult = 'entered' | 'busy' | 'full'

/** Who is inside: one register for the whole node, kept by one process. */
export interface Register {
  /** A ticket is the owner's own number for this entry. */
  enter(owner: number, ticket: number, request: EnterRequest): EnterResult
  leave(owner: number, ticket: number): void
  /** The owner is gone, and everything it held with it. */
  evict(owner: number): void
  readonly isFull: boolean
}

/** `onFull` hears when the last slot is taken and when one is free again. */
export function register(slotsMax: number, onFull: (isFull: boolean) => void = () => undefined): Register {
  const inside = new Map<string, { owner: number; request: EnterRequest }>()
  const locks = new Set<string>()
  let slotsTaken = 0

  function changeSlots(by: number): void {
    const wasFull = slotsTaken >= slotsMax
    slotsTaken += by
    if (slotsTaken >= slotsMax !== wasFull) onFull(!wasFull)
  }

  function remove(key: string): void {
    const entry = inside.get(key)
    if (entry === undefined) return
    inside.delete(key)
    if (entry.request.slot) changeSlots(-1)
    if (entry.request.lock !== undefined) locks.delete(entry.request.lock)
  }

  return {
    enter(owner, ticket, request) {
      if (request.lock !== undefined && locks.has(request.lock)) return 'busy'
      if (request.slot && slotsTaken >= slotsMax) return 'full'
      inside.set(`${owner}/${ticket}`, { owner, request })
      if (request.slot) changeSlots(1)
      if (request.lock !== undefined) locks.add(request.lock)
      return 'entered'
    },
    leave: (owner, ticket) => remove(`${owner}/${ticket}`),
    evict(owner) {
      for (const [key, entry] of [...inside]) if (entry.owner === owner) remove(key)
    },
    get isFull() {
      return slotsTaken >= slotsMax
    },
  }
}

/** A turnstile for the process that keeps the register. */
export function localTurnstile(shared: Register, owner: number): Turnstile {
  let lastTicket = 0
  return {
    get isFull() {
      return shared.isFull
    },
    enter(request) {
      const ticket = (lastTicket += 1)
      const result = shared.enter(owner, ticket, request)
      if (result !== 'entered') return Promise.resolve(result)
      return Promise.resolve(once(() => shared.leave(owner, ticket)))
    },
  }
}

/** Leaving twice is leaving once. */
export function once(leave: () => void): Passage {
  let isInside = true
  return {
    leave() {
      if (!isInside) return
      isInside = false
      leave()
    },
  }
}
