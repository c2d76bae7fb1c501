import { createServer, type Socket } from 'node:net'

/** As much of a worker as it takes to give it connections. */
export interface Taker {
  readonly id: number
  /** `failed` is called when the worker cannot be reached any more: the connection never got there. */
  give(ticket: number, socket: Socket, failed: () => void): void
}

/** Where the connections of a node with several processes come in: each is given to one of the workers. */
export interface Reception {
  listen(port: number, host: string): Promise<void>
  /** From now on this worker is given connections. */
  join(worker: Taker): void
  took(workerId: number, ticket: number): void
  /** The worker is gone. */
  leave(workerId: number): void
  /** Accepts nothing more. */
  close(): void
}

interface Seat {
  readonly worker: Taker
  /** Given and not known to have been taken. */
  readonly given: Map<number, Socket>
  /** It could not be reached: it is dying. */
  isLost: boolean
}

/**
 * The primary keeps its own hold on a connection until the worker says that it took it. What a worker died with in
 * between would otherwise be nobody's: open, and never answered. While there is no worker, connections wait for one.
 */
export function reception(options: {
  /** Connections that no worker has taken yet; those beyond are ended at once. */
  readonly heldMax: number
  /** One that no worker has taken after this time is ended. */
  readonly heldMs: number
  readonly complain: (message: string, error: Error) => void
}): Reception {
  const seats = new Map<number, Seat>()
  const waiting = new Set<Socket>()
  let held = 0
  let lastTicket = 0
  let isClosed = false

  const server = createServer({ pauseOnConnect: true, noDelay: true })
  server.on('connection', (socket) => {
    if (held >= options.heldMax) return void socket.destroy()
    held += 1
    const timer = setTimeout(() => socket.destroy(), options.heldMs)
    socket.on('error', () => undefined)
    socket.once('close', () => {
      held -= 1
      clearTimeout(timer)
    })
    admit(socket)
  })

  function admit(socket: Socket): void {
    if (isClosed) socket.destroy()
    if (socket.destroyed) return
    const seat = leastBusy()
    if (seat !== undefined) return give(socket, seat)
    waiting.add(socket)
    socket.once('close', () => waiting.delete(socket))
  }

  /** Of those that are equally busy the one whose turn was longest ago. */
  function leastBusy(): Seat | undefined {
    let best: Seat | undefined
    for (const seat of seats.values()) {
      if (seat.isLost) continue
      if (best === undefined || seat.given.size < best.given.size) best = seat
    }
    return best
  }

  function give(socket: Socket, seat: Seat): void {
    const { worker, given } = seat
    const ticket = (lastTicket += 1)
    seats.delete(worker.id)
    seats.set(worker.id, seat)
    given.set(ticket, socket)
    socket.once('close', () => given.delete(ticket))
    worker.give(ticket, socket, () => {
      seat.isLost = true
      if (given.delete(ticket)) admit(socket)
    })
  }

  return {
    listen: (port, host) =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen({ port, host, backlog: BACKLOG }, () => {
          server.off('error', reject)
          server.on('error', (error) => options.complain('the listener failed', error))
          resolve()
        })
      }),
    join(worker) {
      seats.set(worker.id, { worker, given: new Map(), isLost: false })
      for (const socket of [...waiting]) {
        waiting.delete(socket)
        admit(socket)
      }
    },
    took: (workerId, ticket) => void seats.get(workerId)?.given.get(ticket)?.destroy(),
    leave(workerId) {
      const given = seats.get(workerId)?.given
      seats.delete(workerId)
      // It may have read of them without having said so: nobody else could answer what is left.
      for (const socket of [...(given?.values() ?? [])]) socket.destroy()
    },
    close() {
      isClosed = true
      server.close()
      for (const socket of [...waiting]) socket.destroy()
    },
  }
}

const BACKLOG = 1024
