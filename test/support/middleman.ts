/** A TCP relay in front of a server: counts the bytes that pass, alters them, or cuts the connections. */
import { createServer, connect, type Socket } from 'node:net'

export interface Middleman {
  readonly port: number
  /** Bytes that came from the server and were passed on. */
  readonly passedBytes: number
  /** Connections taken so far. */
  readonly connections: number
  /** Applied to what clients send, from now on. */
  alter(change: ((chunk: Buffer) => Buffer) | undefined): void
  /** Cuts every connection that is open now. */
  cut(): void
  /** The door is shut, for those inside too, until it is opened again. */
  shut(): void
  open(): void
  /** From now on no more than so many bytes of the server's pass; the rest waits. */
  hold(bytes: number): void
  /** What waits, and all that follows, passes. */
  letGo(): void
  stop(): Promise<void>
}

export async function startMiddleman(target: { host: string; port: number }): Promise<Middleman> {
  const sockets = new Set<Socket>()
  let passedBytes = 0
  let connections = 0
  let change: ((chunk: Buffer) => Buffer) | undefined
  let holdAt = Infinity
  const held = new Set<Socket>()
  let isShut = false

  function track(socket: Socket, other: Socket): void {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => {
      sockets.delete(socket)
      held.delete(socket)
      other.destroy()
    })
  }

  const server = createServer({ allowHalfOpen: false }, (client) => {
    connections += 1
    if (isShut) return void client.destroy()
    const upstream = connect(target)
    track(client, upstream)
    track(upstream, client)
    client.on('data', (chunk: Buffer) => {
      if (!upstream.write(change === undefined ? chunk : change(chunk))) client.pause()
    })
    upstream.on('drain', () => client.resume())
    upstream.on('data', (chunk: Buffer) => {
      if (passedBytes >= holdAt) {
        held.add(upstream)
        upstream.pause()
        upstream.unshift(chunk)
        return
      }
      passedBytes += chunk.length
      if (!client.write(chunk)) upstream.pause()
    })
    client.on('drain', () => {
      if (!held.has(upstream)) upstream.resume()
    })
    if (passedBytes >= holdAt) {
      held.add(upstream)
      upstream.pause()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')

  return {
    port: address.port,
    get passedBytes() {
      return passedBytes
    },
    get connections() {
      return connections
    },
    alter: (wanted) => void (change = wanted),
    cut: () => sockets.forEach((socket) => socket.destroy()),
    shut() {
      isShut = true
      sockets.forEach((socket) => socket.destroy())
    },
    open() {
      isShut = false
    },
    hold(bytes) {
      holdAt = passedBytes + bytes
    },
    letGo() {
      holdAt = Infinity
      for (const upstream of held) upstream.resume()
      held.clear()
    },
    async stop() {
      sockets.forEach((socket) => socket.destroy())
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
