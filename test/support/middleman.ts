/**
 * A TCP relay in front of a server: counts the bytes that pass, alters them, holds them back, or cuts the connections.
 * Its own port stays, so the server behind it can come back at another one.
 */
import { createServer, connect, type Socket } from 'node:net'

export interface Middleman {
  readonly port: number
  /** Bytes that came from the server and were passed on. */
  readonly passedBytes: number
  /** Connections taken so far. */
  readonly connections: number
  /** Applied to what clients send, from now on. */
  alter(change: ((chunk: Buffer) => Buffer) | undefined): void
  /** The next bytes of a client for which this holds wait; resolves, when they come, to what lets them pass. */
  holdNext(match: (chunk: Buffer) => boolean): Promise<() => void>
  /** Cuts every connection that is open now. */
  cut(): void
  /** From now on nothing passes, in either direction and on new connections too; nobody is told. */
  hush(): void
  /** From now on connections are cut as soon as they are made. */
  refuse(): void
  /** Ends hush and refuse; what was held back passes. */
  heal(): void
  /** Lets new connections pass while those that are hushed now stay so for good. */
  forget(): void
  /** New connections go there. */
  redirect(target: { host: string; port: number }): void
  /** From now on no more than so many bytes of the server's pass; the rest waits. */
  hold(bytes: number): void
  /** What waits, and all that follows, passes. */
  letGo(): void
  stop(): Promise<void>
}

export async function startMiddleman(start: { host: string; port: number }): Promise<Middleman> {
  let target = start
  let mood: 'passing' | 'hushed' | 'refusing' = 'passing'
  const sockets = new Set<Socket>()
  const mute = new WeakSet<Socket>()
  let holding: { match: (chunk: Buffer) => boolean; resolve: (pass: () => void) => void } | undefined
  let passedBytes = 0
  let connections = 0
  let change: ((chunk: Buffer) => Buffer) | undefined
  let holdAt = Infinity
  const held = new Set<Socket>()

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
    if (mood === 'refusing') return void client.resetAndDestroy()
    const upstream = connect(target)
    track(client, upstream)
    track(upstream, client)
    if (mood === 'hushed') for (const socket of [client, upstream]) socket.pause()
    client.on('data', (chunk: Buffer) => {
      if (holding?.match(chunk) === true) {
        const { resolve } = holding
        holding = undefined
        client.pause()
        return resolve(() => {
          upstream.write(chunk)
          client.resume()
        })
      }
      if (!upstream.write(change === undefined ? chunk : change(chunk))) client.pause()
    })
    upstream.on('drain', () => {
      if (mood !== 'hushed' && !mute.has(client)) client.resume()
    })
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
      if (mood !== 'hushed' && !mute.has(upstream) && !held.has(upstream)) upstream.resume()
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
    holdNext: (match) => new Promise((resolve) => (holding = { match, resolve })),
    cut: () => sockets.forEach((socket) => socket.destroy()),
    hush() {
      mood = 'hushed'
      sockets.forEach((socket) => socket.pause())
    },
    refuse() {
      mood = 'refusing'
      sockets.forEach((socket) => socket.resetAndDestroy())
    },
    heal() {
      mood = 'passing'
      for (const socket of sockets) if (!mute.has(socket)) socket.resume()
    },
    forget() {
      mood = 'passing'
      for (const socket of sockets) mute.add(socket)
    },
    redirect: (wanted) => void (target = wanted),
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
